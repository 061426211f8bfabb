# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# For machines that run all scripts of selftests/guest. Needs $top.

# guest_tests: prints their names. The last one is checkers, which looks at what the others have
# left.
guest_tests()
{
	find "$top/selftests/guest" -name '*.sh' ! -name ktap.sh ! -name checkers.sh \
		-printf '%f\n' | sed 's/\.sh$//' | sort
	echo checkers
}
