# SPDX-License-Identifier: GPL-2.0
"""
For vmcore.sh:
vmcore.py same IMAGE OTHER        all entries of the recording IMAGE, made from an image of the
                                  memory, are in OTHER, and none in between is missing
vmcore.py newest ONE OTHER        both end with the same entry on each CPU
vmcore.py equal ONE OTHER         both have the same entries
vmcore.py host FILE NAME          the recording is of that machine
vmcore.py clock IMAGE OTHER       both have the same time of day
vmcore.py layout KDTL-VMCORE       with drgn: print the layout of recordings
vmcore.py break KDTL-VMCORE KDTL.KO IMAGE
                                  with drgn: whatever is wrong in the image, reading it ends
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import random
import re
import struct
import sys
import time


def chunks(path):
    with open(path, "rb") as f:
        data = f.read()
    at = struct.unpack(">I", data[8:12])[0]
    while at < len(data):
        kind, size = struct.unpack(">II", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += 8 + size


def when(e):
    return struct.unpack(">Q", e[16:24])[0]


def by_cpu(path):
    cpus = {}
    for kind, data in chunks(path):
        if kind != 1:
            continue
        for i in range(0, len(data), 48):
            cpus.setdefault(struct.unpack(">H", data[i + 2:i + 4])[0], []).append(data[i:i + 48])
    return cpus


def same(image, other):
    a, b = by_cpu(image), by_cpu(other)
    if not a:
        return "no entries"
    for cpu, entries in a.items():
        all_of = b.get(cpu, [])
        span = [e for e in all_of if when(entries[0]) <= when(e) <= when(entries[-1])]
        print(f"CPU {cpu}: {len(entries)} of {len(all_of)}")
        if span != entries:
            return f"CPU {cpu}: {len(entries)} entries, the machine has {len(span)} for that time"
    return None


def newest(one, other):
    a, b = by_cpu(one), by_cpu(other)
    if not a or any(a[cpu][-1] != b[cpu][-1] for cpu in a):
        return "the newest entries differ"
    return None


def equal(one, other):
    a, b = by_cpu(one), by_cpu(other)
    print(", ".join(f"CPU {cpu}: {len(entries)}" for cpu, entries in sorted(a.items())))
    if not a or a != b:
        return "other entries: " + ", ".join(f"CPU {cpu}: {len(b[cpu])}" for cpu in sorted(b))
    return None


def host(path, name):
    with open(path, "rb") as f:
        is_of = f.read(224)[80:144].split(b"\0")[0].decode()
    return None if is_of == name else f"the recording is of {is_of!r}"


def clock(image, other):
    pairs = [[struct.unpack(">QQ", d[i:i + 16]) for k, d in chunks(p) if k == 5
              for i in range(0, len(d), 16)] for p in (image, other)]
    ticks, real = pairs[0][-1]
    near = min(pairs[1], key=lambda c: abs(c[0] - ticks))
    off = (real - ticks) - (near[1] - near[0])
    print(f"off by {off} ns")
    return None if abs(off) < 2000000 else "not the same time of day"


def loaded(tool):
    """Load kdtl-vmcore as a module."""
    loader = importlib.machinery.SourceFileLoader("kdtl_vmcore", tool)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("kdtl_vmcore", loader))
    loader.exec_module(module)
    return module


def layout(tool):
    m = loaded(tool)

    def sizes(s):
        members = re.findall(r"\d*[a-z]", s.format, re.I)
        return " ".join(str(struct.calcsize(">" + f)) for f in members)

    print(f"magic {m.FILE_MAGIC.decode()} complete {m.COMPLETE}")
    for name, s in (("head", m.HEAD), ("chunk", m.CHUNK), ("clock", m.CLOCK_PAIR),
                    ("loss", m.LOSS)):
        print(f"{name} {s.size}: {sizes(s)}")
    print(f"task {m.TASK_RECORD.size}")
    for name in ("ENTRIES", "TASKS", "CGROUP", "CLOCK", "CPUS", "MIN_WAIT", "LOST", "UNTIL",
                 "SOME_CPUS"):
        print(f"{name} {getattr(m, name)}")


# ------------------------------------------------------------------ broken images


class Broken:
    """An image in which some bytes are wrong."""

    def __init__(self, tool, ko, path):
        import drgn

        self.tool = loaded(tool)
        self.drgn = drgn
        self.prog = self.tool.open_image(path)
        self.tool.load_debug(self.prog, ko)
        self.good = {}
        self.patch = {}
        self.pmus = []
        root, self.root, _ = self.tool.read_root(self.prog)
        self.cover(self.root, root.size.value_())
        self.tables = self.tool.find(self.prog, "kdtl_answers", "kdtl_tables")
        self.cover(self.tables, 72)
        offset = drgn.offsetof(self.prog.type("struct kdtl_session"), "node")
        head = self.root + self.at("kdtl_root", "sessions")
        self.sessions = [n - offset for n in self.tool.walk(self.prog, head, 100, "sessions")]
        for s in self.sessions:
            self.cover(s, root.session_size.value_())
            aux = self.drgn.Object(self.prog, "struct kdtl_session", address=s).aux.value_()
            for cpu in range(root.nr_cpus.value_()):
                offset = self.prog.read_word(root.cpu_offset.value_() + 8 * cpu)
                area = self.prog.read_word((aux + offset) % 2**64)
                if area:
                    self.cover(area, root.aux_size.value_())
            pmu = self.drgn.Object(self.prog, "struct kdtl_session", address=s).pmu.value_()
            if pmu not in self.pmus:
                self.cover(pmu, self.prog.type("struct kdtl_pmu").size)
                self.pmus.append(pmu)

    def at(self, kind, member):
        return self.drgn.offsetof(self.prog.type("struct " + kind), member)

    def cover(self, address, size):
        self.good[address] = self.prog.read(address, size)
        self.prog.add_memory_segment(address, size, self.read)

    def read(self, address, count, offset, physical):
        start = address - offset
        data = bytearray(self.good[start][offset:offset + count])
        for where, value in self.patch.items():
            for i, byte in enumerate(value):
                if 0 <= where + i - address < count:
                    data[where + i - address] = byte
        return bytes(data)

    def run(self, patch):
        """Return what kdtl-vmcore says, and its exit status."""
        self.patch = patch
        said, status = io.StringIO(), 0
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                image = self.tool.Image(self.prog)
                self.tool.print_sessions(image)
                s = image.choose(None)
                if s:
                    self.tool.print_entries(image, s, 20)
                    self.tool.recording(image, s)
            except self.tool.Told as e:
                print(e)
                status = e.status
        return said.getvalue(), status

    def word(self, number):
        return struct.pack("<Q", number)

    def time_base(self, freq, boot):
        return {address + self.at("kdtl_pmu", member): self.word(value)
                for address in self.pmus
                for member, value in (("tb_freq", freq), ("tb_boot", boot))}


def break_it(tool, ko, path):
    b = Broken(tool, ko, path)
    assert b.run({})[1] == 0 and len(b.sessions) == 4, b.run({})
    first, node = b.sessions[0], b.at("kdtl_session", "node")
    area = [a for a in b.good if a not in [b.root, b.tables, *b.sessions, *b.pmus]][0]
    cases = [
        ("another version", 4, "version 99", {b.root + 16: struct.pack("<I", 99)}),
        ("no magic", 1, "is broken", {b.root: b"x"}),
        ("another build", 4, "other sizes", {b.root + 32: struct.pack("<I", 8)}),
        ("a list in circles", 0, "in circles",
         {b.sessions[1] + node: b.word(b.sessions[1] + node)}),
        ("a list to nowhere", 0, "to its end", {b.sessions[1] + node: b.word(0x1234)}),
        ("a list of other things", 0, "cannot be read", {first + node: b.word(b.root)}),
        ("a huge area", 0, "left out",
         {area + b.at("kdtl_aux", "area.size"): b.word(1 << 62)}),
        ("an area of no power of two", 0, "left out",
         {area + b.at("kdtl_aux", "area.size"): b.word(12345)}),
        ("an area elsewhere", 0, "not in the image",
         {area + b.at("kdtl_aux", "area.base"): b.word(1 << 62)}),
        ("other bytes in an area", 0, "make no sense",
         {area + b.at("kdtl_aux", "area.base"): b.word(b.root)}),
        ("positions that make no sense", 0, "left out",
         {area + b.at("kdtl_aux", "start"): b.word(1 << 62)}),
        ("a huge table", 0, "makes no sense",
         {b.tables + 32: struct.pack("<I", 2**32 - 1)}),
        ("a table elsewhere", 0, "to its end",
         {b.tables + 24: b.word(1 << 62)}),
        ("tables of another version", 0, "another version", {b.tables + 16: b"x"}),
        ("very many CPUs", 0, "", {b.root + b.at("kdtl_root", "nr_cpus"): struct.pack("<I", 400)}),
        ("a clock that is slow, and began late", 0, "", b.time_base(1, 2**64 - 1)),
        ("a clock that is fast, and began late", 0, "", b.time_base(2**32 - 1, 2**64 - 1)),
        ("no clock", 0, "", {b.root + b.at("kdtl_root", "clock"): bytes(72)}),
        ("a clock of nowhen", 0, "", {b.root + b.at("kdtl_root", "clock"): b"\xff" * 72}),
    ]
    for name, status, text, patch in cases:
        said, got = b.run(patch)
        print(f"{name}: {got}")
        if got != status or text not in said or "Traceback" in said:
            return f"{name}: status {got}, said: {said}"
    seed = int(os.environ.get("KDTL_SEED", time.time_ns() % 10**6))
    print(f"KDTL_SEED={seed}")
    rng = random.Random(seed)
    for i in range(int(os.environ.get("KDTL_ROUNDS", 40))):
        patch = {}
        for _ in range(rng.choice([1, 1, 2, 8])):
            start = rng.choice(list(b.good))
            size = rng.choice([1, 4, 8])
            patch[start + rng.randrange(0, len(b.good[start]) - size, size)] = \
                rng.choice([rng.randbytes(size), b"\xff" * size, bytes(size)])
        began = time.monotonic()
        said, _ = b.run(patch)
        if time.monotonic() - began > 60:
            return f"round {i}: takes {time.monotonic() - began:.0f} s: {patch}"
    return None


verbs = {"same": same, "newest": newest, "equal": equal, "host": host, "layout": layout,
         "clock": clock, "break": break_it}
why = verbs[sys.argv[1]](*sys.argv[2:])
if why:
    sys.exit(why)
