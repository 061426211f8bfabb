#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the source that need no build: no test hides another one, each file names its licence,
# and what selftests/deep says about the source fits it.

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"

# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/shell.sh
. "$here/lib/shell.sh"

# No function's name is there twice: the second one would replace the first, also if that is a test.
names_are_once()
{
	(cd -- "$top" && shell_scripts | xargs -0 awk '
		/^[a-z0-9_]*\(\)$/ && nr[FILENAME, $0]++ {
			print FILENAME ": " $0
			twice = 1
		}
		END { exit twice }')
}

# Each file names its licence.
check_spdx()
{
	local missing

	missing=$(cd -- "$top" && git ls-files | grep -v -x -e COPYING -e .gitignore \
		-e debian/changelog -e debian/source/format |
		grep -v -E '\.(svg|png|tsv|patch|litmus)$' | xargs grep -L 'SPDX-License-Identifier') || :
	[ -z "$missing" ] || { echo "without SPDX line:" "$missing"; return 1; }
}

# The mutants still fit the source. Otherwise only selftests/deep/mutants.sh would notice, which
# rarely runs.
mutants_fit()
{
	"$top/selftests/deep/mutants/compile.py" --check "$top"
}

# Each reason still has its line. If it had none, it would excuse another line that looks like it.
reasons_fit()
{
	local file line rest stale=0

	while IFS= read -r rest; do
		[[ $rest != '#'* && $rest == *' | '*' | '* ]] || continue
		file=${rest%% | *}
		line=${rest#* | }
		grep -q -F -- "${line%% | *}" "$top/$file" || {
			echo "not in the source: $rest"
			stale=1
		}
	done <"$top/selftests/deep/coverage.reasons"
	return $stale
}

# No work is bound to a CPU. Such work waits for as long as a real-time task has that CPU, with the
# locks that it has taken, and so do tasks that want these locks: 7.2's rmmod, for minutes.
work_is_unbound()
{
	! grep -r -n -E '\bschedule_(delayed_)?work\(|\(system_(percpu_|highpri_|long_)?wq,' \
		--include='*.[ch]' "$top"/{core,api,clients}
}

# scripts/checkpatch does not look at programs, but the kernel's own looks at them in the series.
comments_fit()
{
	! grep -n -E '^.{101}' "$top"/clients/stream/tool/*.[ch] | grep -E '^[^:]*:[0-9]*:\s*(/\*| \*)'
}

# Debian's awk differs from busybox's: it refuses an expression that goes on after ? or : on the next
# line, and takes {N} in a pattern for itself.
awk_is_plain()
{
	! grep -n -E -e '[^|] [?:]$' -e '[^$]\{[0-9]+(,[0-9]*)?\}' "$top"/selftests/guest/*.sh |
		grep -v -P '\ttype \?$'
}

plan 7
ok "no script has two functions of a name" names_are_once
ok "every file has its SPDX line" check_spdx
ok "awk in guests' scripts is what Debian's awk takes, too" awk_is_plain
ok "comments of kdtl(1) fit in 100 columns" comments_fit
ok "no work item is bound to a CPU without need" work_is_unbound
ok "the tables of mutants fit the sources" mutants_fit
ok "reasons for what no test runs are about lines that there are" reasons_fit
finish
