# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# A fresh Debian beside this one, like a base image, from the mirror that this machine uses. It is
# entered through mount and PID namespaces of its own, so that the kernel ends its processes and
# undoes its mounts when the test ends, however it does. This file is sourced, after common.sh and
# apt.sh.
#
#   KDTL_SUITE  which Debian to use (bookworm)
#
# shellcheck disable=SC2154 # $top is the caller's

chroot_suite=${KDTL_SUITE:-bookworm}

# chroot_possible: succeeds, or prints a reason why there can be no chroot.
chroot_possible()
{
	[ "$(id -u)" -eq 0 ] || {
		echo "needs root"
		return 1
	}
	unshare --mount --pid --fork --kill-child true 2>/dev/null || {
		echo "no mount or PID namespaces to be had here"
		return 1
	}
}

# chroot_base: sets $chroot_base to a tarball of the base image, which is kept in the cache.
chroot_base()
{
	local arch mirror

	arch=$(dpkg --print-architecture)
	chroot_base=$KDTL_CACHE/chroot/$chroot_suite-$arch.tar
	[ "${KDTL_UPDATE:-0}" != 0 ] || [ ! -e "$chroot_base" ] || return 0
	with_lock chroot-base
	[ "${KDTL_UPDATE:-0}" != 0 ] || [ ! -e "$chroot_base" ] || return 0
	mirror=$(_mirror Debian)
	[ -n "$mirror" ] || die "apt has no Debian mirror yet: run apt-get update once"
	new_dir "$KDTL_CACHE/chroot/$chroot_suite"
	step "debootstrap $chroot_suite" chroot_namespace debootstrap \
		--variant=minbase "$chroot_suite" "$new_dir" "$mirror" || return
	rm -rf -- "$new_dir"/var/lib/apt/lists/* "$new_dir"/var/cache/apt/archives/*.deb
	tar -C "$new_dir" --numeric-owner --one-file-system -cf "$chroot_base.new" . ||
		return
	mv -- "$chroot_base.new" "$chroot_base"
	rm -rf -- "$new_dir"
	finished "$new_dir"
}

# The mounts go with the last process in there, and that goes with the first one.
chroot_namespace()
{
	unshare --mount --pid --fork --kill-child --propagation private -- "$@"
}

# chroot_new DIR: unpacks the base there, with this machine's way to its mirror.
chroot_new()
{
	local dir=$1 ca=/etc/ssl/certs/ca-certificates.crt f

	tar -C "$dir" --numeric-owner -xpf "$chroot_base" || return
	rm -rf -- "$dir"/etc/apt/sources.list "$dir"/etc/apt/sources.list.d/*
	_apt_sources "$chroot_suite" >"$dir/etc/apt/sources.list" || return
	# Keep the proxy and the like, but no hooks.
	apt-config dump | grep '^Acquire::' >"$dir/etc/apt/apt.conf.d/50machine" || :
	for f in /etc/resolv.conf /etc/hosts; do
		[ ! -r "$f" ] || cp -L -- "$f" "$dir$f" || return
	done
	if [ -r "$ca" ]; then
		mkdir -p -- "$dir${ca%/*}" && cp -L -- "$ca" "$dir$ca" || return
	fi
	# Let no package start a service.
	printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d" || return
	chmod 755 "$dir/usr/sbin/policy-rc.d"
}

# chroot_run DIR COMMAND...: runs it as root in there, with a new /proc, a /dev of its own, and an
# environment that is empty but for a proxy.
chroot_run()
{
	local dir=$1

	shift
	# shellcheck disable=SC2016 # expanded in there
	chroot_namespace bash -c '
		set -e
		dir=$1
		shift
		mount -t proc proc "$dir/proc"
		mount -t sysfs -o ro sysfs "$dir/sys"
		mount -t tmpfs -o mode=755 tmpfs "$dir/dev"
		for node in null zero full random urandom tty kvm; do
			[ -e "/dev/$node" ] || continue
			: >"$dir/dev/$node"
			mount --bind "/dev/$node" "$dir/dev/$node"
		done
		ln -s /proc/self/fd "$dir/dev/fd"
		mkdir "$dir/dev/pts" "$dir/dev/shm"
		mount -t devpts -o newinstance,ptmxmode=666 devpts "$dir/dev/pts"
		ln -s pts/ptmx "$dir/dev/ptmx"
		mount -t tmpfs tmpfs "$dir/dev/shm"
		exec env -i HOME=/root LC_ALL=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			${http_proxy:+"http_proxy=$http_proxy"} \
			${https_proxy:+"https_proxy=$https_proxy"} \
			${no_proxy:+"no_proxy=$no_proxy"} \
			chroot "$dir" "$@"' chroot_run "$dir" "$@"
}

# chroot_install DIR PACKAGE...: installs packages in there.
chroot_install()
{
	local dir=$1

	shift
	chroot_run "$dir" env DEBIAN_FRONTEND=noninteractive sh -c '
		apt-get -q update || apt-get -q update || exit
		exec apt-get -q -y install --no-install-recommends "$@"' install "$@"
}

# chroot_repository DIR: puts the repository, as it is committed, into DIR/kdtl.git.
chroot_repository()
{
	git init -q --bare -b main "$1/kdtl.git" || return
	# The repository may be a shallow clone.
	git -C "$1/kdtl.git" config receive.shallowUpdate true
	git -C "$top" push -q "$1/kdtl.git" HEAD:refs/heads/main || return
	git -C "$top" diff --quiet HEAD ||
		note "not committed, so not tested: $(git -C "$top" diff --shortstat HEAD)"
}
