#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the way from the sampler to Prometheus: first the rules and the units by themselves;
# then two machines, one of them with a noisy neighbour, whose metrics go through Debian's
# node_exporter to Debian's Prometheus, which runs the rules and each query of the dashboard.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

fleet=$top/clients/sampler/fleet
dashboard=$fleet/kdtl.dashboard.json
target=x86_64-6.1
snapshots=5

# --- the files by themselves ------------------------------------------------------

# rules_pass SED: the rules, changed by that script, pass their tests.
rules_pass()
{
	sed "$1" "$fleet/kdtl.rules.yml" >"$work/kdtl.rules.yml" &&
		cp -- "$here/lib/fleet-rules.yml" "$work" &&
		promtool check rules "$work/kdtl.rules.yml" &&
		(cd -- "$work" && promtool test rules fleet-rules.yml)
}

# Each change must be noticed: otherwise the tests of the rules prove nothing.
rules_fail()
{
	local change

	for change in 's/max by (cgroup) (kdtl_cgroup_wait_s/min by (cgroup) (kdtl_cgroup_wait_s/' \
		's/kdtl_neighbour_seconds:rate5m > 0.1/kdtl_neighbour_seconds:rate5m > 0.01/' \
		's/and on (job, instance) .*/and on (job) kdtl_nothing/' \
		's/cause="neighbours"/cause="own"/' 's/cause="quota"/cause="own"/' 's/for: 5m/for: 1h/' \
		's/by (job, le)/by (instance, le)/' 's/> 120/> 600/' \
		's/pressure_seconds_total{cause="q/tasks_seconds_total{cause="q/' \
		's/pressure_seconds_total{cause="quota"}/throttled_seconds_total/' \
		's/kdtl_quota_seconds:rate5m > 0.25/kdtl_quota_seconds:rate5m > 0.01/' \
		's/ up == 1/ up/'; do
		! rules_pass "$change" || { echo "not noticed: $change"; return 1; }
	done
}

# Every metric that a rule or a panel names is one that the sampler has.
metrics_exist()
{
	local name base

	while IFS= read -r name; do
		base=${name%_bucket}
		base=${base%_count}
		grep -q "\"$base\>" "$top/clients/sampler/metrics.c" ||
			grep -q "record: .*:$name" "$fleet/kdtl.rules.yml" ||
			{ echo "no such metric: $name"; return 1; }
	done < <(grep -h -v 'record:' "$fleet/kdtl.rules.yml" "$dashboard" |
		grep -o '\<kdtl_[a-z_]*\(seconds\|total\|bucket\|count\|sum\)\>' | sort -u)
}

units_are_right()
{
	local out

	out=$(systemd-analyze verify "$fleet/kdtl-metrics.service" \
		"$fleet/kdtl-metrics.timer" 2>&1) || { echo "$out"; return 1; }
	! grep kdtl <<<"$out"
}

# --- the machines -----------------------------------------------------------------

# This runs in each machine. $1: whether a hog takes the CPU from /web; $2: what the timer runs.
# shellcheck disable=SC2016
guest='
	dir=/var/lib/prometheus/node-exporter
	mkdir -p /cg $dir && mount -t cgroup2 none /cg &&
		echo +cpu >/cg/cgroup.subtree_control || exit
	for m in kdtl kdtl_answers kdtl_sched kdtl_sampler; do
		insmod /lib/kdtl/$m.ko || exit
	done
	loop() {
		mkdir -p /cg/$1
		taskset $2 sh -c "echo \$\$ >/cg/$1/cgroup.procs; while :; do :; done" &
	}
	loop batch 1
	echo 10000 100000 >/cg/batch/cpu.max
	loop web 2
	if [ $1 = noisy ]; then
		loop hog 2
		loop hog 2
		echo 10000 >/cg/hog/cpu.weight
	fi
	cd $dir
	i=0
	while [ $i -lt $3 ]; do
		i=$((i + 1))
		usleep 2000000
		sh -c "$2" || exit
		cp kdtl.prom /out/$i.prom
	done
	rmmod kdtl_sampler
	! sh -c "$2" && [ -z "$(ls)" ]
'

boot()
{
	mkdir -p -- "$work/$1"
	"$top/selftests/run/vm" "$target" --quiet --log "$work/$1/console" --out "$work/$1" \
		--modules "$kdtl" --add "$work/guest:/" -- sh /guest "$1" "$command" "$snapshots"
}

machines_run()
{
	local quiet status=0

	start_group boot quiet >"$work/quiet.log" 2>&1
	quiet=$group
	boot noisy || status=$?
	wait_group "$quiet" || { cat -- "$work/quiet.log"; return 1; }
	[ "$status" -eq 0 ] || return
	for name in quiet noisy; do
		promtool check metrics <"$work/$name/$snapshots.prom" || return
	done
}

# --- Prometheus -------------------------------------------------------------------

prometheus='' # its port, once it runs

listens()
{
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# until_true COMMAND...: returns as soon as it succeeds; false after a minute or two.
until_true()
{
	local tries=0

	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 400 ] || return 1
		sleep 0.2
	done
}

# start_server LOG COMMAND...: starts a server on a free port, which is $port, and waits until
# it listens there, lest the next server take the same port.
start_server()
{
	local log=$1

	shift
	port=$((20000 + RANDOM % 10000))
	while listens "$port"; do
		port=$((port + 1))
	done
	start_group "$@" --web.listen-address="127.0.0.1:$port" >"$log" 2>&1
	until_true listens "$port"
}

# query EXPRESSION: prints what Prometheus says, one sample a line.
query()
{
	promtool query instant "http://127.0.0.1:$prometheus" "$1"
}

# holds EXPRESSION: Prometheus has samples for it.
holds()
{
	[ -n "$(query "$1" 2>/dev/null)" ]
}

holds_soon()
{
	until_true holds "$1" || { echo "not so: $1"; return 1; }
}

none()
{
	local said

	said=$(query "$1") && [ -z "$said" ]
}

serve()
{
	local name port

	{
		echo 'global: {scrape_interval: 1s, evaluation_interval: 1s}'
		echo 'rule_files: [kdtl.rules.yml]'
		echo 'scrape_configs:'
		echo '  - job_name: node'
		echo '    static_configs:'
	} >"$work/prometheus.yml"
	# The test does not wait for five minutes.
	sed 's/\[5m\]/[30s]/' "$fleet/kdtl.rules.yml" >"$work/kdtl.rules.yml"
	for name in quiet noisy; do
		mkdir -- "$work/$name/textfile"
		start_server "$work/$name/exporter.log" prometheus-node-exporter \
			--collector.disable-defaults --collector.textfile \
			--collector.textfile.directory="$work/$name/textfile" || break
		echo "      - {targets: ['127.0.0.1:$port'], labels: {instance: $name}}" \
			>>"$work/prometheus.yml"
	done
	start_server "$work/prometheus.log" prometheus --config.file="$work/prometheus.yml" \
		--storage.tsdb.path="$work/data" && prometheus=$port &&
		holds_soon 'sum(up == 1) == 2' && return
	tail -- "$work"/*.log "$work"/*/exporter.log
	return 1
}

# Shows Prometheus one snapshot after the other, each until it has been read.
scrapes()
{
	local i name last

	for ((i = 1; i <= snapshots; i++)); do
		for name in quiet noisy; do
			cp -- "$work/$name/$i.prom" "$work/$name/textfile/kdtl.prom.new"
			mv -- "$work/$name/textfile/kdtl.prom.new" \
				"$work/$name/textfile/kdtl.prom"
			last=$(sed -n 's/^kdtl_wait_seconds_count //p' "$work/$name/$i.prom")
			holds_soon "kdtl_wait_seconds_count{instance=\"$name\"} == $last" ||
				return
		done
	done
	none 'node_textfile_scrape_error != 0'
}

worst_p99()
{
	local web='cgroup="/web"' p99='kdtl_cgroup_wait_seconds{cgroup="/web",quantile="0.99",'

	holds_soon "cgroup:kdtl_wait_p99_seconds:max{$web} == on (cgroup) ${p99}instance=\"noisy\"}" &&
		holds "${p99}instance=\"noisy\"} > on (cgroup) ${p99}instance=\"quiet\"}"
}

# peak SERIES: the highest value that the series has had. The counters stand still once all
# snapshots are read, so rates do not last.
peak()
{
	echo "max_over_time($1[10m])"
}

culprit()
{
	local rate=instance_cgroup_neighbour:kdtl_neighbour_seconds:rate5m all

	all=$(peak 'instance_cgroup:kdtl_neighbours_seconds:rate5m{instance="noisy"}')
	holds_soon "$(peak "$rate{instance=\"noisy\",cgroup=\"/web\",neighbour=\"/hog\"}") > 0.1" &&
		holds "topk(1, $all) and on (cgroup) label_replace(vector(1), \"cgroup\", \"/web\", \"\", \"\")" &&
		none 'kdtl_cgroup_culprit_seconds_total{instance="quiet",cgroup="/hog"}'
}

alerted()
{
	holds_soon "$(peak 'ALERTS{alertname="KdtlNoisyNeighbour",instance="noisy",cgroup="/web",neighbour="/hog"}')" &&
		holds_soon 'ALERTS{alertname="KdtlCgroupWaits",cgroup="/web"}' &&
		none "$(peak 'ALERTS{alertname="KdtlNoisyNeighbour",neighbour="/web"}')" &&
		none 'ALERTS{alertname="KdtlMetricsOld"}'
}

throttled()
{
	local name batch

	for name in quiet noisy; do
		batch="instance_cgroup:kdtl_quota_seconds:rate5m{instance=\"$name\",cgroup=\"/batch\"}"
		holds_soon "$(peak "$batch") > 0" &&
			none "kdtl_cgroup_throttled_seconds_total{instance=\"$name\",cgroup=\"/web\"} > 0" ||
			return
	done
}

# There is data for all that Grafana would ask, with its variables filled in.
# shellcheck disable=SC2016 # names of Grafana's variables
dashboard_has_data()
{
	local expression count=0

	while IFS= read -r expression; do
		expression=${expression//'$__rate_interval'/30s}
		expression=${expression//'$instance'/.*}
		expression=${expression//'$cgroup'/.*}
		[[ $expression != *'$'* ]] || { echo "a variable in $expression"; return 1; }
		holds "$expression" || { echo "no data: $expression"; return 1; }
		count=$((count + 1))
	done < <(jq -r '(.panels[].targets[], .annotations.list[]).expr,
		(.templating.list[] | select(.type == "query") | .definition |
			capture("label_values\\((?<series>.*), [a-z]+\\)").series)' \
		"$dashboard" | sed 's/alertstate="firing"/alertstate=~".*"/')
	[ "$count" -ge 12 ]
}

# The sampler is unloaded, so the timer removes the file.
goes_away()
{
	rm -- "$work/quiet/textfile/kdtl.prom"
	until_true none '{__name__=~"kdtl_.*",instance="quiet"}' &&
		holds 'kdtl_wait_seconds_count{instance="noisy"}'
}

"$top/scripts/install-deps" fleet || skip_all "Prometheus cannot be installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-fleet.XXXXXX")
partial "$work"

quick=${KDTL_QUICK:-0}
plan $((quick ? 4 : 13))
ok "the rules say what they should of known numbers" rules_pass ''
ok "and rules that are wrong do not" rules_fail
ok "the sampler has all metrics that rules and dashboard name" metrics_exist
ok "systemd accepts the units" units_are_right
[ "$quick" = 0 ] || finish
capture "$top/scripts/build" $target
kdtl=$captured
echo "$guest" >"$work/guest"
command=$(sed -n "s|^ExecStart=/bin/sh -c '\(.*\)'\$|\1|p" "$fleet/kdtl-metrics.service")
ok "two machines write what the timer writes, and nothing without the sampler" machines_run
ok "node_exporter and Prometheus start" serve
[ -n "$prometheus" ] || bail_out "no Prometheus"
ok "they read all of it" scrapes
ok "the worst p99 by cgroup is the noisy machine's" worst_p99
ok "the neighbour has most of the blame, and only there" culprit
ok "there is an alert about it, and about the waits" alerted
ok "throttled time is /batch's, and no wait" throttled
ok "every query of the dashboard has data" dashboard_has_data
ok "the series go with the sampler" goes_away
finish
