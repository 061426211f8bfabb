#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The sessions that kdtl-vmcore reads from images of a machine's memory, with drgn and the debug
# info of kdtl.ko, are those that the machine itself told of. The machine goes on after QEMU has
# taken images of it, and then crashes, so that a kdump's kernel keeps another image.
#
#	selftests/host/vmcore.sh --prepare	only get drgn and makedumpfile
#	selftests/host/vmcore.sh TARGET	another kernel of this architecture
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/apt.sh
. "$top/scripts/lib/apt.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../run/lib/initramfs.sh
. "$top/selftests/run/lib/initramfs.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/kdtl.sh
. "$here/lib/kdtl.sh"

[ "$(dpkg --print-architecture)" = amd64 ] || skip_all "amd64 only"
export TZ=UTC COLUMNS=120
target=${1:-x86_64-6.1}
[ "$target" != --prepare ] || target=x86_64-6.1
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-vmcore.XXXXXX")
partial "$work"

# vmcore ARGUMENT...: runs kdtl-vmcore as on a machine on which drgn is installed.
vmcore()
{
	"$top/scripts/drgn" "$work/tool/kdtl-vmcore" "$@"
}

# makedumpfile DIR: puts it and its libraries there, for the guest.
makedumpfile()
{
	local package lib

	for package in makedumpfile libdw1 libelf1 zlib1g libbz2-1.0 liblzma5 liblzo2-2 libc6; do
		deb_tree "$package" amd64
		mkdir -p -- "$1/lib64" "$1/lib/x86_64-linux-gnu" "$1/usr/bin"
		[ "$package" != makedumpfile ] || cp -- "$deb_tree/usr/bin/makedumpfile" "$1/usr/bin/"
		[ "$package" != libc6 ] ||
			cp -L -- "$deb_tree"/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$1/lib64/"
		for lib in dw.so.1 elf.so.1 z.so.1 bz2.so.1.0 lzma.so.5 lzo2.so.2 c.so.6 dl.so.2 \
			pthread.so.0; do
			find "$deb_tree"/lib "$deb_tree"/usr/lib -name "lib$lib" -exec cp -L -- '{}' \
				"$1/lib/x86_64-linux-gnu/" \; 2>/dev/null || :
		done
	done
}

# drive: takes the images that the guest asks for, while it runs.
drive()
{
	local what

	for what in bare idle loaded; do
		until grep -q "^vmcore: take $what" "$work/said"; do
			kill -0 "$vm" 2>/dev/null || return
			sleep 0.2
		done
		"$here/lib/qmp.py" "$work/qmp" dump-guest-memory \
			"{\"paging\": false, \"protocol\": \"file:$work/$what\"}" inject-nmi || return
	done
}

boot()
{
	local vm m modules=() status=0

	gcc -O2 -static -o "$work/kexec_panic" "$here/lib/kexec_panic.c" || return
	capture "$top/scripts/kernel" "$target" vmlinuz
	: >"$work/said"
	for m in kdtl selftests/fake/kdtl_fake_pmu selftests/fake/kdtl_fake_drive \
		core/pmu/kdtl_sched api/answers/kdtl_answers clients/stream/kdtl_stream \
		clients/recorder/kdtl_recorder; do
		modules+=(--modules "$(dirname -- "$ko")/$m.ko")
	done
	start_group "$top/selftests/run/vm" "$target" --cpus 4 --mem 768M --timeout 1500 \
		--append crashkernel=224M --append crash_kexec_post_notifiers --kmod qemu_fw_cfg \
		--qmp "$work/qmp" --log "$work/console" --out "$work/out" \
		"${modules[@]}" --add "$work/tool/kdtl:/bin/" --add "$work/kexec_panic:/bin/" \
		--add "$work/dump:/" --add "$captured:/vmlinuz" --add "$here/lib/vmcore-guest.sh:/" \
		-- sh /vmcore-guest.sh >"$work/said" 2>&1
	vm=$group
	drive || status=$?
	wait_group "$vm" || status=$?
	return "$status"
}

# told STATUS TEXT ARGUMENT...: kdtl-vmcore says TEXT in one line and ends with STATUS.
told()
{
	local want=$1 text=$2 status=0

	shift 2
	vmcore "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
	cat -- "$work/stdout" "$work/stderr"
	[ "$status" -eq "$want" ] && [ "$(wc -l <"$work/stderr")" -eq 1 ] &&
		grep -q -F -e "$text" "$work/stderr"
}

no_debug_info()
{
	strip -g -o "$work/stripped.ko" "$ko" && told 4 stripped -k "$work/stripped.ko" "$work/loaded"
}

# The debug info may be in a file of its own, as a kernel's package has it in /usr/lib/debug.
separate()
{
	objcopy --only-keep-debug "$ko" "$work/kdtl.ko.debug" &&
		vmcore -k "$ko" "$work/loaded" >"$work/whole" &&
		vmcore -k "$work/kdtl.ko.debug" "$work/loaded" >"$work/listed" &&
		tail -n 3 "$work/listed" && diff "$work/whole" "$work/listed"
}

# One object file has all that is needed, whether a kernel has all of its debug info, none, or
# little of it.
one_file()
{
	local option kdir

	capture "$top/scripts/kernel" "$target" kdir
	kdir=$captured
	mkdir -p -- "$work/little" && tar -C "$top" --exclude=./.git -cf - . | tar -C "$work/little" -xf - &&
		vmcore -k "$ko" "$work/loaded" >"$work/whole" || return
	for option in CONFIG_DEBUG_INFO=y CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_REDUCED=y; do
		rm -f -- "$work/little/core/root.o"
		make -s -C "$kdir" M="$work/little" CC=gcc-12 CONFIG_KDTL=m \
			CONFIG_KDTL_COUNTERS=y "$option" core/root.o &&
			vmcore -k "$work/little/core/root.o" "$work/loaded" >"$work/listed" &&
			diff "$work/whole" "$work/listed" || { echo "$option"; return 1; }
	done
}

other_kernel()
{
	sed 's/vermagic=[0-9]*/vermagic=9/' "$ko" >"$work/other.ko" &&
		told 4 "the image is of" -k "$work/other.ko" "$work/loaded"
}

truncated()
{
	local size text

	while read -r size text; do
		head -c $size "$work/loaded" >"$work/short"
		told 1 "$text" -k "$ko" "$work/short" || return
	done <<-END
		1000 $work/short
		3000000 symbols cannot be read
		300000000 is not whole
	END
}

# The lists from the image are those of debugfs. The numbers of the full areas do not change.
sessions()
{
	vmcore -k "$ko" -n 5 "$work/loaded" >"$work/listed" || return
	cat -- "$work/listed" "$work/out/sessions" "$work/out/areas"
	diff <(awk 'NR > 1 { print $1, $2, $3, $4, $(NF - 1), $NF }' "$work/out/sessions") \
		<(awk '$2 == "started" { print $1, $2, $3, $4, $(NF - 1), $NF }' "$work/listed") &&
		diff <(awk -v id="$full" '$1 == id { print $2, $4, $5, $6 }' "$work/out/areas") \
			<(awk -v id="$full" '$1 == id && $2 ~ /^[0-9]+$/ { print $2, $3, $4, $5 }' \
				"$work/listed")
}

# recording ID [IMAGE]: makes a recording of that session of the image.
recording()
{
	vmcore -k "$ko" -n 0 -s "$1" -o "$work/$1.data" "${2:-$work/loaded}" >"$work/listed" &&
		[ ! -s "$work/listed.err" ] && cat -- "$work/listed"
}

full_area()
{
	recording "$full" && python3 "$here/lib/vmcore.py" same "$work/$full.data" "$work/out/full.data" &&
		kdtl why "$work/$full.data" 2>&1 | tee "$work/why" && grep -q lost "$work/why"
}

wrapped_area()
{
	recording 1 && python3 "$here/lib/vmcore.py" same "$work/1.data" "$work/out/all.data" &&
		awk '$1 == 1 && $2 ~ /^[0-9]+$/ && $3 > 2 * $5 { n++ } END { exit n != 4 }' "$work/listed"
}

read_area()
{
	recording 2 && python3 "$here/lib/vmcore.py" same "$work/2.data" "$work/out/all.data" &&
		python3 "$here/lib/vmcore.py" newest "$work/1.data" "$work/2.data"
}

# Names, cgroups and times since boot are those of the machine's own recording.
names()
{
	kdtl print -a "$work/out/all.data" >"$work/all.txt" &&
		kdtl print -a "$work/1.data" >"$work/1.txt" &&
		tail -n 3 "$work/1.txt" &&
		[ "$(grep -c -F /vmcore_web "$work/1.txt")" -gt 10 ] &&
		! grep '^ ' "$work/1.txt" | grep -v -x -F -f "$work/all.txt"
}

# If no session is asked for, kdtl-vmcore takes the log that goes on to the end, and has most.
verbs()
{
	vmcore -k "$ko" -o "$work/it.data" "$work/loaded" >"$work/listed" || return
	cat -- "$work/listed"
	grep -q '^session 2, the newest 20' "$work/listed" &&
		grep -q -E '^[0-9:.]{15} +[0-3] .*web_server \([0-9]+\) +/vmcore_web$' "$work/listed" &&
		kdtl why -n 1000 "$work/it.data" | grep -c 'behind .*batch_job' &&
		kdtl report "$work/it.data" | grep web_server &&
		kdtl export --format csv "$work/it.data" | grep -c web_server
}

# Beside that recording there is one of what was stolen meanwhile.
stolen()
{
	python3 "$here/lib/vmcore.py" same "$work/it.data.steal" "$work/out/steal.data" &&
		[ "$(kdtl print "$work/it.data.steal" | grep -c '^ ')" -ge 200 ]
}

# --- kdump ------------------------------------------------------------------------

# Prints the recorder's table of the panic, as lines "time CPU task:pid". Idle times are no rows.
panic_table()
{
	sed -n 's/^.*kdtl_recorder: //p' "$work/console" | awk '
		/^panic: .*oldest first$/ { on = 1 }
		/: end of table$/ { on = 0 }
		on && /^[0-9]+:[0-9]+:[0-9]+\.[0-9]+ / { print $1, $2, $5 }'
}

kdump_table()
{
	vmcore -k "$ko" -s 1 -n 5000 "$work/out/vmcore" >"$work/listed" || return
	tail -n 60 -- "$work/listed"
	# The table has the last dispatch of each CPU, however old it is, and then the newest ones.
	awk '$1 ~ /^[0-9]+:[0-9]+:[0-9.]+$/ && !/ idle$/ {
		name = substr($0, index($0, $4) + length($4) + 1)
		sub(/^ */, "", name)
		pid = name
		sub(/ \([0-9]+\).*/, "", name)
		gsub(/^[^(]*\(|\).*$/, "", pid)
		row[++nr] = $1 " " $2 " " name ":" pid
		last[$2] = nr
	}
	END {
		for (cpu in last)
			rows += !chosen[last[cpu]]++
		for (i = nr; i > 0 && rows < 40; i--)
			rows += !chosen[i]++
		for (i = 1; i <= nr; i++)
			if (chosen[i])
				print row[i]
	}' "$work/listed" >"$work/dumped"
	panic_table >"$work/printed"
	[ "$(wc -l <"$work/printed")" -eq 40 ] || { cat -- "$work/printed"; return 1; }
	# Times of day may differ a little: each table computes them from its own moment.
	diff <(cut -d ' ' -f 2- "$work/printed") <(cut -d ' ' -f 2- "$work/dumped") &&
		paste -d ' ' "$work/printed" "$work/dumped" | awk '
		function s(t,   p) { split(t, p, ":"); return (p[1] * 60 + p[2]) * 60 + p[3] }
		{ d = s($1) - s($4); if (d > 0.002 || d < -0.002) { print; bad = 1 } }
		END { exit bad }'
}

kdump_filtered()
{
	file_is=$(head -c 8 "$work/out/vmcore")
	echo "$file_is $(stat -c %s "$work/out/vmcore")"
	[ "$file_is" = KDUMP ] || [[ $file_is == KDUMP* ]] || return
	[ "$(stat -c %s "$work/out/vmcore")" -lt 200000000 ]
}

kdump_recording()
{
	recording 1 "$work/out/vmcore" && kdtl why "$work/1.data" && kdtl report "$work/1.data"
}

# --- the layout ---------------------------------------------------------------------

# If this layout changes, the page has to change, and the version that stands there.
layout()
{
	pahole -C "$1" "$2" |
		sed -n 's,^\t\(.*[]a-z0-9_]\)\(;\| __attr.*;\) */\* *\([0-9]*\) *\([0-9]*\) \*/$,\3 \4 \1,p' |
		sed 's/ __attribute.*//; s/  */ /g'
}

documented()
{
	local name

	{
		for name in kdtl_root kdtl_root_clock kdtl_tables kdtl_root_table; do
			echo "struct $name"
			layout "$name" "$ko"
		done
		sed -n 's/^#define KDTL_ROOT_VERSION\t*/version /p' "$top/api/include/linux/kdtl_root.h"
	} >"$work/layout"
	cat -- "$work/layout"
	diff "$work/layout" <(sed -n '/^\.\. begin layout/,/^\.\. end layout/ s/^    //p' \
		"$top/Documentation/vmcore.rst") &&
		grep -q "^MAGIC, VERSION = b\"kdtl_root\", $(sed -n 's/^version //p' "$work/layout")$" \
			"$top/clients/stream/tool/kdtl-vmcore.py"
}

# Recordings that kdtl-vmcore writes have the layout of <linux/kdtl_file.h>.
recordings_layout()
{
	gcc -std=gnu11 -Wall -Werror -I"$top/api/include/uapi" -o "$work/file_layout" \
		"$here/lib/file_layout.c" && "$work/file_layout" >"$work/in-c" &&
		"$top/scripts/drgn" "$here/lib/vmcore.py" layout \
			"$top/clients/stream/tool/kdtl-vmcore.py" >"$work/in-python" &&
		cat -- "$work/in-c" && diff "$work/in-c" "$work/in-python"
}

"$top/scripts/drgn" --get
makedumpfile "$work/dump"
[ "${1:-}" != --prepare ] || exit 0
plan 23
"$top/scripts/install-deps" demo tool check
builds >/dev/null
install -m 755 "$top/clients/stream/tool/kdtl-vmcore.py" "$work/tool/kdtl-vmcore"
capture "$top/scripts/build" "$target"
ko=$captured/kdtl.ko

status=0
boot || status=$?
ok "a machine of which images are taken, and that crashes" [ "$status" -eq 0 ]
[ "$status" -eq 0 ] || tail -n 30 -- "$work/said" | sed 's/^/# /'
full=$(cat -- "$work/out/full.id" 2>/dev/null || echo 3)
ok "the layout is documented" documented
ok "recordings have the layout of the header" recordings_layout
ok "an image without kdtl.ko" told 3 "was not loaded" -k "$ko" "$work/bare"
ok "an image without sessions" told 1 "no session" -k "$ko" "$work/idle"
ok "a truncated image" truncated
ok "a file that is none" told 1 "$0" -k "$ko" "$0"
ok "a kdtl.ko without debug info" no_debug_info
ok "debug info in a file of its own" separate
ok "debug info of a kernel that has all, none, or little" one_file
ok "a kdtl.ko of another kernel" other_kernel
ok "sessions and positions" sessions
ok "a full area" full_area
ok "an area that wrapped" wrapped_area
ok "an area that is read" read_area
ok "names and cgroups" names
ok "the time of day" python3 "$here/lib/vmcore.py" clock "$work/2.data" "$work/out/all.data"
ok "why, report and export read it" verbs
ok "stolen time, beside it" stolen
ok "broken images" "$top/scripts/drgn" "$here/lib/vmcore.py" break "$work/tool/kdtl-vmcore" \
	"$ko" "$work/loaded"
if [ "$target" != x86_64-6.1 ]; then
	for row in filtered table recording; do
		skip "a kdump: $row" "Debian 12's makedumpfile does not know $target"
	done
else
	ok "a kdump, compressed and filtered" kdump_filtered
	ok "what it has is what the recorder printed" kdump_table
	ok "why and report read it" kdump_recording
fi
finish
