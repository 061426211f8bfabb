# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Coccinelle's spatch. Sourced.

# run_spatch ARGUMENT...: spatch starts python3 each time. One of pyenv's takes a second for that,
# and is not the one that spatch was built with.
run_spatch()
{
	PATH=/usr/bin:$PATH spatch "$@"
}
