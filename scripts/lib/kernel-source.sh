# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Kernels built from Debian's linux-source packages: allnoconfig and the
# fragments in selftests/run/configs. Needs common.sh, apt.sh and kernels.sh.

_configs=$here/../selftests/run/configs

# _fragments TARGET: print the target's fragments of configuration. ARCH-SERIES[-VARIANT] is made
# of base, ARCH and VARIANT. User-Mode Linux does without base, which has options that it lacks.
# aux comes on top of debug, or on POWER on top of locks.
_fragments()
{
	[[ $1 == um-* ]] || echo "$_configs/base.config"
	echo "$_configs/${1%%-*}.config"
	[[ $1 != x86_64-*-aux ]] || echo "$_configs/debug.config"
	[[ $1 != ppc64le-*-aux ]] || echo "$_configs/locks.config"
	[[ $1 != *-*-* ]] || echo "$_configs/${1##*-}.config"
}

# _assembly_header TARGET: print the header, if any, that its assembly files include first.
_assembly_header()
{
	local header=$_configs/${1%%-*}-${1##*-}.h

	[ ! -e "$header" ] || echo "$header"
}

# _patches TARGET: print the patches to its sources, if any, in their order: those of the architecture
# and of the variant. aux has the patches that are to be sent to perf's maintainers, and on POWER
# also the fixes of the driver vpa_dtl, which uses what these patches add.
_patches()
{
	local patch

	for patch in "$_configs/${1%%-*}.patch" "$_configs/${1##*-}.patch"; do
		[ ! -e "$patch" ] || echo "$patch"
	done
	[[ $1 != ppc64le-*-aux ]] || printf '%s\n' "$here"/upstream/vpa-dtl/*.patch
	[[ $1 != *-aux ]] || printf '%s\n' "$here"/upstream/perf/*.patch
}

# _patches_key PATCH...: print the patches without their changelogs, on which no build depends.
_patches_key()
{
	local patch

	for patch; do
		if grep -q '^diff --git ' "$patch"; then
			sed -n '/^diff --git /,$p' "$patch"
		else
			cat -- "$patch"
		fi
	done
}

_config_key()
{
	local patches

	mapfile -t patches < <(_patches "$1")
	{
		# shellcheck disable=SC2046 # several words, without spaces of their own
		cat -- $(_fragments "$1") $(_assembly_header "$1")
		_patches_key ${patches[@]+"${patches[@]}"}
	} | sha256sum | cut -c 1-8
}

# source_config_is_current TARGET: succeed if the kernel has the present configuration and patches,
# or is not built here.
source_config_is_current()
{
	local link

	[[ $(kernel_target "$1") == [sp][or]*' linux-source-'* ]] || return 0
	link=$(readlink -- "$KDTL_CACHE/kernel/$1") || return
	[ "${link##*+}" = "$(_config_key "$1")" ]
}

# source_tree SERIES SUITE [VERSION]: get the series' newest sources, or those of VERSION, and
# set $src to their folder and $version to their version.
source_tree()
{
	local package=linux-source-$1 suite=$2 want=${3:-}

	need_tool build xz
	src=$KDTL_CACHE/src/$package
	if [ "${KDTL_UPDATE:-0}" != 0 ] || [ ! -d "$src${want:+@$want}" ]; then
		with_lock "$package"
		apt_state "$suite" "$(dpkg --print-architecture)"
		version=${want:-$(apt_version "$package")}
		[ -n "$version" ] || die "$suite has no $package (any more)"
		if [ ! -d "$src@$version" ]; then
			new_dir "$src@$version"
			step "get $package $version" \
				apt_unpack "$new_dir" "$package=$version"
			step "unpack it" _source_unpack "$new_dir" "$package"
			install_dir "$new_dir" "$src@$version"
		fi
		unlock
		[ -n "$want" ] || ln -sfn -- "$package@$version" "$src"
	fi
	src=$(readlink -f -- "$src${want:+@$want}")
	version=${src##*@}
}

# source_patched PATCH...: set $src to a copy of the sources with the patches. The two share the files
# that no patch changes.
source_patched()
{
	local copy

	need_tool build patch
	copy=$src+$(_patches_key "$@" | sha256sum | cut -c 1-8)
	with_lock "${copy##*/}"
	if [ ! -d "$copy" ]; then
		new_dir "$copy"
		step "patch the sources" _source_patch "$new_dir" "$@"
		install_dir "$new_dir" "$copy"
	fi
	unlock
	src=$copy
}

# _source_patch DIR PATCH...: link the files of $src into DIR, and apply the patches there.
_source_patch()
{
	local dir=$1 patch

	shift
	cp -al -- "$src/." "$dir" || return
	for patch; do
		patch -s -p1 --no-backup-if-mismatch -d "$dir" <"$patch" || return
	done
}

# source_kernel TARGET SERIES source|prepared SUITE: build it, or only prepare its tree for modules.
source_kernel()
{
	local target=$1 how=$3 version src final patches

	need_tool build gcc-12 make bc bison flex
	need_tool vm busybox
	need_tool "$(kernel_deps "$target")" "$(kernel_cross "$target")gcc-12"
	source_tree "$2" "$4"
	mapfile -t patches < <(_patches "$target")
	[ "${#patches[@]}" -eq 0 ] || source_patched "${patches[@]}"

	# A build tree contains its own path, so it cannot be moved into place.
	# Instead it is used only once the link points to it.
	final=$KDTL_CACHE/kernel/$target@$version+$(_config_key "$target")
	if [ ! -e "$final/version" ]; then
		rm -rf -- "$final"
		partial "$final"
		mkdir -p -- "$final/build"
		step "configure $target" _source_configure "$target" "$src" \
			"$final" || die "see $_configs"
		step "build $target $version ($how)" \
			"_source_$how" "$target" "$src" "$final"
		finished "$final"
	fi
	ln -sfn -- "${final##*/}" "$KDTL_CACHE/kernel/$target"
}

_source_unpack()
{
	local dir=$1 package=$2

	tar -x -J -f "$dir/usr/src/$package.tar.xz" -C "$dir" \
		--strip-components=1 || return
	rm -rf -- "$dir/usr/src"
}

# _source_make TARGET SRC DIR ARGUMENT...: run make for the target in SRC, with DIR/build as output.
_source_make()
{
	local target=$1 src=$2 dir=$3 make_args header

	shift 3
	kernel_make_args "$target"
	header=$(_assembly_header "$target")
	[ -z "$header" ] || make_args+=(KAFLAGS="-include $header")
	make -C "$src" O="$dir/build" HOSTCC=gcc-12 \
		KBUILD_BUILD_USER=kdtl KBUILD_BUILD_HOST=kdtl "${make_args[@]}" "$@"
}

_source_configure()
{
	local target=$1 dir=$3 want line rc=0

	want=$dir/fragment.config
	# Later fragments override earlier ones.
	# shellcheck disable=SC2046 # see _config_key
	awk '
	match($0, /CONFIG_[A-Za-z0-9_]+[= ]/) && /^(# )?CONFIG_/ {
		option = substr($0, RSTART, RLENGTH - 1)
		if (!(option in line))
			order[++n] = option
		line[option] = $0
	}
	END {
		for (i = 1; i <= n; i++)
			print line[order[i]]
	}' $(_fragments "$target") >"$want" || return
	_source_make "$@" KCONFIG_ALLCONFIG="$want" allnoconfig || return

	# Fail now if Kconfig did not accept an option, rather than when something needs the option.
	while read -r line; do
		case $line in
		CONFIG_*=*) grep -q -x -F -e "$line" "$dir/build/.config" ;;
		'# CONFIG_'*' is not set')
			! grep -q "^$(cut -d ' ' -f 2 <<<"$line")=" \
				"$dir/build/.config"
			;;
		*) continue ;;
		esac || {
			echo "Kconfig did not accept: $line"
			rc=1
		}
	done <"$want"
	return "$rc"
}

_source_source()
{
	local dir=$3 image release

	_source_make "$@" -j"$(nproc)" all || return
	_source_make "$@" INSTALL_MOD_PATH="$dir/root" DEPMOD=true \
		modules_install || return
	case $1 in
	ppc64le-*) image=build/vmlinux ;;
	arm64-*) image=build/arch/arm64/boot/Image ;;
	um-*) image=build/linux ;;
	*) image=build/arch/x86/boot/bzImage ;;
	esac
	release=$(cat -- "$dir/build/include/config/kernel.release") || return
	rm -f -- "$dir/root/lib/modules/$release/build"
	busybox depmod -b "$dir/root" "$release" || return
	ln -s "$image" "$dir/vmlinuz" || return
	ln -s build "$dir/kdir" || return
	ln -s root "$dir/modules" || return
	echo "$release" >"$dir/version"
}

# Without a built kernel modpost has no list of exported symbols.
_source_prepared()
{
	local dir=$3

	_source_make "$@" -j"$(nproc)" modules_prepare || return
	: >"$dir/build/Module.symvers"
	ln -s build "$dir/kdir" || return
	cp -- "$dir/build/include/config/kernel.release" "$dir/version"
}

# source_prepare_for TARGET SRC DIR HEADERS: make in DIR/build, from SRC, what modules
# need to build for the kernel of HEADERS. It has that kernel's configuration, so that
# all structures are the same, except for what describes the compiler.
source_prepare_for()
{
	local target=$1 src=$2 dir=$3 headers=$4 release f
	local compiler='CONFIG_(CC|GCC|CLANG|AS|LD|LLD|PAHOLE|RUSTC|TOOLCHAIN)_'

	release=$(cat -- "$headers/include/config/kernel.release") || return
	set -- "$target" "$src" "$dir" KERNELRELEASE="$release"
	mkdir -p -- "$dir/build" || return
	cp -- "$headers/.config" "$dir/build/.config" || return
	_source_make "$@" olddefconfig || return
	_source_make "$@" -j"$(nproc)" modules_prepare || return
	cp -- "$headers/Module.symvers" "$dir/build/" || return
	for f in include/config/auto.conf include/generated/autoconf.h; do
		{
			grep -E "$compiler" "$dir/build/$f"
			grep -v -E "$compiler" "$headers/$f"
		} >"$dir/build/$f.new" || return
		mv -- "$dir/build/$f.new" "$dir/build/$f" || return
	done
	# On s390 only newer compilers have a stack protector, so make must not ask this one for it.
	# autoconf.h keeps the option, because structures have a member for it.
	grep -q '^CONFIG_STACKPROTECTOR=' "$dir/build/.config" ||
		sed -i '/^CONFIG_STACKPROTECTOR/d' "$dir/build/include/config/auto.conf"
}
