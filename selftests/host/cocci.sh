#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each semantic patch for clients and drivers finds exactly the bad lines of its sample,
# in every mode, and nothing in the project. selftests/deep/in-tree.sh applies the kernel's
# own rules to the project, which takes minutes.
#
# In a sample, BAD marks a line that must be found, and "patch: by hand" one that patch
# mode does not change.

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/spatch.sh
. "$top/scripts/lib/spatch.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/block.sh
. "$here/lib/block.sh"

kdtl=$top/scripts/coccinelle/kdtl

has_mode()
{
	grep -q "^virtual $2\$" "$kdtl/$1.cocci"
}

# cocci RULE MODE FILE
cocci()
{
	run_spatch -D "$2" --very-quiet --no-includes --sp-file "$kdtl/$1.cocci" \
		"$3" 2>"$work/err" || { cat -- "$work/err"; return 1; }
}

# lines PATTERN FILE: the numbers of the lines that match.
lines()
{
	grep -n -E "$1" "$2" | cut -d : -f 1
}

reports()
{
	local sample=$kdtl/samples/$1.c

	lines '/\* BAD' "$sample" >"$work/bad"
	[ -s "$work/bad" ] || return
	cocci "$1" report "$sample" >"$work/out" || return
	cut -d : -f 2 "$work/out" | sort -n -u | diff -u "$work/bad" -
}

# Context mode marks lines as removed to point at them.
points()
{
	local sample=$kdtl/samples/$1.c

	cocci "$1" context "$sample" >"$work/out" || return
	grep -E '/\* BAD' "$sample" >"$work/bad"
	sed -n 's/^-\([^-]\)/\1/p' "$work/out" | diff -u "$work/bad" -
}

links()
{
	local sample=$kdtl/samples/$1.c line

	cocci "$1" org "$sample" >"$work/out" || return
	! grep -v -E '^(\* TODO )?\[\[view:' "$work/out" || return
	for line in $(lines '/\* BAD' "$sample"); do
		grep -q "linb=$line:" "$work/out" || { echo "not line $line"; return 1; }
	done
}

# After the patch, only the lines are found that are left to a person.
repairs()
{
	local sample=$kdtl/samples/$1.c

	run_spatch -D patch --very-quiet --no-includes --sp-file "$kdtl/$1.cocci" \
		"$sample" -o "$work/$1.c" >/dev/null 2>"$work/err" || {
		cat -- "$work/err"
		return 1
	}
	! cmp -s "$sample" "$work/$1.c" || return
	cocci "$1" report "$work/$1.c" >"$work/out" || return
	lines '/\* BAD.*by hand' "$work/$1.c" >"$work/bad"
	cut -d : -f 2 "$work/out" | sort -n -u | diff -u "$work/bad" -
}

# sleep.cocci lists every function whose kernel-doc says that it may sleep.
knows_all()
{
	local name verb

	verb=$(sed -n 's/^identifier verb =~ "\(.*\)";$/\1/p' "$kdtl/sleep.cocci" | sort -u)
	[ "$(wc -l <<<"$verb")" -eq 1 ] || { echo "two lists: $verb"; return 1; }
	awk '/^\/\*\*/ { name = "" }
	     /^ \* kdtl_[a-z_]*\(\) - / { sub(/\(\).*/, "", $2); name = $2; said = 0 }
	     name && /^ \* Context: / { print name, /task, may sleep/ ? "sleeps" : "any" }' \
		"$top"/api/*.c "$top"/api/{answers,counters}/*.c >"$work/comments"
	# Only exported functions count.
	grep -h -o -E '^EXPORT_SYMBOL\w*\(\w+' "$top"/api/*.c "$top"/api/{answers,counters}/*.c |
		sed 's/.*(//' >"$work/exported"
	grep -w -F -f "$work/exported" "$work/comments" >"$work/verbs"
	grep -q sleeps "$work/verbs" || return
	while read -r name how; do
		if [[ $name =~ $verb ]]; then
			[ "$how" = sleeps ]
		else
			[ "$how" = any ]
		fi || { echo "$name: $how"; return 1; }
	done <"$work/verbs"
}

# Whole clients in the text are also checked.
in_the_text()
{
	local name

	mkdir -- "$work/text" || return
	for name in $(sed -n 's/^ *:name: *\(.*\.c\)$/\1/p' "$top"/Documentation/*.rst); do
		block "$name" >"$work/text/$name"
	done
	"$top/scripts/cocci" "$work/text"
}

# forgotten.cocci follows calls from file to file of a module, where early() is left to
# init, and end() is not.
files_of_a_module()
{
	local two=$work/two

	mkdir -- "$two" || return
	cat >"$two/main.c" <<-'END'
	#include <linux/kdtl.h>
	static int __init my_init(void) { return begin() ?: early(); }
	module_init(my_init);
	static void __exit my_exit(void) { end(); }
	module_exit(my_exit);
	END
	cat >"$two/session.c" <<-'END'
	#include <linux/kdtl.h>
	struct kdtl_session *first, *second;
	int begin(void) { first = kdtl_session_create(&attr); return second(); }
	int second(void) { second = kdtl_session_create(&attr); return 0; }
	int early(void) { kdtl_session_close(second); return -EIO; }
	void end(void) { kdtl_session_close(first); }
	END
	! "$top/scripts/cocci" "$two" >"$work/out" || return
	cat -- "$work/out"
	[ "$(wc -l <"$work/out")" = 1 ] && grep "^$two/session.c:4:.*\[forgotten\]$" "$work/out"
}

client_folder()
{
	mkdir -- "$work/client"
	cp -- "$kdtl/samples/export.c" "$work/client"
	! make -s -C "$top" cocci M="$work/client" >"$work/out" 2>&1 || return
	grep -q "^$work/client/export.c:10:.*EXPORT_SYMBOL_NS_GPL(kdtl_bad, KDTL_NS)" "$work/out" || {
		cat -- "$work/out"
		return 1
	}
	(cd -- "$work" && "$top/scripts/cocci" --mode patch client | patch -s -p0) || return
	make -s -C "$top" cocci M="$work/client"
}

"$top/scripts/install-deps" check
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-cocci.XXXXXX")
partial "$work"
mapfile -t rules < <(find "$kdtl" -maxdepth 1 -name '*.cocci' -printf '%f\n' |
	sed 's/\.cocci$//' | sort)
patching=0
for rule in "${rules[@]}"; do
	! has_mode "$rule" patch || patching=$((patching + 1))
done
plan $((3 * ${#rules[@]} + patching + 5))
for rule in "${rules[@]}"; do
	ok "$rule: report finds the bad, not the good" reports "$rule"
	ok "$rule: context points at them" points "$rule"
	ok "$rule: org links to them" links "$rule"
	! has_mode "$rule" patch || ok "$rule: patch repairs them" repairs "$rule"
done
ok "sleep: lists every function that may sleep" knows_all
ok "make cocci M=folder checks and repairs a client's own folder" client_folder
ok "forgotten: files of one module are taken together" files_of_a_module
ok "nothing is found in the text's clients" in_the_text
ok "nothing is found in the project" "$top/scripts/cocci"
finish
