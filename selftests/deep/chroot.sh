#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the README's commands on a machine that has nothing but a Debian base image and what the
# README asks for. Prints all their messages with times, and how long it took until the first
# table. Then come make demo for the other architectures, and make check-quick, or what
# KDTL_CHROOT_CHECK says: full, none, or the names of tests.
#
#   KDTL_ARCHES  run make demo ARCH= for these only
#
# shellcheck disable=SC2154,SC2317 # set by libraries; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/apt.sh
. "$top/scripts/lib/apt.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/chroot.sh
. "$here/lib/chroot.sh"

reason=$(chroot_possible) || skip_all "$reason"
"$top/scripts/install-deps" chroot

# readme_commands: prints the lines of the README's first block of commands, changed to clone this
# repository.
readme_commands()
{
	awk '/^## Two commands/ { on = 1 }
	on && /^    / { sub(/^ */, ""); print; found = 1; next }
	found && /^[^ ]/ { exit }' "$top/README.md" |
		sed 's|<this repository>|/kdtl.git|'
}

# timed LOG: shows the input and keeps it in LOG, with the seconds since the start.
timed()
{
	local line start=$SECONDS

	while IFS= read -r line; do
		printf '# [%4d s] %s\n' $((SECONDS - start)) "$line"
	done | tee -- "$1" >&"$say_fd"
}

# in_clone LOG COMMAND: runs it in the clone; its messages go to LOG.
in_clone()
{
	chroot_run "$root" sh -c "cd /root && $2" </dev/null 2>&1 | timed "$1"
}

two_commands()
{
	local commands

	commands=$(readme_commands | grep -v '^apt-get ')
	[ "$(wc -l <<<"$commands")" -eq 2 ] || {
		echo "the README has no two commands: $commands"
		return 1
	}
	in_clone "$work/demo" "${commands//$'\n'/ && }" && has_table x86_64
}

# has_table MACHINE: make demo has printed the machine's table and its own last line.
has_table()
{
	grep -q ' CPU  dispatches' "$work/demo" &&
		grep -q "demo: arch=$1 .* lost=0\( .*\)\{0,1\}\$" "$work/demo"
}

# other_demo ARCH MACHINE: runs make demo for it.
other_demo()
{
	in_clone "$work/demo" "cd kdtl && make demo ARCH=$1" && has_table "$2"
}

# check COMMAND: it must succeed.
check()
{
	in_clone "$work/check" "cd kdtl && $1" || return
	grep -E '[0-9]+ passed, 0 failed' "$work/check"
}

work=$(mktemp -d "${TMPDIR:-/var/tmp}/kdtl-chroot.XXXXXX")
partial "$work"
root=$work/root
mkdir -- "$root"
chroot_base
step "unpack it" chroot_new "$root"
chroot_repository "$root"
# Install what the README asks for.
mapfile -t begin < <(readme_commands | sed -n 's/^apt-get install //p' | tr ' ' '\n')
step "install ${begin[*]}" chroot_install "$root" "${begin[@]}"
# An image has no lists of packages.
rm -rf -- "$root"/var/lib/apt/lists/*

arches=${KDTL_ARCHES-powerpc arm64 s390 riscv arm i386}
plan $((2 + $(wc -w <<<"$arches")))
ok "the README's two commands" two_commands
note_ktap "the first table: $(sed -n 's/^# \[ *\([0-9]* s\)\]  CPU  dispatches.*/\1/p' "$work/demo" | head -n 1)" \
	"after the first command, with $(grep -c '==> ' "$work/demo") messages before"
for arch in $arches; do
	case $arch in
	powerpc) machine=ppc64le ;;
	arm64) machine=aarch64 ;;
	s390) machine=s390x ;;
	riscv) machine=riscv64 ;;
	arm) machine=armv7l ;;
	i386) machine=i686 ;;
	*) die "KDTL_ARCHES: no $arch" ;;
	esac
	start=$SECONDS
	ok "make demo ARCH=$arch" other_demo "$arch" "$machine"
	note_ktap "make demo ARCH=$arch took $((SECONDS - start)) s"
done
case ${KDTL_CHROOT_CHECK:-quick} in
quick) ok "make check-quick" check "make check-quick" ;;
full) ok "make check" check "make check" ;;
none) skip "make check-quick" "not asked for" ;;
*) ok "selftests/check $KDTL_CHROOT_CHECK" check "selftests/check $KDTL_CHROOT_CHECK" ;;
esac
finish
