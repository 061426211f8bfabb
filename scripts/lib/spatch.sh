# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Coccinelle's spatch. Sourced.

# run_spatch ARGUMENT...: run spatch with /usr/bin first in PATH, because it starts python3: that of
# pyenv takes a second to start, and is not the one that spatch was built with. In spatch's own file
# of macros, DEFINE_PER_CPU() has an attribute behind "static", where spatch cannot read one. Without
# the attribute, spatch no longer takes a call on the same line number of the source for a macro.
run_spatch()
{
	local PATH=/usr/bin:$PATH macros

	macros=$(spatch --help 2>&1 |
		sed -n 's/.*--macro-file-builtins .*(default=\(.*\))$/\1/p')
	spatch --macro-file-builtins \
		<(sed 's/ __attribute__((__section__("\.data\.percpu")))//' "$macros") "$@"
}
