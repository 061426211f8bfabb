#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Write a recording of kdtl(1) from a description on stdin: recording.py FILE
Write a recording's entries as older versions recorded them: recording.py --old FILE OLD

Lines, in the order in which they go into the file; times are in ns on the time base:
  source NAME            lost N           boot TIME NS_SINCE_1970
  host NAME              freq HZ          the time base's; times are in its ticks then
  clock TIME NS_SINCE_1970
  min-wait NS            dispatches after shorter waits were not recorded
  loss CPU FROM TO N     N entries of the CPU were lost between these times
  online TIME CPU        the CPU came online
  offline TIME CPU       the CPU went offline
  until TIME             all entries up to then came before this line
  some-cpus              other CPUs were not recorded
  waits BEGAN [SINCE HELD UNTIL CPU PID RUNNING COMM]...
                         the tasks that wait, by the kernel; all is recorded since BEGAN
  machine NAME           the numbers of system calls are those of this machine
  cgroup ID PATH
  within PID             the PID, in its own namespace, of the tasks that follow; 0 at first
  task TIME PID TGID POLICY NICE RT_PRIORITY CGROUP COMM
  run TIME CPU WAIT SLEPT PID PREV_PID COMM
                         a dispatch of a task after a wait
  moved TIME CPU QUEUED READY SLEPT PID PREV_PID COMM
                         a dispatch after a wait in another CPU's queue, and then in this one's
  throttled TIME CPU HELD PID PREV_PID COMM
                         a dispatch of a task that was held back
  starved TIME CPU HELD WAIT PID PREV_PID COMM
                         a dispatch of a task that was held back, and then waited
  idle TIME CPU PREV_PID
  left REASON            why the task before left, in the entries that follow; 2 at first
  steal TIME CPU STOLEN LOOKED CLOCK MARKS
                         kdtl_steal: since the look at LOOKED, by the steal clock
  irq TIME CPU HAD KIND NR NAME [PREV_PID]
                         kdtl_irq: an interrupt of this kdtl_irq_kind had the CPU until TIME
  vpa TIME CPU QUEUED READY SLEPT
                         kdtl_vpa: a dispatch by the hypervisor
  woken TIME CPU PID BY STATE SYSCALL FLAGS COMM
                         kdtl_wake: a task that left CPU is woken; SYSCALL -1: in none
  shifted TIME FROM TO PID BY COMM
                         kdtl_wake: a task that waits is moved to the queue of another CPU
  contended TIME CPU PID OWNER LOCK SYSCALL COMM
                         kdtl_wake: a task is about to sleep for a lock of this kind
  made TIME CPU PID BY COMM
                         kdtl_wake: a new task is queued
  kept TIME CPU PID NS SYSCALL COMM
                         kdtl_wake: a task could not be preempted for NS ns
  cpus                   kdtl_vpa: the CPUs are numbered as Linux does
  later                  a chunk that a later version may write
  cut                    the recording was killed here
  failed                 an error ended the recording here
  stream                 written to a pipe: its end says what the head does not
  head SIZE              the size that the head says that it has
Comments begin with #.
"""
import struct
import sys

ENTRIES, TASKS, CGROUP, RESET, CLOCK, END, CPUS, MIN_WAIT, LOST, UNTIL, SOME_CPUS, \
    MACHINE, WAITS, MOVES = range(1, 15)
THROTTLED, IDLE = 128, 129
WAKE = {"woken": 192, "shifted": 193, "contended": 194, "made": 195, "kept": 196}
left = 2
within = 0


def chunk(kind, data):
    return struct.pack(">II", kind, len(data)) + data


def entry(reason, cpu, queued, ready, slept, time, pid, prev, comm):
    return struct.pack(">BBHIIIQII16s", reason, left, cpu, min(queued, 2**32 - 1), ready,
                       min(slept, 2**32 - 1), time, pid, prev, comm.encode())


def wake_entry(kind, word):
    time = int(word[0])
    number = [int(a) for a in word[1:-1]]
    comm = word[-1].encode()
    cpu, flags, state, syscall, arg = number[0], 0, 0, 0xffff, 0
    if kind == "woken":
        _, pid, by, state, syscall, flags = number
    elif kind == "shifted":
        cpu, arg, pid, by = number
    elif kind == "contended":
        _, pid, by, state, syscall = number
    elif kind == "kept":
        by = 0
        _, pid, arg, syscall = number
    else:
        _, pid, by = number
    return struct.pack(">BBHIIHHQQ16s", WAKE[kind], flags, cpu, pid, by, state, syscall & 0xffff,
                       time, arg, comm)


def to_old_format(path, old):
    with open(path, "rb") as f:
        data = f.read()
    at = struct.unpack(">I", data[8:12])[0]
    out = b"KDTLDATA" + struct.pack(">I", 216) + data[12:216]
    while at < len(data):
        kind, size = struct.unpack(">II", data[at:at + 8])
        if kind == ENTRIES:
            out += data[at + 8:at + 8 + size]
        at += 8 + size
    with open(old, "wb") as f:
        f.write(out)


def main():
    global left, within
    source, lost, boot, realtime = "kdtl_sched", 0, 0, 0
    host, freq = "host", 10**9
    body, entries, seq, complete, stream, size = bytearray(), 0, 0, 1, False, 224
    for line in sys.stdin:
        word = line.split()
        if not word or word[0].startswith("#"):
            continue
        kind, arg = word[0], word[1:]
        number = [int(a) for a in arg if a.lstrip("-").isdigit()]
        if kind == "source":
            source = arg[0]
        elif kind == "host":
            host = arg[0]
        elif kind == "freq":
            freq = number[0]
        elif kind == "cpus":
            body += chunk(CPUS, b"")
        elif kind == "min-wait":
            body += chunk(MIN_WAIT, struct.pack(">Q", number[0]))
        elif kind == "loss":
            body += chunk(LOST, struct.pack(">IIQQQ", number[0], 0, *number[1:]))
        elif kind in ("online", "offline"):
            body += chunk(MOVES, struct.pack(">IIQ", number[1], kind == "online", number[0]))
        elif kind == "until":
            body += chunk(UNTIL, struct.pack(">Q", number[0]))
        elif kind == "some-cpus":
            body += chunk(SOME_CPUS, b"")
        elif kind == "waits":
            data = struct.pack(">Q", number[0])
            for at in range(1, len(arg), 7):
                since, held, until, cpu, pid, running = (int(a) for a in arg[at:at + 6])
                data += struct.pack(">QQQIIII16s", since, held, until, pid, running, cpu, 0,
                                    arg[at + 6].encode())
            body += chunk(WAITS, data)
        elif kind == "machine":
            body += chunk(MACHINE, struct.pack("64s", arg[0].encode()))
        elif kind == "within":
            within = number[0]
        elif kind == "left":
            left = number[0]
        elif kind == "lost":
            lost = number[0]
        elif kind == "boot":
            boot, realtime = number
        elif kind == "clock":
            body += chunk(CLOCK, struct.pack(">QQ", *number))
        elif kind == "cgroup":
            path = arg[1].encode()
            path += bytes(8 - len(path) % 8)
            body += chunk(CGROUP, struct.pack(">Q", number[0]) + path)
        elif kind == "task":
            seq += 1
            time, pid, tgid, policy, nice, rt, cgroup = number[:7]
            body += chunk(TASKS, struct.pack(">QQQIIIiII16s", seq, time, cgroup, pid, tgid,
                                             policy, nice, rt, within, arg[7].encode()))
        elif kind in ("run", "moved", "throttled", "starved", "idle", "steal", "irq", "vpa"):
            entries += 1
            if kind == "run":
                time, cpu, wait, slept, pid, prev = number[:6]
                e = entry(2, cpu, wait, 0, slept, time, pid, prev, arg[6])
            elif kind == "moved":
                time, cpu, queued, ready, slept, pid, prev = number[:7]
                e = entry(7, cpu, queued, ready, slept, time, pid, prev, arg[7])
            elif kind == "throttled":
                time, cpu, held, pid, prev = number[:5]
                e = entry(THROTTLED, cpu, 0, held, 0, time, pid, prev, arg[5])
            elif kind == "starved":
                time, cpu, held, wait, pid, prev = number[:6]
                e = entry(THROTTLED, cpu, wait, held, 0, time, pid, prev, arg[6])
            elif kind == "steal":
                time, cpu, stolen, looked, clock, marks = number[:6]
                e = struct.pack(">BBHIIIQQQQ", 7, 0, cpu, min(stolen, 2**32 - 1), 0, 0, time,
                                looked, clock, marks)
            elif kind == "irq":
                time, cpu, had, what, nr = number[:5]
                prev = int(arg[6]) if len(arg) > 6 else 0
                e = entry(0, cpu, had, 0, 0, time, ~(what << 28 | nr) & 2**32 - 1, prev, arg[5])
            elif kind == "vpa":
                time, cpu, queued, ready, slept = number[:5]
                e = struct.pack(">BBHIIIQQQQ", 7, 0, cpu, queued, ready, slept, time, 0, 0, 0)
            else:
                time, cpu, prev = number[:3]
                e = entry(IDLE, cpu, 0, 0, 0, time, 0, prev, "swapper/%d" % cpu)
            body += chunk(ENTRIES, e)
        elif kind in WAKE:
            entries += 1
            body += chunk(ENTRIES, wake_entry(kind, arg))
        elif kind == "later":
            body += chunk(99, bytes(24))
        elif kind == "cut":
            complete = 0
        elif kind == "failed":
            complete = 2
        elif kind == "stream":
            stream = True
        elif kind == "head":
            size = number[0]
        else:
            sys.exit("recording.py: no such line: " + line)
    if stream:
        if complete:
            body += chunk(END, struct.pack(">QQQQ", realtime, lost, entries, 0))
        complete = lost = entries = 0
    head = struct.pack(">8sIIQQQQ32s64s64sQQ", b"KDTLDAT2", size, complete, freq, boot,
                       realtime, lost, source.encode(), host.encode(), b"6.1.0", entries, 0)
    assert len(head) == 224, len(head)
    with open(sys.argv[1], "wb") as f:
        f.write(head + body)


if sys.argv[1] == "--old":
    to_old_format(*sys.argv[2:])
else:
    main()
