#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each public function, macro, structure and enum has a manual page with all that its
# comment says, and neither man nor mandoc complains about it.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# kdtl_root.h is for programs that read an image of the memory: Documentation/vmcore.rst has it.
headers=("$top"/api/include/linux/kdtl{,_verbs,_counters,_answers,_hist,_pmu,_probes}.h
	"$top"/api/include/uapi/linux/kdtl{,_file,_wake}.h)

# none WHAT: passes if stdin is empty, otherwise shows it.
none()
{
	! sed "s/^/$1: /" | grep .
}

makes()
{
	make -s -C "$top" install-man install-headers DESTDIR="$work" PREFIX=/usr &&
		[ -e "$pages/kdtl.9" ]
}

# public: prints the names that the headers offer.
public()
{
	{
		sed -n -E 's/^(static inline )?[a-z].*\b(kdtl_[a-z_]+)\(.*/\2/p
			s/^(struct|enum) (kdtl_[a-z_]+) \{$/\2/p' "${headers[@]}"
		# Macros that are for clients have comments.
		sed -n 's/^ \* \(kdtl_[a-z_]*\)() - .*/\1/p' "${headers[@]}"
	} | sort -u
}

all_public()
{
	[ "$(public | wc -l)" -gt 60 ] || return
	public | while read -r name; do
		[ -e "$pages/$name.9" ] || echo "$name"
	done | none "no page"
}

# comment NAME: prints the lines of the comment that the page must have.
comment()
{
	awk -v name="$1" '
	/^ \* / && !on { on = $2 == name "()" || $2 ~ /^(struct|enum)$/ && $3 == name ? 1 : -1
		if (on == 1) { sub(/.* - /, "") } }
	on == 1 && /^ \*\// { print "" }
	/^\/\*\*/ { on = 0; next }
	/^ \*\// { on = -1 }
	on == 1 { sub(/^ \* ?/, ""); sub(/^(Context|Return):/, ""); print }
	BEGIN { on = -1 }' "$top"/api/*.c "$top"/api/answers/*.c "$top"/core/late.c "${headers[@]}"
}

# letters: drops all that may differ if only the form changes.
letters()
{
	tr -cd 'A-Za-z0-9_\n'
}

shown()
{
	MANWIDTH=9999 man -E ascii -l "$pages/$1.9" | tr '\n' ' ' | letters
}

whole()
{
	local page name text line

	for page in "$pages"/kdtl_*.9; do
		name=$(basename "$page" .9)
		text=$(shown "$name")
		comment "$name" | letters >"$work/comment"
		[ "$(wc -l <"$work/comment")" -gt 1 ] || echo "$name: no comment"
		while read -r line; do
			[[ $text == *"$line"* ]] || echo "$name: $line"
		done <"$work/comment"
	done | none "not in the page"
}

# Functions say where they may be called, and what they return.
sections()
{
	local page name

	for page in "$pages"/kdtl_*.9; do
		name=$(basename "$page" .9)
		grep -q '^\.B #include <linux/kdtl' "$page" || echo "$name: no #include"
		grep -q "^\.BR kdtl (9)$" "$page" || echo "$name: does not lead to kdtl(9)"
		grep -q -F ".BR $name (9)" "$pages/kdtl.9" || echo "$name: not in kdtl(9)"
		grep -q -E "\\b$name\\(" <(sed -n '/^.SH SYNOPSIS/,/^.fi/p' "$page") || continue
		grep -q '^.SH CONTEXT' "$page" || echo "$name: no context"
		grep -q -E "^(void|#define kdtl_\\w*for_each)" "$page" ||
			grep -q '^.SH RETURN VALUE' "$page" || echo "$name: no return value"
	done | none page
}

right_header()
{
	local name header

	while read -r name header; do
		grep -q -F "#include <linux/$header>" "$pages/$name.9" || echo "$name: not $header"
	done <<-'END' | none page
	kdtl_session_open kdtl.h
	kdtl_entry_wait kdtl.h
	kdtl_load kdtl_verbs.h
	kdtl_read_counters kdtl_counters.h
	kdtl_task_at kdtl_answers.h
	kdtl_hist_add kdtl_hist.h
	kdtl_pmu_register kdtl_pmu.h
	kdtl_probes_find kdtl_probes.h
	END
}

# Each name under "See also" has its page.
leads()
{
	sed -n 's/^\.BR \(kdtl[a-z_]*\) (9).*/\1/p' "$pages"/*.9 | sort -u | while read -r name; do
		[ -e "$pages/$name.9" ] || echo "$name"
	done | none "leads nowhere"
}

found_by_man()
{
	man -M "$work/usr/share/man" kdtl_aux_peek >"$work/shown" 2>&1 || return
	grep 'ssize_t kdtl_aux_peek(struct kdtl_session \*s, int cpu, const void \*\*span);' \
		"$work/shown"
}

man_is_silent()
{
	local page

	for page in "$pages"/*.9 "$pages"/../man7/*.7; do
		man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null
	done | none man
}

mandoc_is_silent()
{
	mandoc -T lint -W warning "$pages"/*.9 "$pages"/../man7/*.7 2>&1 | none mandoc
}

# apropos and whatis find each page.
indexed()
{
	lexgrog "$pages"/*.9 "$pages"/../man7/*.7 |
		sed -E '/\/(kdtl[a-z0-9_-]*)\.[79]: "\1 - .+"$/d' | none lexgrog
}

# Debian's awk is mawk. Another awk makes the same pages.
another_awk()
{
	mkdir -p -- "$work/bin" && ln -s -- "$(command -v busybox)" "$work/bin/awk" &&
		PATH=$work/bin:$PATH "$top/scripts/man" "$work/other" &&
		diff -r "$work/usr/share/man" "$work/other"
}

# The pages about states, messages and counters have all of the text and tables of Documentation/.
subjects()
{
	local page

	for page in states messages counters; do
		sed -E '/^([.][.] |::$|=+$)/d; s/:[a-z]+:`//g' "$top/Documentation/$page.rst" | letters |
			tr -d '\n' | tr a-z A-Z >"$work/text"
		MANWIDTH=9999 man -E ascii -l "$work/usr/share/man/man7/kdtl-$page.7" |
			sed '1,/^DESCRIPTION/d' | letters | tr -d '\n' | tr a-z A-Z >"$work/shown"
		# Behind the title come the same letters, and then the way to kdtl(9).
		grep -q -F -e "$(<"$work/shown" sed 's/SEEALSOKDTL9.*//')" "$work/text" &&
			[ "$(wc -c <"$work/shown")" -gt 2000 ] || echo "$page"
	done | none "not all of its text"
}

# If installed headers or kdtl(9) name a page of Documentation/ or an example, that is also
# installed.
documents()
{
	local name

	grep -r -o -h -E '(Documentation|clients)/[a-z_/-]*[.](rst|c)\b' \
		"$work/usr/src/kdtl/include" "$pages" | sort -u >"$work/names" &&
		[ "$(wc -l <"$work/names")" -ge 3 ] &&
		while read -r name; do
			[ -e "$work/usr/share/doc/kdtl/${name#*/}" ] || echo "$name"
		done <"$work/names" | none "not installed"
}

"$top/scripts/install-deps" man vm
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-man.XXXXXX")
partial "$work"
pages=$work/usr/share/man/man9
export LC_ALL=C.UTF-8
plan 13
ok "make install-man" makes
ok "all of the headers has a page" all_public
ok "nothing of the comments is missing" whole
ok "synopsis, context, return value, and kdtl(9) lists each page" sections
ok "the header to include is the right one" right_header
ok "see also leads to pages" leads
ok "man kdtl_aux_peek" found_by_man
ok "man has no warnings" man_is_silent
ok "mandoc has no warnings" mandoc_is_silent
ok "whatis finds each page" indexed
ok "states, messages and counters have pages" subjects
ok "documents that are named are installed" documents
ok "busybox' awk makes the same pages" another_awk
finish
