# SPDX-License-Identifier: GPL-2.0
# bash completion for kdtl(1). The commands and options are those that --help shows.

_kdtl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local kdtl=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} words='' top=/sys/fs/cgroup

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$("$kdtl" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
		words="$words help --help --version"
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$verb" = help ]; then
		words=$("$kdtl" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
	elif [[ $cur == -* ]]; then
		words=$("$kdtl" "$verb" --help 2>/dev/null | sed '1d' |
			grep -o -E '^ *(-[^ ]+ ?[^ -]*,? ?)+' | grep -o -E -e '--?[a-zA-Z][a-z-]*')
	else
		case $prev in
		--by | --behind | --format | --sort)
			words=$("$kdtl" "$verb" --help 2>/dev/null | sed -n "s/.* $prev \([a-z0-9|]*\).*/\1/p" |
				head -n 1 | tr '|' ' ')
			;;
		-g | --cgroup)
			[[ -z $cur || $cur == /* ]] || return
			mapfile -t COMPREPLY < <(compgen -d -- "$top${cur:-/}")
			COMPREPLY=("${COMPREPLY[@]#"$top"}")
			return
			;;
		-s)
			words=$(cd /sys/bus/event_source/devices 2>/dev/null && echo kdtl*)
			;;
		-o)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		-[A-Zdnmpw] | --from | --to | --time | --pid | --comm | --cpu | --min-wait | --interval | --host-ahead)
			return
			;;
		*)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		esac
	fi
	# shellcheck disable=SC2086 # words
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _kdtl kdtl
