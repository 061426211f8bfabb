#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What kdtl(1), perf and the kernel say of the same load: witnesses.py VERB FILE-WITHOUT-SUFFIX

switches   perf's sched_switch events and kdtl's entries are the same dispatches, in the same order
timehist   perf sched timehist has the same waits
schedstat  run_delay and pcount of /proc/PID/schedstat are the sums of the waits and their number
cyclictest its longest latency is kdtl's longest wait, and what the timer was late
"""
import csv
import re
import sys

USEC = 1000


def entries(name):
    """kdtl's dispatches of each CPU: time, PID, wait, in ns."""
    cpus = {}
    with open(name + ".csv", newline="") as f:
        for row in csv.DictReader(f):
            cpus.setdefault(int(row["cpu"]), []).append(
                (int(row["since_boot_ns"]), int(row["pid"]), int(row["waited_ns"] or 0)))
    return cpus


def switches(name):
    """perf's: time, PID."""
    cpus = {}
    line = re.compile(r"\s*-?\d+ \[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:sched_switch: .* next_pid=(\d+) ")
    with open(name + ".events", errors="replace") as f:
        for m in filter(None, map(line.match, f)):
            cpus.setdefault(int(m[1]), []).append((int(m[2] + m[3]), int(m[4])))
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


def check_switches(name):
    """One to one, in what perf has of each CPU. In between, the host may do something else."""
    pairs, wrong = aligned(entries(name), switches(name))
    print("\n".join(wrong))
    apart = sorted(y[0] - x[0] for p in pairs.values() for x, y in p)
    print(f"{len(apart)} switches; perf's time is later by {apart[0] / USEC:.1f} us at least, "
          f"{apart[len(apart) // 2] / USEC:.1f} in the middle, {apart[-1] / USEC:.1f} at most")
    return not wrong and len(apart) > 1000


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
            (on, _, wait), (seen, switched) = pairs[cpu][i - 1]
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
        for _, pid, wait in cpu:
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
        for on, pid, wait in cpu:
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
