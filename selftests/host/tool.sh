#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests what kdtl(1) says about itself: its version, the manual page of each command with the
# options that --help shows, and what bash completes; when it is installed, and in a kernel's
# tree.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/kdtl.sh
. "$here/lib/kdtl.sh"

tool=$top/clients/stream/tool

# none WHAT: passes if stdin is empty, otherwise shows it.
none()
{
	! sed "s/^/$1: /" | grep .
}

verbs()
{
	kdtl --help | sed -n 's/^  \([a-z]*\) .*/\1/p'
}

version_is_newest()
{
	local version

	version=$(sed -n 's/^## \([0-9][0-9.]*\) .*/\1/p' "$top/CHANGELOG.md" | head -n 1)
	[ -n "$version" ] && [ "$(kdtl --version)" = "kdtl $version" ]
}

# The version is also right in a kernel's tree as scripts/patches lays it out, without a CHANGELOG.
version_in_a_kernel()
{
	local there=$work/linux/tools/kdtl

	mkdir -p -- "$there" "$work/linux/usr/include/linux" "$work/linux/drivers/kdtl" &&
		cp -- "$tool"/* "$there/" && rm -f -- "$there/kdtl" &&
		cp -R -- "$top/api" "$work/linux/drivers/kdtl/" &&
		cp -- "$top"/api/include/uapi/linux/kdtl*.h "$work/linux/usr/include/linux/" || return
	(
		eval "$(sed -n '/^driver=/p; /^tool_makefile()/,/^}/p' "$top/scripts/patches")"
		tool_makefile "$there/Makefile"
	) && sed -i 's|"\(\.\./\)*api/include/uapi/\(.*\)"|<\2>|' "$there"/*.[ch] &&
		CFLAGS=-O0 make -s -C "$there" && [ "$("$there/kdtl" --version)" = "$(kdtl --version)" ]
}

# Prints the options in the text on stdin.
options()
{
	grep -o -E -e '(^|[ ,[|])--?[a-zA-Z][a-z-]*' | sed 's/^[ ,[|]*//' | sort -u
}

# In a page, the first lines of paragraphs with a tag are the options. The usage has them all.
in_page()
{
	sed -n '/^\.TP/{n;s/\\-/-/g;s/\\f.//g;s/"//g;/^\.BI* \|^\.BR /s/^[^ ]*//p}' \
		"$tool/kdtl-$1.1" | options
}

in_help()
{
	kdtl "$1" --help | sed '1d;$d' | sed -n '/^ *-/{s/^ *//;s/  .*//;p}' | options
}

pages_are_whole()
{
	local verb

	[ "$(verbs | wc -l)" -gt 5 ] || return
	for verb in $(verbs); do
		[ -e "$tool/kdtl-$verb.1" ] || { echo "kdtl-$verb.1"; continue; }
		diff <(in_help "$verb") <(in_page "$verb") | sed -n "s/^[<>]/kdtl-$verb.1 &/p"
		grep -q -x -F ".BR kdtl\\-$verb (1)" "$tool/kdtl.1" || echo "$verb: not in kdtl.1"
		grep -q -x -E '\.BR kdtl \(1\),?' "$tool/kdtl-$verb.1" ||
			echo "kdtl-$verb.1 does not lead to kdtl(1)"
	done | none page
}

# -h is the same as --help, and needs no device.
help_of_each()
{
	local verb

	for verb in $(verbs); do
		kdtl "$verb" -h | cmp - <(kdtl "$verb" --help) &&
			kdtl "$verb" --help | matches "^usage: kdtl $verb" || return
	done
}

pages_are_clean()
{
	mandoc -T lint -W warning "$tool"/kdtl*.1 2>&1 | none mandoc || return
	groff -w mac -K utf-8 -T utf8 -m mandoc -Z "$tool"/kdtl*.1 2>&1 >/dev/null | none man || return
	lexgrog "$tool"/kdtl*.1 | sed -E '/\/(kdtl[a-z-]*)\.1: "\1 - .+"$/d' | none lexgrog
}

# make_again ARGUMENT...: makes the tool in a folder of its own. It is compiled quickly: the tool that
# all other tests use is optimised.
make_again()
{
	CFLAGS=-O0 make -s -C "$tool" OUTPUT="$work/again" "$@"
}

# The tool is built again if a library was installed since, and not without a reason.
builds_again()
{
	local out=$work/again

	make_again PKG_CONFIG=false && ! grep -q json_object "$out/kdtl" &&
		make_again && grep -q json_object "$out/kdtl" && touch -r "$out/kdtl" "$out/built" &&
		make_again && [ ! "$out/kdtl" -nt "$out/built" ]
}

installs()
{
	local verb

	make_again DESTDIR="$work/root" PREFIX=/usr install || return
	for verb in $(verbs); do
		man -M "$work/root/usr/share/man" "kdtl-$verb" >/dev/null || return
	done
	man -M "$work/root/usr/share/man" kdtl >/dev/null &&
		[ -x "$work/root/usr/bin/kdtl" ] &&
		cmp "$tool/kdtl.bash" "$work/root/usr/share/bash-completion/completions/kdtl"
}

# completes WORDS EXPECTED: bash offers EXPECTED after these words, with the cursor at the line's
# end.
completes()
{
	diff <(printf '%s\n' "$2") <(cd -- "$work/files" &&
		PATH=$work/root/usr/bin:$PATH bash -c '
		. "$1"
		IFS="|" read -r -a COMP_WORDS <<<"$2"
		[[ $2 != *"|" ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
		spec=$(complete -p kdtl) && spec=${spec##*-F } && "${spec%% *}" kdtl \
			"${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}" | sort' - \
			"$work/root/usr/share/bash-completion/completions/kdtl" "$1")
}

completion()
{
	mkdir -p -- "$work/files/dir" && touch -- "$work/files/"{kdtl.data,other.data,notes.txt} &&
		ln -s -- "$work/tool/kdtl" "$work/files/kdtl" || return
	completes "kdtl|" "$({ verbs; printf -- 'help\n--help\n--version\n'; } | sort)" &&
		completes "kdtl|wh" why && completes "kdtl|help|wh" why &&
		completes "kdtl|why|--c" $'--cgroup\n--chain\n--comm\n--cpu' &&
		completes "kdtl|why|--nothing" '' &&
		completes "kdtl|why|kd" $'kdtl\nkdtl.data' &&
		completes "kdtl|why|--from|" '' &&
		completes "kdtl|why|-n|1" '' &&
		completes "kdtl|why|--all|o" other.data &&
		completes "kdtl|report|--by|c" $'cgroup\ncomm\ncpu' &&
		completes "kdtl|report|--by|p" process &&
		completes "kdtl|report|--sort|p" $'p50\np99' &&
		completes "kdtl|record|-o|o" other.data &&
		completes "kdtl|record|-d" -d &&
		completes "kdtl|record|sh|not" notes.txt &&
		completes "kdtl|ctf|d" dir
}

"$top/scripts/install-deps" man modules tool
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-tool.XXXXXX")
partial "$work"
export LC_ALL=C.UTF-8
plan 9
ok "kdtl builds" builds
ok "and again, if it can have what it was built without" builds_again
ok "--version is the newest one in CHANGELOG.md" version_is_newest
ok "in a kernel's tree, too" version_in_a_kernel
ok "--help and -h of each command" help_of_each
ok "each command has a page with the options of --help, and no others" pages_are_whole
ok "man, mandoc and lexgrog have no complaints" pages_are_clean
ok "program, pages and completion are installed" installs
ok "bash completes commands, options and files" completion
finish
