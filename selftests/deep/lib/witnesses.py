#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
What kdtl(1), the kernel and a witness, perf or lttng, say of the same load:
witnesses.py VERB DIR/LOAD.WITNESS

switches   the witness's sched_switch events and kdtl's entries are the same dispatches, in the same
           order, and the task before left its CPU for the same reason
wakes      the witness's sched_waking events and kdtl_wake's entries are the same wake-ups of each task,
           by the same wakers, out of the same states
timehist   perf sched timehist has the same waits
waits      the witness's sched_wakeup and sched_switch events make the same waits
schedstat  run_delay and pcount of /proc/PID/schedstat are the sums of the waits and their number
cyclictest its longest latency is kdtl's longest wait, and what the timer was late
"""
import csv
import re
import subprocess
import sys
from collections import namedtuple

USEC = 1000
# The task "by" leaves its CPU to "pid" in that state; or begins to wake "pid", and then the state is
# None; or "pid" has been queued, and then it is QUEUED.
Event = namedtuple("Event", "time cpu by state pid")
QUEUED = ""


def entries(name):
    """kdtl's dispatches of each CPU: time, PID, wait, in ns, and why the task before left."""
    cpus = {}
    with open(name + ".csv", newline="") as f:
        for row in csv.DictReader(f):
            cpus.setdefault(int(row["cpu"]), []).append(
                (int(row["since_boot_ns"]), int(row["pid"]), int(row["waited_ns"] or 0),
                 row["preempt_reason"]))
    return cpus


def perf(name):
    """
    perf's events, by the clock that kdtl has too. When perf has been starved, it may write a part of its
    buffer twice.
    """
    last, twice = {}, 0
    line = re.compile(r"\s*(-?\d+) \[(\d+)\]\s+(\d+\.\d{9}):\s+sched:sched_(switch|waking|wakeup|wakeup_new): "
                      r".*?(?: prev_pid=(\d+) .*prev_state=(\S+) ==> .* next_pid=(\d+) | pid=(\d+) prio=)")
    with open(name + ".events", errors="replace") as f:
        for m in filter(None, map(line.match, f)):
            # perf no longer has the PID of a task that exits.
            state = m[6] or (None if m[4] == "waking" else QUEUED)
            e = Event(to_ns(m[3]), int(m[2]), int(m[5] or m[1]), state, int(m[7] or m[8]))
            if last.get(e.cpu) == e:
                twice += 1
            else:
                yield e
            last[e.cpu] = e
    if twice:
        print(f"perf has {twice} events twice")


# What LTTng's prev_state means, in perf's letters.
LTTNG_STATE = {0: "R", 1: "S", 2: "D", 4: "T", 8: "t", 16: "X", 32: "Z", 64: "P", 128: "I", 256: "R+"}


def lttng(name):
    """
    LTTng's events. Its clock is CLOCK_MONOTONIC, of which babeltrace2 makes the time of day. One entry
    of kdtl's, which has that and the time since boot, tells how far the clocks are apart, but not to
    the microsecond. Both follow the TSC, so that does not change.
    """
    with open(name + ".csv", newline="") as f:
        row = next(csv.DictReader(f))
    apart = int(row["time_ns"]) - int(row["since_boot_ns"])
    line = re.compile(r"\[(\d+\.\d{9})\] .*?sched_(switch|waking|wakeup|wakeup_new): "
                      r"\{ cpu_id = (\d+) \}, \{ tid = (\d+) \}, \{ .*?"
                      r"(?:prev_state = (\d+), .*next_tid = (\d+), | tid = (\d+), prio = )")
    read = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", name + ".ctf"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    lost = re.findall(r"discarded (\d+) events?|may have discarded", read.stderr)
    print(f"LTTng lost {sum(int(n or 1) for n in lost)}")
    for m in filter(None, map(line.match, read.stdout.splitlines())):
        state = LTTNG_STATE[int(m[5])] if m[5] else None if m[2] == "waking" else QUEUED
        yield Event(to_ns(m[1]) - apart, int(m[3]), int(m[4]), state, int(m[6] or m[7]))


def to_ns(seconds):
    return int(seconds.replace(".", ""))


def witness(name, part=""):
    """The events of the witness. perf has two recordings."""
    return list(lttng(name) if name.endswith(".lttng") else perf(name + part))


def begin(a, b):
    """
    Where in kdtl's entries of a CPU the witness began. It reads its clock later, or has another one. In
    the right place it does so by nearly the same time for each entry: loads repeat themselves, so the
    same tasks may follow each other in other places as well.
    """
    def fits(i):
        both = list(zip(a[i:i + 1000], b))
        later = sorted(y.time - x[0] for x, y in both)
        return (sum(x[1] == y.pid for x, y in both),
                later[len(later) // 4] - later[len(later) * 3 // 4])

    near = [i for i, e in enumerate(a) if e[1] == b[0].pid and e[0] < b[0].time + 1000 * USEC][-100:]
    return max(near, default=len(a), key=fits)


def aligned(ours, events):
    """Of each CPU the witness's switches, each with kdtl's entry, and what is wrong."""
    theirs, pairs, wrong = {}, {}, []
    for e in events:
        if e.state:
            theirs.setdefault(e.cpu, []).append(e)
    for cpu, b in sorted(theirs.items()):
        a = ours.get(cpu, [])
        first = begin(a, b)
        a = a[first:first + len(b)]
        pairs[cpu] = list(zip(a, b))
        if len(a) != len(b):
            wrong.append(f"CPU {cpu}: the witness has {len(b)} switches, kdtl {len(a)}")
        for i, (x, y) in enumerate(pairs[cpu]):
            if x[1] != y.pid:
                wrong.append(f"CPU {cpu}, {i}: kdtl has PID {x[1]} at {x[0]}, the witness {y.pid} at "
                             f"{y.time}")
                break
    return pairs, wrong


def delays(pairs):
    """By how much later than kdtl the witness read its clock, for the same dispatch."""
    return sorted(y.time - x[0] for p in pairs.values() for x, y in p)


# A sleep in a page fault has a reason of its own.
LEFT = {"R": {"preempted", "throttled"}, "R+": {"preempted", "throttled"}, "S": {"slept", "page_fault"},
        "D": {"disk_sleep", "page_fault"}, "I": {"slept"}, "P": {"slept"}, "T": {"stopped"},
        "t": {"stopped"}, "X": {"exited"}, "Z": {"exited"}}


def lost(name, suffix=""):
    """How many of its entries kdtl says it lost. Its reader is a task, which loads may starve."""
    with open(name + ".err") as f:
        return re.search(re.escape(f".data{suffix}: ") + r".* (\d+) lost", f.read())[1]


def stayed(events):
    """
    The departures after which a task ran again without a wake-up that began later. If a signal comes
    while a task is about to sleep, it does not, but the events tell the state that it had meant to
    sleep in.
    """
    left, found = {}, set()
    for e in events:
        if e.state == QUEUED:
            continue
        if e.state:
            left[e.by] = e
        before = left.pop(e.pid, None)
        if before and e.state:
            found.add(before)
    return found


def check_switches(name):
    """One to one, in what the witness has of each CPU. In between, the host may do something else."""
    events = witness(name, ".wakes")
    pairs, wrong = aligned(entries(name), events)
    awake = stayed(events)
    departures = signals = 0
    for cpu, p in pairs.items():
        # The idle task always could have gone on.
        of_tasks = [(x, y) for (before, (x, y)) in zip(p, p[1:]) if before[0][1]]
        departures += len(of_tasks)
        bad = [(x, y) for x, y in of_tasks if x[3] not in LEFT.get(y.state, ())]
        kept = [(x, y) for x, y in bad if x[3] == "preempted" and y in awake]
        signals += len(kept)
        wrong += [f"CPU {cpu}: by kdtl {x}, by the witness {y}" for x, y in bad if (x, y) not in kept][:3]
    print("\n".join(wrong))
    print(f"{signals} departures of a task that a signal kept from its sleep, not by the witness")
    print(f"kdtl lost {lost(name)}")
    apart = delays(pairs)
    # The clocks are apart by an unknown time if they are two.
    least = apart[0] if name.endswith(".lttng") else 0
    print(f"{len(apart)} switches, {departures} departures of a task; the witness's time is later by "
          f"{us(apart[0] - least)} at least, {us(apart[len(apart) // 2] - least)} in the middle, "
          f"{us(apart[-1] - least)} at most")
    return not wrong and len(apart) > 1000


def wakes(name):
    """kdtl's wake-ups of each task: time, waker or None if an interrupt did it, state or None."""
    tasks = {}
    with open(name + ".wakes.csv", newline="") as f:
        for row in csv.DictReader(f):
            if row["event"] == "woken":
                # A task that is queued may have slept, and begun to run, and not be asleep.
                tasks.setdefault(int(row["pid"]), []).append(
                    (int(row["since_boot_ns"]), int(row["by_pid"]) if row["by_pid"] else None,
                     None if row["queued"] in ("1", "true") else row["state"]))
    return tasks


STATES = {"S": "interruptible", "D": "uninterruptible", "I": "idle", "T": "stopped", "t": "traced",
          "P": "parked"}


def woken(events):
    """
    The witness's wake-ups of each task: time, who had the CPU, and the state in which the task had left
    its CPU, or None if it had not: it may be woken at the end of that. Only while there were events of
    all CPUs, so that none is missing in between.
    """
    tasks, left, seen = {}, {}, {}
    for e in events:
        seen.setdefault(e.cpu, [e.time, e.time])[1] = e.time
        if e.state:
            left[e.by], left[e.pid] = e.state, None
        elif e.state is None:
            tasks.setdefault(e.pid, []).append((e.time, e.by, left.get(e.pid)))
    first, last = max(s[0] for s in seen.values()), min(s[1] for s in seen.values())
    tasks = {pid: [w for w in of_task if first < w[0] < last] for pid, of_task in tasks.items()}
    return {pid: of_task for pid, of_task in tasks.items() if of_task}


def check_wakes(name):
    """
    One to one, for each task that was woken while the witness had all CPUs, and in the same order.
    """
    events = witness(name, ".wakes")
    ours, theirs = wakes(name), woken(events)
    pairs, wrong = aligned(entries(name), events)
    # The witness reads the clock after kdtl. If it is another clock, that makes it so.
    later = min(0, delays(pairs)[0] - USEC)
    nr, wakers, states, queued = 0, 0, 0, 0
    for pid, b in sorted(theirs.items()):
        a = ours.get(pid, [])
        first = [i for i, w in enumerate(a) if w[0] <= b[0][0] - later]
        a = [w for w in a[first[-1]:] if w[0] <= b[-1][0] - later] if first else []
        if len(a) != len(b):
            wrong.append(f"{pid}: the witness has {len(b)} wake-ups, kdtl {len(a)}")
        for x, y in zip(a, b):
            nr += 1
            wakers += x[1] is not None
            states += x[2] is not None and y[2] is not None
            queued += x[2] is None
            if x[1] not in (None, y[1]) or (x[2] and y[2] and STATES.get(y[2]) != x[2]):
                wrong.append(f"{pid}: by kdtl woken at {x[0]} by {x[1]}, {x[2]}; by the witness at "
                             f"{y[0]} by {y[1]}, {y[2]}")
                break
    print("\n".join(wrong[:20]))
    print(f"{nr} wake-ups, {wakers} by a task, {states} out of a state that both have, {queued} of a "
          f"task that was still queued; kdtl lost {lost(name, '.wake')}")
    return not wrong and nr > 500 and wakers > 20 and states > 500


def timehist(name):
    """
    Its rows of each CPU, one when a task leaves: TID, wait time, scheduling delay, state; in ns. For an
    event that perf has twice there are two rows.
    """
    cpus, last = {}, {}
    line = re.compile(r"(\s*\d+\.\d+) \[(\d+)\]  (.{30}) +([\d.]+) +([\d.]+) +([\d.]+) +(\S*)")
    with open(name + ".timehist", errors="replace") as f:
        for m in filter(None, map(line.match, f)):
            if last.get(m[2]) == (m[1], m[3]):
                continue
            last[m[2]] = (m[1], m[3])
            tid = re.search(r"\[(\d+)(/\d+)?\] *$", m[3])
            cpus.setdefault(int(m[2]), []).append(
                (int(tid[1]) if tid else 0, round(float(m[4]) * 1e6), round(float(m[5]) * 1e6), m[7]))
    return cpus


def us(ns):
    return f"{ns / USEC:.1f} us"


def check_timehist(name):
    """
    A row tells when its task leaves of how long it had waited before: since it was woken, or since it
    was preempted. In Debian 12 perf's letter for that is W, as the kernel has more states now. So
    what is left, when the later reading of the clock at the end is taken out, is how much later
    perf saw the beginning.
    """
    pairs, wrong = aligned(entries(name), witness(name, ".switches"))
    rows = timehist(name)
    left, later = {}, []
    ours = theirs = 0
    for _, cpu, i in sorted((p[i][1].time, cpu, i) for cpu, p in pairs.items() for i in range(len(p))):
        row = rows[cpu][i]
        pid = row[0]
        if i:
            (on, _, wait, _), (seen, _, _, _, switched) = pairs[cpu][i - 1]
            # perf no longer knows whose row it is once the task has exited.
            if pid not in (switched, 0):
                wrong.append(f"CPU {cpu}, {i}: the row of {pid} is not that of {switched}")
            # The idle task waits for nobody. perf does not know what came before it began.
            if pid and (pid in left or row[2]):
                told = row[1 if left.get(pid) in ("R", "R+", "W") else 2]
                later.append(wait - told + seen - on)
                ours += wait
                theirs += told
        left[pid] = row[3]
    print("\n".join(wrong))
    return same_waits(later, ours, theirs) and not wrong


def same_waits(later, ours, theirs):
    """The sums of both, in ns, and by how much later than kdtl the witness saw each wait begin."""
    later.sort()
    least, middle, most = later[len(later) // 100], later[len(later) // 2], later[len(later) * 95 // 100]
    print(f"{len(later)} waits, {ours / 1e6:.1f} ms, by the witness {theirs / 1e6:.1f}, which saw the "
          f"beginning later by {us(least)} (1 %), {us(middle)} (50 %), {us(most)} (95 %)")
    return len(later) > 500 and -5 * USEC < least and middle < 100 * USEC and most < 1000 * USEC


def check_waits(name):
    """
    A wait begins when a task that does not run has been queued, or was preempted. Of tasks whose
    beginning the witness has.
    """
    events = witness(name)
    pairs, wrong = aligned(entries(name), events)
    entry = {(y.cpu, y.time): x for p in pairs.values() for x, y in p}
    # The clocks are apart by an unknown time, and the shortest delay is almost none.
    least = delays(pairs)[0]
    begun, running, later = {}, set(), []
    ours = theirs = 0
    for e in events:
        if e.state == QUEUED and e.pid not in running:
            begun.setdefault(e.pid, e.time)
        if not e.state:
            continue
        running.discard(e.by)
        running.add(e.pid)
        if e.state in ("R", "R+"):
            begun[e.by] = e.time
        began, x = begun.pop(e.pid, None), entry.get((e.cpu, e.time))
        # The idle task waits for nobody.
        if e.pid and began and x:
            later.append(began - least - (x[0] - x[2]))
            ours += x[2]
            theirs += e.time - began
    print("\n".join(wrong))
    return same_waits(later, ours, theirs) and not wrong


def check_schedstat(name):
    """
    Of each task, from its first dispatch until it was stopped. What a dispatch adds to run_delay is
    less by some us: Documentation/pmu-sched.rst says why.
    """
    waits = {}
    for cpu in entries(name).values():
        for _, pid, wait, _ in cpu:
            waits.setdefault(pid, []).append(wait)
    bad = tasks = nr = ours = theirs = 0
    with open(name + ".schedstat") as f:
        for line in f:
            tid, _, delay, pcount, comm = line.split(None, 4)
            of_task = waits.get(int(tid), [])
            if len(of_task) != int(pcount):
                print(f"{comm.strip()} ({tid}): {len(of_task)} entries, {pcount} by the kernel")
                bad += 1
            tasks += 1
            nr += int(pcount)
            ours += sum(of_task)
            theirs += int(delay)
    print(f"{tasks} tasks, {nr} dispatches: waited {ours / 1e6:.1f} ms, run_delay {theirs / 1e6:.1f}")
    return tasks > 3 and not bad and 0.99 * theirs < ours < 1.05 * theirs + 100 * USEC * nr


def check_cyclictest(name):
    """
    A thread is late by what its timer was late, and by what it then waited. What it does before its
    first period and after the last one it does not measure.
    """
    waits, bad, threads = {}, 0, 0
    for cpu in entries(name).values():
        for on, pid, wait, _ in cpu:
            waits.setdefault(pid, []).append((on, wait))
    with open(name + ".out") as f:
        for m in filter(None, map(re.compile(r"T: *(\d+) \( *(\d+)\).* Max: *(\d+)").match, f)):
            wait = max((w for _, w in sorted(waits[int(m[2])])[10:-10]), default=0)
            late = int(m[3]) * USEC
            print(f"thread {m[1]}: late by {us(late)} at most, waited {us(wait)} at most")
            threads += 1
            # The load takes CPU 1 for 20 ms at a time.
            bad += wait > late or (m[1] == "1" and wait < 5000 * USEC)
    return threads == 4 and not bad


if __name__ == "__main__":
    sys.exit(0 if globals()["check_" + sys.argv[1]](sys.argv[2]) else 1)
