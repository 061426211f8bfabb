# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# KVM or TCG? A /dev/kvm proves nothing, because on some machines a guest hangs under it. So a small
# guest has to come up first; the verdict holds until the host is booted again. Needs common.sh and
# initramfs.sh.

# choose_accel TARGET VMLINUZ: sets $accel to kvm or tcg.
choose_accel()
{
	local target=$1 kernel=$2 verdict

	accel=${KDTL_ACCEL:-tcg}
	[ -z "${KDTL_ACCEL:-}" ] || return 0
	[[ $target == x86_64-* && $(uname -m) == x86_64 ]] || return 0
	[ -r /dev/kvm ] && [ -w /dev/kvm ] || return 0

	verdict=$KDTL_CACHE/accel/$(uname -r)-$(cat \
		/proc/sys/kernel/random/boot_id)
	# Do one probe at a time: a guest beside others may seem to hang.
	if [ ! -e "$verdict" ]; then
		with_lock accel
		[ -e "$verdict" ] || _probe_accel "$target" "$kernel" "$verdict"
		unlock
	fi
	accel=$(cat -- "$verdict")
}

# _probe_accel TARGET VMLINUZ FILE: writes the verdict to FILE.
_probe_accel()
{
	local target=$1 kernel=$2 verdict=$3 root

	new_dir "$KDTL_CACHE/accel/probe"
	root=$new_dir
	mkdir -- "$root/root"
	cat >"$root/root/init" <<-'END'
	#!/bin/busybox sh
	/bin/busybox echo kdtl-vm: alive
	/bin/busybox poweroff -f
	END
	chmod +x "$root/root/init"
	initramfs_base "$(kernel_deb_arch "$target")"
	{
		cat -- "$initramfs_base"
		initramfs_pack "$root/root"
	} >"$root/initrd"
	step "does a guest come up under KVM?" \
		_kvm_probe "$kernel" "$root"
	[ "$(cat -- "$root/verdict")" = no ] || accel=kvm
	say "$accel it is, until this machine is booted again"
	echo "$accel" >"$verdict.$$"
	mv -- "$verdict.$$" "$verdict"
	rm -rf -- "$root"
	finished "$root"
}

_kvm_probe()
{
	local kernel=$1 dir=$2

	machine x86_64-probe kvm 2 512M false
	timeout --foreground 10 "${qemu[@]}" \
		-kernel "$kernel" -initrd "$dir/initrd" \
		-append "$cmdline" -serial "file:$dir/console" || :
	if grep -q -a 'kdtl-vm: alive' "$dir/console"; then
		echo yes
	else
		echo no
	fi >"$dir/verdict"
}
