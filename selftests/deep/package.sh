#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the ways to install kdtl on a plain Debian, in a chroot with Debian's own kernel headers:
# DKMS from the sources, and then the Debian packages, which are built there from the tarball of a
# release. If something is unreleased, the release is made in a clone. At the end the packages
# upgrade those of 0.1.0. The modules that DKMS builds are loaded in a virtual machine, together
# with a client that is built against the installed packages.
#
# And scripts/package builds the tool's package for other architectures on this machine; each must
# have the same files, and say the same of a recording.
#
#   KDTL_SUITE  bookworm, or sid with its own kernel
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
# shellcheck source-path=SCRIPTDIR source=../host/lib/block.sh
. "$top/selftests/host/lib/block.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/readers.sh
. "$top/selftests/host/lib/readers.sh"
# shellcheck source-path=SCRIPTDIR source=lib/chroot.sh
. "$here/lib/chroot.sh"

reason=$(chroot_possible) || skip_all "$reason"
[ "$(dpkg --print-architecture)" = amd64 ] || skip_all "amd64 only"
"$top/scripts/install-deps" chroot demo

modules='kdtl kdtl_answers kdtl_irq kdtl_sched kdtl_steal kdtl_recorder kdtl_sampler kdtl_stream
	kdtl_trace kdtl_wake kdtl_watch'

# inside COMMAND: runs a line of shell in the chroot.
inside()
{
	chroot_run "$root" env V="$version" R="$release" DEBIAN_FRONTEND=noninteractive \
		sh -e -c "cd /root; $1" </dev/null
}

# all_there: each module is there, signed, and so is what clients need.
all_there()
{
	local m dir=$root/lib/modules/$release/updates/dkms

	for m in $modules; do
		[ -e "$dir/$m.ko" ] || { echo "no $m.ko"; return 1; }
		grep -q -a 'Module signature appended' "$dir/$m.ko" || {
			echo "$m.ko is not signed"
			return 1
		}
	done
	[ "$(find "$dir" -name '*.ko' | wc -l)" -eq "$(wc -w <<<"$modules")" ] &&
		grep -q kdtl_session_create \
			"$root/var/lib/dkms/kdtl/kernel-$release-x86_64/Module.symvers"
}

none_there()
{
	! find "$root"/lib/modules "$root"/usr/src "$root"/var/lib/dkms \
		"$root"/usr/bin "$root"/usr/include "$root"/usr/share/man \
		-name '*kdtl*' | grep .
}

dkms_by_hand()
{
	inside 'tar -xf /kdtl-$V.tar.xz; make -s -C kdtl-$V install-dkms
		dkms add kdtl/$V; dkms build kdtl/$V -k $R || {
			cat /var/lib/dkms/kdtl/$V/build/make.log; exit 1; }
		dkms install kdtl/$V -k $R; dkms status' && all_there
}

dkms_goes()
{
	inside 'dkms remove kdtl/$V --all; rm -r /usr/src/kdtl-$V' && none_there
}

# For a kernel outside the range DKMS must not even try.
dkms_range()
{
	inside 'rc=0
	cp -r /lib/modules/$R /lib/modules/5.10.0-1-amd64
	dkms build kdtl/$V -k 5.10.0-1-amd64 >/tmp/log 2>&1 || rc=$?
	rm -r /lib/modules/5.10.0-1-amd64
	cat /tmp/log
	[ $rc -ne 0 ]; grep -q BUILD_EXCLUSIVE /tmp/log'
}

packages_build()
{
	inside 'rm -rf kdtl-$V; tar -xf /kdtl-$V.tar.xz; cd kdtl-$V
		dpkg-buildpackage -us -uc' &&
		ls "$root"/root/kdtl{,-dev,-dkms}_"$version"_a*.deb
}

# sid's lintian objects to what bookworm needs, and wants a newer standard than bookworm knows.
lintian_clean()
{
	local more=,info,pedantic

	[ "$chroot_suite" = bookworm ] || more=
	inside "lintian --allow-root --info --display-info --pedantic \
		--fail-on error,warning$more kdtl_\${V}_amd64.changes"
}

packages_install()
{
	inside 'apt-get -q -y install --no-install-recommends \
		./kdtl_${V}_amd64.deb ./kdtl-dev_${V}_all.deb ./kdtl-dkms_${V}_all.deb
		kdtl --help >/dev/null; dkms status' && all_there &&
		[ -e "$root/usr/share/man/man9/kdtl_aux_peek.9.gz" ] &&
		[ -e "$root/usr/lib/systemd/system/kdtl-metrics.timer" ] &&
		! find "$root/etc/systemd" -name 'kdtl*' | grep .
}

client_builds()
{
	mkdir -p -- "$root/root/client"
	block longest.c >"$root/root/client/longest.c"
	printf 'obj-m := longest.o\ninclude /usr/src/kdtl/client.mk\n' \
		>"$root/root/client/Kbuild"
	inside 'make -C /lib/modules/$R/build M=/root/client modules >log 2>&1 || {
			cat log; exit 1; }
		! grep -i warning log
		printf "#include <linux/kdtl.h>\nint main(void) { return sizeof(struct kdtl_entry) != 48; }\n" >u.c
		cc -Wall -Werror -o u u.c; ./u'
}

# Build the examples as Documentation/examples.rst says.
examples_build()
{
	inside 'cp -r /usr/share/doc/kdtl/examples . && cd examples
		echo "include /usr/src/kdtl/client.mk" >>Kbuild
		make -C /lib/modules/$R/build M=$PWD CONFIG_KDTL_EXAMPLES=m modules >log 2>&1 || {
			cat log; exit 1; }
		! grep -i warning log' || return
	set -- "$root"/root/examples/*.ko
	[ "$#" -eq "$(grep -c '^kdtl_.*-y :=' "$top/clients/examples/Kbuild")" ] || {
		echo "built: ${*##*/}"
		return 1
	}
}

# The modules load, in the order that depmod found, and the client prints twice. Then the machine
# waits until an image of its memory has been taken.
they_run()
{
	local order vm status=0

	# depmod is run here, as a kernel's own package does; sid's DKMS does so only for such a
	# kernel.
	order=$(inside 'depmod $R; modprobe -a -n -v -S $R kdtl_sched kdtl_irq kdtl_steal kdtl_wake kdtl_recorder \
			kdtl_sampler kdtl_stream kdtl_trace kdtl_watch' | sed -n 's|^insmod .*/||p' | awk '!seen[$1]++')
	[ "$(wc -l <<<"$order")" -eq "$(wc -w <<<"$modules")" ] || {
		echo "modprobe would load: $order"
		return 1
	}
	order=${order//$'\n'/ }
	: >"$work/console"
	start_group "$top/selftests/run/vm" $kernel --quiet --timeout 300 --mem 512M \
		--modules "$root/lib/modules/$release/updates/dkms" \
		--modules "$root/root/client/longest.ko" --log "$work/console" \
		--kmod qemu_fw_cfg --qmp "$work/qmp" -- "
		modprobe qemu_fw_cfg && cd /lib/kdtl
		for m in ${order/kdtl_steal.ko/} longest.ko; do insmod \$m || exit; done
		insmod kdtl_steal.ko || dmesg | grep 'kdtl_steal: no steal clock' || exit
		until [ \$(dmesg | grep -c 'longest: [0-9]* ns on CPU') -ge 2 ]; do
			usleep 100000
		done
		lsmod && dmesg | grep longest:
		echo 'package: take an image'
		until awk '/^ *NMI:/ { exit !(\$2 + \$3) }' /proc/interrupts; do
			usleep 50000
		done
		rmmod longest && grep -q '^all' /sys/kernel/debug/kdtl_sampler/table ||
			cat /sys/kernel/debug/kdtl_sampler/table"
	vm=$group
	until grep -q -a '^package: take an image' "$work/console"; do
		kill -0 "$vm" 2>/dev/null || break
		sleep 0.2
	done
	"$top/selftests/host/lib/qmp.py" "$work/qmp" dump-guest-memory \
		"{\"paging\": false, \"protocol\": \"file:$root/root/image\"}" inject-nmi || status=$?
	wait_group "$vm" || status=$?
	return "$status"
}

# The packaged program finds the debug info of the module that DKMS has installed. drgn is sid's, as
# in selftests/host/vmcore.sh.
image_is_read()
{
	"$top/scripts/drgn" --get && mkdir -p -- "$root/cache" &&
		cp -r -- "$(readlink -f -- "$KDTL_CACHE/drgn")" "$root/cache/drgn" || return
	inside 'KDTL_CACHE=/cache kdtl-$V/scripts/drgn /usr/bin/kdtl-vmcore image' >"$work/read" ||
		return
	cat -- "$work/read"
	grep -q ' kdtl_sched *recorder_init \[kdtl_recorder\]$' "$work/read" &&
		[ "$(grep -c -E '^[0-9:.]{15} ' "$work/read")" -eq 20 ]
}

packages_go()
{
	inside 'apt-get -q -y purge kdtl kdtl-dev kdtl-dkms' && none_there
}

# upgraded: over the packages of 0.1.0, of which nothing is left; DKMS builds the modules again.
upgraded()
{
	git -C "$top" archive --format=tar --prefix=kdtl-0.1.0/ "$first" >"$root/root/first.tar" &&
		inside 'tar -xf first.tar; cd kdtl-0.1.0; dpkg-buildpackage -us -uc -d; cd ..
		apt-get -q -y install --no-install-recommends ./kdtl_0.1.0_amd64.deb \
			./kdtl-dev_0.1.0_all.deb ./kdtl-dkms_0.1.0_all.deb' &&
		[ -e "$root/lib/modules/$release/updates/dkms/kdtl_sched.ko" ] &&
		[ ! -e "$root/lib/modules/$release/updates/dkms/kdtl_answers.ko" ] &&
		packages_install && [ ! -e "$root/usr/src/kdtl-0.1.0" ] || return
	inside 'dkms status' >"$work/status"
	cat -- "$work/status"
	! grep -q '0\.1\.0' "$work/status" && grep -q "$version.*installed" "$work/status" &&
		inside '[ "$(dpkg-query -W -f "\${Version}\n" kdtl kdtl-dev kdtl-dkms | uniq)" = $V ]'
}

# said_by COMMAND...: prints what the tool says, with json-c and ncurses.
said_by()
{
	"$@" --version && TZ=UTC "$@" export --format jsonl "$work/r.data" &&
		TZ=UTC "$@" report "$work/r.data" && "$@" top --help
}

# cross_package ARCH: builds the tool's package for it, and compares it with this machine's.
cross_package()
{
	local deb=$work/kdtl_${version}_$1.deb native=$root/root/kdtl_${version}_amd64.deb

	mkdir -p -- "$work/readers"
	capture "$work/kdtl/scripts/package" --root "$work/root-$1" "$1" "$work" &&
		[ "$captured" = "$deb" ] &&
		[ "$(dpkg-deb -f "$deb" Architecture)" = "$1" ] &&
		[ "$(dependencies "$deb")" = "$(dependencies "$native")" ] &&
		diff <(dpkg-deb -c "$native" | awk '{ print $6 }') \
			<(dpkg-deb -c "$deb" | awk '{ print $6 }') &&
		dpkg-deb -x "$native" "$work/native" && dpkg-deb -x "$deb" "$work/readers/$1" || return
	mv -- "$work/readers/$1/usr/bin/kdtl" "$work/readers/$1/kdtl" &&
		reader_of "$1" "$work/readers" || return
	reader=("${reader[0]}" -L "$work/root-$1" "${reader[@]:1}")
	python3 "$top/selftests/host/lib/report_model.py" make 1 |
		python3 "$top/selftests/host/lib/recording.py" "$work/r.data" || return
	said_by "$work/native/usr/bin/kdtl" >"$work/said" &&
		said_by "${reader[@]}" >"$work/said-$1" && diff "$work/said" "$work/said-$1" &&
		[ "$(wc -l <"$work/said")" -gt 1000 ]
}

# Prints the packages that it depends on, without versions, which differ, and without the t64 that
# newer releases have in the names of libraries.
dependencies()
{
	dpkg-deb -f "$1" Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//; s/t64$//'
}

work=$(mktemp -d "${TMPDIR:-/var/tmp}/kdtl-package.XXXXXX")
partial "$work"
root=$work/root
mkdir -- "$root"
chroot_base
step "unpack it" chroot_new "$root"
step "install DKMS, debhelper, lintian and Debian's kernel headers" chroot_install "$root" \
	dkms openssl linux-headers-amd64 build-essential debhelper dh-dkms lintian \
	libjson-c-dev libncurses-dev pkgconf
release=$(ls "$root/lib/modules")
kernel=x86_64-6.1
[ "$chroot_suite" = bookworm ] || kernel=x86_64-7.2
capture "$top/scripts/kernel" $kernel version
if [ "$captured" != "$release" ]; then
	note "Debian has $release by now, the cache $captured"
	capture "$top/scripts/kernel" --update $kernel version
fi
[ "$captured" = "$release" ] || bail_out "headers of $release, but a kernel $captured to boot"
# The commit of 0.1.0, which has no tag.
first=126a5456b7586de4ce4e92384c1037cb4cf3fa82
git clone -q "$top" "$work/kdtl"
if grep -q -x '## Unreleased' "$work/kdtl/CHANGELOG.md"; then
	last=$(sed -n 's/^## \([0-9][^ ]*\) (.*)$/\1/p' "$work/kdtl/CHANGELOG.md" | head -n 1)
	git -C "$work/kdtl" config user.name test
	git -C "$work/kdtl" config user.email test
	next=${last%.*}
	KDTL_CACHE=$work/cache step "release it, in a clone" "$work/kdtl/scripts/release" \
		"${next%.*}.$((${next#*.} + 1)).0"
fi
capture "$work/kdtl/scripts/release" --tarball "$root"
version=$(basename -- "$captured" .tar.xz)
version=${version#kdtl-}
# Do not use those of this machine's environment.
export DEBFULLNAME='' DEBEMAIL=''

plan 16
start=$SECONDS
ok "dkms add, build and install, from the sources" dkms_by_hand
note_ktap "took $((SECONDS - start)) s"
ok "dkms build refuses a kernel outside the range" dkms_range
ok "dkms remove leaves nothing" dkms_goes
start=$SECONDS
ok "the Debian packages are built from the release's tarball" packages_build
note_ktap "took $((SECONDS - start)) s"
ok "lintian has nothing to say" lintian_clean
start=$SECONDS
ok "they install, and DKMS builds the modules" packages_install
note_ktap "took $((SECONDS - start)) s"
ok "a client builds against them, and a program" client_builds
ok "so do the examples" examples_build
ok "the modules run, and the client" they_run
ok "kdtl-vmcore reads an image, with the debug info that DKMS has left" image_is_read
ok "purging them leaves nothing" packages_go
if git -C "$top" cat-file -e "$first" 2>/dev/null; then
	start=$SECONDS
	ok "they upgrade those of 0.1.0" upgraded
	note_ktap "took $((SECONDS - start)) s"
	ok "purging them after that leaves nothing" packages_go
else
	skip "they upgrade those of 0.1.0" "no commit of 0.1.0 in this clone"
	skip "purging them after that leaves nothing" "no commit of 0.1.0 in this clone"
fi
"$top/scripts/install-deps" tool readers
for arch in arm64 s390x riscv64; do
	[ "$chroot_suite" = bookworm ] || {
		skip "kdtl's package for $arch is built here, and says the same" \
			"the reader runs here, which is bookworm"
		continue
	}
	start=$SECONDS
	ok "kdtl's package for $arch is built here, and says the same" cross_package "$arch"
	note_ktap "took $((SECONDS - start)) s"
done
finish
