#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Jobs that start at once with a fresh cache prepare everything once, and none breaks another.
# A stand-in for apt fails, as apt does, when a second apt would change the same lists. The
# packages that make check-prepare gets are enough for the tests, which then need no network.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-prepare.XXXXXX")
partial "$work"

# tool NAME: makes a stand-in for the tool, from stdin.
tool()
{
	{
		echo '#!/bin/bash'
		cat
	} >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# make_deb NAME: makes a package with the files that the tests unpack from the real one.
make_deb()
{
	local root=$work/deb/$1

	mkdir -p -- "$root"/{DEBIAN,bin,usr/bin,lib} || return
	printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: none\nDescription: none\n' \
		"$1" >"$root/DEBIAN/control" || return
	: >"$root/lib/ld-linux-aarch64.so.1"
	if [ "$1" = busybox-static ]; then
		echo busybox >"$root/bin/busybox"
	else
		cp -- "$(type -P busybox)" "$root/usr/bin/qemu-system-aarch64" || return
	fi
	dpkg-deb -b "$root" "$work/$1.deb" >/dev/null
}

stand_ins()
{
	mkdir -- "$work/bin" "$work/once" "$work/deb" && make_deb busybox-static &&
		make_deb qemu-system-arm || return
	tool apt-get <<-END
	while [ \$# -gt 0 ]; do
		case \$1 in
		indextargets) echo 'Debian|Debian|file:/mirror'; exit ;;
		update | install | download) verb=\$1 ;;
		Dir::Cache::archives=*) dir=\${1#*=} ;;
		esac
		last=\$1
		shift
	done
	case \$verb in
	update)
		mkdir "$work/once/lists" || { echo 'E: Could not get lock'; exit 100; }
		echo "\$verb" >>"$work/calls"
		sleep 0.3
		rmdir "$work/once/lists"
		;;
	download)
		echo "\$verb \$last" >>"$work/calls"
		sleep 0.3
		cp "$work/\$last.deb" .
		;;
	install)
		echo "\$verb \$last" >>"$work/calls"
		sleep 0.3
		[ -z "\$dir" ] || cp "$work/\$last.deb" "\$dir"
		;;
	esac
	END
	tool apt-config </dev/null
	tool apt-cache <<-END
	echo "  Candidate: 1"
	[ ! -e "$work/unknown" ] || echo "  Candidate: (none)"
	END
	# Nothing is installed until apt-get has installed it.
	tool dpkg-query <<-END
	! grep -q ^install "$work/calls" || echo installed
	END
	tool sudo <<-'END'
	while [[ $1 == -* ]]; do shift; done
	exec "$@"
	END
}

# job: does what a machine prepares.
cat >"$work/job" <<END
here=$top/selftests/run scripts=$top/scripts
. "\$scripts/lib/common.sh"
. "\$scripts/lib/apt.sh"
. "\$here/lib/initramfs.sh"
. "\$here/lib/nested.sh"
echo kernel >"$work/kernel"
nested_base arm64-6.1 "$work/kernel" "$work/modules"
cksum <"\$nested_base"
END

# four COMMAND...: runs the command four times at once, with a new cache; all must succeed.
four()
{
	local i pids=() failed=0

	: >"$work/calls"
	rm -rf -- "$work/cache" "$work"/once/*
	for i in 1 2 3 4; do
		KDTL_CACHE=$work/cache PATH=$work/bin:$PATH TMPDIR=$work \
			"$@" >"$work/said.$i" 2>&1 &
		pids+=($!)
	done
	for i in 1 2 3 4; do
		wait "${pids[i - 1]}" && continue
		failed=1
		tail -n 5 -- "$work/said.$i"
	done
	return "$failed"
}

# called N WORDS: apt-get was called N times with these words.
called()
{
	[ "$(grep -c "^$2\$" "$work/calls")" = "$1" ] || { cat -- "$work/calls"; return 1; }
}

machines()
{
	four bash "$work/job" && called 1 update && called 1 'download busybox-static' &&
		called 1 'install qemu-system-arm' &&
		[ "$(tail -q -n 1 "$work"/said.* | sort -u | wc -l)" = 1 ]
}

# Nothing half-made stays.
left_nothing()
{
	! find "$work/cache" -name '.new-*' | grep . &&
		! find "$work/cache" -type f -regex '.*/\(apt\.conf\|.*\.cpio\)\.[0-9a-z]+' | grep .
}

packages()
{
	four "$top/scripts/install-deps" vm && called 1 'install .*'
}

# nothing_installed GROUP...: prints the packages of these groups, as if none were installed.
nothing_installed()
{
	: >"$work/calls"
	PATH=$work/bin:$PATH "$top/scripts/install-deps" --list "$@"
}

# asked_for FILE...: the groups that they ask install-deps for.
asked_for()
{
	sed -n 's/.*install-deps" \([a-z0-9 ]*[a-z0-9]\).*/\1/p' "$@" | tr ' ' '\n' | sort -u
}

# prepared GROUP GROUP...: the first group has all packages of the others.
prepared()
{
	[ $# -gt 1 ] || return
	nothing_installed "$1" >"$work/has"
	nothing_installed "${@:2}" | grep -v -x -F -f "$work/has" || return 0
	return 1
}

# The packages that scripts need are prepared. The quick run skips what needs ppc64le or readers.
packages_prepared()
{
	local groups quick machines machine=()

	mapfile -t groups < <(asked_for "$here"/*.sh "$top"/scripts/docs "$top"/selftests/run/boot)
	mapfile -t quick < <(printf '%s\n' "${groups[@]}" | grep -v -x -e ppc64le -e readers)
	machines=$("$top/selftests/check" --help | sed -n 's/^machines: //p')
	for m in $machines; do
		machine+=("$(sed -n "s/^$m *\([^, ]*\).*/\1/p" "$top/selftests/check" | head -n 1)")
	done
	mapfile -t machine < <(for m in "${machine[@]}"; do kernel_deps "$(kernel_of "$m")"; done)
	echo "${groups[*]}; ${machine[*]}"
	[ "${#quick[@]}" -gt 8 ] && [ "${#machine[@]}" -gt 5 ] &&
		prepared test "${groups[@]}" "${machine[@]}" && prepared quick "${quick[@]}"
}

offline()
{
	"$top/selftests/check" --prepare --quick && unshare -n "$top/selftests/check" --prepare --quick
}

"$top/scripts/install-deps" vm build
plan 6
ok "stand-ins for apt" stand_ins
ok "four machines that start at once in a fresh cache prepare it once" machines
ok "nothing half-made is left there" left_nothing
ok "four install-deps at once install once" packages
ok "check-prepare installs all that the tests ask for" packages_prepared
if unshare -n true 2>/dev/null; then
	ok "what has been prepared needs no network" offline
else
	skip "what has been prepared needs no network" "no network namespaces here"
fi
finish
