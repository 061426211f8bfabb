# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian packages of any suite and architecture, downloaded and unpacked but
# never installed, through an apt state of our own: the machine's package
# database is neither read nor changed. The mirror is whichever one the
# machine's apt uses, signed by the keyring already here. Needs common.sh.

# _mirror LABEL: print the address from which this machine gets LABEL (Debian or
# Debian-Security).
_mirror()
{
	# shellcheck disable=SC2016 # expanded by apt-get
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' \
		'Created-By: Packages' |
		awk -F'|' -v label="$1" \
			'$1 == "Debian" && $2 == label && !n++ { print $3 }'
}

_keyring()
{
	local k=/usr/share/keyrings/debian-archive-keyring.gpg

	[ ! -r "$k" ] || printf '[signed-by=%s] ' "$k"
}

# _apt_sources SUITE [all|updates|release]: print apt's lines for the suite. A release comes with
# its updates and its security fixes, unless the second argument says less.
_apt_sources()
{
	local suite=$1 which=${2:-all} main security opt

	main=$(_mirror Debian)
	[ -n "$main" ] ||
		die "apt has no Debian mirror yet: run apt-get update once"
	opt=$(_keyring)
	echo "deb $opt$main $suite main"
	[[ $suite != @(sid|*-backports) && $which != release ]] || return 0
	echo "deb $opt$main $suite-updates main"
	security=$(_mirror Debian-Security)
	if [ -n "$security" ] && [ "$which" = all ]; then
		echo "deb $opt$security $suite-security main"
	fi
}

# apt_state SUITE ARCH: choose the state for the functions below, and fetch its
# package lists if they are more than a day old (KDTL_UPDATE=1: always).
apt_state()
{
	# apt-get update fails while another one changes the same lists.
	with_lock "apt-$1-$2"
	_apt_state "$1" "$2"
	unlock
}

_apt_state()
{
	local suite=$1 arch=$2 dir=$KDTL_CACHE/apt/$1-$2 age which

	mkdir -p "$dir"/{lists/partial,cache/archives/partial,empty}
	: >>"$dir/status"
	apt_conf=$dir/apt.conf
	{
		# Keep settings such as the proxy, but no hooks.
		apt-config dump | grep '^Acquire::' || :
		cat <<-END
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Sandbox::User "root";
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Dir::State "$dir";
		Dir::State::lists "$dir/lists";
		Dir::State::status "$dir/status";
		Dir::Cache "$dir/cache";
		Dir::Cache::archives "$dir/cache/archives";
		Dir::Etc::main "/dev/null";
		Dir::Etc::parts "$dir/empty";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "$dir/empty";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "$dir/empty";
		Dir::Log "$dir";
		END
	} >"$apt_conf.$BASHPID"
	mv -- "$apt_conf.$BASHPID" "$apt_conf"

	age=$(($(date +%s) - $(stat -c %Y "$dir/updated" 2>/dev/null || echo 0)))
	if [ "${KDTL_UPDATE:-0}" = 0 ] && [ "$age" -lt 86400 ]; then
		return
	fi
	_apt_sources "$suite" >"$dir/sources.list"
	if step "package lists of $suite for $arch" apt_retry update; then
		touch -- "$dir/updated"
		return
	fi
	# Mirrors sync the security archive and the updates apart from the release,
	# so either can be incomplete for one architecture. The release has the same
	# packages in slightly older versions. Try the others again after an hour.
	for which in updates release; do
		_apt_sources "$suite" "$which" >"$dir/sources.list"
		step "package lists of $suite for $arch, no more than $which" \
			apt_retry update || continue
		say "$suite for $arch: versions may be older"
		touch -d '23 hours ago' -- "$dir/updated"
		return
	done
	die "no package lists of $suite for $arch"
}

# While a mirror syncs, which takes minutes, a list or a file may not have the size
# that its index gives.
apt_retry()
{
	local try out

	for try in 1 2 3 4; do
		if out=$(APT_CONFIG=$apt_conf apt-get -q -y \
			-o APT::Update::Error-Mode=any "$@" 2>&1); then
			printf '%s\n' "$out"
			return 0
		fi
		printf '%s\n' "$out"
		[ "$try" -lt 4 ] || break
		note "try $try failed, the mirror may be syncing:" \
			"again in $((try * 10)) s"
		sleep $((try * 10))
	done
	return 1
}

# apt_field PACKAGE FIELD: print that field of the candidate version.
apt_field()
{
	local version

	version=$(apt_version "$1")
	[ -n "$version" ] || return 1
	APT_CONFIG=$apt_conf apt-cache show "$1=$version" |
		sed -n "0,/^$2: /s/^$2: //p"
}

# apt_version PACKAGE: print the candidate version, or nothing.
apt_version()
{
	APT_CONFIG=$apt_conf apt-cache policy "$1" |
		awk '/Candidate:/ && $2 != "(none)" { print $2 }'
}

# apt_has PACKAGE[=VERSION]: succeed if the lists have it. apt itself succeeds for a missing version,
# too, but prints nothing.
apt_has()
{
	[ -n "$(APT_CONFIG=$apt_conf apt-cache show "$1" 2>/dev/null)" ]
}

# apt_dependency PACKAGE REGEX: print the dependency of a meta-package whose whole
# name matches.
apt_dependency()
{
	apt_field "$1" Depends | tr -s ',|' '\n' |
		sed 's/^ *//; s/[ :(].*//' |
		awk -v re="^($2)\$" '$0 ~ re && !n++; END { exit !n }'
}

# apt_unpack DIR PACKAGE...: download the packages into DIR, and unpack them there.
apt_unpack()
{
	local dir=$1 deb

	shift
	mkdir -p -- "$dir/.deb" || return
	(cd -- "$dir/.deb" && apt_retry download "$@") || return
	for deb in "$dir"/.deb/*.deb; do
		dpkg -x "$deb" "$dir" || return
	done
	rm -rf -- "$dir/.deb"
}
