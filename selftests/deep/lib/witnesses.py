#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What kdtl(1), perf and the kernel say of the same load: witnesses.py VERB FILE-WITHOUT-SUFFIX

switches   perf's sched_switch events and kdtl's entries are the same dispatches, in the same order, and
           the task before left its CPU for the same reason
timehist   perf sched timehist has the same waits
wakes      perf's sched_waking events and kdtl_wake's entries are the same wake-ups of each task, by the
           same wakers, out of the same states
schedstat  run_delay and pcount of /proc/PID/schedstat are the sums of the waits and their number
cyclictest its longest latency is kdtl's longest wait, and what the timer was late
"""
import csv
import re
import sys

USEC = 1000


def entries(name):
    """kdtl's dispatches of each CPU: time, PID, wait, in ns, and why the task before left."""
    cpus = {}
    with open(name + ".csv", newline="") as f:
        for row in csv.DictReader(f):
            cpus.setdefault(int(row["cpu"]), []).append(
                (int(row["since_boot_ns"]), int(row["pid"]), int(row["waited_ns"] or 0),
                 row["preempt_reason"]))
    return cpus


def switches(name):
    """perf's: time, PID, state of the task before."""
    cpus = {}
    line = re.compile(r"\s*-?\d+ \[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:sched_switch: .*"
                      r" prev_state=(\S+) ==> .* next_pid=(\d+) ")
    with open(name + ".events", errors="replace") as f:
        for m in filter(None, map(line.match, f)):
            cpus.setdefault(int(m[1]), []).append((int(m[2] + m[3]), int(m[5]), m[4]))
    return cpus


def aligned(ours, theirs):
    """Of each CPU perf's switches, each with kdtl's entry, and what is wrong."""
    pairs, wrong = {}, []
    for cpu, b in sorted(theirs.items()):
        a = ours.get(cpu, [])
        # perf began later, and reads its clock after kdtl.
        first = [i for i, e in enumerate(a) if e[1] == b[0][1] and e[0] <= b[0][0]]
        a = a[first[-1]:][:len(b)] if first else []
        pairs[cpu] = list(zip(a, b))
        if len(a) != len(b):
            wrong.append(f"CPU {cpu}: perf has {len(b)} switches, kdtl {len(a)}")
        for i, (x, y) in enumerate(pairs[cpu]):
            if x[1] != y[1]:
                wrong.append(f"CPU {cpu}, {i}: kdtl has PID {x[1]} at {x[0]}, perf {y[1]} at {y[0]}")
                break
    return pairs, wrong


# A sleep in a page fault has a reason of its own.
LEFT = {"R": {"preempted", "throttled"}, "R+": {"preempted", "throttled"}, "S": {"slept", "page_fault"},
        "D": {"disk_sleep", "page_fault"}, "I": {"slept"}, "P": {"slept"}, "T": {"stopped"},
        "t": {"stopped"}, "X": {"exited"}, "Z": {"exited"}}


def check_switches(name):
    """One to one, in what perf has of each CPU. In between, the host may do something else."""
    pairs, wrong = aligned(entries(name), switches(name))
    for cpu, p in pairs.items():
        # The idle task always could have gone on.
        bad = [(x, y) for (before, (x, y)) in zip(p, p[1:]) if before[0][1] and
               x[3] not in LEFT.get(y[2], ())]
        wrong += [f"CPU {cpu}: by kdtl {x}, by perf {y}" for x, y in bad[:3]]
    print("\n".join(wrong))
    apart = sorted(y[0] - x[0] for p in pairs.values() for x, y in p)
    print(f"{len(apart)} switches; perf's time is later by {apart[0] / USEC:.1f} us at least, "
          f"{apart[len(apart) // 2] / USEC:.1f} in the middle, {apart[-1] / USEC:.1f} at most")
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


def perf_wakes(name):
    """
    perf's of each task: time, who had the CPU, and the state in which the task had left its CPU, or
    None if it had not: it may be woken at the end of that. Only while perf had events of all CPUs, so
    that none is missing in between.
    """
    tasks, left, seen = {}, {}, {}
    line = re.compile(r"\s*(-?\d+) \[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:sched_(switch|waking): .*?"
                      r"(?: prev_pid=(\d+) .*prev_state=(\S+) ==> .* next_pid=(\d+) | pid=(\d+) prio=)")
    with open(name + ".wakes.events", errors="replace") as f:
        for m in filter(None, map(line.match, f)):
            time = int(m[3] + m[4])
            seen.setdefault(m[2], [time, time])[1] = time
            if m[5] == "switch":
                left[int(m[6])], left[int(m[8])] = m[7], None
            else:
                tasks.setdefault(int(m[9]), []).append((time, int(m[1]), left.get(int(m[9]))))
    begin, end = max(s[0] for s in seen.values()), min(s[1] for s in seen.values())
    tasks = {pid: [w for w in woken if begin < w[0] < end] for pid, woken in tasks.items()}
    return {pid: woken for pid, woken in tasks.items() if woken}


def check_wakes(name):
    """
    One to one, for each task that was woken while perf had all CPUs, and in the same order. A
    real-time load may starve the reader of kdtl's entries: then some are lost, and counted.
    """
    ours, theirs = wakes(name), perf_wakes(name)
    with open(name + ".err") as f:
        lost = re.search(r"\.wake: .* (\d+) lost", f.read())[1]
    wrong, nr, wakers, states, queued = [], 0, 0, 0, 0
    for pid, b in sorted(theirs.items()):
        a = ours.get(pid, [])
        # perf reads the clock after kdtl.
        first = [i for i, w in enumerate(a) if w[0] <= b[0][0]]
        a = [w for w in a[first[-1]:] if w[0] <= b[-1][0]] if first else []
        if len(a) != len(b):
            wrong.append(f"{pid}: perf has {len(b)} wake-ups, kdtl {len(a)}")
        for x, y in zip(a, b):
            nr += 1
            wakers += x[1] is not None
            states += x[2] is not None and y[2] is not None
            queued += x[2] is None
            if x[1] not in (None, y[1]) or (x[2] and y[2] and STATES.get(y[2]) != x[2]):
                wrong.append(f"{pid}: by kdtl woken at {x[0]} by {x[1]}, {x[2]}; by perf at {y[0]} "
                             f"by {y[1]}, {y[2]}")
                break
    print("\n".join(wrong[:20]))
    print(f"{nr} wake-ups, {wakers} by a task, {states} out of a state that both have, {queued} of a "
          f"task that was still queued; kdtl lost {lost}")
    return not wrong and nr > 500 and wakers > 20 and states > 500


def timehist(name):
    """Its rows of each CPU, one when a task leaves: TID, wait time, scheduling delay, state; in ns."""
    cpus = {}
    line = re.compile(r"\s*\d+\.\d+ \[(\d+)\]  (.{30}) +([\d.]+) +([\d.]+) +([\d.]+) +(\S*)")
    with open(name + ".timehist", errors="replace") as f:
        for m in filter(None, map(line.match, f)):
            tid = re.search(r"\[(\d+)(/\d+)?\] *$", m[2])
            cpus.setdefault(int(m[1]), []).append(
                (int(tid[1]) if tid else 0, round(float(m[3]) * 1e6), round(float(m[4]) * 1e6), m[6]))
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
    pairs, wrong = aligned(entries(name), switches(name))
    rows = timehist(name)
    left, later = {}, []
    ours = theirs = 0
    for _, cpu, i in sorted((p[i][1][0], cpu, i) for cpu, p in pairs.items() for i in range(len(p))):
        row = rows[cpu][i]
        pid = row[0]
        if i:
            (on, _, wait, _), (seen, switched, _) = pairs[cpu][i - 1]
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
    later.sort()
    least, middle, most = later[len(later) // 100], later[len(later) // 2], later[len(later) * 95 // 100]
    print("\n".join(wrong))
    print(f"{len(later)} waits, {ours / 1e6:.1f} ms, by perf {theirs / 1e6:.1f}; perf saw the beginning "
          f"later by {us(least)} (1 %), {us(middle)} (50 %), {us(most)} (95 %)")
    return not wrong and len(later) > 500 and -5 * USEC < least and middle < 100 * USEC and \
        most < 1000 * USEC


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
