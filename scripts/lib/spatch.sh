# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Coccinelle's spatch. Sourced.

# run_spatch ARGUMENT...: spatch starts python3 each time. One of pyenv's takes a second for that,
# and is not the one that spatch was built with. And in the file that tells spatch of macros
# DEFINE_PER_CPU() has an attribute where spatch reads none, behind "static". Then it also takes
# a call for a macro that is on the line of that number in the source.
run_spatch()
{
	local PATH=/usr/bin:$PATH macros

	macros=$(spatch --help 2>&1 |
		sed -n 's/.*--macro-file-builtins .*(default=\(.*\))$/\1/p')
	spatch --macro-file-builtins \
		<(sed 's/ __attribute__((__section__("\.data\.percpu")))//' "$macros") "$@"
}
