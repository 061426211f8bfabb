#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kdtl record: a recording ends when it should, and says how it ended.
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(cd -- "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

export TZ=UTC

# entries FILE: how many entries the recording has.
entries()
{
	kdtl print "$1" 2>/dev/null | grep -c -v '^#'
}

kdtl()
{
	"$dir/kdtl" "$@"
}

# A task wants its CPU again and again.
busy()
{
	while :; do
		sleep 0.001
	done
}

# A machine that stands still may have fewer than three waits in such a time.
why_now()
{
	for span in 0.5 5 50; do
		kdtl why -d $span -n 3 >"$work/why" 2>&1 || break
		grep -q '^live: the longest [0-2] of ' "$work/why" || break
	done
	grep -q '^live: the longest 3 of ' "$work/why" &&
		grep -q '^ *behind ' "$work/why" &&
		[ "$(grep -c '^[0-9][0-9:.]* ' "$work/why")" -eq 3 ] && return
	cat "$work/why"
	return 1
}

dispatches_logged()
{
	awk '/\[kdtl_stream\]/ && $8 >= 100 { found = 1 } END { exit !found }' \
		/sys/kernel/debug/kdtl/sessions
}

# Ctrl-C ends only the time for which kdtl why looks.
why_until_interrupted()
{
	"$dir/kdtl" why -d 1000 >"$work/why" 2>&1 &
	set -- $!
	until_true dispatches_logged
	kill -INT "$1"
	wait "$1" && grep -q '^live: the longest ' "$work/why" && return
	cat "$work/why"
	return 1
}

# is_recording FILE: a session has begun, and the file is being written.
is_recording()
{
	until_true grep -q '^kdtl_stream [0-9]* [1-9]' /proc/modules &&
		until_true test -s "$1"
}

# end_of FILE: how the recording ended; nothing if it is complete. The clock of a virtual machine
# may lag so much that it looks as if it had been set, and a quiet machine may have nothing to
# record.
end_of()
{
	kdtl print "$1" 2>&1 >/dev/null | sed -e '/the clock was set by/d' -e 's/^kdtl: [^:]*: //' \
		-e '/^is from .* with 0 dispatches$/d'
}

is_complete()
{
	[ -s "$1" ] && [ "$(end_of "$1")" = "" ]
}

# A recording has begun in a process that has another child already, and that is stopped
# and goes on. Only the end of the command ends it.
only_the_command_ends_it()
{
	sh -c 'sleep 0.2 & exec "$0" record -q -o other.data sh -c \
		"until [ -e go ]; do sleep 0.01; done; exit 3"' "$dir/kdtl" &
	set -- $!
	is_recording other.data || return
	sleep 1
	kill -STOP "$1"
	kill -CONT "$1"
	sleep 0.3
	[ "$(end_of other.data | cut -d, -f1)" = "is still being written or was killed" ] ||
		return
	touch go
	wait "$1"
	is $? 3 && is "$(end_of other.data)" ""
}

# Neither of the two modules that --steal needs is loaded.
no_steal()
{
	kdtl record --steal -d 1 -o steal.data 2>steal.err
	is $? 1 && is "$(cat steal.err)" "kdtl: --steal: no source says what a hypervisor takes: \
load the module kdtl_steal or kdtl_vpa" && [ ! -e steal.data ] && [ ! -e steal.data.steal ]
}

# The command itself is stopped and goes on, as with Ctrl-Z and fg.
stopped_command()
{
	"$dir/kdtl" record -q -o stop.data sh -c 'echo $$ >stop.pid
		until [ -e stop.go ]; do sleep 0.01; done; exit 4' &
	set -- $!
	until_true test -s stop.pid || return
	kill -STOP "$(cat stop.pid)"
	sleep 0.2
	kill -CONT "$(cat stop.pid)"
	sleep 0.2
	is "$(end_of stop.data | cut -d, -f1)" "is still being written or was killed" || return
	touch stop.go
	wait "$1"
	is $? 4 && is "$(end_of stop.data)" ""
}

stubborn='trap "" TERM INT
	echo $$ >stubborn.pid
	while :; do sleep 0.01; done'

gone()
{
	! kill -0 "$(cat stubborn.pid)" 2>/dev/null
}

# If the command does not end at SIGTERM, SIGKILL follows, which kdtl announces. On a slow machine
# the command may take longer until it ignores SIGTERM.
stubborn_is_killed()
{
	for span in 0.5 5 50; do
		rm -f stubborn.pid
		kdtl record -q -d $span -o stubborn.data sh -c "$stubborn" 2>stubborn.err
		set -- $?
		[ ! -e stubborn.pid ] || break
	done
	is "$1" 137 && is "$(cat stubborn.err)" \
		"kdtl: sh has not ended yet: SIGKILL in 5 s, or at Ctrl-C" && gone &&
		is "$(end_of stubborn.data)" ""
}

stubborn_at_ctrl_c()
{
	rm -f stubborn.pid
	"$dir/kdtl" record -o stubborn.data sh -c "$stubborn" 2>stubborn.err &
	set -- $!
	until_true test -s stubborn.pid || return
	kill -INT "$1"
	until_true grep -q dispatches stubborn.err
	kill -INT "$1"
	wait "$1"
	is $? 137 && gone && ! grep -q 'SIGKILL in' stubborn.err
}

# No space is left: the command must not go on without its recording.
disk_full()
{
	mkdir -p small && mount -t tmpfs -o size=128k none small || return
	rm -f stubborn.pid
	kdtl record -q -o small/full.data sh -c 'echo $$ >stubborn.pid
		while :; do sleep 0.0001; done' 2>full.err
	is $? 1 && grep -q '^kdtl: small/full.data: No space left on device' full.err && gone &&
		is "$(end_of small/full.data)" "an error ended the recording, its end is missing" &&
		[ "$(entries small/full.data)" -gt 100 ]
	set -- $?
	umount small
	return "$1"
}

reader_goes()
{
	rm -f stubborn.pid
	{
		kdtl record -q -o - sh -c 'echo $$ >stubborn.pid; while :; do sleep 0.0001; done' 2>pipe.err
		echo $? >pipe.status
	} | head -c 20000 >/dev/null
	is "$(cat pipe.status)" 1 && gone && is "$(cat pipe.err)" \
		"kdtl: standard output: Broken pipe"
}

# waits_for_reader PID: it waits for standard output, in ppoll() of one file, or in write(). The
# third word is ppoll()'s number of files, or the second one write()'s file.
waits_for_reader()
{
	awk '{ found = $3 == "0x1" || $2 == "0x1" } END { exit !found }' "/proc/$1/syscall"
}

ended()
{
	! kill -0 "$1" 2>/dev/null
}

# reader_stalls SIGNAL...: nobody reads the FIFO, which is open. After the signals the recording
# ends, and says what it could not write. The part in the FIFO can be read.
reader_stalls()
{
	rm -f stubborn.pid stalled.fifo
	mkfifo stalled.fifo && exec 8<>stalled.fifo || return
	"$dir/kdtl" record -q -o - sh -c 'echo $$ >stubborn.pid; exec taskset 1 "$0/yield" 4' "$dir" \
		>stalled.fifo 2>stalled.err 8<&- &
	stalled=$!
	until_true waits_for_reader "$stalled" || return
	for signal; do
		kill "-$signal" "$stalled"
	done
	until_true ended "$stalled" || kill -KILL "$stalled"
	wait "$stalled"
	set -- $? && exec 7<stalled.fifo 8<&- && cat <&7 >stalled.data && exec 7<&- &&
		is "$1" 1 && gone && is "$(sed 's/[0-9][0-9]*/N/g' stalled.err)" \
			"kdtl: standard output: its reader has stalled, so the recording ends without its last N dispatches; N more were lost" &&
		[ "$(sed 's/.* last \([0-9]*\) .*/\1/' stalled.err)" -gt 0 ] &&
		[ "$(entries stalled.data)" -gt 100 ] &&
		is "$(end_of stalled.data)" "is still being written or was killed, its end is missing"
}

signals_end_a_stall()
{
	reader_stalls INT && reader_stalls TERM && reader_stalls HUP && reader_stalls INT TERM
}

# A reader that takes what comes gets all of it after a signal.
reader_gets_the_rest()
{
	rm -f rest.fifo
	mkfifo rest.fifo || return
	cat rest.fifo >rest.data &
	set -- $!
	"$dir/kdtl" record -q -o - sh -c 'while :; do sleep 0.0001; done' >rest.fifo &
	set -- "$1" $!
	until_true test -s rest.data && kill -INT "$2" && wait "$2"
	set -- "$1" $? && wait "$1" && is "$2" 130 && is "$(end_of rest.data)" ""
}

# Without open standard files, the recording could become standard error.
closed_files()
{
	"$dir/kdtl" record -d 0.5 -o closed.data <&- >&- 2>&-
	is $? 0 && is "$(end_of closed.data)" "" && ! grep -q dispatches closed.data
}

cpus_refused()
{
	kdtl record -q -C 4000 -d 0.1 -o cpus.data 2>cpus.err
	is $? 2 && is "$(sed -n 1p cpus.err)" "kdtl: -C: this machine has no CPU 4000; see kdtl record --help" || return
	echo 0 >"$online" || return
	kdtl record -q -C $last -d 0.1 -o cpus.data 2>cpus.err
	is $? 2 && is "$(sed -n 1p cpus.err)" "kdtl: -C: CPU $last is not online; see kdtl record --help" &&
		[ ! -e cpus.data ] &&
		kdtl record -q -C 0-$last -d 0.5 -o cpus.data 2>cpus.err && is "$(cat cpus.err)" \
			"kdtl: CPU $last is not online, and is recorded only from when it is"
	set -- $?
	bring_back "$last" && return "$1"
}

# moved FILE: takes the last CPU offline and back. The kernel's log, whose clock is that of the
# entries, has when each of the two began and when it was over.
moved()
{
	forget_log
	for state in 0 1; do
		echo "begin $state" >/dev/kmsg
		if [ $state -eq 0 ]; then
			echo 0 >"$online"
		else
			bring_back "$last"
		fi || return
		echo "end $state" >/dev/kmsg
		sleep 0.5
	done
	log | sed -n 's/^\[ *\([0-9.]*\)\] \(begin\|end\) \([01]\)$/\2 \3 \1/p' >"$1"
}

# marks_fit FILE LOG: the marks of the last CPU are that it went, and then that it came, each while
# the shell waited for that, and between the two it has no entry. The task that took it offline had
# the CPU for less than the half second that it was offline at least, and nobody else had it then.
marks_fit()
{
	kdtl print "$1" >marks.out 2>marks.err
	kdtl report --json --comm "cpuhp/$last" "$1" >marks.json 2>/dev/null
	awk -v cpu="$last" '
		FILENAME ~ /log$/ { time[$1 $2] = $3; next }
		/^# *[0-9]/ && $3 == cpu { marks = marks $4 " " $5 " "; at[$4] = $2; off = $4 == "went" }
		/^ *[0-9]/ && $2 == cpu && off { print "not offline:", $0; bad = 1 }
		END {
			print marks, time["begin0"], at["went"], time["end0"], time["begin1"], at["came"],
				time["end1"]
			exit !(!bad && marks == "went offline came online " && time["begin0"] <= at["went"] &&
				at["went"] <= time["end0"] && time["begin1"] <= at["came"] &&
				at["came"] <= time["end1"])
		}' "$2" marks.out >marks.said &&
		grep -q ": CPU $last went offline at .*, CPU $last came online at " marks.err &&
		awk -v RS=, -F: '/"ran_/ { ran += $2; n++ } END { print "ran", ran; exit !(n && ran < 5e8) }' \
			marks.json >>marks.said && return
	cat marks.said marks.err marks.json
	return 1
}

# losses FILE: how many entries were lost, in hex, of each loss, which is a chunk of type 9.
losses()
{
	hexdump -v -e '8/1 "%02x" "\n"' "$1" | sed -n '/^0000000900000020$/{n;n;n;n;p}'
}

# A loss of no entries would say that the CPU went and came more often.
cpu_is_marked()
{
	"$dir/kdtl" record -q -i -o moves.data &
	set -- $!
	is_recording moves.data && moved moves.log
	set -- $? "$1"
	kill -INT "$2"
	wait "$2"
	is "$1" 0 && marks_fit moves.data moves.log && ! losses moves.data | grep -x 0000000000000000
}

# If kdtl gets no CPU while a CPU goes and comes several times, it knows the last times only, and that
# there were others: of the time before them it has a loss of no entries.
cpu_is_missed()
{
	"$dir/kdtl" record -q -i -o missed.data &
	set -- $!
	is_recording missed.data && kill -STOP "$1" && echo 0 >"$online" && bring_back "$last" &&
		moved missed.log
	set -- $? "$1"
	kill -CONT "$2"
	kill -INT "$2"
	wait "$2"
	is "$1" 0 && marks_fit missed.data missed.log && is "$(losses missed.data)" 0000000000000000
}

# marks FILE: the marks of the last CPU, one after the other.
marks()
{
	kdtl print "$1" 2>/dev/null | awk -v cpu="$last" '/^# *[0-9]/ && $3 == cpu { print $4, $5 }' |
		tr '\n' ' '
}

# Of a CPU that is offline when a recording begins, it is not known since when.
cpu_is_absent()
{
	echo 0 >"$online" && kdtl record -q -d 0.5 -o absent.data && is "$(marks absent.data)" "was offline " &&
		kdtl print absent.data 2>&1 >/dev/null | grep -q ": CPU $last was offline\$" &&
		kdtl record -q -o back.data sh -c "echo 1 >$online; sleep 0.1" &&
		is "$(marks back.data)" "was offline came online "
	set -- $?
	bring_back "$last" && return "$1"
}

# If kdtl gets no CPU while one that was offline comes and goes, it knows in which order.
cpu_comes_and_goes()
{
	echo 0 >"$online" || return
	"$dir/kdtl" record -q -i -o order.data &
	set -- $!
	is_recording order.data && kill -STOP "$1" && bring_back "$last" && echo 0 >"$online"
	set -- $? "$1"
	kill -CONT "$2"
	kill -INT "$2"
	wait "$2"
	bring_back "$last"
	is "$1" 0 && is "$(marks order.data)" "was offline came online went offline "
}

# A CPU goes, and the files that begin after that say so, too, and a ring that lacks that time. In all
# of them it went once.
parts_know_offline()
{
	kdtl record -q --max-size 64K --rotate 2 -o went.data sh -c \
		"echo 0 >$online; until [ -e went.data.2 ]; do sleep 0.0001; done; sleep 0.1"
	set -- $?
	bring_back "$last"
	is "$1" 0 && is "$(marks went.data)" "went offline " && is "$(marks went.data.1)" "went offline " ||
		return
	kdtl record -q --ring 1 -o went-ring.data sh -c "echo 0 >$online; sleep 4"
	set -- $?
	bring_back "$last"
	is "$1" 0 && is "$(marks went-ring.data)" "went offline "
}

no_source()
{
	unload kdtl_sched || return
	without_modprobe kdtl record -q -o none.data true 2>none.err
	set -- $?
	load kdtl_sched && is "$1" 1 &&
		is "$(cut -d: -f1-3 none.err)" \
			"kdtl: there is no source: load the module kdtl_sched, kdtl_steal or kdtl_vpa" &&
		[ ! -e none.data ]
}

# A stream holds what a file would, and its reader knows that nothing is missing.
stream_is_whole()
{
	kdtl record -o - sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 0.001; done' 2>stream.err |
		cat >stream.data
	is "$(sed -n 's/^standard output: .* s, \([0-9]*\) dispatches, 0 lost.*/\1/p' stream.err)" \
		"$(entries stream.data)" && is "$(end_of stream.data)" "" || return
	kdtl print stream.data >stream.txt
	head -c 1000000 stream.data | kdtl print - | cmp - stream.txt &&
		kdtl print - <stream.data | cmp - stream.txt || return
	head -c -60 stream.data >part.data
	is "$(end_of part.data)" "is still being written or was killed, its end is missing"
}

old_is_kept()
{
	cp stream.data keep.data && kdtl record -q -d 0.2 -o keep.data &&
		cmp stream.data keep.data.old && is "$(end_of keep.data)" ""
}

# A recording or a ring without short waits says so: it is not known then which task had a CPU.
says_what_is_missing()
{
	kdtl record -q -w 0.5 -d 0.2 -o least.data &&
		kdtl record -q -w 0.5 --ring 1 -d 0.2 -o least-ring.data || return
	for i in least.data least-ring.data; do
		is "$(end_of "$i")" \
			"has no waits shorter than 500 us (-w), so it does not say who had a CPU" || return
	done
}

# Writes a script, flood DIR COLUMN NR: tasks yield their CPU to each other until kdtl's session has
# NR entries in that column of the sessions' table.
flood()
{
	cat >flood <<-'EOF'
		taskset 1 "$1/yield" 4 &
		until awk -v column="$2" -v nr="$3" '/\[kdtl_stream\]/ && $column >= nr { found = 1 }
				END { exit !found }' /sys/kernel/debug/kdtl/sessions; do
			sleep 0.01
		done
		kill $!
	EOF
}

# The recording has when entries were lost, and as many of them as kdtl says. kdtl's log is a page,
# and kdtl is stopped meanwhile.
says_when_lost()
{
	flood
	# shellcheck disable=SC2016 # the command expands it
	kdtl record -m 1 -o lost.data sh -c '
		kill -STOP $PPID
		sh flood "$0" 10 1
		kill -CONT $PPID
		sleep 0.1' "$dir" 2>lost.err || { cat lost.err; return 1; }
	lost=$(sed -n 's/.* dispatches, \([0-9]*\) lost.*/\1/p' lost.err) sum=0
	# Of each chunk of type 9, which has 32 bytes, take the last number.
	for n in $(hexdump -v -e '8/1 "%02x" "\n"' lost.data |
		sed -n '/^0000000900000020$/{n;n;n;n;p}'); do
		sum=$((sum + 0x$n))
	done
	[ "$lost" -gt 0 ] && is $sum "$lost"
}

# A limit of the size ends the recording, and the command.
size_is_limited()
{
	kdtl record --max-size 64K -o size.data sh -c 'while :; do sleep 0.0001; done' 2>size.err
	is $? 143 || { cat size.err; return 1; }
	[ "$(wc -c <size.data)" -lt 200000 ] && is "$(end_of size.data)" "" &&
		grep -q '^kdtl: size.data has reached the size that --max-size allows' size.err
}

# The limit also holds if kdtl, which was stopped, fills the file at once after a signal.
size_is_limited_at_once()
{
	# shellcheck disable=SC2016 # the command expands it
	kdtl record --max-size 64K -o once.data sh -c '
		kill -STOP $PPID
		sh flood "$0" 9 1500
		kill -CHLD $PPID
		kill -CONT $PPID
		exec sleep 1000' "$dir" 2>once.err
	is $? 143 || { cat once.err; return 1; }
	is "$(end_of once.data)" "" && grep -q '^kdtl: once.data has reached the size' once.err
}

# Each file can be read alone, and together they have all entries.
rotates()
{
	kdtl record --max-size 64K --rotate 2 -o turn.data sh -c \
		'until [ -e turn.data.2 ]; do sleep 0.0001; done; sleep 0.1' 2>turn.err
	is $? 0 && [ -e turn.data.1 ] && [ ! -e turn.data.3 ] || return
	for i in turn.data turn.data.1 turn.data.2; do
		is "$(end_of "$i")" "" || return
		# Each file names the tasks of its entries: all of them have the sh of this test.
		kdtl print "$i" | grep -q ' sh .* /$' || return
	done
}

# span FILE: the time from its first entry to its last.
span()
{
	kdtl print "$1" | awk '/^#/ { next } !n++ { first = $1 } { last = $1 }
		END { print last - first }'
}

# has_last_second SIGNAL PID: the file that the signal asks for has the last second, and nothing from
# before.
has_last_second()
{
	sleep 0.5
	mv ring.data ring.before 2>/dev/null
	sh -c 'printf MARK >/proc/$$/comm; sleep 0.001; sleep 0.001'
	kill -"$1" "$2" && until_true is_complete ring.data || return
	asked=$((asked + 1))
	span ring.data | awk '{ print; exit !($1 > 0.9) }' &&
		kdtl print ring.data | grep -q ' MARK .* /$' &&
		! kdtl print ring.data | grep -q ' EARLY .* /$'
}

# If the host stops the machine, the ring may not have dropped the first second yet, or may have
# dropped what it had to have before it could be asked. So it may be asked again.
ring()
{
	asked=1
	"$dir/kdtl" record --ring 1 -o ring.data 2>ring.err &
	set -- $!
	ktap_pids="$ktap_pids $!"
	until_true grep -q '^kdtl_stream [0-9]* [1-9]' /proc/modules
	sh -c 'printf EARLY >/proc/$$/comm; sleep 0.001; sleep 0.001'
	sleep 4
	[ ! -e ring.data ] && in_tries 5 has_last_second USR2 "$1" &&
		in_tries 5 has_last_second QUIT "$1" || return
	kill -TERM "$1"
	wait "$1"
	is $? 0 && [ -e ring.data.old ] && is "$(end_of ring.data)" "" &&
		is "$(grep -c '^ring.data: the last [0-9.]* s, [0-9]* dispatches, 0 lost' ring.err)" $asked
}

# Every wait of a millisecond is an alarm of this watch. There may be no alarm for longer than the
# ring remembers, so the files may have a gap between them, but they are in order. Lines of others
# that look like alarms are none.
at_alarms()
{
	"$dir/kdtl" record --ring 1 --on-alarm --rotate 2 -o alarm.data 2>alarm.err &
	set -- $!
	ktap_pids="$ktap_pids $!"
	for _ in 1 2 3 4; do
		sleep 0.5
		echo '<4>kdtl_watch: CPU 0: seems to be one' >/dev/kmsg
		echo '<4>seems to be one, too;kdtl_watch: CPU 0: or not' >/dev/kmsg
	done
	sleep 0.5
	[ ! -e alarm.data ] && load kdtl_watch threshold_ms=1 || return
	until_true [ -e alarm.data.2 ]
	unload kdtl_watch || return
	kill -TERM "$1"
	wait "$1"
	is $? 0 && is "$(end_of alarm.data.1)$(end_of alarm.data.2)" "" || return
	[ "$(kdtl print alarm.data.2 | awk 'END { print $1 }' | tr -d .)" -lt \
		"$(kdtl print alarm.data.1 | awk 'END { print $1 }' | tr -d .)" ] && return
	for file in alarm.data.2 alarm.data.1; do
		kdtl print "$file" | awk -v file="$file" '!/^#/ && !n++ { print file, "from", $1 }
			END { print "to", $1 }'
	done
	return 1
}

# is_too_large PID: the ring has been asked for, and did not fit. In the second before, a machine that
# the host has stopped may have logged less than that.
is_too_large()
{
	kill -USR2 "$1" && sleep 0.2 &&
		grep -q '^kdtl: small/ring.data: the ring could not be written: No space' ring.err
}

# fits PID NR: it has been asked for, and has been written more often than NR times.
fits()
{
	kill -USR2 "$1" && sleep 0.2 && [ "$(grep -c '^small/ring.data: the last ' ring.err)" -gt "$2" ]
}

# If the ring cannot be written now, it can be written later. Tasks that yield make too much for the
# file in a second.
ring_goes_on()
{
	mount -t tmpfs -o size=16k none small || return
	taskset 1 "$dir/yield" 4 &
	yields=$!
	ktap_pids="$ktap_pids $yields"
	"$dir/kdtl" record --ring 1 -o small/ring.data 2>ring.err &
	set -- $!
	ktap_pids="$ktap_pids $!"
	# It has begun to log, so it knows the signal.
	until_true dispatches_logged
	if ! { in_tries 100 is_too_large "$1" && mount -o remount,size=100m small &&
		in_tries 100 fits "$1" "$(grep -c '^small/ring.data: the last ' ring.err)" &&
		until_true eval '[ -z "$(end_of small/ring.data)" ]'; }; then
		set -- "$1" failed
	fi
	kill "$yields"
	kill -TERM "$1"
	wait "$1"
	is $? 1 && [ $# -eq 1 ]
	set -- $?
	umount small
	return "$1"
}

# shows_victim FILE: kdtl why, on a recording that need not be whole, shows the wait that is not
# over, and is longer than a second.
shows_victim()
{
	kdtl why --brief --pid "$victim" "$1" 2>/dev/null |
		grep -q ' waited_ms=[1-9][0-9]\{3\}\..* behind=held .* not_over=1 '
}

top_shows_victim()
{
	awk -v task="($victim)" '$2 == task && $5 ~ /^[0-9][0-9][0-9][0-9]\.[0-9]\+$/ && $NF == "held" { found = 1 }
		END { exit !found }' top.out
}

report_shows_victim()
{
	kdtl report --pid "$victim" "$1" | awk '/^sh / && $5 ~ /s\+$/ && $NF ~ /s$/ { found = 1 }
		/waits \(\+\) were not over/ { said = 1 }
		END { exit !(found && said) }'
}

# A real-time task takes CPU 1 from another one, and has it to the end.
hog_to_the_end()
{
	can_starve 1
	taskset 2 sh -c 'while :; do :; done' &
	victim=$!
	"$dir/kdtl" top -b --interval 0.5 >top.out &
	top=$!
	ktap_pids="$ktap_pids $victim $top"
	"$dir/kdtl" record -q -i -o hog.data sh -c '"$0" 1 >holds &
		echo $! >held.pid
		until [ -e hog.go ]; do sleep 0.01; done' "$dir/held" &
	set -- $!
	until_true shows_victim hog.data && until_true top_shows_victim
	shown=$?
	touch hog.go
	wait "$1" && is "$(end_of hog.data)" "" && shows_victim hog.data && report_shows_victim hog.data &&
		[ $shown -eq 0 ]
	set -- $?
	kill "$(cat held.pid)" "$victim" "$top"
	wait "$victim" "$top"
	[ "$1" -eq 0 ] && return
	tail -n 20 top.out
	kdtl why --pid "$victim" hog.data
	kdtl report hog.data
	return 1
}

# A process in a pid namespace knows only its PID there, which another process may also have.
pid_namespace()
{
	cat >ns.sh <<-'END'
		sh -c 'echo $$ >ns.pid; sleep 0.001; sleep 0.001; :'
		:
	END
	kdtl record -q -o ns.data unshare -p -f sh ns.sh || return
	note "PID $(cat ns.pid)"
	kdtl print -a --pid "$(cat ns.pid)" ns.data >ns.out 2>ns.err
	grep -q "pid namespace $(cat ns.pid) is the PID of .*sh (" ns.err && grep -q ' sh  *[0-9]' ns.out &&
		return
	cat ns.err ns.out
	return 1
}

work=/tmp/kdtl-record
rm -rf $work
mkdir -p $work
need kdtl kdtl_sched kdtl_stream
cd $work || exit
plan 31
background busy
ok "kdtl why -d says what happens now" why_now
ok "Ctrl-C ends it early, and it says what it knows" why_until_interrupted
ok "neither another child, nor stopping, ends a recording" only_the_command_ends_it
ok "nor does a command that was stopped and goes on" stopped_command
ok "a command that ignores SIGTERM is killed, after a word" stubborn_is_killed
ok "or at the second Ctrl-C" stubborn_at_ctrl_c
ok "a full disk ends the command, and the recording says so" disk_full
ok "so does a reader that goes" reader_goes
ok "signals end a recording whose reader stalls, which is said" signals_end_a_stall
ok "and one that reads gets the rest" reader_gets_the_rest
ok "without standard files nothing else gets into the recording" closed_files
last_cpu
if [ $last -gt 0 ] && [ -e "$online" ]; then
	ok "CPUs that are not there are named" cpus_refused
	ok "it has marks for a CPU that goes and comes" cpu_is_marked
	ok "and says what it has missed" cpu_is_missed
	ok "and knows a CPU that was offline before" cpu_is_absent
	ok "or that comes and goes at once" cpu_comes_and_goes
	ok "so does each part" parts_know_offline
else
	skip "CPUs that are not there are named" "no CPU can be taken offline"
	skip "it has marks for a CPU that goes and comes" "no CPU can be taken offline"
	skip "and says what it has missed" "no CPU can be taken offline"
	skip "and knows a CPU that was offline before" "no CPU can be taken offline"
	skip "or that comes and goes at once" "no CPU can be taken offline"
	skip "so does each part" "no CPU can be taken offline"
fi
if [ "$(nproc)" -gt 1 ] && [ -x "$dir/held" ]; then
	ok "a wait behind a task that runs to the end" hog_to_the_end
else
	skip "a wait behind a task that runs to the end" "only one CPU, or no program held"
fi
ok "a PID in a namespace is known" pid_namespace
ok "a machine without source is told what to load" no_source
ok "so is one without a source of stolen time, and has no file then" no_steal
ok "a stream is whole, and one that is cut off says so" stream_is_whole
ok "an old file is kept" old_is_kept
ok "one without short waits says so" says_what_is_missing
ok "it knows when entries were lost" says_when_lost
ok "a file grows up to its limit" size_is_limited
ok "also if it is filled at once" size_is_limited_at_once
ok "or the next one begins, and each can be read alone" rotates
ok "a ring has the last second, at each signal" ring
ok "and at each alarm of the watch" at_alarms
ok "and goes on when it cannot be written" ring_goes_on
finish
