# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Builds reader_native.c. Sourced by reader.sh, ../host/pressure.sh and ../host/windows.sh.

# reader_build TREE PROGRAM [SOURCE [FLAG...]]: builds it, or another source, with the sampler of that
# tree. All kernel headers that the sampler includes are empty: reader_kernel.h has what it needs of
# them.
reader_build()
{
	local tree source=${3:-$top/selftests/bench/reader_native.c} include=$2.include header from

	tree=$(readlink -f -- "$1")
	mkdir -p -- "$include/uapi/linux" || return
	: >"$include/uapi/linux/perf_event.h"
	while read -r header; do
		from=$tree/api/include/$header
		mkdir -p -- "$(dirname -- "$include/$header")"
		case $header in
		linux/types.h | linux/errno.h) ;;
		linux/kdtl_probes.h) : >"$include/$header" ;;
		*)
			if [ -e "$from" ]; then
				ln -s -- "$from" "$include/$header"
			else
				: >"$include/$header"
			fi
			;;
		esac
	done < <(grep -rhoE '#include <(linux|uapi/linux)/[a-z0-9_/]+\.h>' "$tree/clients/sampler" \
			"$tree/api/answers" "$tree/api/include/linux" |
		grep -oE '<.*>' | tr -d '<>' | grep -v '^uapi/linux/perf_event' | sort -u)
	gcc -O2 -fno-strict-aliasing -fno-tree-vectorize -std=gnu11 -ffunction-sections \
		-Wl,--gc-sections -I "$include" -I "$tree" -I "$top/selftests/bench" \
		"${@:4}" "$source" -o "$2"
}
