#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The models of selftests/models hold in every state, each mistake that can be made in
# them is found, and each barrier in the code names its place in a model and the
# function of its partner.
#
# KDTL_MODELS=large (selftests/deep/models.sh) uses larger settings, which take minutes.
#
# shellcheck disable=SC2015,SC2016,SC2317 # || shows the output; awk; functions
# that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

models=$top/selftests/models
# In these models mistakes can be made.
with_mistakes='aux msg snapshot wake'

# The models and their settings: each line must hold. The mistakes are made in the
# first line of a model.
few='
aux
msg       -DSLOTS=1
snapshot  -DENTRIES=3
wake      -DCPUS=1
'
small='
aux
aux       -DENTRIES=4 -DAREA=7
msg
snapshot  -DENTRIES=3
wake      -DCPUS=1
wake      -DCPUS=1 -DOWN
wake      -DCPUS=2 -DENTRIES=1
'
large='
aux       -DENTRIES=8
aux       -DENTRIES=6 -DAREA=8 -DENTRY=3
msg       -DPOSTS=4
msg       -DCPUS=3 -DPOSTS=2
msg       -DSLOTS=3
snapshot
snapshot  -DENTRIES=6 -DAREA=7
snapshot  -DENTRIES=5 -DAREA=8 -DENTRY=3
wake      -DCPUS=1 -DENTRIES=4
wake      -DCPUS=1 -DENTRIES=1 -DWAITERS=2
wake      -DCPUS=1 -DENTRIES=2 -DWAITERS=2
'

# search MODEL SETTING...: visits every state that can be reached. The verdict is in
# $work/out.
search()
{
	local model=$1

	shift
	rm -rf -- "$work/pan"
	mkdir -- "$work/pan"
	# Spin writes to the current folder, and runs cpp, which includes from there.
	(cd -- "$work/pan" && cp -- "$models"/*.pml . &&
		spin -a "$@" "$model.pml" &&
		gcc-12 -O1 -DSAFETY -DCOLLAPSE -DMEMLIM=3000 -o pan pan.c) >"$work/err" 2>&1 || {
		cat -- "$work/err"
		return 2
	}
	(cd -- "$work/pan" && ./pan -m1000000) >"$work/out" 2>&1
	! grep -E 'max search depth too small|out of memory|MEMLIM' "$work/out"
}

# errors: prints how many were found, or nothing if the search did not end.
errors()
{
	sed -n 's/.*errors: \([0-9]*\)$/\1/p' "$work/out"
}

states()
{
	awk '/ states, stored/ { print $1 }' "$work/out"
}

holds()
{
	search "$@" || return
	[ "$(errors)" = 0 ] && ! grep 'not completed' "$work/out" || {
		cat -- "$work/out"
		return 1
	}
}

# A mistake shows as a failed assertion, or as a process that waits for ever.
found()
{
	search "$@" || return
	[ "$(errors)" = 1 ] &&
		grep -E '^pan:1: (assertion violated|invalid end state)' "$work/out" || {
		cat -- "$work/out"
		return 1
	}
}

mistakes()
{
	sed -n 's/^ \*\t\(BUG_[A-Z]*\).*/\1/p' "$models/$1.pml"
}

# known: the mistakes that a model describes are those that can be chosen.
known()
{
	local model

	for model in $with_mistakes; do
		diff <(mistakes "$model" | sort) \
			<(grep -oE '^#(ifn?def) BUG_[A-Z]+' "$models/$model.pml" |
				awk '{ print $2 }' | sort -u) || return
	done
}

# --- litmus tests -------------------------------------------------------------------

# litmus FILE [LABEL]: prints the test as it is, or with the line of LABEL made wrong.
litmus()
{
	local name=${1##*/}

	name=${name%.litmus}
	if [ $# -gt 1 ]; then
		sed -E -e "s|^C $name\$|&-$2|" \
			-e "/\[$2\] BUG:/s|^(\t+).*BUG: ?(.*)\*/|\1\2|" "$1"
	else
		cat -- "$1"
	fi | sed 's|/\* \[[^*]*\*/||'
}

# observed Never|Sometimes FILE: herd7 says so about the test.
observed()
{
	"$top/scripts/herd" "$2" >"$work/out" 2>&1
	grep -q "^Observation .* $1 " "$work/out" || {
		cat -- "$work/out"
		return 1
	}
	# A correct test has no data race, either.
	[ "$1" = Sometimes ] || ! grep '^Flag' "$work/out"
}

litmus_tests()
{
	local file name label

	for file in "$models"/litmus/*.litmus; do
		name=${file##*/}
		name=${name%.litmus}
		litmus "$file" >"$work/$name.litmus"
		ok "litmus $name: never" observed Never "$work/$name.litmus"
		for label in $(bugs "$file"); do
			litmus "$file" "$label" >"$work/bug.litmus"
			ok "litmus $name without $label: sometimes" \
				observed Sometimes "$work/bug.litmus"
		done
	done
}

# bugs FILE...: prints the labels of the lines that can be made wrong.
bugs()
{
	grep -ohE '\[[a-z]+\.[A-Z]\] BUG:' "$@" | grep -oE '[a-z]+\.[A-Z]' | sort -u
}

# --- labels -------------------------------------------------------------------------

labels()
{
	grep -rohE '\[(aux|msg|user|vpa|wake)\.[A-Z]\]' "$@" | sort -u
}

same_labels()
{
	diff <(labels "$top/core" "$top/api" --include='*.[ch]') <(labels "$models") ||
		{ echo "< only in the code, > only in the models"; return 1; }
}

# all_labelled: each barrier has a label of its own, beside it or in the comment
# before it.
all_labelled()
{
	find "$top/core" "$top/api" -name '*.[ch]' ! -name u64.h -print0 | sort -z |
		xargs -0 awk -v top="$top/" '
	BEGIN {
		barrier = "(smp|virt|dma)_(mb|rmb|wmb|store_release|store_mb|load_acquire|mb__[a-z_]+)\\(|" \
			"(atomic|cmpxchg|xchg)[a-z0-9_]*_(acquire|release)\\(|kdtl_u64_[a-z_]*(acquire|release)\\("
	}
	FNR == 1 || /^$/ { label = "" }
	/\[[a-z]+\.[A-Z]\]/ { label = FNR }
	/^[ \t]*(\/?\*)/ { next }
	$0 ~ barrier {
		seen++
		if (label == "") {
			sub(top, "", FILENAME)
			printf "%s:%d: no label of a place in a model: %s\n",
				FILENAME, FNR, $0
			bad = 1
		}
		label = ""
	}
	END {
		print seen " barriers"
		exit bad || seen < 10
	}'
}

# labelled DIR: prints a line for each comment in core/ and api/ that has a label: file, first
# line, last line, function (- for none), text, and the text without the labels that
# follow "pairs with". A comment right above a function belongs to the function.
labelled()
{
	(cd -- "$1" && find core api -name '*.[ch]' -print0 | sort -z | xargs -0 awk '
	function put(where,   own) {
		if (text ~ /\[[a-z]+\.[A-Z]\]/) {
			own = text
			gsub(/[Pp]airs with \[[a-z]+\.[A-Z]\]/, "", own)
			print file "\t" first "\t" last "\t" where "\t" text "\t" own
		}
		text = ""
	}
	FNR == 1 { put("-"); fn = "-"; open = 0; file = FILENAME }
	open || /^[ \t]*\/\*/ || (fn != "-" && /\/\*.*\*\/$/) {
		if (!open) {
			put(fn)
			first = FNR
		}
		line = $0
		if (!open)
			sub(/.*\/\*+/, "", line)
		open = line !~ /\*\//
		sub(/\*\/.*/, "", line)
		sub(/^[ \t]*\**[ \t]*/, "", line)
		text = text (text == "" ? "" : " ") line
		last = FNR
		next
	}
	/^[a-z].*[a-z0-9_]\(/ && !/;$/ {
		fn = $0
		sub(/\(.*/, "", fn)
		sub(/.*[ *]/, "", fn)
	}
	{ put(fn) }
	/^}/ { fn = "-" }
	END { put("-") }' /dev/null)
}

# partners DIR: prints a line for each function that those comments name as the other end:
# file, first line, last line, the label of the other end, the function. After
# "[aux.O] see f()" f() has the same label.
partners()
{
	labelled "$1" | awk -F '\t' '
	function functions(clause,   name) {
		while (match(clause, /kdtl_[a-z0-9_]+\(\)/)) {
			name = substr(clause, RSTART, RLENGTH - 2)
			clause = substr(clause, RSTART + RLENGTH)
			print $1 "\t" $2 "\t" $3 "\t" labels "\t" name
		}
	}
	function clause_after(re,   clause) {
		if (!match($5, re))
			return ""
		clause = substr($5, RSTART + RLENGTH)
		sub(/[.:;]( .*)?$/, "", clause)
		return clause
	}
	{
		match($5, /\[[a-z]+\.[A-Z]\]/)
		own = substr($5, RSTART, RLENGTH)
		group = own
		sub(/\..*/, ".", group)
		labels = own
		functions(clause_after("\\[[a-z]+\\.[A-Z]\\] see "))

		clause = clause_after("[Pp]airs with ")
		labels = ""
		# Labels may stand as [aux.B], or as B alone.
		rest = " " clause " "
		gsub(/kdtl_[a-z0-9_]+\(\)/, "-", rest)
		while (match(rest, /[^A-Za-z0-9_][A-Z][^A-Za-z0-9_]/)) {
			labels = labels group substr(rest, RSTART + 1, 1) "]"
			rest = substr(rest, RSTART + 2)
		}
		functions(clause)
	}'
}

# partners_named DIR: each function that a comment names as the other end has that label.
partners_named()
{
	local dir=$1

	awk -F '\t' '
	FNR == NR {
		while (match($6, /\[[a-z]+\.[A-Z]\]/)) {
			at[substr($6, RSTART, RLENGTH), $4]
			$6 = substr($6, RSTART + RLENGTH)
		}
		next
	}
	{
		seen++
		good = 0
		n = split($4, label, "]")
		for (i = 1; i < n; i++)
			good += (label[i] "]", $5) in at
		if (good)
			next
		bad = 1
		printf "%s:%d: %s() has no %s\n", $1, $2, $5, $4 == "" ? "label" : $4
	}
	END { exit bad || seen < 5 }' <(labelled "$dir") <(partners "$dir")
}

# table FILE: prints "letters functions" for both ends of each row of design.rst that has
# a letter.
table()
{
	awk '
	function put(   rest, out) {
		rest = cell[nr]
		out = ""
		while (match(rest, /kdtl_[a-z0-9_]+\(\)/)) {
			out = out " " substr(rest, RSTART, RLENGTH - 2)
			rest = substr(rest, RSTART + RLENGTH)
		}
		if (nr == 2 && cell[1] ~ /^[A-Z]$/)
			print cell[1] out
		else if (nr == 3 && match(cell[3], /^[A-Z]( and [A-Z])*(:|$)/)) {
			rest = substr(cell[3], 1, RLENGTH)
			gsub(/ and |:/, "", rest)
			if (out != "")
				print rest out
		}
	}
	/^   \* -/ { on = 1; put(); nr = 1; cell[1] = $3; next }
	!on { next }
	/^     - / { put(); nr++; sub(/^     - /, ""); cell[nr] = $0; next }
	/^       / { sub(/^ */, ""); cell[nr] = cell[nr] " " $0; next }
	{ put(); nr = 0; on = 0 }' "$1"
}

# table_names DIR: the table names exactly the functions that have the label. It does
# not have the letters of waiting.
table_names()
{
	local letters functions wrong=0 nr=0

	while read -r letters functions; do
		nr=$((nr + 1))
		diff <(tr ' ' '\n' <<<"$functions" | sed '/^$/d' | sort -u) \
			<(labelled "$1" | awk -F '\t' -v label="\\[(aux|user|vpa)[.][$letters]\\]" \
				'$4 != "-" && $6 ~ label { print $4 }' | sort -u) || {
			echo "the row of $letters: < in design.rst, > with that label"
			wrong=1
		}
	done < <(table "$1/Documentation/design.rst")
	[ $wrong -eq 0 ] && [ $nr -gt 10 ]
}

# drift_is_seen: if any of those names is replaced by a wrong one, that is noticed.
drift_is_seen()
{
	local copy=$work/drift file first last name nr=0

	mkdir -- "$copy"
	while IFS=$'\t' read -r file first last _ name; do
		rm -rf -- "${copy:?}"/*
		cp -r -- "$top/core" "$top/api" "$copy"
		sed -i "$first,${last}s/\b$name()/kdtl_session_close()/" "$copy/$file"
		! partners_named "$copy" >"$work/said" || {
			echo "$file:$first: not noticed: kdtl_session_close() for $name()"
			return 1
		}
		grep -q "^$file:$first: kdtl_session_close() has no " "$work/said" || {
			cat -- "$work/said"
			return 1
		}
		nr=$((nr + 1))
	done < <(partners "$top")
	[ "$nr" -ge 5 ]
}

# ------------------------------------------------------------------------------------

"$top/scripts/install-deps" models
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-models.XXXXXX")
partial "$work"

cases=$small
quick=${KDTL_QUICK:-0}
[ "$quick" = 0 ] || cases=$few
[ "${KDTL_MODELS:-small}" = small ] || cases=$large
herd=
why=
[ "$quick" = 0 ] || why="gets herdtools7 and linux-source"
if [ -z "$why" ]; then
	if "$top/scripts/herd" --get 2>"$work/err"; then
		herd=yes
	else
		cat -- "$work/err" >&2
		why="no herdtools7: $(tail -n 1 "$work/err")"
	fi
fi

nr=$(awk 'NF { n++ } END { print n }' <<<"$cases")
broken=$with_mistakes
[ "$quick" = 0 ] || broken=
for model in $broken; do
	nr=$((nr + $(mistakes "$model" | wc -l)))
done
[ -n "$broken" ] || nr=$((nr + 1))
if [ -n "$herd" ]; then
	for file in "$models"/litmus/*.litmus; do
		nr=$((nr + 1 + $(bugs "$file" | wc -l)))
	done
else
	nr=$((nr + 1))
fi
plan $((nr + 6))

ok "each mistake that is described can be made" known
ok "the code and the models name the same places" same_labels
ok "each barrier of the code names its place in a model" all_labelled
ok "comments name the function of a barrier's other end" partners_named "$top"
ok "a wrong function there is noticed" drift_is_seen
ok "the table in design.rst names the same functions" table_names "$top"

total=0
declare -A setting
while read -r model settings; do
	[ -n "$model" ] || continue
	[ -n "${setting[$model]+set}" ] || setting[$model]=$settings
	# shellcheck disable=SC2086 # several settings
	ok "$model ${settings:-as it is}: holds in every state" holds "$model" $settings
	note_ktap "$(states) states"
	total=$((total + $(states)))
done <<<"$cases"
for model in $broken; do
	for bug in $(mistakes "$model"); do
		# shellcheck disable=SC2086 # several settings
		ok "$model with $bug: found" found "$model" ${setting[$model]} "-D$bug"
		note_ktap "$(grep -m 1 '^pan:1' "$work/out"), $(states) states"
		total=$((total + $(states)))
	done
done
[ -n "$broken" ] || skip "the models' mistakes are found" "not in the quick run"
note_ktap "$total states in all"

if [ -n "$herd" ]; then
	litmus_tests
else
	skip "litmus tests" "$why"
fi
finish
