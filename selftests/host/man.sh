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

# comments: prints the lines of each comment that a page must have, behind the page's name and a tab.
comments()
{
	awk '
	/^ \* / && !on {
		on = -1
		name = $2 ~ /^(struct|enum)$/ ? $3 : $2
		if (name ~ /^kdtl_/ && ($2 != name || sub(/\(\)$/, "", name))) {
			on = 1
			sub(/.* - /, "")
		}
	}
	/^\/\*\*/ { on = 0; next }
	/^ \*\// { on = -1 }
	on == 1 { sub(/^ \* ?/, ""); sub(/^(Context|Return):/, ""); print name "\t" $0 }
	BEGIN { on = -1 }' "$top"/api/*.c "$top"/api/{answers,counters}/*.c "$top"/core/late.c "${headers[@]}"
}

# letters: drops all that may differ if only the form changes.
letters()
{
	tr -cd 'A-Za-z0-9_\n'
}

# shown: prints each page as one line, its name and a tab before its text. man(1) starts a dozen
# processes for a page, groff shows all pages at once.
shown()
{
	groff -T ascii -P -cbu -m mandoc -r LL=9999n "$pages"/kdtl_*.9 |
		awk '
		/^kdtl[a-z0-9_]*\(9\) +Kernel API +kdtl/ {
			printf "%s%s\t", n++ ? "\n" : "", substr($1, 1, index($1, "(") - 1)
		}
		{ printf "%s", $0 }
		END { print "" }'
}

whole()
{
	shown >"$work/shown" && comments >"$work/comments" &&
		awk -F '\t' '
		{ line = $2; gsub(/[^A-Za-z0-9_]/, "", line) }
		NR == FNR { text[$1] = line; next }
		$1 in text { lines[$1]++ }
		$1 in text && !index(text[$1], line) { print $1 ": " $2 }
		END {
			for (name in text)
				if (!lines[name])
					print name ": no comment"
			if (!NR)
				print "no page"
		}' "$work/shown" "$work/comments" | none "not in the page" &&
		[ "$(wc -l <"$work/shown")" -eq "$(find "$pages" -name 'kdtl_*.9' | wc -l)" ]
}

# Functions say where they may be called, and what they return.
sections()
{
	awk '
	function ended() {
		if (!has["#include"])
			print name ": no #include"
		if (!has["leads"])
			print name ": does not lead to kdtl(9)"
		if (!(name in listed))
			print name ": not in kdtl(9)"
		if (!has["function"])
			return
		if (!has["context"])
			print name ": no context"
		if (!has["nothing to return"] && !has["return"])
			print name ": no return value"
	}
	FILENAME ~ /\/kdtl\.9$/ {
		if (/^\.BR kdtl_[a-z0-9_]* \(9\)/)
			listed[$2]
		next
	}
	FNR == 1 {
		if (name)
			ended()
		name = FILENAME
		gsub(/.*\/|\.9$/, "", name)
		split("", has)
	}
	/^\.SH / { synopsis = /SYNOPSIS/ }
	/^\.fi/ { synopsis = 0 }
	/^\.B #include <linux\/kdtl/ { has["#include"] = 1 }
	/^\.BR kdtl \(9\)$/ { has["leads"] = 1 }
	synopsis && $0 ~ "(^|[^a-z0-9_])" name "\\(" { has["function"] = 1 }
	/^(void|#define kdtl_[a-z0-9_]*for_each)/ { has["nothing to return"] = 1 }
	/^\.SH CONTEXT/ { has["context"] = 1 }
	/^\.SH RETURN VALUE/ { has["return"] = 1 }
	END { ended() }' "$pages/kdtl.9" "$pages"/kdtl_*.9 | none page
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

# These are the warnings of man --warnings.
man_is_silent()
{
	groff -w mac -K utf-8 -T utf8 -m mandoc -Z "$pages"/*.9 "$pages"/../man7/*.7 2>&1 >/dev/null |
		none man
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
