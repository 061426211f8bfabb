# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Runs the kernel's own semantic patches on the project. Sourced, with $top and $work set.

# What the kernel's rules find although it is correct: file, rule, reason.
meant='
clients/stream/reader.c         locks-mini_lock         its caller holds the lock
core/session.c                  locks-mini_lock         returns with the lock held
core/source.c                   api-atomic_as_refcounter  the source stays at 0
selftests/fake/kdtl_crash.c  locks-double_lock       must hang
selftests/fake/kdtl_wrong.c  free-kfree              must be reported
'

# Prints where the newest kernel's sources are, or nothing.
newest_source()
{
	mkdir -p -- "$KDTL_CACHE/src"
	find "$KDTL_CACHE/src" -maxdepth 1 -name 'linux-source-*' ! -name '*@*' |
		sort -V | tail -n 1
}

# kernel_rules SOURCE FOLDER...: runs the rules of SOURCE on these folders of the project.
kernel_rules()
{
	local source=$1 status=0 file rule

	shift
	(cd -- "$top" && scripts/cocci --kernel "$source" "$@") \
		>"$work/rules" 2>"$work/rules.err" || status=$?
	while read -r file rule _; do
		[ -z "$file" ] || sed -i "\|^$file:.*\[$rule\]\$|d" "$work/rules"
	done <<<"$meant"
	cat -- "$work/rules"
	tail -n 3 "$work/rules.err"
	# Status 1 says that something was found. Each rule must have run.
	[ ! -s "$work/rules" ] && [ "$status" -le 1 ] &&
		grep -q ' rules over ' "$work/rules.err" && ! grep 'rules failed' "$work/rules.err"
}
