#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make install puts what a client needs where client.mk finds it; make uninstall
# removes that, and nothing else.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/block.sh
. "$here/lib/block.sh"

# in_copy ARGUMENT...: run make, in a copy of this checkout.
in_copy()
{
	make -s -C "$work/kdtl" KDIR="$kdir" CC=gcc-12 DESTDIR="$work/root" PREFIX=/usr "$@"
}

# tree: lists all installed files, and their content.
tree()
{
	(cd -- "$work/root" && find . -printf '%y %P %l\n' && find . -type f \
		-exec sha256sum {} +) | sort
}

# The modules are those that scripts/build has made. DKMS shows in selftests/deep/package.sh that
# make alone also makes them.
builds()
{
	tar -C "$top" --exclude=./.git --exclude='*.o' --exclude='*.ko' --exclude='*.cmd' \
		--exclude='*.mod' --exclude='*.mod.c' --exclude='*.a' \
		--exclude=modules.order -cf - . | tar -C "$work/kdtl" -xf - &&
		sed -n "/\/selftests\/\|\/examples\//!s|^$built/|$work/kdtl/|p" "$built/modules.order" \
			>"$work/kdtl/modules.order" &&
		sed "s|^$work/kdtl/||" "$work/kdtl/modules.order" |
		tar -C "$built" -cf - -T - Module.symvers | tar -C "$work/kdtl" -xf - &&
		in_copy tool
}

installs()
{
	local modules=$work/root/lib/modules/$release/extra/kdtl f

	in_copy install || return
	for f in kdtl api/answers/kdtl_answers core/pmu/kdtl_irq core/pmu/kdtl_sched \
		core/pmu/kdtl_steal core/pmu/kdtl_wake \
		clients/sampler/kdtl_sampler clients/recorder/kdtl_recorder \
		clients/stream/kdtl_stream clients/trace/kdtl_trace clients/watch/kdtl_watch; do
		test -e "$modules/$f.ko" || return
	done
	# kdtl-vmcore needs it.
	readelf -W -S "$modules/kdtl.ko" | grep -F ' .debug_info ' &&
		test -e "$modules/Module.symvers" && test -x "$work/root/usr/bin/kdtl" &&
		test -e "$work/root/usr/share/man/man1/kdtl.1" &&
		test -e "$work/root/usr/lib/systemd/system/kdtl-metrics.timer" &&
		test -e "$work/root/usr/share/kdtl/kdtl.rules.yml" &&
		test -e "$work/root/usr/share/man/man9/kdtl_aux_peek.9"
}

# DKMS needs the names of all modules.
dkms_modules()
{
	env -i PATH="$PATH" bash -c '. "$1"; for i in "${!BUILT_MODULE_NAME[@]}"; do
		echo "${BUILT_MODULE_LOCATION[i]}/${BUILT_MODULE_NAME[i]}"
	done' dkms_modules "$top/dkms.conf" | sed 's|^\./||' | sort
}

in_dkms()
{
	diff <(dkms_modules) <(sed -e "s#^$work/kdtl/##" -e 's/\.k\{0,1\}o$//' \
		"$work/kdtl/modules.order" | sort)
}

# The source has the aliases that kdtl_session_create() asks modprobe for.
has_aliases()
{
	local source=$work/root/lib/modules/$release/extra/kdtl/core/pmu/kdtl_sched.ko alias

	for alias in kdtl-pmu kdtl-pmu-kdtl_sched; do
		tr '\0' '\n' <"$source" | grep -a -x "alias=$alias" || return
	done
}

# modprobe -r of a client must not try to remove a source that another one uses.
keeps_sources()
{
	local client

	for client in clients/{sampler/kdtl_sampler,watch/kdtl_watch,stream/kdtl_stream}; do
		tr '\0' '\n' <"$work/root/lib/modules/$release/extra/kdtl/$client.ko" |
			grep -a -E '^(softdep|weakdep)=' >"$work/deps"
		grep -x -E 'weakdep=kdtl_sched kdtl_vpa kdtl_steal( kdtl_irq kdtl_wake)?' "$work/deps" &&
			! grep softdep "$work/deps" || return
	done
}

# without_kmod COMMAND...: runs the command as if there were no depmod.
without_kmod()
{
	local depmod

	depmod=$(PATH=$PATH:/usr/sbin:/sbin command -v depmod) || {
		"$@"
		return
	}
	# shellcheck disable=SC2016 # for the inner shell
	unshare --map-root-user --mount sh -c 'mount --bind /dev/null "$0" && exec "$@"' \
		"$(readlink -f -- "$depmod")" "$@"
}

# Without depmod nothing is changed, and the message names the package.
needs_kmod()
{
	local image=$work/image action
	local install=(make -s -C "$work/kdtl" KDIR="$kdir" CC=gcc-12 PREFIX="$image/usr"
		INSTALL_MOD_PATH="$image")

	# Without modules.order in the image, depmod is not needed.
	"${install[@]}" install && : >"$image/lib/modules/$release/modules.order" || return
	(cd -- "$image" && find . -type f | sort) >"$work/files"
	rm -- "$image/usr/bin/kdtl"
	for action in install uninstall; do
		! without_kmod "${install[@]}" "$action" 2>"$work/log" &&
			grep 'install the package kmod' "$work/log" || { cat "$work/log"; return 1; }
		(cd -- "$image" && find . -type f | sort) >"$work/files.now"
		diff <(grep -v -x ./usr/bin/kdtl "$work/files") "$work/files.now" || return
	done
}

# If the kernel's headers are missing, make's error names their package.
names_headers()
{
	local target

	for target in modules install; do
		! make -s -C "$work/kdtl" KDIR=/nowhere DESTDIR="$work/root" "$target" \
			2>"$work/log" || return
		grep "apt install linux-headers-$(uname -r)" "$work/log" &&
			grep 'KDIR=/nowhere' "$work/log" || { cat "$work/log"; return 1; }
	done
}

no_tests()
{
	! find "$work/root" ! -path '*/share/doc/*' | grep -E 'test|hog|bench|crash'
}

# client_builds ROOT PREFIX ARGUMENT...: a client builds with what is installed below ROOT, and
# with nothing else, because client.mk knows where it is.
client_builds()
{
	local root=$1 prefix=$2

	shift 2
	rm -rf -- "$work/client"
	mkdir -- "$work/client" && block longest.c >"$work/client/longest.c" &&
		printf 'obj-m := longest.o\ninclude %s\n$(info from $(kdtl-symvers))\n' \
			"$root$prefix/src/kdtl/client.mk" >"$work/client/Kbuild" &&
		make -C "$kdir" M="$work/client" CC=gcc-12 "$@" \
			modules >"$work/client/log" 2>&1 &&
		! grep -E 'warning|WARNING' "$work/client/log" &&
		grep "^from $root/" "$work/client/log" || {
		cat -- "$work/client/log"
		return 1
	}
}

# make install takes all its variables at once.
all_variables()
{
	local dirs=(DESTDIR="$work/other" PREFIX=/opt/kdtl INSTALL_MOD_PATH=/image)

	in_copy install "${dirs[@]}" &&
		client_builds "$work/other" /opt/kdtl INSTALL_MOD_PATH=/image &&
		in_copy uninstall "${dirs[@]}" && ! find "$work/other" -type f | grep .
}

client_needs_kdtl()
{
	local place

	! make -C "$kdir" M="$work/client" CC=gcc-12 INSTALL_MOD_PATH=/nowhere \
		modules >"$work/client/log" 2>&1 || return
	grep "kdtl is not installed for $release" "$work/client/log" || return
	for place in "$work/root"{/nowhere/lib/modules/"$release"/extra/kdtl,"/var/lib/dkms/kdtl/kernel-$release-*"} \
		"/nowhere/lib/modules/$release/extra/kdtl" "/var/lib/dkms/kdtl/kernel-$release-*"; do
		grep -q -F "    $place" "$work/client/log" || { echo "not in $place?"; return 1; }
	done
	grep "dkms install kdtl/VERSION -k $release" "$work/client/log"
}

header_for_programs()
{
	echo '#include <linux/kdtl.h>
	int main(void) { return sizeof(struct kdtl_entry) != 48; }' >"$work/user.c" &&
		gcc-12 -Wall -Werror -I "$work/root/usr/include" -o "$work/user" \
			"$work/user.c" && "$work/user"
}

# After a second make install no file is listed twice, and none is missing.
again()
{
	local lists=$work/root/usr/share/kdtl

	cp -- "$lists/installed-$release" "$work/list" && in_copy install &&
		cmp "$work/list" "$lists/installed-$release"
}

# Files that two kernels share go with the last of them.
another_kernel()
{
	local lists=$work/root/usr/share/kdtl

	sed "s/$release/9.9.9-other/" "$lists/installed-$release" \
		>"$lists/installed-9.9.9-other" &&
		in_copy uninstall && test -x "$work/root/usr/bin/kdtl" &&
		test ! -e "$work/root/lib/modules/$release/extra/kdtl/kdtl.ko" &&
		in_copy install && rm -- "$lists/installed-9.9.9-other"
}

uninstalls()
{
	in_copy uninstall && tree >"$work/after" && diff "$work/before" "$work/after"
}

refuses_tests()
{
	# This is how make CONFIG_KDTL_SELFTESTS=m leaves the file, without taking that long.
	echo "$work/kdtl/selftests/kunit/kdtl_kunit_kapi.ko" >>"$work/kdtl/modules.order"
	! in_copy install 2>"$work/log" && grep 'not to be installed' "$work/log" &&
		tree >"$work/after" && diff "$work/before" "$work/after"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-install.XXXXXX")
partial "$work"
"$top/scripts/install-deps" build
capture "$top/scripts/kernel" x86_64-6.1 kdir
kdir=$captured
capture "$top/scripts/kernel" x86_64-6.1 version
release=$captured
capture "$top/scripts/build" x86_64-6.1
built=$captured
# These are other people's files, one of them where kdtl's go.
mkdir -p -- "$work/kdtl" "$work/root/usr/bin" "$work/root/lib/modules/$release/extra/kdtl"
echo theirs >"$work/root/usr/bin/theirs"
echo theirs >"$work/root/lib/modules/$release/extra/kdtl/theirs.ko"
tree >"$work/before"

plan 17
ok "make tool builds what is installed, beside the modules" builds
ok "make install" installs
ok "the source has the aliases by which modprobe finds it" has_aliases
ok "without the tests" no_tests
ok "removing a client leaves its source to others" keeps_sources
ok "without kmod nothing is changed" needs_kmod
ok "without headers it names their package" names_headers
ok "DKMS builds the same modules" in_dkms
ok "a client builds against it, with client.mk" client_builds "$work/root" /usr
ok "the same with INSTALL_MOD_PATH as well" client_builds "$work/root" /usr \
	INSTALL_MOD_PATH="$work/root"
ok "and says where it has looked if it is not there" client_needs_kdtl
ok "the same with all variables of make install" all_variables
ok "a program finds the header for user space" header_for_programs
ok "installing again changes nothing" again
ok "what two kernels share stays until the second goes" another_kernel
ok "make uninstall leaves what was there before, and nothing else" uninstalls
ok "modules of the tests are refused" refuses_tests
finish
