#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Control flows down: api uses core, and core uses nothing of api. No files use each other in a
# circle, answers and clients include only the public headers and compat.h, and each driver includes
# one header of core. Each export has a user that is installed. The engine of answers, which kdtl(1)
# has too, needs no kernel. The test finds this out from the built objects, and from the headers
# that the compiler read. And each verb that may sleep says so first.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# sources DIR FOLDER...: prints the C files of these folders, without those of kbuild.
sources()
{
	(cd -- "$1" && shift && find "$@" -maxdepth 1 -name '*.c' ! -name '*.mod.c') | sort
}

# clients DIR: prints the folders of the clients.
clients()
{
	(cd -- "$1" && find clients -mindepth 1 -maxdepth 1 -type d) | sort
}

# uses DIR FOLDER...: prints "user used symbol" for each symbol that an object of these
# folders uses and another one of them defines.
uses()
{
	local dir=$1 f

	sources "$@" | while read -r f; do
		[ ! -f "$dir/${f%.c}.o" ] || echo "${f%.c}.o"
	done | (cd -- "$dir" && xargs -r nm -g -A) | awk '
		{ sub(/:[0-9a-f]* +/, " ") }
		$2 == "U" { user[++n] = $1; needs[n] = $3; next }
		{ at[$3] = $1 }
		END {
			for (i = 1; i <= n; i++)
				if (needs[i] in at)
					print user[i], at[needs[i]], needs[i]
		}' | sort -u
}

# circles: prints the shortest circle through each object, from the output of uses().
circles()
{
	awk '
	{
		if (!(($1, $2) in by))
			next_of[$1] = next_of[$1] " " $2
		by[$1, $2] = $3
		name[$1]
	}
	# From start back to start, breadth first.
	function circle(start,   queue, head, tail, from, near, n, i, o) {
		queue[tail++] = start
		while (head < tail) {
			o = queue[head++]
			n = split(next_of[o], near, " ")
			for (i = 1; i <= n; i++) {
				if (near[i] in from)
					continue
				from[near[i]] = o
				if (near[i] == start)
					return as_text(start, from)
				queue[tail++] = near[i]
			}
		}
		return ""
	}
	# Write a circle from the first of its names, so that it is the same each time.
	function as_text(start, from,   path, n, i, o, first, text) {
		o = start
		do {
			path[n++] = o
			o = from[o]
		} while (o != start)
		for (i = 0; i < n; i++)
			if (path[i] < path[first + 0])
				first = i
		text = path[first + 0]
		for (i = 1; i <= n; i++) {
			o = path[(first - i + n) % n]
			text = text " -> " o " (" by[path[(first - i + 1 + n) % n], o] ")"
		}
		return text
	}
	END {
		for (o in name) {
			text = circle(o)
			if (text != "" && !seen[text]++)
				print text
		}
	}' | sort
}

# --- the rules; DIR is a folder of scripts/build, or one that is planted ----------------

# complete DIR: each file was compiled, because only then it can be checked.
complete()
{
	local f o missing=0

	# shellcheck disable=SC2046 # folders have no spaces
	for f in $(sources "$1" {core,api}{,/counters} api/answers $(clients "$1")); do
		o=${f%.c}.o
		[ -f "$1/$o" ] && [ -f "$1/${o%/*}/.${o##*/}.cmd" ] && continue
		# This needs a patched perf: selftests/deep/any-aux.sh compiles it.
		[ "$f" != core/raw.c ] || continue
		# The quick run does not compile these.
		[[ $f != clients/examples/* || ${KDTL_VARIANT:-} != quick ]] || continue
		echo "$f was not compiled"
		missing=1
	done
	[ $missing -eq 0 ] && grep -q '^api/.* core/' <<<"$(uses "$1" {core,api}{,/counters})"
}

# no_circle DIR FOLDER...
no_circle()
{
	local found

	found=$(uses "$@" | circles)
	[ -z "$found" ] || { printf 'a circle: %s\n' "${found//$'\n'/$'\n'a circle: }"; return 1; }
}

no_circle_in_clients()
{
	local client rc=0

	for client in $(clients "$1"); do
		no_circle "$1" "$client" || rc=1
	done
	return $rc
}

# no_circle_in_tool DIR: kbuild does not make objects of kdtl(1).
no_circle_in_tool()
{
	"$top/scripts/weight" "$1" >"$work/weight" || return
	! grep -o 'circle in clients/stream/tool.*' "$work/weight"
}

core_calls_no_api()
{
	uses "$1" {core,api}{,/counters} | awk '$1 ~ /^core\// && $2 ~ /^api\// {
			print $1 " -> " $2 " (" $3 ")"
			bad = 1
		}
		END { exit bad }'
}

# answers_use_public DIR: the answers include the public headers, their own, and compat.h.
# No object of theirs uses a symbol of kdtl.ko that is not exported, because it would not link.
answers_use_public()
{
	included "$1" api/answers | grep -v -E \
		' (api/include/.*|api/answers/(engine/)?[a-z]*|core/compat)\.h$' && return 1
	included "$1" api/answers | grep 'core/compat.h$' >/dev/null
}

# engine_needs_no_kernel DIR: the engine compiles as a part of a program, and calls only itself and
# functions that a compiler may put in.
engine_needs_no_kernel()
{
	local f o=$work/engine

	rm -rf -- "$o" && mkdir -- "$o" || return
	for f in "$1"/api/answers/engine/*.[ch]; do
		gcc-12 -x c -std=gnu11 -Wall -Wextra -Werror -fkeep-inline-functions \
			-fkeep-static-functions -I"$1/api/include/uapi" -c \
			-o "$o/$(basename "$f").o" "$f" || return
	done
	nm -g "$o"/*.o | awk '
		$1 == "U" && $2 !~ /^mem(cpy|move|set|cmp)$/ { called[$2] }
		$2 == "T" { mine[$3] }
		END {
			for (f in called)
				if (!(f in mine)) {
					print "the engine calls " f "()"
					bad = 1
				}
			exit bad
		}'
}

# Says for whom kdtl exports each symbol that no installed module uses.
unused_exports()
{
	sed 's/ .*//' <<-'END'
	kdtl_aux_gap a reader with a thread of its own: where entries are missing
	kdtl_aux_output_begin drivers whose data is not made of entries, as is the case of the next three
	kdtl_aux_output_end
	kdtl_aux_output_flag
	kdtl_aux_output_skip
	kdtl_delete_evtsets what perfmon2's callers have, as is the case of the next one
	kdtl_getinfo_evtsets
	kdtl_isolated_cpus kdtl_dtl, which this machine has not
	kdtl_restart sessions with KDTL_SESSION_PAUSE: clients/examples/overload.c
	kdtl_write_counters counters that overflow: clients/examples/overload.c
	END
}

# exports_are_used DIR: each export is used by a client, a source or the answers, or is kept for
# somebody who is named.
exports_are_used()
{
	comm -23 <(awk '$3 ~ /\/(kdtl|kdtl_answers)$/ { print $2 }' \
		"$1/Module.symvers" | LC_ALL=C sort) \
		<(find "$1"/{clients,core/pmu,api/answers} -name '*.ko' ! -path '*/examples/*' \
			-exec nm -u {} + | awk '$1 == "U" { print $2 }' | LC_ALL=C sort -u) |
		diff <(unused_exports) - | awk '
		$1 == ">" { print $2 "() is exported, and nothing that is installed uses it" }
		$1 == "<" { print $2 "() is on the list of unused exports, and is none" }
		/^[<>]/ { bad = 1 }
		END { exit bad }'
}

# included DIR FOLDER: prints "file header" for each header of this project that the compiler read.
included()
{
	local dir=$1 f

	sources "$@" | while read -r f; do
		f=${f%.c}.o
		[ ! -f "$dir/$f" ] || echo "${f%/*}/.${f##*/}.cmd"
	done | (cd -- "$dir" && xargs -r awk -v top="$dir/" '
		/^  \/.*\.h \\$/ {
			while (sub(/\/\.\//, "/", $1) || sub(/\/[^\/]+\/\.\.\//, "/", $1))
				;
			f = FILENAME
			if (index($1, top) != 1 || !sub(/\.o\.cmd$/, ".c", f) || !sub(/\/\./, "/", f))
				next
			print f, substr($1, length(top) + 1)
		}') | sort -u
}

# no_probe DIR: kdtl.ko itself follows no fork, exec, new name or new priority: a client that does
# not ask for tasks does not pay for them.
no_probe()
{
	nm -u "$1/kdtl.ko" >"$work/undefined" || return
	! grep -E ' (tracepoint_probe_register|register_kretprobe|register_kprobe)' "$work/undefined" &&
		nm -u "$1/api/answers/kdtl_answers.ko" | grep ' tracepoint_probe_register$' >/dev/null
}

# clients_include_public DIR: looks at all headers of this project that the compiler read, also if
# another header includes them. The engine of answers is plain C, which each user of it builds in.
clients_include_public()
{
	local client f header rc=0

	for client in $(clients "$1"); do
		while read -r f header; do
			case $header in
			api/include/* | core/compat.h | api/answers/engine/* | "$client"/*) continue ;;
			esac
			echo "$f includes $header"
			rc=1
		done < <(included "$1" "$client")
	done
	return $rc
}

# drivers_include_one DIR: looks at what a driver and its own headers include themselves,
# in the source, because kdtl_vpa is only built for POWER.
drivers_include_one()
{
	(cd -- "$1/core/pmu" && grep -H -o '^#include "\.\./.*"' ./*.[ch]) |
		sed 's|^\./\(.*\):#include "\.\./\(.*\)"|\1 \2|' | awk '
		$2 ~ /^\.\./ { print $1 " includes core/" $2; bad = 1; next }
		$2 != "compat.h" { n[$1]++; all[$1] = all[$1] " core/" $2 }
		END {
			for (f in n)
				if (n[f] > 1) {
					print f " includes" all[f]
					bad = 1
				}
			exit bad || NR == 0
		}'
}

# says_sleep_first DIR: apart from refusing NULL, a verb that may sleep first calls might_sleep(),
# or a function that begins so. Then an atomic caller is found even if the verb does not sleep this
# time.
says_sleep_first()
{
	(cd -- "$1" && cat api/*.c api/*/*.c core/session.[ch]) | awk '
	/^ \* _*kdtl_[a-z_]*\(\) - / { sub(/\(\).*/, "", $2); doc = $2 }
	/^ \* Context: / && /may sleep/ { sleeps[doc] }
	/^[a-z].*\(/ && !/;$/ {
		name = $0
		sub(/\(.*/, "", name)
		sub(/.*[ *]/, "", name)
	}
	/^EXPORT_SYMBOL/ { split($0, part, /[(,]/); exported[part[2]] }
	/^}/ { name = "" }
	# These checks do nothing but look.
	{ sub(/kdtl_session_check\(s\)/, ""); sub(/kdtl_is_atomic\(\)/, "") }
	name != "" && /^\t/ && !(name in first) && match($0, /[a-z_]+\(/) &&
		!/return.*_refuse\(/ {
		first[name] = substr($0, RSTART, RLENGTH - 1)
	}
	function says(f) {
		return f ~ /^might_sleep(_if)?$/ || (f in first && says(first[f]))
	}
	END {
		for (verb in exported) {
			if (!(verb in sleeps))
				continue
			n++
			if (says(verb))
				continue
			print verb "() may sleep, but first calls " first[verb] "()"
			bad = 1
		}
		exit bad || !n
	}'
}

# --- each rule can fail -------------------------------------------------------------

# plant FILE [USED...]: makes a source with a function of the file's name that calls the
# USED ones, and the products that kbuild would make of it.
plant()
{
	local f=$work/planted/$1 name used

	mkdir -p -- "${f%/*}"
	name=$(basename "$f" .c)
	shift
	{
		for used; do
			echo "void $used(void);"
		done
		echo "void $name(void);"
		echo "void $name(void)"
		echo "{"
		for used; do
			echo "	$used();"
		done
		echo "}"
	} >"$f"
	gcc-12 -O2 -c -o "${f%.c}.o" "$f"
	printf '%s\n' "deps_$f := \\" "  /usr/include/stdio.h \\" \
		"  $work/planted/api/include/linux/kdtl.h \\" >"${f%/*}/.$name.o.cmd"
}

plant_all()
{
	local d=$work/planted

	plant core/low.c
	plant core/one.c two low
	plant core/two.c three
	plant core/three.c one
	plant core/up.c verb
	plant api/verb.c helper low
	plant api/helper.c verb
	plant api/answers/engine/engine.c printk
	plant clients/good/good.c part
	plant clients/good/part.c
	plant clients/good/user.c kdtl_used
	plant clients/examples/example.c kdtl_useless
	plant clients/bad/bad.c piece
	plant clients/bad/piece.c bad
	printf '%s\n' "  $d/clients/bad/../../core/low.h \\" "  $d/clients/bad/bad.h \\" \
		>>"$d/clients/bad/.bad.o.cmd"
	plant clients/stream/tool/this.c that
	plant clients/stream/tool/that.c this
	mkdir -p "$d"/{core/pmu,api/include/linux}
	touch "$d"/{core/aux.h,core/session.h,api/include/linux/kdtl.h}
	# The modules: an example is not installed, and kdtl_restart() is no longer exported.
	cp -- "$d/clients/good/user.o" "$d/clients/good/kdtl_good.ko"
	cp -- "$d/clients/examples/example.o" "$d/clients/examples/kdtl_example.ko"
	{
		unused_exports | sed '/^kdtl_restart$/d; s|.*|0x0 & /kdtl EXPORT_SYMBOL_GPL KDTL|'
		printf '0x0 %s /kdtl_answers EXPORT_SYMBOL_GPL KDTL\n' kdtl_used kdtl_useless
	} >"$d/Module.symvers"
	# Of these verbs, two say first that they may sleep.
	: >"$d/core/session.c"
	{
		printf 'void enter(int a,\n\t   int b)\n{\n\tmight_sleep();\n}\n'
		printf '/**\n * kdtl_%s() - x\n * Context: task, may sleep.\n */\n' good
		printf 'int kdtl_good(void)\n{\n\tint err = enter(1, 2);\n}\nEXPORT_SYMBOL_NS_GPL(kdtl_good, KDTL_NS);\n'
		printf '/**\n * kdtl_%s() - x\n * Context: task, may sleep.\n */\n' fair
		printf 'int kdtl_fair(bool b)\n{\n\tint i = 1;\n\n\tmight_sleep_if(b);\n}\nEXPORT_SYMBOL_NS_GPL(kdtl_fair, KDTL_NS);\n'
		printf '/**\n * kdtl_%s() - x\n * Context: task, may sleep.\n */\n' bad
		printf 'int kdtl_bad(void)\n{\n\tint err = work();\n\n\tmight_sleep();\n}\nEXPORT_SYMBOL_NS_GPL(kdtl_bad, KDTL_NS);\n'
	} >"$d/api/sleep.c"
	printf '#include "../%s.h"\n' compat low >"$d/core/pmu/good.c"
	printf '#include "../%s.h"\n' compat low one >"$d/core/pmu/bad.c"
}

# finds EXPECTED COMMAND...: the command fails, and prints exactly this.
finds()
{
	local expected=$1

	shift
	! "$@" >"$work/said" || { echo "nothing was found"; return 1; }
	diff -u <(echo "$expected") "$work/said"
}

# ------------------------------------------------------------------------------------

"$top/scripts/install-deps" check
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-layers.XXXXXX")
partial "$work"
plan 23
capture "$top/scripts/build" x86_64-6.1
built=$captured
ok "every file was compiled" complete "$built"
ok "no circle between files of core" no_circle "$built" core{,/counters}
ok "no circle between files of api" no_circle "$built" api{,/counters}
ok "no circle between files of api/answers" no_circle "$built" api/answers
ok "the engine of answers needs no kernel" engine_needs_no_kernel "$top"
ok "answers use kdtl as a client does" answers_use_public "$built"
ok "kdtl.ko probes nothing, kdtl_answers.ko does" no_probe "$built"
ok "core uses nothing of api" core_calls_no_api "$built"
ok "no circle between files of a client" no_circle_in_clients "$built"
ok "no circle between files of kdtl(1)" no_circle_in_tool "$top"
ok "clients include the public headers, compat.h and their own" clients_include_public "$built"
ok "each driver includes one header of core, and compat.h" drivers_include_one "$built"
ok "a verb that may sleep says so first" says_sleep_first "$top"
ok "each export has a user that is installed, or a reason" exports_are_used "$built"

plant_all
d=$work/planted
ok "a circle would be found" finds \
	"a circle: core/one.o -> core/two.o (two) -> core/three.o (three) -> core/one.o (one)" \
	no_circle "$d" core
ok "a use of api in core would be found" finds "core/up.o -> api/verb.o (verb)" \
	core_calls_no_api "$d"
ok "a call of the kernel in the engine would be found" finds "the engine calls printk()" \
	engine_needs_no_kernel "$d"
ok "a circle in a client would be found" finds \
	"a circle: clients/bad/bad.o -> clients/bad/piece.o (piece) -> clients/bad/bad.o (bad)" \
	no_circle_in_clients "$d"
ok "a circle in kdtl(1) would be found" finds "circle in clients/stream/tool: that.c this.c" \
	no_circle_in_tool "$d"
ok "a client's look into core would be found" finds \
	"clients/bad/bad.c includes core/low.h" clients_include_public "$d"
ok "a driver's second header would be found" finds \
	"bad.c includes core/low.h core/one.h" drivers_include_one "$d"
ok "a verb that does not say so would be found" finds \
	"kdtl_bad() may sleep, but first calls work()" says_sleep_first "$d"
ok "an export without a user would be found" finds \
	"kdtl_restart() is on the list of unused exports, and is none
kdtl_useless() is exported, and nothing that is installed uses it" exports_are_used "$d"
finish
