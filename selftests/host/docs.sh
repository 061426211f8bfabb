#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The documentation builds without a warning, the reference has everything that is
# exported, and the text names nothing that does not exist.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# none WHAT: passes if stdin is empty, otherwise shows it.
none()
{
	! sed "s/^/$1: /" | grep .
}

builds()
{
	"$top/scripts/docs" "$work/html"
}

# kernel_doc_is_whole: nothing is missing, also for functions that are not exported.
kernel_doc_is_whole()
{
	local source

	source=$("$top/scripts/kernel" x86_64-7.2 source) || return
	(cd -- "$top" && git ls-files -z 'api/*.[ch]' 'core/*.[ch]' 'clients/*.[ch]' |
		grep -z -v '^clients/stream/tool/' |
		PYTHONDONTWRITEBYTECODE=1 xargs -0 python3 \
			"$source/tools/docs/kernel-doc" -none -Wall) 2>&1 | none kernel-doc
}

exported()
{
	grep -h -o -E '^EXPORT_SYMBOL\w*\(\w+' "$top"/{api,core}/*.c "$top"/api/{answers,counters}/*.c |
		sed 's/.*(//' | sort
}

# kernel_doc FUNCTION: prints the comment above its definition.
kernel_doc()
{
	sed -n "/^ \* $1() - ./,/^ \*\//p" "$top"/{api,core}/*.c "$top"/api/{answers,counters}/*.c
}

returns_something()
{
	! grep -q -E "^void $1\(" "$top"/{api,core}/*.c "$top"/api/{answers,counters}/*.c
}

documented()
{
	local f text

	[ "$(wc -l <"$work/exported")" -gt 30 ] || return
	while read -r f; do
		text=$(kernel_doc "$f")
		grep -q '^ \* Context: .' <<<"$text" || echo "$f: Context"
		! returns_something "$f" || grep -q '^ \* Return:' <<<"$text" ||
			echo "$f: Return"
	done <"$work/exported" | none "no kernel-doc, or not whole"
}

# in_reference: each exported function has its entry in the page.
in_reference()
{
	grep -o 'id="c\.[a-z0-9_]*"' "$work/html/api.html" |
		sed 's/.*c\.//; s/"//' | sort -u >"$work/reference"
	comm -23 "$work/exported" "$work/reference" | none "not in api.rst"
}

# declared: all that the headers declare for drivers and clients is exported.
declared()
{
	sed -n 's/^[a-z].*\b\(kdtl_[a-z_]*\)(.*/\1/p' "$top"/api/include/linux/kdtl*.h |
		sort >"$work/declared"
	grep -h -o -E '^static (__always_)?inline .*\bkdtl_\w+\(' "$top"/api/include/linux/kdtl*.h |
		sed 's/.*\b\(kdtl_\w*\)($/\1/' | sort >"$work/inline"
	comm -23 "$work/declared" <(sort "$work/exported" "$work/inline") |
		none "declared, not exported" &&
		comm -23 "$work/inline" "$work/reference" | none "not in api.rst"
}

# links: links and pictures lead to files, and places in them, that exist.
links()
{
	local page ref file id

	(cd -- "$work/html" &&
		for page in *.html; do
			grep -o -E '(href|src|data)="[^"]+"' "$page" |
				sed 's/^[a-z]*="//; s/"$//' | sort -u |
				while read -r ref; do
					[[ $ref != *:* ]] || continue
					file=${ref%%#*} id=
					[[ $ref != *#* ]] || id=${ref#*#}
					file=${file%%\?*}
					file=${file:-$page}
					if [ ! -e "$file" ]; then
						echo "$page: $ref"
					elif [ -n "$id" ] && ! grep -q -F "id=\"$id\"" "$file"; then
						echo "$page: $ref"
					fi
				done
		done) | none "dead link"
}

# In pictures that are made by hand, each text stays in its box.
pictures()
{
	local drawn

	drawn=$(grep -L -i -E 'made by|gnuplot' "$top"/Documentation/*.svg)
	[ -n "$drawn" ] || return
	# shellcheck disable=SC2086 # names without spaces
	python3 - $drawn <<-'END' 2>&1 | none "runs out of its box"
	import re
	import sys
	import xml.etree.ElementTree as ET

	SVG = "{http://www.w3.org/2000/svg}"


	def width(text, cls):
	    """In DejaVu Sans, and a little more: the em of each character."""
	    ems = {"[fijlrtI.,:;()'| -]": .4, "[mwMW…]": .95, "[A-Z_]": .72, ".": .63}
	    if cls == "mono":
	        ems = {".": .61}
	    em = sum(next(w for r, w in ems.items() if re.match(r, c)) for c in text)
	    return em * {"b": 1.12 * 13, "s": 11, "mono": 12}.get(cls, 13)


	for svg in sys.argv[1:]:
	    boxes = []
	    for e in ET.parse(svg).getroot().iter():
	        at = lambda n: float(e.get(n, 0))
	        if e.tag == SVG + "rect":
	            boxes.append((at("x"), at("y"), at("x") + at("width"), at("y") + at("height")))
	        elif e.tag == SVG + "text":
	            text = "".join(e.itertext())
	            # The last box that was drawn around its beginning is the innermost.
	            right = [b[2] for b in boxes if b[0] <= at("x") < b[2] and b[1] < at("y") < b[3]][-1]
	            if at("x") + width(text, e.get("class")) > right - 4:
	                print(f"{svg}: {text}")
	END
}

# names: the functions and files that the text names exist, except for placeholders.
names()
{
	local file name

	grep -o -H -E '\bkdtl_[a-z0-9_]+\(\)' "$top"/Documentation/*.rst "$top"/*.md |
		sort -u | while IFS=: read -r file name; do
			name=${name%()}
			git -C "$top" grep -q -w -F "$name" -- 'api/*.[ch]' 'core/*.[ch]' \
				'clients/*.[ch]' 'selftests/*.[ch]' ||
				echo "${file##*/}: $name()"
		done | none "no such function" || return
	grep -o -H -P '(?<![\w\/.])(api|core|clients|scripts|selftests|Documentation)/[A-Za-z0-9_./-]*\w' \
		"$top"/Documentation/*.rst "$top"/*.md "$top/MAINTAINERS" | sort -u |
		while IFS=: read -r file name; do
			[[ $name != *.ko && $name != *NAME* ]] || continue
			[ -e "$top/$name" ] || git -C "$top" check-ignore -q "$name" ||
				echo "${file##*/}: $name"
		done | none "no such file"
}

# ordering: prints the functions that order memory, for themselves or for their caller. A lock that
# is one to lockdep only orders nothing.
ordering()
{
	find "$top/core" "$top/api" "$top/clients" -name '*.[ch]' ! -path "$top/*/tool/*" \
		-exec awk '
		/^[a-z].*[a-z0-9_]+\(/ && !/;$/ { split($0, f, "("); n = split(f[1], w, /[ *]/); name = w[n] }
		!/^[ \t]*\*/ && !/lock_map_/ && /(smp|virt)_(r|w|)mb\(|smp_(load|store)_|_(acquire|release)\(&/ { print name }' {} + |
		sort -u
}

ordering_table()
{
	[ "$(ordering | wc -l)" -gt 10 ] || return
	ordering | while read -r f; do
		grep -q -F "\`\`$f()\`\`" "$top/Documentation/design.rst" || echo "$f()"
	done | none "orders memory, not in design.rst"
}

# locks: each lock in the code is in design.rst's table, by its name or as STRUCT::NAME, or with a
# point, like perf's locks; and each member STRUCT::NAME of kdtl's that the text names exists.
locks()
{
	(cd -- "$top" && git ls-files -z 'api/*.[ch]' 'core/*.[ch]' 'clients/*.[ch]' |
		grep -z -v -E '^clients/(stream/tool|examples)/' | python3 /dev/fd/3 3<<-'END'
	import pathlib
	import re
	import sys

	LOCK = r"(?:struct mutex|(?:raw_)?spinlock_t|rwlock_t|struct rw_semaphore|seqcount_\w+)\s+(\w+)\s*;"
	files = sys.stdin.read().split("\0")[:-1]
	code = re.sub(r"/\*.*?\*/", " ", "\n".join(open(f).read() for f in files), flags=re.S)
	structs = dict(re.findall(r"\bstruct (\w+) \{(.*?)\n\}", code, re.S))
	table = pathlib.Path("Documentation/design.rst").read_text()

	found = re.findall(r"\bDEFINE_(?:RAW_)?(?:MUTEX|SPINLOCK|RWLOCK)\((\w+)\)", code)
	found += [f"{s}::{name}" for s, text in structs.items() for name in re.findall(LOCK, text)]
	for name in found:
	    if f"``{name}``" not in table and f"``{name.replace('::', '.')}``" not in table:
	        print(f"a lock that is not in design.rst: {name}")
	if len(found) < 20:
	    print(f"only {len(found)} locks")
	for page in pathlib.Path("Documentation").glob("*.rst"):
	    for s, name in re.findall(r"\b(kdtl_\w+)::(\w+)", page.read_text()):
	        if not re.search(rf"\b{name}\b", structs.get(s, "")):
	            print(f"{page.name}: no such member: {s}::{name}")
	END
	) 2>&1 | none locks
}

# maintainers: the kernel's get_maintainer.pl finds a maintainer for one file of each folder;
# MAINTAINERS names folders only. It runs in a tree of empty files with kdtl's names, beside the
# folders by which it recognizes a kernel's tree. One more file has no maintainer, to see that
# this is noticed.
maintainers()
{
	local source tree=$work/tree

	source=$("$top/scripts/kernel" x86_64-7.2 source) &&
		git -C "$top" ls-files --cached --others --exclude-standard >"$work/files" &&
		awk '{ folder = "."; if (match($0, /.*\//)) folder = substr($0, 1, RLENGTH) }
			!seen[folder]++' "$work/files" >"$work/ours" &&
		! grep '^[FX]:' "$top/MAINTAINERS" | grep -v -E '^F:	(\*|.*/)$' || return
	echo nobodys/file | tee -a "$work/ours" >>"$work/files"
	mkdir -p -- "$tree"/{arch,include,drivers,fs,init,ipc,kernel,lib} &&
		cd -- "$tree" && touch CREDITS README && git init -q &&
		sed 's|[^/]*$|.|' "$work/files" | sort -u | xargs mkdir -p -- &&
		xargs touch -- <"$work/files" && cp -- "$top/MAINTAINERS" . &&
		git add -f . || return
	"$source/scripts/get_maintainer.pl" --self-test=sections,patterns 2>&1 |
		none MAINTAINERS || return
	# shellcheck disable=SC2016 # the inner shell's
	xargs -P "$(nproc)" -I {} sh -c '"$0" --nogit --nogit-fallback --no-rolestats \
		-f "$1" | grep -q @ || echo "$1"' "$source/scripts/get_maintainer.pl" {} \
		<"$work/ours" >"$work/orphans"
	[ "$(wc -l <"$work/ours")" -gt 40 ] && diff <(echo nobodys/file) "$work/orphans"
}

figures()
{
	"$top/scripts/costs-table" --check ||
		{ echo "run scripts/costs-table --write"; return 1; }
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-docs.XXXXXX")
partial "$work"
exported >"$work/exported"
# The sources take 150 MB, and 1.8 GB unpacked: too much for the quick run to download.
if [ "${KDTL_QUICK:-0}" = 1 ] && ! compgen -G "$KDTL_CACHE/src/linux-source-*" >/dev/null; then
	skip_all "no sources of a kernel in the cache, which have kernel-doc; not in the quick run"
fi
"$top/scripts/kernel" x86_64-7.2 source >/dev/null ||
	skip_all "no sources of a kernel, which have kernel-doc"
plan 12
ok "the documentation builds without a warning" builds
ok "all $(wc -l <"$work/exported") exported functions have kernel-doc" documented
ok "kernel-doc finds nothing missing, also inside" kernel_doc_is_whole
ok "exported functions are in the reference" in_reference
ok "what the headers declare is exported" declared
ok "no link is dead" links
ok "text in pictures stays in its box" pictures
ok "functions and files that the text names exist" names
ok "functions that order memory are in the table of barriers" ordering_table
ok "locks are in the table of locks, and members that the text names exist" locks
ok "every folder has a maintainer" maintainers
ok "the figures in why-not.rst are those of performance.rst" figures
finish
