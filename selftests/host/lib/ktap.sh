# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# KTAP for the tests on the developer's machine. A script sources this file after common.sh.

ktap_plan=0 ktap_nr=0 ktap_failed=0

# plan N: N tests will follow.
plan()
{
	ktap_plan=$1
	echo "KTAP version 1"
	echo "1..$1"
}

# ok NAME COMMAND...: a test, which passes if COMMAND succeeds; otherwise its output is shown.
ok()
{
	local ktap_name=$1 ktap_out

	shift
	ktap_nr=$((ktap_nr + 1))
	ktap_out=$(mktemp "${TMPDIR:-/tmp}/kdtl-ktap.XXXXXX")
	partial "$ktap_out"
	if "$@" >"$ktap_out" 2>&1; then
		echo "ok $ktap_nr $ktap_name"
	else
		tail -n 30 -- "$ktap_out" | sed 's/^/# /'
		echo "not ok $ktap_nr $ktap_name"
		ktap_failed=$((ktap_failed + 1))
	fi
	rm -f -- "$ktap_out"
	finished "$ktap_out"
}

# skip NAME REASON: a test that cannot run here.
skip()
{
	ktap_nr=$((ktap_nr + 1))
	echo "ok $ktap_nr $1 # SKIP $2"
}

# skip_all REASON: none of the tests can run here; ends the script.
skip_all()
{
	echo "KTAP version 1"
	echo "1..0 # SKIP $*"
	exit 4
}

note_ktap()
{
	echo "# $*"
}

bail_out()
{
	echo "Bail out! $*"
	exit 1
}

# finish: the script ends here.
finish()
{
	[ "$ktap_nr" -eq "$ktap_plan" ] && [ "$ktap_failed" -eq 0 ]
	exit
}
