# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# The scripts of selftests/guest, for machines that run all of them. Needs $top.

# guest_tests: their names; checkers, which looks at what the others have left, is the last.
guest_tests()
{
	find "$top/selftests/guest" -name '*.sh' ! -name ktap.sh ! -name checkers.sh \
		-printf '%f\n' | sed 's/\.sh$//' | sort
	echo checkers
}
