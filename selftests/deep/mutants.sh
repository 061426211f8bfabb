#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A test that notices nothing proves nothing. A mutant is kdtl with one small mistake. Each mutant
# of the tables selftests/deep/mutants/*.def must be noticed by one of the tests that its line
# names, unless the line says why no test can notice it. First of all these tests must pass without
# a mistake.
#
#	selftests/deep/mutants.sh [TABLE | TABLE:LINE]...
#
# All mutants are compiled into one build of a copy of the sources (mutants/compile.py). A parameter
# of the module mutant.ko chooses one, so that one boot can try dozens. Mutants of kdtl(1), and
# of code that programs compile without the kernel, are chosen by KDTL_MUTANT, on this machine
# (tool.def, native.def); it is also set in a machine, where kdtl(1) records. A mutant that crashes
# the machine, or hangs it, is noticed; the next boot goes on with the one after it.
#
# MUTANTS_TARGET  the machine, except for those that are tried on this one (x86_64-6.1; for raw.def
#                 the variant aux, whose perf gives AUX areas to kernel events)
#
# shellcheck disable=SC2154,SC2317 # set by capture; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$here/../host/lib/ktap.sh"

# A test may be silent for as long as guest.sh lets it run.
limit=${MUTANTS_LIMIT:-600}
silence=$((limit + 300))
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-mutants.XXXXXX")
partial "$work"
# The tree is kept, so that only what has changed is built again.
tree=$KDTL_CACHE/mutants/$(cksum <<<"$top" | cut -d ' ' -f 1)
with_lock "mutants-${tree##*/}"

# make expands these, not this shell.
# shellcheck disable=SC2016
readonly kbuild='obj-m += mutant.o
subdir-ccflags-y += -include $(kdtl-src)/selftests/deep/mutants/mutant.h
ccflags-y += -include $(kdtl-src)/selftests/deep/mutants/mutant.h'

# sums DIR: prints a line for each file in it, with its content's checksum, in order.
sums()
{
	(cd -- "$1" && find . -type f -exec cksum {} +) | sort
}

# prepare: makes the tree of all mutants. Files that have not changed keep their times.
prepare()
{
	local new=$work/tree

	mkdir -p -- "$new" "$tree" &&
		tar -C "$top" --exclude=./.git --exclude='*.o' --exclude='*.ko' -cf - . |
		tar -C "$new" -xf - &&
		"$here/mutants/compile.py" "$new" >"$work/list" &&
		cp -- "$here/mutants/mutant.c" "$new/" &&
		echo "$kbuild" >>"$new/Kbuild" &&
		sed -i "1i #include \"$tree/selftests/deep/mutants/mutant.h\"" \
			"$new/clients/stream/tool/kdtl.h" "$new/clients/stream/tool/chain.h" \
			"$new/clients/recorder/last.h" "$new/clients/sampler/stats.h" \
			"$new/core/counters/msgq.h" \
			"$new/api/answers/engine/"*.h || return
	sums "$tree" >"$work/old" && sums "$new" >"$work/new" || return
	comm -23 "$work/old" "$work/new" | cut -d ' ' -f 3- | (cd -- "$tree" && xargs -r rm --)
	comm -13 "$work/old" "$work/new" | cut -d ' ' -f 3- >"$work/changed"
	(cd -- "$new" && xargs -r cp -p --parents -t "$tree" --) <"$work/changed" &&
		(cd -- "$tree" && xargs -r touch --) <"$work/changed" &&
		rm -rf -- "$new"
}

# choose [TABLE | TABLE:LINE]...: leaves only these in the list.
choose()
{
	[ $# -gt 0 ] || set -- ''
	awk -F '\t' -v names="$*" '
	BEGIN { n = split(names, name, " ") }
	{
		wanted = !n
		for (i = 1; i <= n; i++)
			wanted = wanted || $2 == name[i] || index($2, name[i] ":") == 1
		if (wanted)
			print
	}' "$work/list" >"$work/chosen" && [ -s "$work/chosen" ]
}

build()
{
	"$tree/scripts/build" "$1" 2>"$work/build.log" && return
	cat -- "$work/build.log" >&2
	return 1
}

programs()
{
	mkdir -p -- "$tree-programs/$1"
	make -s -C "$tree/selftests" OUTPUT="$tree-programs/$1" \
		CROSS_COMPILE="$(kernel_cross "$1")" CC32="$(kernel_cc32 "$1")"
}

# boot TARGET: runs the list $work/todo; what the machine says goes to $work/said. A machine that
# says nothing for too long is ended.
boot()
{
	local size=-1 now since=$SECONDS kmods=()

	capture "$top/scripts/kernel" "$1" modules || return
	! grep -qs '/null_blk\.ko' "$captured/modules.dep" || kmods=(--kmod null_blk)
	start_group "$top/selftests/run/vm" "$1" --cpus 4 --timeout 36000 --modules "$modules" \
		"${kmods[@]}" \
		--add "$tree/selftests:/selftests" --add "$tree-programs/$1:/selftests/guest" \
		--add "$work/todo:/mutants" -- "MUTANTS_LIMIT=$limit sh /selftests/deep/mutants/guest.sh </mutants/todo" \
		>"$work/said" 2>&1 </dev/null
	while kill -0 "$group" 2>/dev/null; do
		sleep 1
		now=$(stat -c %s "$work/said")
		if [ "$now" != "$size" ]; then
			size=$now since=$SECONDS
		elif [ $((SECONDS - since)) -gt "$silence" ]; then
			echo "the machine says nothing any more" >>"$work/said"
			kill -TERM -- "-$group"
			break
		fi
	done
	wait_group "$group"
}

# in_machine TARGET: tries what $work/mutants lists, in as many boots as it takes.
in_machine()
{
	local status last

	capture build "$1" && modules=$captured && programs "$1" || return
	mkdir -p -- "$work/todo"
	cp -- "$work/mutants" "$work/todo/todo"
	while [ -s "$work/todo/todo" ]; do
		status=0
		boot "$1" || status=$?
		sed 's/^\[ *[0-9.]*\] //' "$work/said" >>"$work/console"
		# If the machine ended, the last one that began has no result.
		last=$(sed -n 's/.*mutant \([0-9]*\): \(.*\) begins$/\1 \2/p' "$work/said" | tail -n 1)
		[ -n "$last" ] || { tail -n 40 -- "$work/said"; return 1; }
		if ! grep -q "mutant ${last% *}: ${last#* } \(noticed\|passed\|skipped\)" \
			"$work/said"; then
			tail -n 30 -- "$work/said" | sed -n 's/.*\(Kernel panic\|WARNING:\|BUG:\)/    \1/p' |
				head -n 2 >>"$work/console"
			echo "mutant ${last% *}: ${last#* } noticed: ended the machine ($status)" \
				>>"$work/console"
		fi
		sed -i "0,/^${last% *} /d" "$work/todo/todo"
	done
}

# compiler: takes the place of cc and gcc; what was compiled before is copied.
compiler()
{
	mkdir -p -- "$work/bin"
	cat >"$work/bin/cc" <<-'END'
	#!/bin/bash
	# If something was compiled with the same arguments before, copy that.
	bin=$(dirname -- "$0") args=() out=''
	PATH=${PATH#"$bin:"}
	while [ $# -gt 0 ]; do
		[ "$1" = -o ] && { out=$2; shift 2; continue; }
		args+=("$1")
		shift
	done
	[[ -n $out && " ${args[*]} " =~ [\ /](clock|[a-z]*_model|chain_random|runs|last)\.c\  ]] ||
		exec "${0##*/}" "${args[@]}" ${out:+-o "$out"}
	# The tests' temporary folders have another name each time.
	key=$bin/cache-$(printf '%s\n' "$PWD" "${args[@]}" |
		sed 's:/tmp/kdtl-[a-z]*\.[^/]*::' | cksum | tr ' ' -)
	[ -e "$key" ] || "${0##*/}" "${args[@]}" -o "$key.$$" &&
		{ [ -e "$key" ] || mv -- "$key.$$" "$key"; } && cp -- "$key" "$out"
	END
	chmod +x "$work/bin/cc"
	ln -f -- "$work/bin/cc" "$work/bin/gcc"
	ln -f -- "$work/bin/cc" "$work/bin/gcc-12"
}

# host_test NUMBER TEST: succeeds if the test passes; ends it at the first row that fails.
host_test()
{
	local since=$SECONDS

	export KDTL_MUTANT=$1
	# A mutant may loop.
	start_group bash -c 'ulimit -t 120 && exec "$0"' "$tree/selftests/host/$2.sh" \
		>"$work/host" 2>"$work/host.err" </dev/null
	while kill -0 "$group" 2>/dev/null; do
		sleep 0.2
		! grep -q '^not ok' "$work/host" && [ $((SECONDS - since)) -lt 900 ] && continue
		kill -TERM -- "-$group" 2>/dev/null
		break
	done
	wait_group "$group"
}

# natively: tries what $work/mutants lists, with tests of selftests/host.
natively()
{
	local nr tests t result start path=$PATH

	compiler
	PATH=$work/bin:$PATH
	while read -r nr tests; do
		for t in $tests; do
			echo "mutant $nr: $t begins"
			start=$SECONDS result=passed
			host_test "$nr" "$t" || result=noticed
			[ "$result" = passed ] || grep -B 4 '^not ok' "$work/host" | tail -n 6 | sed 's/^/    /'
			echo "mutant $nr: $t $result $((SECONDS - start))"
			[ "$result" = passed ] || [ "$nr" = 0 ] || break
		done
	done <"$work/mutants" >>"$work/console"
	PATH=$path
	unset KDTL_MUTANT
}

# try TABLE: fails if something other than a mutant went wrong, such as a test without a mistake.
try()
{
	local table=$1 target=x86_64-6.1

	[ "$table" != raw ] || target=$(kernel_variant aux)
	# Without a mistake each test runs once.
	awk -F '\t' -v table="$table:" '
	index($2, table) == 1 {
		n = split($4, test, " ")
		for (i = 1; i <= n; i++) {
			if (!seen[test[i]]++)
				print 0, test[i]
		}
		list = list $1 " " $4 "\n"
	}
	END { printf "%s", list }' "$work/chosen" >"$work/mutants"
	echo "table $table" >>"$work/console"
	if [ "$table" = tool ] || [ "$table" = native ]; then
		natively
	else
		in_machine "${MUTANTS_TARGET:-$target}" || return
	fi
	! sed "1,/^table $table\$/d" "$work/console" | grep '^mutant 0: .* \(noticed\|skipped\)'
}

# judge NUMBER EQUIVALENT: the mutant was noticed, unless it is equivalent.
judge()
{
	grep -q "^mutant $1: " "$work/console" || { echo "not tried"; return 1; }
	sed -n "/^mutant $1: .* begins\$/,/^mutant $1: .* [a-z]*ed/p" "$work/console" |
		grep "^    \|^mutant $1: .*ed" | tail -n 12
	if grep -q "^mutant $1: .* noticed" "$work/console"; then
		noticed=$((noticed + 1))
		[ "$2" = - ] || { echo "so it is not equivalent: $2"; return 1; }
	elif [ "$2" != - ]; then
		equivalent=$((equivalent + 1))
	else
		echo "no test notices it"
		return 1
	fi
}

need_tool check python3 gcc
[ -z "${KDTL_LOGS:-}" ] || mkdir -p -- "$KDTL_LOGS"
: >"$work/console"
step "compile the mutants into one tree" prepare || skip_all "the tables do not fit"
choose "$@" || die "no such mutant: $*"
mapfile -t tables < <(cut -f 2 "$work/chosen" | sed 's/:.*//' | uniq)
noticed=0 equivalent=0
plan $((${#tables[@]} + $(wc -l <"$work/chosen")))
for table in "${tables[@]}"; do
	ok "$table: the tests pass without a mistake" try "$table"
	[ -z "${KDTL_LOGS:-}" ] || cp -- "$work/console" "$KDTL_LOGS/mutants.console"
	while IFS=$'\t' read -r nr where kind _ what why; do
		[ "${where%%:*}" = "$table" ] || continue
		ok "$where: $kind: $what" judge "$nr" "$why"
	done <"$work/chosen"
done
total=$(wc -l <"$work/chosen")
echo "# $total mutants: $noticed noticed, $equivalent equivalent, $((total - noticed - equivalent)) not noticed"
finish
