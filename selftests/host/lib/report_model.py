#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Find what kdtl report and kdtl diff should say, the slow way, from the descriptions that
recording.py makes recordings of.

report_model.py make SEED                        print a description
report_model.py gaps SEED                        print one of time stolen meanwhile
report_model.py irqs SEED                        print one of interrupts meanwhile
report_model.py report DESCRIPTION OPTION=VALUE...
report_model.py diff THEN NOW OPTION=VALUE...

The options are by, sort, interval (seconds), n, steal and irq (the descriptions of stolen time,
and of what interrupts had), and those of filters: pid, comm, cgroup, cpu, min-wait (ms), from and
to (ns since 1970). The lines are the rows, without their heads,
one blank between columns.
"""
import collections
import random
import sys

MAX = 2**32 - 1
Entry = collections.namedtuple("Entry", "kind time cpu wait held pid prev comm")


def make(seed):
    """Four CPUs, with missing entries, with idle times, and limits that hold tasks back."""
    rand = random.Random(seed)
    print("boot 0 1700000000000000000\nclock 0 1700000000000000000")
    for group in range(1, 4):
        print("cgroup %d /slice-%d/service" % (group, group))
    for pid in range(10, 40):
        if pid % 7:
            print("task 1 %d %d 0 0 0 %d t%d" % (pid, pid // 3 * 3, pid % 4, pid % 11))
    print("task 2000000000 12 12 0 0 0 3 moved")
    lines = []
    for cpu in range(4):
        time, prev = rand.randrange(10**9), 0
        for _ in range(300):
            time += rand.choice((0, 1, rand.randrange(10**5), rand.randrange(10**8)))
            pid = rand.randrange(10, 40)
            before = prev if rand.random() < 0.9 else rand.randrange(50)
            name = "t%d" % (pid % 11)
            wait = rand.choice((0, 1, rand.randrange(10**6), rand.randrange(10**9)))
            if rand.random() < 0.01:
                wait = MAX
            what = rand.random()
            if what < 0.1:
                lines.append((time, "idle %d %d %d" % (time, cpu, before)))
                pid = 0
            elif what < 0.15:
                lines.append((time, "throttled %d %d %d %d %d %s" %
                              (time, cpu, wait, pid, before, name)))
            elif what < 0.2:
                lines.append((time, "starved %d %d %d %d %d %d %s" %
                              (time, cpu, rand.randrange(10**9), wait, pid, before, name)))
            else:
                lines.append((time, "run %d %d %d 7 %d %d %s" %
                              (time, cpu, wait, pid, before, name)))
            prev = pid
    # Each CPU's entries stay in order.
    for _, line in sorted(lines, key=lambda line: line[0]):
        print(line)


def make_gaps(seed):
    """Some of the gaps are long, and some overlap."""
    rand, time = random.Random(seed), 0
    print("source kdtl_steal\nboot 0 1700000000000000000\nclock 0 1700000000000000000")
    while time < 20 * 10**9:
        time += rand.randrange(2 * 10**8)
        stolen = rand.randrange(rand.choice((10**6, 10**8, 4 * 10**8)))
        print("steal %d %d %d 0 0 0" % (time, rand.randrange(4), min(stolen, time)))
    print("clock 99000000000 1700000099000000000")


def make_irqs(seed):
    """Some would reach behind the interrupt before, and begin at its end instead."""
    rand, time = random.Random(seed), 0
    print("source kdtl_irq\nboot 0 1700000000000000000\nclock 0 1700000000000000000")
    while time < 20 * 10**9:
        time += 1 + rand.randrange(10**8)
        had = rand.randrange(rand.choice((10**5, 10**8, 5 * 10**8)))
        print("irq %d %d %d %d %d name%d" % (time, rand.randrange(4), min(had, time),
                                             rand.randrange(3), 3, rand.randrange(5)))
    print("clock 99000000000 1700000099000000000")


def irqs(path, stolen):
    """The interrupts by CPU, without the time that was stolen meanwhile."""
    found, last = {}, {}
    for line in open(path):
        word = line.split()
        if word[0] != "irq":
            continue
        to, cpu, ns = (int(a) for a in word[1:4])
        at, last[cpu] = max(to - ns, last.get(cpu, 0)), to
        for since, until in stolen.get(cpu, []):
            if since >= to:
                break
            if at < since:
                found.setdefault(cpu, []).append((at, since))
            at = max(at, until)
        if at < to:
            found.setdefault(cpu, []).append((at, to))
    return found


def gaps(path):
    """The gaps by CPU. Gaps that overlap are one, which ends when the later one does."""
    found = {}
    for line in open(path):
        word = line.split()
        if word[0] == "steal":
            time, cpu, ns = (int(a) for a in word[1:4])
            found.setdefault(cpu, []).append((max(0, time - ns), time))
    for cpu, old in found.items():
        found[cpu] = merged = []
        for at, to in sorted(old, key=lambda gap: gap[1]):
            while merged and merged[-1][1] >= at:
                at = min(at, merged.pop()[0])
            merged.append((at, to))
    return found


def within(spans, since, until):
    return sum(max(0, min(until, to) - max(since, at)) for at, to in spans)


class Recording:
    def __init__(self, path, steal=None, irq=None):
        self.entries, self.tasks, self.paths, self.real = [], [], {}, 0
        self.names = []
        self.gaps = gaps(steal) if steal else {}
        self.irqs = irqs(irq, self.gaps) if irq else {}
        times = []
        for line in open(path):
            word = line.split()
            if not word or word[0].startswith("#"):
                continue
            arg = [int(a) for a in word[1:] if a.lstrip("-").isdigit()]
            if word[0] == "clock":
                self.real = arg[1] - arg[0]
                times.append(arg[0])
            elif word[0] == "cgroup":
                self.paths[arg[0]] = word[2]
            elif word[0] == "task":
                self.tasks.append((arg[0], arg[1], arg[2], arg[6]))
                self.names.append((arg[0], arg[1], word[8]))
            elif word[0] == "run":
                self.add("run", arg[0], arg[1], arg[2], 0, arg[4], arg[5], word[7])
            elif word[0] == "throttled":
                self.add("throttled", arg[0], arg[1], 0, arg[2], arg[3], arg[4], word[6])
            elif word[0] == "starved":
                self.add("throttled", arg[0], arg[1], arg[3], arg[2], arg[4], arg[5], word[7])
            elif word[0] == "idle":
                self.add("idle", arg[0], arg[1], 0, 0, 0, arg[2], "idle")
        times += [e.time for e in self.entries]
        self.end = max(times)
        self.span = (min(times) + self.real, max(times) + self.real)
        # Which entry's task had which CPU, from when to when, and whether that is known.
        self.spans, self.next = [], {}
        for cpu in {e.cpu for e in self.entries}:
            on = [e for e in self.entries if e.cpu == cpu]
            for e, after in zip(on, on[1:] + [None]):
                known = bool(after) and after.prev == e.pid
                until = after.time if after else self.end
                self.next[id(e)] = (until - e.time - self.taken(cpu, e.time, until), known)
                if known:
                    self.spans.append((cpu, e.time, after.time, e, self.program(e, after)))

    def program(self, e, after):
        """The task's name for most of the time: another program may have begun."""
        names = [name for since, pid, name in sorted(self.names)
                 if pid == e.pid and e.time < since <= e.time + (after.time - e.time) // 2]
        return names[-1] if names and e.kind != "idle" else e.comm

    def stolen(self, cpu, since, until):
        return within(self.gaps.get(cpu, []), since, until)

    def interrupted(self, cpu, since, until):
        return within(self.irqs.get(cpu, []), since, until)

    def taken(self, cpu, since, until):
        return self.stolen(cpu, since, until) + self.interrupted(cpu, since, until)

    def add(self, *fields):
        self.entries.append(Entry(*fields))

    def task(self, e):
        """The tgid and the cgroup that the entry's task had then."""
        found = None
        for since, pid, tgid, cgroup in sorted(self.tasks):
            if pid == e.pid and since <= e.time:
                found = tgid, self.paths.get(cgroup)
        return found or (None, None)

    def wanted(self, opt):
        for e in self.entries:
            tgid, path = self.task(e)
            real = e.time + self.real
            if e.kind == "idle" or \
               "pid" in opt and int(opt["pid"]) not in (e.pid, tgid) or \
               "comm" in opt and e.comm != opt["comm"] or \
               "cpu" in opt and e.cpu != int(opt["cpu"]) or \
               "min-wait" in opt and e.wait + e.held < float(opt["min-wait"]) * 1e6 or \
               "cgroup" in opt and not ((path or "") + "/").startswith(opt["cgroup"] + "/") or \
               not int(opt.get("from", 0)) <= real < int(opt.get("to", 2**64)):
                continue
            yield e

    def key(self, e, by):
        return {"task": "%s (%d)" % (e.comm, e.pid), "comm": e.comm,
                "process": self.process(e), "cpu": "CPU %d" % e.cpu,
                "cgroup": self.task(e)[1] or "?"}[by]

    def process(self, e):
        """A process has the name of its first thread, by the last record before the entry."""
        tgid = self.task(e)[0]
        names = [comm for since, pid, comm in self.names if pid == tgid and since <= e.time]
        return "?" if tgid is None else \
            "%s (%d)" % (e.comm if tgid == e.pid else names[-1] if names else "?", tgid)

    def rows(self, opt, by):
        """The wanted entries, by interval and key."""
        rows = {}
        for e in self.wanted(opt):
            part = 0
            if "interval" in opt:
                part = (e.time + self.real) // round(float(opt["interval"]) * 1e9)
            rows.setdefault(part, {}).setdefault(self.key(e, by), []).append(e)
        return rows


def text(ns, more=False):
    if isinstance(ns, str):
        return ns
    units = ["ns", "us", "ms", "s"]
    v = float(ns)
    while v >= 999.5 and len(units) > 1:
        v /= 1000
        units.pop(0)
    digits = 0 if units[0] == "ns" or v >= 99.95 else 1 if v >= 9.995 else 2
    return "%.*f%s%s" % (digits, v, units[0], "+" if more else "")


class Row:
    def __init__(self, rec, entries):
        self.count = len(entries)
        self.ran = sum(rec.next[id(e)][0] for e in entries if rec.next[id(e)][1])
        self.unknown = sum(rec.next[id(e)][0] for e in entries if not rec.next[id(e)][1])
        # It may not be known how long a runner waited after a limit.
        self.waits = sorted(e.wait for e in entries if e.kind == "run" or e.wait)
        self.waited = sum(self.waits)
        self.held = sum(e.held for e in entries)
        self.held_more = any(e.held == MAX for e in entries)
        self.rec, self.entries = rec, entries

    def sort(self, key):
        worst = self.waits[-1] if self.waits else 0
        return {None: self.waited + self.held, "waited": self.waited, "throttled": self.held,
                "ran": self.ran, "count": self.count, "max": worst,
                "p50": self.at(500) if self.waits else 0,
                "p99": self.at(990) if self.waits else 0}[key]

    def more(self, ns):
        return ns >= MAX

    def at(self, permille):
        """At 500, half of the waits are no longer than that of rank n / 2, rounded up."""
        return self.waits[-(-len(self.waits) * permille // 1000) - 1]

    def behind(self, by):
        if not self.waited:
            return "- -"
        had = collections.Counter()
        for e in self.entries:
            for cpu, since, until, who, comm in self.rec.spans:
                if cpu == e.cpu:
                    at, to = max(since, e.time - e.wait), min(until, e.time)
                    if at < to:
                        name = comm if by == "comm" or who.kind == "idle" else self.rec.key(who, by)
                        had[name] += to - at - self.rec.taken(cpu, at, to)
            since = max(0, e.time - e.wait)
            had["the hypervisor"] += self.rec.stolen(e.cpu, since, e.time)
            had["interrupts"] += self.rec.interrupted(e.cpu, since, e.time)
        had += collections.Counter()
        if not had:
            return "not known " + text(self.waited)
        most = max(had.values())
        return "%s %s" % (min(c for c in had if had[c] == most), text(most))

    def line(self, throttled, behind):
        cells = [self.count, text(self.ran, self.unknown > 0),
                 text(self.waited, self.waits and self.more(self.waits[-1]))]
        if throttled:
            cells.append(text(self.held, self.held_more) if self.held else "-")
        for permille in (500, 990, 1000):
            cells.append(text(self.at(permille), self.more(self.at(permille)))
                         if self.waits else "-")
        return " ".join(str(c) for c in cells + [self.behind(behind)])


def report(path, opt):
    rec = Recording(path, opt.get("steal"), opt.get("irq"))
    throttled = any(e.kind == "throttled" for e in rec.entries)
    for _, keys in sorted(rec.rows(opt, opt.get("by", "task")).items()):
        rows = [(key, Row(rec, entries)) for key, entries in keys.items()]
        rows.sort(key=lambda row: (-row[1].sort(opt.get("sort")), -row[1].ran))
        for key, row in rows[:int(opt.get("n", 20))]:
            print(key, row.line(throttled, opt.get("behind", "comm")))


def diff(then, now, opt):
    half = [Recording(then), Recording(now)]
    rows = []
    for rec in half:
        first, last = rec.span
        rec.seconds = (min(last, int(opt.get("to", last))) -
                       max(first, int(opt.get("from", first)))) / 1e9
        found = rec.rows(opt, opt.get("by", "comm")).get(0, {})
        rows.append({key: Row(rec, entries) for key, entries in found.items()})
    lines = []
    limits = any(row.held for r in rows for row in r.values())
    for key in set(rows[0]) | set(rows[1]):
        both = [r.get(key) for r in rows]
        waited = [row.waited / rec.seconds if row else 0 for row, rec in zip(both, half)]
        more = [bool(row and row.waits and row.waits[-1] == MAX) for row in both]
        cells = [text(w, m) if row else "-" for row, w, m in zip(both, waited, more)]
        cells.append(change(waited, more))
        held = [row.held / rec.seconds if row else 0 for row, rec in zip(both, half)]
        if limits:
            more = [bool(row and row.held_more) for row in both]
            cells += [text(h, m) if row else "-" for row, h, m in zip(both, held, more)]
            cells.append(change(held, more))
        for permille in (990, 1000):
            known = [bool(row and row.waits) for row in both]
            ns = [row.at(permille) if k else 0 for k, row in zip(known, both)]
            cells += [text(n, n >= MAX) if k else "-" for n, k in zip(ns, known)]
            cells.append(change(ns, [n >= MAX for n in ns]) if all(known) else "-")
        lines.append((-abs(waited[1] - waited[0]) - abs(held[1] - held[0]), " ".join([key] + cells)))
    for _, line in sorted(lines)[:int(opt.get("n", 20))]:
        print(line)


def change(ns, more):
    by = ns[1] - ns[0]
    if more[0] or more[1] and by < 0:
        return "?"
    return ("-" if by < 0 else "+") + text(abs(by), more[1]) if by else "0"


def main():
    opt = dict(a.split("=", 1) for a in sys.argv[2:] if "=" in a)
    files = [a for a in sys.argv[2:] if "=" not in a]
    {"make": make, "gaps": make_gaps, "irqs": make_irqs, "report": report, "diff": diff}[sys.argv[1]](
        *files, *([opt] if sys.argv[1] not in ("make", "gaps", "irqs") else []))


main()
