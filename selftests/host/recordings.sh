#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Anybody may have made a recording: whatever is in it, the commands that read it neither
# crash nor hang, and their JSON is valid. The tool is built with gcc's sanitizers.
# ROUNDS=300 is the number of damaged recordings, and SEED=1 where the dice begin.
#
# Wherever a recording is read, kdtl(1) says the same, byte by byte: also on a machine of 32
# bits, and on a big-endian one.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/readers.sh
. "$here/lib/readers.sh"

builds()
{
	make -s -C "$top/clients/stream/tool" OUTPUT="$work" LDFLAGS= \
		CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all'
}

records()
{
	python3 "$here/lib/recording.py" "$work/good.data" <<-'END'
		boot 500000000 1700000000000000000
		clock 500000000 1700000000000000000
		cgroup 1 /system.slice/web.service
		cgroup 2 /batch.slice
		task 1 100 100 0 0 0 1 web
		task 1 101 100 0 5 0 1 web-thread
		task 1 200 200 1 0 50 2 hog
		run 1000000000 1 0 5 100 0 web
		run 1005000000 1 0 5 200 100 hog
		run 1607000000 1 0 0 300 200 kworker/1:1
		clock 1610000000 1700000001110500000
		run 1622000000 1 617000000 1000000 100 300 web
		idle 1630000000 1 100
		run 1640000000 0 0 0 100 7 web
		offline 1650000000 0
		online 1690000000 0
		run 1700000000 0 20000000 0 101 100 web-thread
		throttled 1900000000 0 90000000 101 9 web-thread
		task 1950000000 200 200 0 0 0 1 hog
		run 2000000000 1 2000 0 200 0 hog
		run 9500000000 1 4294967295 0 101 200 web-thread
		clock 3500000000 1700000003200000000
	END
	python3 "$here/lib/recording.py" "$work/steal.data" <<-'END'
		source kdtl_steal
		boot 500000000 1700000000000000000
		clock 500000000 1700000000000000000
		steal 1300000000 1 80000000 1200000000 80000000 0
		steal 1612000000 1 12000000 1590000000 92000000 4294967298
		clock 2000000000 1700000001600000000
		steal 1690000000 0 50000000 1600000000 50000000 0
		steal 9400000000 1 4294967295 4000000000 5092000000 0
		clock 3500000000 1700000003200000000
	END
}

# The host's waits are those of this file.
waits=gaps

# Makes recordings of a guest, of what was stolen there, and of its host. The guest's only virtual
# CPU is a task of the host, and 60 gaps of different lengths are that task's waits behind a hog.
host_records()
{
	awk 'BEGIN { for (k = 0; k < 60; k++)
		print (k + 3) * 100000 + k * k * 4729 % 40000, 4000 + k * k * 7919 % 26000 }' >"$work/gaps"
	{
		printf '%s\n' 'source kdtl_steal' 'clock 0 1700000000000000000'
		awk '{ printf "steal %d000 0 %d000 %d000 0 0\n", $1 + $2, $2, $1 - 4000 }' "$work/gaps"
		echo 'clock 20000000000 1700000020000000000'
	} | python3 "$here/lib/recording.py" "$work/host-gaps.data" &&
		python3 "$here/lib/recording.py" "$work/guest.data" <<-'END' || return
			clock 0 1700000000000000000
			run 1000000000 0 0 0 200 0 sh
			run 2480000000 0 200000000 0 100 200 web
			run 9990000000 0 0 0 200 100 sh
			clock 20000000000 1700000020000000000
		END
	host_recording 'clock 0 1700000000000000000'
}

# host_recording LINE...: makes the host's recording, with these lines before the waits.
host_recording()
{
	{
		printf '%s\n' "$@"
		awk '{
			printf "run %d000 3 0 0 300 812 hog\n", $1
			printf "run %d000 3 %d000 0 812 300 CPU-0/KVM\n", $1 + $2, $2
		}' "$work/$waits"
	} | python3 "$here/lib/recording.py" "$work/host.data"
}

# The sanitizers do stop a bad program.
sanitizers_work()
{
	printf 'int main(int argc, char **argv) { char *p = argv[argc]; return *p; }' |
		gcc -x c - -fsanitize=address,undefined -fno-sanitize-recover=all -o "$work/bad" &&
		! "$work/bad"
}

damaged()
{
	python3 - "$work" "${ROUNDS:-300}" "${SEED:-1}" <<-'END'
	import json, os, random, shutil, struct, subprocess, sys
	work, rounds, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
	good, steal, host, gaps = (open(work + "/%s.data" % f, "rb").read()
	                           for f in ("good", "steal", "host", "host-gaps"))
	tool, bad, out = work + "/kdtl", work + "/bad.data", work + "/ctf"
	helped = subprocess.run([tool, "--help"], capture_output=True, text=True).stdout.split("\n")
	verbs = [["print", "-a", bad], ["histogram", bad], ["why", bad], ["why", "--brief", bad],
	         ["ctf", bad, out], ["export", "--format", "jsonl", bad],
	         ["export", "--format", "chrome", bad], ["export", "--format", "csv", bad],
	         ["print", "--from", "22:13:21", "--cgroup", "/system.slice", bad],
	         ["why", "--steal", work + "/steal.data", bad],
	         ["why", "--steal", bad, work + "/good.data"],
	         ["export", "--format", "jsonl", "--steal", bad, work + "/good.data"],
	         ["why", "--steal", work + "/host-gaps.data", "--host", bad, work + "/guest.data"],
	         ["why", "--host", work + "/host.data", "--steal", bad, work + "/guest.data"]]
	for verb, more in ("report", []), ("diff", [work + "/good.data"]), ("map", []):
	    if any(line.startswith("  %s " % verb) for line in helped):
	        verbs.append([verb, bad] + more)
	env = dict(os.environ, TZ="UTC", ASAN_OPTIONS="detect_leaks=0:exitcode=99",
	           UBSAN_OPTIONS="print_stacktrace=1:exitcode=99")
	large = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]

	def damage(dice, good):
	    data = bytearray(good)
	    for _ in range(dice.choice([1, 1, 2, 4, 16])):
	        # The head decides most: a third of the damage is there.
	        at = dice.randrange(224) if dice.random() < .33 else dice.randrange(len(data))
	        kind = dice.randrange(7)
	        if kind == 0:
	            data[at] ^= 1 << dice.randrange(8)
	        elif kind == 1:
	            data[at] = dice.randrange(256)
	        elif kind == 2:
	            at &= ~7
	            data[at:at + 8] = struct.pack(">Q", dice.choice(large))
	        elif kind == 3:
	            at &= ~3
	            data[at:at + 4] = struct.pack(">I", dice.choice(large) & 0xffffffff)
	        elif kind == 4 and len(data) > 300:
	            del data[dice.randrange(224, len(data)):]
	        elif kind == 5:
	            data[at:at] = data[at & ~7:(at & ~7) + 8 * dice.randrange(1, 40)]
	        else:
	            data[8:12] = struct.pack(">I", dice.choice([216, 224, 220, 232, 0, len(data)]))
	        if len(data) < 232:
	            data = bytearray(good)
	    if dice.random() < .1:
	        data[:8] = b"KDTLDATA"
	    return bytes(data)

	failed = done = read = 0
	for n in range(seed, seed + rounds):
	    command = verbs[n % len(verbs)]
	    option = command[command.index(bad) - 1]
	    base = host if option == "--host" else good if option != "--steal" else \
	        gaps if "--host" in command else steal
	    open(bad, "wb").write(damage(random.Random(n), base))
	    shutil.rmtree(out, ignore_errors=True)
	    done += 1
	    try:
	        p = subprocess.run([tool] + command, capture_output=True, env=env, timeout=60)
	        wrong = p.returncode not in (0, 1, 2) or b"Sanitizer" in p.stderr or \
	            b"runtime error" in p.stderr
	        text = p.stderr.decode(errors="replace")
	        read += p.returncode == 0
	        if p.returncode == 0 and command[0] == "export" and not wrong:
	            if "jsonl" in command:
	                [json.loads(line) for line in p.stdout.decode().splitlines()]
	            elif "chrome" in command:
	                json.loads(p.stdout.decode())
	        said = p.stderr if "jsonl" in command or "chrome" in command else p.stdout + p.stderr
	        if any(c not in b"\n" and not 32 <= c < 127 for c in said):
	            wrong, text = True, "says what steers terminals"
	    except subprocess.TimeoutExpired:
	        wrong, text = True, "hangs"
	    except ValueError as e:
	        wrong, text = True, "not valid: %s" % e
	    if wrong:
	        failed += 1
	        if failed < 6:
	            print("SEED=%d ROUNDS=1: kdtl %s: %s" % (n, " ".join(command), text[:1500]))
	print(done, "recordings,", read, "could be read,", failed, "failures")
	sys.exit(failed > 0 or (rounds > 99 and read < done / 4))
	END
}

# The name of a source comes from the file, too. Each message that has it shows it escaped.
strange_source()
{
	local command

	printf 'source \e]0;title\a\nclock 0 1700000000000000000\nrun 1000000000 0 0 0 1 0 sh\n' |
		python3 "$here/lib/recording.py" "$work/strange.data" || return
	for command in 'print' 'print --pid 1' 'map' 'report --by task' 'why --chain' \
		"why --steal $work/steal.data" 'export --format ftrace'; do
		# shellcheck disable=SC2086 # several words
		ASAN_OPTIONS=detect_leaks=0 "$work/kdtl" $command "$work/strange.data" >"$work/out" 2>&1
		! grep -q '[^[:print:]]' "$work/out" &&
			grep -q -F '\x1b]0;title\x07' "$work/out" && continue
		echo "kdtl $command:"
		cat -v -- "$work/out"
		return 1
	done
}

# host_says WORDS LINE...: kdtl why says WORDS about a host with these lines.
host_says()
{
	host_recording "${@:2}" || return
	ASAN_OPTIONS=detect_leaks=0 "$work/kdtl" why --steal "$work/host-gaps.data" \
		--host "$work/host.data" "$work/guest.data" >"$work/out" 2>&1
	grep -q -e "$1" "$work/out" && ! grep 'runtime error' "$work/out" && return
	cat -- "$work/out"
	return 1
}

# No clock says times of 2^63 ns. A host without waits has nothing to sort.
strange_hosts()
{
	local day='clock 0 1700000000000000000' known='on the host behind hog (300)'

	host_says "$known" "$day" &&
		host_says 'make no sense' 'clock 0 9223372036854775808' &&
		host_says "$known" "$day" 'run 9223372036854775808 3 4000000 0 812 300 CPU-0/KVM' &&
		(: >"$work/no-gaps" && waits=no-gaps
		host_says 'the waits of no task there fit' "$day" 'run 100000000 3 0 0 300 812 hog' \
			'run 9000000000 3 0 0 301 300 hog')
}

# Makes recordings with much in them, and one from a time that does not fit into 32 bits.
more_records()
{
	local seed

	for seed in 1 2 3; do
		python3 "$here/lib/report_model.py" make "$seed" |
			python3 "$here/lib/recording.py" "$work/all-$seed.data" || return
	done
	python3 "$here/lib/recording.py" "$work/year-2065.data" <<-'END'
		boot 500000000 3000000000000000000
		clock 500000000 3000000000000000000
		cgroup 1 /system.slice
		task 1 100 100 0 0 0 1 web
		run 1000000000 1 0 5 100 0 web
		run 1005000000 0 0 5 200 100 hog
		clock 1610000000 3000000001110500000
		run 1611000000 1 3000000 0 300 200 kworker/1:1
	END
}

# said NAME KDTL...: writes what this kdtl says about the recordings into said-NAME.
said()
{
	local recordings=("$work"/{good,all-1,all-2,all-3,year-2065}.data)

	"$here/lib/said.sh" "$work/said-$1" "${recordings[@]}" -- "${@:2}"
}

# The commands here say something, and none of them fails.
said_here()
{
	said here env ASAN_OPTIONS=detect_leaks=0 "$work/kdtl" &&
		! find "$work/said-here" -maxdepth 1 -type f -exec grep -L -x 'exit 0' {} + |
			grep . &&
		[ -s "$work/said-here/all-3.trace/metadata" ] &&
		grep -q 2065-01-24 "$work/said-here/year-2065.report"
}

# same_on ARCH: kdtl(1) of that architecture says the same.
same_on()
{
	reader_build "$1" "$work/readers" && reader_of "$1" "$work/readers" &&
		said "$1" "${reader[@]}" && diff -r "$work/said-here" "$work/said-$1"
}

# A recording with 4 GiB more behind it has more bytes than 32 bits can address.
refuses_more()
{
	cp -- "$work/good.data" "$work/more.data" &&
		truncate -s "$(((1 << 32) + $(stat -c %s "$work/good.data")))" \
			"$work/more.data" || return
	reader_of i386 "$work/readers"
	! "${reader[@]}" print "$work/more.data" >"$work/out" 2>&1 &&
		grep 'more.data: File too large' "$work/out"
}

"$top/scripts/install-deps" tool
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-recordings.XXXXXX")
partial "$work"
plan 11
ok "the sanitizers stop a program" sanitizers_work
ok "kdtl builds with them" builds
ok "recordings" eval 'records && host_records'
ok "${ROUNDS:-300} recordings with random damage, from seed ${SEED:-1}" damaged
ok "what a source is called is shown without codes that steer a terminal" strange_source
ok "of a host, times of no clock are left alone" strange_hosts
ok "other recordings" more_records
ok "kdtl says what is in them" said_here
if [ "${KDTL_QUICK:-0}" = 0 ]; then
	"$top/scripts/install-deps" readers
	ok "on i386, of 32 bits, it says the same, byte by byte" same_on i386
	ok "there it refuses a file that is larger than its address space" refuses_more
	ok "on s390x, which is big-endian, it says the same, byte by byte" same_on s390x
else
	skip "on i386 it says the same" "not in the quick run"
	skip "there it refuses a file that is too large" "not in the quick run"
	skip "on s390x it says the same" "not in the quick run"
fi
finish
