#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Read the sessions of kdtl from an image of a machine's memory, with drgn

It needs the debug info of the kdtl.ko that ran, and no other: Documentation/vmcore.rst. What
is in an image may be anything, so each length has a limit, and each walk an end.
"""
import argparse
import gzip
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

MAGIC, VERSION = b"kdtl_root", 1
ENTRY, TASK = 48, 64
MASK = 2**64 - 1
NSEC = 10**9

# No machine has more than these; larger numbers in an image make no sense.
MAX_MODULES = 4096
MAX_SESSIONS = 4096
MAX_CPUS = 1 << 16
MAX_AREA = 1 << 30
MAX_RECORDS = 1 << 22
MAX_RECORD = 1024
MAX_TEXT = 256
NR_GAPS = 64
PAGE = 4096

FAILED, NO_KDTL, OTHER_KDTL = 1, 3, 4

# <linux/kdtl_file.h> defines the format of a recording.
FILE_MAGIC, COMPLETE = b"KDTLDAT2", 1
HEAD = struct.Struct(">8sIIQQQQ32s64s64sQQ")
CHUNK = struct.Struct(">II")
CLOCK_PAIR = struct.Struct(">QQ")
LOSS = struct.Struct(">IIQQQ")
TASK_RECORD = struct.Struct(">QQQIIIiII16s")
ENTRIES, TASKS, CGROUP, CLOCK, CPUS, MIN_WAIT, LOST, UNTIL, SOME_CPUS = 1, 2, 3, 5, 7, 8, 9, 10, 11
THROTTLED, IDLE = 128, 129
TIME_MAX = 2**32 - 1


class Told(Exception):
    """Why there is no answer, in a line, and the exit status that says so."""

    def __init__(self, text, status=FAILED):
        super().__init__(text)
        self.status = status


def note(text):
    print("kdtl-vmcore: " + text, file=sys.stderr)


try:
    import drgn
    from drgn.helpers.linux.kallsyms import load_vmlinux_kallsyms
except ImportError as e:
    note(f"needs drgn, Debian's package python3-drgn: {e}")
    sys.exit(FAILED)

# What drgn raises for memory that the image does not have, or that makes no sense.
UNREADABLE = (drgn.FaultError, LookupError, ValueError, OverflowError)


def printable(raw):
    """A name from the image, which may have any bytes."""
    text = raw.split(b"\0")[0].decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


# ------------------------------------------------------------------ the image


def open_image(path):
    prog = drgn.Program()
    try:
        prog.set_core_dump(path)
    except Exception as e:  # drgn has no class of its own for them
        raise Told(f"{path}: {e}") from None
    if not prog.flags & drgn.ProgramFlags.IS_LINUX_KERNEL:
        raise Told(f"{path}: says nothing of a Linux kernel (no VMCOREINFO)")
    try:
        prog.register_symbol_finder("kallsyms", load_vmlinux_kallsyms(prog), enable_index=-1)
    except Exception as e:
        raise Told(f"{path}: the kernel's symbols cannot be read: {e}") from None
    return prog


def release_of(prog):
    return prog["UTS_RELEASE"].string_().decode("ascii", "replace")


def find_debug(release):
    """The kdtl.ko that make install, DKMS or a kernel's package has installed."""
    places = ["extra/kdtl", "updates/dkms", "updates", "extra", "kernel/drivers/kdtl"]
    for root in "/usr/lib/debug/lib/modules", "/lib/modules":
        for place in places:
            for end in ".ko.debug", ".ko", ".ko.xz", ".ko.gz", ".ko.zst":
                path = f"{root}/{release}/{place}/kdtl{end}"
                if os.path.exists(path):
                    return path
    raise Told(f"no kdtl.ko for {release} is installed here: name it with -k", OTHER_KDTL)


def unpacked(path):
    """The bytes of a module, whose file may be compressed."""
    try:
        if path.endswith(".zst"):
            return subprocess.run(["zstd", "-dcq", "--", path], stdout=subprocess.PIPE,
                                  check=True).stdout
        opener = {".xz": lzma.open, ".gz": gzip.open}.get(os.path.splitext(path)[1], open)
        with opener(path, "rb") as f:
            return f.read()
    except (OSError, EOFError, lzma.LZMAError, subprocess.CalledProcessError) as e:
        raise Told(f"{path}: {e}") from None


def load_debug(prog, path):
    data = unpacked(path)
    magic = re.search(rb"vermagic=([^ \0]+)", data)
    if magic and magic[1].decode("ascii", "replace") != release_of(prog):
        raise Told(f"{path} is for {magic[1].decode('ascii', 'replace')}, "
                   f"the image is of {release_of(prog)}", OTHER_KDTL)
    module = prog.extra_module("kdtl", 0, create=True)
    with tempfile.NamedTemporaryFile(suffix=".ko") as f:
        f.write(data)
        f.flush()
        try:
            module.try_file(f.name, force=True)
            prog.type("struct kdtl_root")
            prog.type("struct module")
        except LookupError:
            raise Told(f"{path}: has no debug info of kdtl: it was stripped, or is another module",
                       OTHER_KDTL) from None
        except Exception as e:
            raise Told(f"{path}: {e}", OTHER_KDTL) from None


def broken(text):
    raise Told(text + ": the image is not whole, or is broken")


def walk(prog, head, limit, what, tell=note):
    """The nodes of a list; none is returned twice."""
    seen = {head}
    at = head
    while True:
        try:
            at = prog.read_word(at)
        except UNREADABLE:
            return tell(f"the list of {what} cannot be read to its end")
        if at == head:
            return None
        if at in seen or len(seen) > limit:
            return tell(f"the list of {what} goes in circles")
        seen.add(at)
        yield at


def symbol_in(prog, module, name):
    """The address of a symbol of a module; None: the module has no symbol of that name."""
    table = module.kallsyms
    symbol = table.symtab.type_.type
    size = drgn.sizeof(symbol)
    nr = min(table.num_symtab.value_(), 1 << 16)
    symtab, strtab = table.symtab.value_(), table.strtab.value_()
    raw = prog.read(symtab, nr * size)
    for i in range(nr):
        s = drgn.Object.from_bytes_(prog, symbol, raw[i * size:(i + 1) * size])
        at = s.st_name.value_()
        if at and prog.read(strtab + at, len(name) + 1) == name + b"\0":
            return s.st_value.value_()
    return None


def find(prog, module_name, name):
    """The address of a symbol of a module, or of the kernel if the module is built in, or None."""
    try:
        return prog.symbol(name).address
    except LookupError:
        pass
    try:
        modules = prog.symbol("modules").address
    except LookupError:
        raise Told("the kernel has no symbols of data (CONFIG_KALLSYMS_ALL)") from None
    kind = prog.type("struct module")
    offset = drgn.offsetof(kind, "list")
    for node in walk(prog, modules, MAX_MODULES, "modules", broken):
        try:
            module = drgn.Object(prog, kind, address=node - offset)
            if module.name.string_().decode("ascii", "replace") != module_name:
                continue
            address = symbol_in(prog, module, name.encode())
        except UNREADABLE:
            continue
        if address:
            return address
        raise Told(f"{module_name}.ko of the image has no {name}: it is older than this program",
                   OTHER_KDTL)
    return None


def read_root(prog):
    address = find(prog, "kdtl", "kdtl_root")
    if not address:
        raise Told("kdtl.ko was not loaded in the image", NO_KDTL)
    try:
        root = drgn.Object(prog, "struct kdtl_root", address=address).read_()
        fixed = prog.read(address, 32)
    except UNREADABLE as e:
        raise Told(f"kdtl_root cannot be read: {e}") from None
    order = "<" if prog.platform.flags & drgn.PlatformFlags.IS_LITTLE_ENDIAN else ">"
    version, size, entry_size, task_size = struct.unpack(order + "4I", fixed[16:])
    if fixed[:16].rstrip(b"\0") != MAGIC:
        raise Told("there is no kdtl_root where it should be: the image is broken")
    if version != VERSION:
        raise Told(f"kdtl_root has version {version}, this program reads {VERSION}", OTHER_KDTL)
    if (size, root.session_size, root.aux_size) != (
            prog.type("struct kdtl_root").size, prog.type("struct kdtl_session").size,
            prog.type("struct kdtl_aux").size) or (entry_size, task_size) != (ENTRY, TASK):
        raise Told("this kdtl.ko is not the one that ran: its structures have other sizes",
                   OTHER_KDTL)
    return root, address, order


# ------------------------------------------------------------------ what is in it


class Area:
    """A session's area of a CPU, and its entries."""

    def __init__(self, prog, cpu, aux):
        self.cpu = cpu
        self.overwrite = bool(aux.overwrite.value_())
        self.min_wait = aux.min_wait.value_()
        self.lost = aux.lost.value_()
        self.size = aux.area.size.value_() if aux.nr_pages else 0
        self.base = aux.area.base.value_()
        self.tail, self.start = aux.tail.value_(), aux.start.value_()
        ring = aux.sink.at.value_()
        self.head = drgn.Object(prog, "struct kdtl_ring", address=ring).head.value_()
        self.gaps = [(aux.gaps.gap[(aux.gaps.first.value_() + i) % NR_GAPS].pos.value_(),
                      aux.gaps.gap[(aux.gaps.first.value_() + i) % NR_GAPS].lost.value_())
                     for i in range(min(aux.gaps.nr.value_(), NR_GAPS))]
        if aux.lost_run:
            self.gaps.append((aux.gap.value_(), aux.lost_run.value_()))
        self.entries, self.first = [], 0

    def written(self):
        """Bytes since the session was loaded."""
        return (self.head - self.start) & MASK

    def wrong(self):
        """Why the area makes no sense; None: it does."""
        if self.size & (self.size - 1) or not PAGE <= self.size <= MAX_AREA:
            return f"has {self.size} bytes"
        if self.written() >= 1 << 63:
            return "begins behind its end"
        if not self.overwrite and (self.head - self.tail) & MASK > self.size:
            return "has more unread bytes than its size"
        return None

    def read(self, prog):
        """
        The entries, oldest first, and the number of the first one.  Entries that were read
        stay until they are overwritten, so the oldest may be partly overwritten.
        """
        if not self.size:
            return
        why = self.wrong()
        if why:
            note(f"CPU {self.cpu}: the area {why}, and is left out")
            return
        end = self.written() // ENTRY
        room = self.size - (ENTRY if self.overwrite else 0)
        first = max(0, -(-(self.written() - room) // ENTRY))
        sure = end - first if self.overwrite else ((self.head - self.tail) & MASK) // ENTRY
        entries, why = [], "make no sense"
        try:
            for e in self.backwards(prog, end, first):
                t = struct.unpack(">Q", e[16:24])[0]
                if not t or entries and t > last:
                    break
                last = t
                entries.append(e)
        except UNREADABLE:
            why = "are not in the image"
        if len(entries) < sure:
            note(f"CPU {self.cpu}: {sure - len(entries)} entries {why}")
        self.entries = entries[::-1]
        self.first = end - len(entries)

    def backwards(self, prog, end, first):
        """Those of the entries with these numbers that the image has, newest first."""
        while end > first:
            n = min(PAGE // ENTRY, end - first)
            end -= n
            raw = prog.read(self.base + ((self.start + end * ENTRY) & (self.size - 1)), n * ENTRY)
            for i in reversed(range(0, n * ENTRY, ENTRY)):
                yield raw[i:i + ENTRY]

    def time(self, i):
        return struct.unpack(">Q", self.entries[i][16:24])[0]

    def losses(self, until):
        """The times between which entries are missing, and the number of these entries."""
        for pos, lost in self.gaps:
            i = ((pos - self.start) & MASK) // ENTRY - self.first
            if lost and self.entries and 0 <= i <= len(self.entries):
                yield (self.time(max(i - 1, 0)),
                       self.time(i) if i < len(self.entries) else until, lost)


class Session:
    STATES = {0: "created", 1: "stopped", 2: "started"}

    def __init__(self, prog, root, address):
        s = drgn.Object(prog, "struct kdtl_session", address=address).read_()
        pmu = drgn.Object(prog, "struct kdtl_pmu", address=s.pmu.value_())
        self.id = s.id.value_()
        self.state = self.STATES.get(s.state.value_(), "?")
        self.overwrite = bool(s.layout.overwrite.value_())
        self.counts = not s.layout.nr_pages
        self.raw = not s.ops.entries.value_()
        self.named = bool(s.named.value_())
        self.owner = printable(s.owner.string_())
        self.source = printable(prog.read_c_string(pmu.name.value_(), max_size=32))
        self.freq, self.boot = pmu.tb_freq.value_(), pmu.tb_boot.value_()
        self.stolen, self.tasks = bool(pmu.stolen.value_()), bool(pmu.tasks.value_())
        if not 0 < self.freq < 1 << 32:
            raise ValueError(f"its source has {self.freq} ticks a second")
        self.areas = []
        at, offsets = s.aux.value_(), root.cpu_offset.value_()
        word = 8 if prog.platform.flags & drgn.PlatformFlags.IS_64_BIT else 4
        for cpu in range(min(root.nr_cpus.value_(), MAX_CPUS)):
            try:
                offset = prog.read_word(offsets + cpu * word) if offsets else 0
                aux = prog.read_word((at + offset) & (256**word - 1))
                if aux:
                    self.areas.append(Area(prog, cpu, drgn.Object(prog, "struct kdtl_aux",
                                                                  address=aux).read_()))
            except UNREADABLE:
                note(f"session {self.id}: what it has of CPU {cpu} cannot be read")
        if not self.raw:
            for a in self.areas:
                a.read(prog)

    def mode(self):
        return "raw" if self.raw else "count" if self.counts else \
            "overwrite" if self.overwrite else "keep"

    def nr(self):
        return sum(len(a.entries) for a in self.areas)

    def newest(self):
        return max((a.time(-1) for a in self.areas if a.entries), default=0)

    def ns(self, ticks):
        """The time of local_clock(), in ns, at that tick."""
        return (ticks - self.boot) * NSEC // self.freq

    def ticks(self, ns):
        return self.boot + ns * self.freq // NSEC

    def min_wait(self):
        """The time in ns below which waits were not logged."""
        return max((self.ns(self.boot + a.min_wait) for a in self.areas), default=0)


def read_sessions(prog, root, address):
    kind = prog.type("struct kdtl_root")
    head = address + drgn.offsetof(kind, "sessions")
    offset = drgn.offsetof(prog.type("struct kdtl_session"), "node")
    for node in walk(prog, head, MAX_SESSIONS, "sessions"):
        try:
            yield Session(prog, root, node - offset)
        except UNREADABLE as e:
            note(f"a session cannot be read: {e}")


def read_tables(prog, order):
    """The places of kdtl_answers.ko's tables; this needs no debug info of that module."""
    wide = bool(prog.platform.flags & drgn.PlatformFlags.IS_64_BIT)
    table = struct.Struct(order + ("Q4I" if wide else "I4I"))
    none = (0, 0, 0, 0, 0)
    address = find(prog, "kdtl_answers", "kdtl_tables")
    if not address:
        return none, none
    try:
        raw = prog.read(address, 24 + 2 * table.size)
    except UNREADABLE:
        note("the tables of tasks and cgroups cannot be read")
        return none, none
    if raw[:16].rstrip(b"\0") != b"kdtl_tables" or \
            struct.unpack(order + "II", raw[16:24]) != (VERSION, len(raw)):
        note("the tables of tasks and cgroups are of another version, and are left out")
        return none, none
    return table.unpack(raw[24:24 + table.size]), table.unpack(raw[24 + table.size:])


def read_table(prog, table, least, what):
    """The elements of a table, and the text of each."""
    first, nr, size, text, room = table
    if not first:
        return
    if nr > MAX_RECORDS or not least <= size <= MAX_RECORD or text + room > size or room > MAX_TEXT:
        note(f"the table of {what} makes no sense, and is left out")
        return
    some = (1 << 16) // size
    for i in range(0, nr, some):
        n = min(some, nr - i)
        try:
            raw = prog.read(first + i * size, n * size)
        except UNREADABLE:
            note(f"the table of {what} cannot be read to its end")
            return
        for at in range(0, n * size, size):
            yield raw[at:at + least], raw[at + text:at + text + room].split(b"\0")[0]


class Image:
    def __init__(self, prog):
        self.release = release_of(prog)
        root, address, order = read_root(prog)
        self.host = ""
        try:
            host = drgn.Object(prog, "struct new_utsname", address=root.host.value_())
            self.host = printable(host.nodename.string_())
        except UNREADABLE:
            note("the name of the machine cannot be read")
        self.clocks = []
        last = root.last.value_()
        for i in {0, last if last < 3 else 0}:
            c = root.clock[i]
            if c.ticks:
                self.clocks.append((c.ticks.value_(), c.real.value_()))
        self.clocks = sorted(set(self.clocks))
        tasks, cgroups = read_tables(prog, order)
        self.tasks = sorted(
            struct.unpack(order + "QQQIIIiII16s", r)
            for r, _ in read_table(prog, tasks, TASK, "tasks") if any(r[:8]))
        self.cgroups = {
            struct.unpack(order + "Q", r)[0]: text
            for r, text in read_table(prog, cgroups, 8, "cgroups") if any(r)}
        self.sessions = list(read_sessions(prog, root, address))

    def real(self, ns):
        """The time of day at a time of local_clock(); both are in ns."""
        if not self.clocks:
            return ns
        before = [c for c in self.clocks if c[0] <= ns] or self.clocks[:1]
        if len(self.clocks) == 2 and before[-1] == self.clocks[0] and ns > before[-1][0]:
            (a, x), (b, y) = self.clocks
            return x + (ns - a) * (y - x) // (b - a)
        return before[-1][1] + ns - before[-1][0]

    def task(self, pid, ns):
        """The task's record of that time; None: the task is not known."""
        found = None
        for t in self.by_pid().get(pid, ()):
            if t[1] <= ns:
                found = t
        return found

    def by_pid(self):
        if not hasattr(self, "_by_pid"):
            self._by_pid = {}
            for t in self.tasks:
                self._by_pid.setdefault(t[3], []).append(t)
        return self._by_pid

    def best(self, wanted):
        """
        The session that tells most about the end: preferably a log of all dispatches, and then
        one that goes on until the end, and then the one with most entries.
        """
        some = [s for s in self.sessions if s.nr() and wanted(s)]
        last = max((s.ns(s.newest()) for s in some), default=0)
        return max(some, default=None, key=lambda s: (
            not s.min_wait() and not s.named, last - s.ns(s.newest()) < NSEC, s.nr()))

    def choose(self, number):
        if number is not None:
            for s in self.sessions:
                if s.id == number and s.nr():
                    return s
            raise Told(f"the image has no session {number} with entries")
        return self.best(lambda s: s.tasks) or self.best(lambda s: not s.stolen) or \
            self.best(lambda s: True)


# ------------------------------------------------------------------ recordings


def chunk(kind, data):
    return CHUNK.pack(kind, len(data)) + data


def recording(image, s):
    """The session's entries as a recording, in the form that kdtl record writes."""
    end = min(max([s.newest()] + [s.ticks(c[0]) for c in image.clocks]), MASK)
    body = bytearray()
    if s.min_wait():
        body += chunk(MIN_WAIT, struct.pack(">Q", min(s.min_wait(), MASK)))
    if s.named:
        body += chunk(SOME_CPUS, b"")
    for ticks, real in image.clocks:
        body += chunk(CLOCK, CLOCK_PAIR.pack(s.ticks(ticks) & MASK, real))
    if s.tasks:
        for number in {t[2] for t in image.tasks}:
            path = image.cgroups.get(number)
            if path:
                body += chunk(CGROUP, struct.pack(">Q", number) + path + bytes(8 - len(path) % 8))
        for i in range(0, len(image.tasks), 1024):
            body += chunk(TASKS, b"".join(TASK_RECORD.pack(*t)
                                          for t in image.tasks[i:i + 1024]))
    if s.source == "kdtl_vpa":
        body += chunk(CPUS, b"")
    for a in s.areas:
        if s.source == "kdtl_vpa":
            a.entries = [e[:2] + struct.pack(">H", a.cpu & 0xffff) + e[4:] for e in a.entries]
        for i in range(0, len(a.entries), 1024):
            body += chunk(ENTRIES, b"".join(a.entries[i:i + 1024]))
        for begin, over, lost in a.losses(end):
            body += chunk(LOST, LOSS.pack(a.cpu, 0, begin, over, lost))
    body += chunk(UNTIL, struct.pack(">Q", end))
    head = HEAD.pack(FILE_MAGIC, HEAD.size, COMPLETE, s.freq, s.boot & MASK, image.real(0) & MASK,
                     sum(a.lost for a in s.areas) & MASK, s.source.encode()[:31],
                     image.host.encode()[:63], image.release.encode()[:63], s.nr(), 0)
    return head + body


def write(path, data):
    try:
        if os.path.isfile(path) and os.path.getsize(path):
            os.rename(path, path + ".old")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(data)
    except OSError as e:
        raise Told(f"{path}: {e.strerror}") from None


# ------------------------------------------------------------------ text


def time_text(ns):
    seconds = max(min(ns // NSEC, 2**33), -2**33)
    return time.strftime("%H:%M:%S", time.localtime(seconds)) + ".%06d" % (ns % NSEC // 1000)


def ns_text(ns):
    for unit, size in ("s", 10**9), ("ms", 10**6), ("us", 10**3):
        if ns >= size:
            return "%.3g %s" % (ns / size, unit)
    return f"{ns} ns"


def print_sessions(image):
    print(f"{image.host or '?'}, Linux {image.release}", end="")
    if image.clocks:
        real = image.clocks[-1][1] // NSEC
        print(", not before " + time.strftime("%Y-%m-%d %H:%M:%S",
                                               time.localtime(min(real, 2**33))), end="")
    print("\n\n  id state   mode      source     owner")
    for s in image.sessions:
        print(f"{s.id:4} {s.state:7} {s.mode():9} {s.source:10} {s.owner}")
    print("\n  id  cpu                 head                 tail       size  entries         lost")
    for s in image.sessions:
        for a in s.areas:
            print(f"{s.id:4} {a.cpu:4} {a.head:20} {a.tail:20} {a.size:10} {len(a.entries):8} "
                  f"{a.first if a.overwrite else a.lost:12}")


def print_entry(image, s, cpu, raw):
    why, _, _, queued, ready, _, when, addr = struct.unpack(">BBHIIIQQ", raw[:32])
    ns, pid = s.ns(when), addr >> 32
    wait = queued if why == THROTTLED or ready == TIME_MAX else queued + ready
    what, path = "", ""
    if s.tasks:
        task = image.task(pid, ns)
        what = f"{printable(raw[32:48])} ({pid})" if why != IDLE else "idle"
        path = printable(image.cgroups.get(task[2], b"")) if task else ""
    print(f"{time_text(image.real(ns))} {cpu:4}  {ns_text(s.ns(s.boot + wait)):>8}  "
          f"{what:26} {path}".rstrip())


def print_entries(image, s, nr):
    rows = sorted(((a.time(i), a.cpu, e) for a in s.areas for i, e in enumerate(a.entries)),
                  key=lambda r: r[:2])[-nr:] if nr else []
    print(f"\nsession {s.id}, the newest {len(rows)} of {s.nr()} entries:\n")
    print("time of day      CPU    waited  task (PID)                 cgroup")
    for _, cpu, raw in rows:
        print_entry(image, s, cpu, raw)


def main():
    p = argparse.ArgumentParser(
        prog="kdtl-vmcore", description="Read the dispatches before a crash from an image of the "
        "memory: the sessions of kdtl, their newest entries, and a recording for kdtl(1).")
    p.add_argument("-k", metavar="KDTL.KO", help="kdtl.ko of the image, with debug info")
    p.add_argument("-s", metavar="ID", type=int,
                   help="this session (default: the one that says most)")
    p.add_argument("-n", metavar="N", type=int, default=20, help="print so many entries (20)")
    p.add_argument("-o", metavar="FILE", help="write a recording")
    p.add_argument("image", metavar="VMCORE")
    o = p.parse_args()
    prog = open_image(o.image)
    load_debug(prog, o.k or find_debug(release_of(prog)))
    image = Image(prog)
    print_sessions(image)
    s = image.choose(o.s)
    if not s:
        raise Told("no session of the image has entries")
    print_entries(image, s, max(o.n, 0))
    if o.o:
        write(o.o, recording(image, s))
        steal = image.best(lambda x: x.stolen and x is not s)
        if s.tasks and steal:
            write(o.o + ".steal", recording(image, steal))


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except Told as e:
        note(str(e))
        sys.exit(e.status)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
