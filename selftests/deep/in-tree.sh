#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl in the newest kernel's tree. The series that scripts/patches writes passes checkpatch,
# applies, and builds after each patch, as modules and built in. Its tests run under the kernel's
# own runners, kselftest and kunit.py.
#
# The kernel for kunit.py is built once for each version of the sources, in
# KDTL_CACHE/in-tree/kunit; later builds compile only what has changed.

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/kernel-rules.sh
. "$here/lib/kernel-rules.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/apt.sh
. "$top/scripts/lib/apt.sh"
# shellcheck source-path=SCRIPTDIR source=lib/chroot.sh
. "$here/lib/chroot.sh"

# This kernel has the series' patches to perf.
target=$(kernel_variant aux)
cache=$KDTL_CACHE/in-tree

# The patches apply to the tree's first commit, and give what the tree has.
applies()
{
	local base

	base=$(git -C "$tree" rev-list --max-parents=0 main) &&
		git clone -q "$tree" "$work/clean" && cd -- "$work/clean" &&
		git config user.name test && git config user.email test@localhost &&
		git checkout -q -B clean "$base" && git am -q "${patches[@]}" &&
		git diff --exit-code --stat clean origin/main
}

# get_maintainer.pl finds kdtl's entry for each file that the series adds after the last patch to
# perf.
has_maintainer()
{
	local base

	cd -- "$tree" && base=$(git rev-list -1 --grep='^perf: ' main) && [ -n "$base" ] &&
		git diff --name-only --diff-filter=A "$base" main >"$work/added" || return
	# shellcheck disable=SC2016 # the inner shell's
	nice xargs -P "$(nproc)" -I {} sh -c 'scripts/get_maintainer.pl --nogit \
		--nogit-fallback --subsystem -f "$1" | grep -q "^KDTL " || echo "$1"' - {} \
		<"$work/added" >"$work/orphans"
	cat -- "$work/orphans"
	[ "$(wc -l <"$work/added")" -gt 100 ] && [ ! -s "$work/orphans" ]
}

# Patches that stand alone come first: fixes, which are for stable, and then the features. Of kdtl,
# what the scheduler as a source and the recorder need comes first, and each other part of the core
# and the API before its first user.
in_order()
{
	git -C "$tree" log --reverse --format='%(trailers:key=Cc,valueonly,separator=%x2C) %s' \
		"$(git -C "$tree" rev-list --max-parents=0 main)..main" >"$work/subjects"
	awk '{
		stable = /stable@vger.kernel.org/
		sub(/^[^ ]* ?(# [^ ]* )?/, "")
	}
	stable && /^powerpc\/vpa-dtl: / && step <= 1 { step = 1; next }
	/^perf: / && !/own an AUX area$/ && (step == 1 || step == 2) { step = 2; next }
	/^powerpc\/(vpa-dtl|pseries): / && !stable && (step == 2 || step == 3) { step = 3; next }
	/^perf: Let kernel events own an AUX area$/ && step == 3 { step = 4; next }
	/^kdtl: Log dispatches / && step == 4 { step = 5; next }
	/^kdtl: The scheduler as a source/ && step == 5 { step = 6; next }
	/^kdtl: Who the tasks of entries were/ && step == 6 { step = 7; next }
	/^kdtl: A recorder/ && step == 7 { step = 8; next }
	/^kdtl: Sessions with the AUX data of any PMU$/ && step == 8 { step = 9; next }
	/^powerpc\/pseries: Read .* through kdtl$/ && step == 9 { step = 10; next }
	/^kdtl: Counters, event sets and messages$/ && step == 10 { step = 11; next }
	/^kdtl: A sampler/ && step != 11 { print "no counters yet: " $0; bad = 1 }
	/^(kdtl|selftests: kdtl|tools: kdtl|Documentation: trace): / && step >= 8 { next }
	{ print "out of order: " $0; bad = 1 }
	END { exit bad || step != 11 }' "$work/subjects"
}

# Each patch has somebody to go to, and those to the kernel's own code go to its maintainers.
goes_to()
{
	local patch

	for patch in "${patches[@]}"; do
		awk -v patch="${patch##*/}" '/^[^\t]/ { this = $0 == patch; seen += this; next }
			this && /@/ { n++ }
			this && patch ~ /-powerpc-/ && /linuxppc-dev@/ { own = 1 }
			this && patch ~ /-perf-/ && /PERFORMANCE EVENTS SUBSYSTEM/ { own = 1 }
			END { exit !n || seen != 1 || patch ~ /-(powerpc|perf)-/ && !own }' \
			"$series/maintainers" || { echo "${patch##*/}: to nobody"; return 1; }
	done
}

# The cover letter's figures are those of the benchmarks.
cover()
{
	local letter=$series/patches/0000-cover-letter.patch name words figure

	! grep '\*\*\*' "$letter" || return
	while read -r name words; do
		figure=$(awk -v name="$name" '$1 == name { printf "%.0f", $2 }' \
			"$top/Documentation/performance/results.tsv")
		grep -E "^  $words +$figure\$" "$letter" || { echo "no $name"; return 1; }
	done <<-'END'
	dispatch.kdtl_sched.1 kdtl, one session
	dispatch.bpf_ringbuf a BPF program and its ring buffer
	dispatch.perf perf record -e sched:sched_switch
	consume.kdtl kdtl, in place
	END
}

# The options of kdtl to build with.
parts=('' _SCHED _RECORDER _SAMPLER _STREAM _TRACE _WATCH _KUNIT_TEST)

# configure DIR VALUE: configures a small kernel with these options set to VALUE.
configure()
{
	local dir=$1 value=$2

	mkdir -p -- "$dir"
	printf '%s\n' CONFIG_SMP=y CONFIG_64BIT=y CONFIG_MODULES=y CONFIG_PERF_EVENTS=y \
		CONFIG_DEBUG_FS=y CONFIG_FTRACE=y CONFIG_ENABLE_DEFAULT_TRACERS=y \
		CONFIG_HIGH_RES_TIMERS=y CONFIG_PRINTK=y CONFIG_MMU=y CONFIG_WERROR=y \
		CONFIG_KUNIT="$value" >"$dir/kdtl.config" || return
	printf 'CONFIG_KDTL%s\n' "${parts[@]/%/=$value}" >>"$dir/kdtl.config" || return
	[ "$value" = y ] ||
		printf '%s\n' CONFIG_MODULE_UNLOAD=y CONFIG_KDTL_{EXAMPLES,SELFTESTS}=m \
			>>"$dir/kdtl.config"
	kmake O="$dir" KCONFIG_ALLCONFIG="$dir/kdtl.config" allnoconfig &&
		! grep '^CONFIG_KDTL' "$dir/kdtl.config" | grep -v -x -F -f "$dir/.config"
}

kmake()
{
	nice make -C "$tree" "${make_args[@]}" HOSTCC=gcc-12 -j"$(nproc)" "$@"
}

# builds DIR VALUE OBJECT: it builds without a warning. OBJECT has a function of the API, and the
# answers, which are built for those that select them, have one of theirs.
builds()
{
	configure "$1" "$2" && kmake O="$1" prepare || return
	kmake O="$1" W=1 drivers/kdtl/ >"$work/log" 2>&1 || {
		tail -n 20 "$work/log"
		return 1
	}
	! grep -E -A 3 'warning:|WARNING' "$work/log" &&
		nm "$1/drivers/kdtl/$3" | grep ' T __kdtl_session_create$' &&
		nm "$1/drivers/kdtl/api/answers/task.o" | grep ' T __kdtl_tasks_open$'
}

# For clients that do not need them, it builds without counters, event sets and messages.
uncounted()
{
	local parts=('' _SCHED _RECORDER _TRACE)

	builds "$cache/uncounted" y built-in.a &&
		! grep '^CONFIG_KDTL_COUNTERS=' "$cache/uncounted/.config"
}

# After each patch, the parts of kdtl and perf that are there build without a warning. The patches
# to POWER are built by vpa-fixes.sh.
each_builds()
{
	local commit dir=$cache/each rc=0

	mkdir -p -- "$dir"
	printf '%s\n' CONFIG_SMP=y CONFIG_64BIT=y CONFIG_MODULES=y CONFIG_PERF_EVENTS=y \
		CONFIG_DEBUG_FS=y CONFIG_FTRACE=y CONFIG_ENABLE_DEFAULT_TRACERS=y \
		CONFIG_HIGH_RES_TIMERS=y CONFIG_PRINTK=y CONFIG_MMU=y CONFIG_WERROR=y CONFIG_CGROUPS=y \
		CONFIG_KUNIT=y CONFIG_RUNTIME_TESTING_MENU=y CONFIG_PERF_AUX_KUNIT_TEST=y \
		CONFIG_KDTL{,_COUNTERS,_SCHED,_STEAL,_RECORDER,_SAMPLER,_STREAM,_TRACE,_WATCH}=y \
		CONFIG_KDTL_KUNIT_TEST=y >"$dir/kdtl.config" || return
	for commit in $(git -C "$tree" rev-list --reverse \
		"$(git -C "$tree" rev-list --max-parents=0 main)..main"); do
		git -C "$tree" log -1 --format='--- %s' "$commit"
		git -C "$tree" checkout -q "$commit" && each_build "$dir" || {
			rc=1
			break
		}
	done
	git -C "$tree" checkout -q main && return "$rc"
}

each_build()
{
	local targets=kernel/events/

	[ ! -d "$tree/drivers/kdtl" ] || targets+=" drivers/kdtl/"
	# shellcheck disable=SC2086 # several words
	{
		kmake -s O="$1" KCONFIG_ALLCONFIG="$1/kdtl.config" allnoconfig &&
			kmake -s O="$1" prepare && kmake -s O="$1" W=1 $targets
	} >"$work/log" 2>&1 || { tail -n 20 "$work/log"; return 1; }
	! grep -E -A 3 'warning:|WARNING' "$work/log"
}

# Builds the kernel, with the patches to perf, and the modules from the tree.
modules_from_tree()
{
	mkdir -p -- "$work/modules"
	kmake O="$kdir" M="$tree/drivers/kdtl" MO="$work/modules" W=1 \
		CONFIG_KDTL_COUNTERS=y KCFLAGS=-DCONFIG_KDTL_COUNTERS=1 \
		CONFIG_KDTL{,_ANSWERS,_SCHED,_RECORDER,_SAMPLER,_STREAM,_WATCH,_SELFTESTS}=m modules
}

# Installs the tests and kdtl(1), which they call.
installed()
{
	# Take the headers that `make headers` makes and Debian's own headers lack.
	mkdir -p -- "$work/built" "$work/uapi/linux" &&
		cp -- "$tree"/include/uapi/linux/kdtl*.h "$work/uapi/linux" || return
	nice make -C "$tree/tools/testing/selftests" TARGETS=kdtl CC=gcc-12 \
		KHDR_INCLUDES="-isystem $work/uapi" FORCE_TARGETS=1 \
		OUTPUT="$work/built" INSTALL_PATH="$work/kselftest" install &&
		[ -x "$work/kselftest/run_kselftest.sh" ] &&
		[ -x "$work/kselftest/kdtl/kapi.sh" ] && [ -x "$work/kselftest/kdtl/stream_test" ] &&
		[ -x "$work/kselftest/kdtl/kdtl" ]
}

# Makes a Debian that has only the commands that the tests call, and what kselftest installs.
debian()
{
	chroot_base && mkdir -- "$work/debian" && chroot_new "$work/debian" &&
		chroot_install "$work/debian" kmod procps udev bsdextrautils || return
	rm -rf -- "$work/debian"/usr/share/{doc,locale,man} "$work/debian"/var/{cache,lib/apt}
	cp -a -- "$work/kselftest" "$work/debian/kselftest"
}

# All tests pass on Debian's own kernel. The runner prints "ok N selftests: kdtl: kapi.sh", or "not
# ok".
kselftest()
{
	local all newest

	newest=$(kernel_newest)
	capture "$top/scripts/build" "$newest"
	"$top/selftests/run/vm" "$newest" --cpus 4 --mem 3G --timeout 7200 --quiet \
		--log "$cache/kselftest.console" --out "$work/out" \
		--modules "$captured" --add "$work/debian:/debian" \
		--add "$here/lib/kselftest-guest.sh:/" -- sh /kselftest-guest.sh
	grep -E -e '^(not )?ok ' -e '^# (not ok|1\.\.0)' "$work/out/kselftest"
	all=$(wc -l <"$work/kselftest/kselftest-list.txt")
	[ "$all" -gt 40 ] && ! grep -q '^not ok ' "$work/out/kselftest" &&
		[ "$(grep -c '^ok .*selftests: kdtl: ' "$work/out/kselftest")" -eq "$all" ]
}

# Only tests that need another machine are skipped: POWER, a guest of a hypervisor, a patched perf.
few_skipped()
{
	grep '^ok .*selftests: kdtl: .*# SKIP' "$work/out/kselftest"
	[ "$(grep -c '^ok .*selftests: kdtl: .*# SKIP' "$work/out/kselftest")" -le 12 ]
}

kunit_py()
{
	local config=(--kconfig_add CONFIG_EXPERT=y)

	# Switch off what a kernel for tests alone does not need.
	for option in NET PCI USB_SUPPORT BLOCK SUSPEND IOMMU_SUPPORT INPUT RTC_CLASS HWMON \
		VIRTUALIZATION SECURITY CRYPTO CPU_MITIGATIONS VT; do
		config+=(--kconfig_add "CONFIG_$option=n")
	done
	# kunit.py works in the tree that it lies in, after resolving links.
	cp -rL -- "$tree/tools/testing/kunit" "$work/kunit.d" &&
		rm -r -- "$tree/tools/testing/kunit" &&
		mv -- "$work/kunit.d" "$tree/tools/testing/kunit" || return
	(cd -- "$tree" && PATH=$here/lib/tcg:$PATH nice tools/testing/kunit/kunit.py run \
		--arch x86_64 --qemu_args '-smp 2' --jobs "$(nproc)" --timeout 1800 \
		--kunitconfig=drivers/kdtl/tests/kunit --build_dir="$cache/kunit" \
		--make_options CC=gcc-12 --make_options HOSTCC=gcc-12 "${config[@]}") \
		>"$work/kunit" 2>&1 || { tail -n 40 "$work/kunit"; return 1; }
	grep 'Testing complete' "$work/kunit"
	grep -q 'kdtl_session' "$work/kunit" && grep -q 'kdtl_sched' "$work/kunit"
}

"$top/scripts/install-deps" in-tree chroot
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-in-tree.XXXXXX")
partial "$work"
mkdir -p -- "$cache"
with_lock in-tree
series=$cache/series
tree=$series/linux
kernel_make_args "$target"
capture "$top/scripts/kernel" "$target" kdir
# shellcheck disable=SC2154 # set by capture
kdir=$captured
patches=()
plan 18
ok "the series is written" "$top/scripts/patches" "$series"
# Take all patches but the cover letter.
patches=("$series"/patches/00*.patch)
patches=("${patches[@]:1}")
ok "checkpatch --strict finds nothing in it" \
	"$top/scripts/checkpatch" --patches "${patches[@]}"
ok "the kernel's own semantic patches find nothing, in its tests neither" \
	kernel_rules "$(newest_source)" api core clients selftests
ok "fixes come first, then AUX for kernel events, then kdtl" in_order
ok "the cover letter has the measured figures" cover
ok "get_maintainer.pl knows each file's maintainer" has_maintainer
ok "each patch has somebody to be sent to" goes_to
ok "it applies to a clean tree, with git am" applies
ok "it builds after each patch (W=1)" each_builds
ok "it builds as modules (W=1)" builds "$cache/m" m kdtl.o
ok "it builds built in (W=1)" builds "$cache/y" y built-in.a
ok "it builds without counters (W=1)" uncounted
ok "its modules build for a kernel with its patches to perf" modules_from_tree
ok "make -C tools/testing/selftests TARGETS=kdtl install" installed
ok "a Debian for them" debian
ok "run_kselftest.sh: all of them, with Debian's commands, on Debian's kernel" kselftest
ok "not more than a quarter is skipped" few_skipped
if [ "${KDTL_QUICK:-0}" = 1 ]; then
	skip "kunit.py run" "builds a kernel"
else
	ok "kunit.py run" kunit_py
fi
finish
