# SPDX-License-Identifier: GPL-2.0-only
"""A synthetic program and what the export shows of it. The first argument is FEED."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
import fxt  # noqa: E402
import pftrace  # noqa: E402

FEED = sys.argv.pop(1)
KERNEL = 0xffffffff81000000
USER = 0x401000
SIZE = 0x200  # of a function
# As enum code_branch, irq_change and decode_end.
STRAIGHT, JUMP, _, CALL, RETURN, SYSCALL, SYSRET, IRET = range(8)
VM_ENTRY = 10
SAME, OFF, ON, RESTORED = range(4)
WAITS = 0x10  # FEEDER_WAITS
INTERRUPTED, ABORTED, DISABLED = 6, 8, 10
LOST, NO_CODE = 12, 13
INSN = 4  # length of each
NAMES = ("symbol", "comm")
LANES = "functions", "tasks", "interrupts off", "interrupts on or off", "trace"
# Seconds; QEMU's user mode is many times slower.
TIMEOUT = 1200 if "PERF_POKE_QEMU_USER" in os.environ else 60
TAKE_PLACES = "ret", "iret", "branch", "begin_at"


class Program:
    """Executes instructions of functions and records the expected result. Addresses are
    (function, offset)."""
    def __init__(self):
        self.lines = []
        self.functions = {}
        self.places = {}
        self.time = 1000
        self.cpu, self.pid, self.tid = 1, 10, 11
        self.ip = 0
        self.cycles = 2

    def at(self, name, offset=0):
        if name not in self.functions:
            user = name.startswith("u_")
            start = (USER if user else KERNEL) + len(self.functions) * SIZE
            self.functions[name] = start
            self.lines.append(f"symbol {name} {start:x} {start + SIZE:x} {'u' if user else 'k'}")
        return self.functions[name] + offset

    def where(self):
        return f"{self.time:x} {self.cpu:x} {self.pid:x} {self.tid:x}"

    def rename(self, name, tid=None):
        """Takes effect from the next moment."""
        self.lines.append(f"comm {self.time + 1:x} {tid or self.tid:x} {name}")

    def insn(self, irqs=SAME, branch=STRAIGHT, target=None):
        target = self.ip + INSN if target is None else target
        self.lines.append(
            f"insn {self.where()} {self.ip:x} {INSN:x} {irqs:x} {self.cycles:x} {branch:x} "
            f"{target:x}"
        )
        self.ip = target

    def event(self, end, target):
        """Without code; execution was at the current address."""
        self.lines.append(f"event {self.where()} {self.ip:x} {end:x} {target:x}")
        self.ip = target

    def error(self, kind):
        self.lines.append(f"error {self.where()} {self.ip:x} {kind:x} 0")

    def run(self, count, irqs=SAME):
        for _ in range(count):
            self.time += 1
            self.insn(irqs)

    def halt(self, duration, irqs=SAME):
        self.time += duration
        self.insn(irqs | WAITS)

    def branch(self, target, how=JUMP):
        """A branch instruction."""
        self.time += 1
        self.insn(branch=how, target=target)

    def begin_at(self, target):
        self.lines.append(f"begin {self.where()} {target:x}")
        self.ip = target

    def begin(self, name, offset=0):
        self.time += 1
        self.begin_at(self.at(name, offset))

    def end(self, branch=None):
        """The trace ends, at a branch to untraced code or at once."""
        self.time += 1
        if branch:
            self.insn(branch=branch, target=0)
        else:
            self.event(DISABLED, 0)

    def call(self, name, how=CALL):
        back = self.ip + INSN
        self.branch(self.at(name), how)
        return back

    def ret(self, back, how=RETURN):
        self.branch(back, how)

    def interrupt(self, name):
        back = self.ip
        self.time += 1
        self.event(INTERRUPTED, self.at(name))
        return back

    def iret(self, back):
        self.branch(back, IRET)

    def switch(self, tid):
        """Like perf: what follows the jump to __switch_to belongs to the next thread."""
        self.branch(self.at("__switch_to"))
        self.tid = self.pid = tid
        self.run(1)

    def wait(self, duration):
        self.time += duration

    def play(self, script):
        """Steps as `[NAME =] METHOD ARGUMENT...; ...`. A place is such a NAME, for what the method
        returned, or FUNCTION[+OFFSET]."""
        for step in script.split(";"):
            name, _, call = step.rpartition("=")
            method, *words = call.split()
            values = [
                int(word)
                if word.lstrip("-").isdigit() else globals()[word] if word.isupper() else word
                for word in words
            ]
            if method in TAKE_PLACES:
                function, _, offset = words[0].partition("+")
                values[0] = self.places[words[0]] if words[0] in self.places else self.at(
                    function, int(offset or 0))
            self.places[name.strip()] = getattr(self, method)(*values)


class CallsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.program = Program()

    def play(self, script):
        self.program.play(script)

    def run_feed(self, *args):
        # Symbols and names are looked up before they are recorded.
        lines = sorted(self.program.lines, key=lambda line: not line.startswith(NAMES))
        result = subprocess.run([FEED, *args], input="\n".join(lines) + "\n", capture_output=True,
                                text=True, check=False, timeout=TIMEOUT)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def feed(self, *args, name="out.fxt"):
        self.slices, self.gaps = map(int,
                                     self.run_feed(f"output={self.folder}/{name}", *args).split())

    def tracks(self, *args, name="out.fxt"):
        self.feed(*args)
        self.trace = fxt.read(self.folder / name)
        return self.trace.check()

    def check_spans(self, *args):
        """Spans in memory equal the CPU's slices in the file. Returns the tracks."""
        lanes = [[] for _ in LANES]
        for line in self.run_feed("spans=1", *args).splitlines()[1:]:
            lane, depth, begin, end, insns, cycles, _, name = line.split(" ", 7)
            lanes[int(lane)].append(
                (int(begin), int(end), int(depth), name, int(insns), int(cycles)))
        tracks = self.tracks(*args)
        for lane, name in zip(lanes, LANES):
            found = [(piece.begin, piece.end, piece.depth, piece.name,
                      piece.args.get("instructions", 0), piece.args.get("cycles", 0))
                     for piece in tracks.get(f"CPU 1 {name}", [])]
            self.assertEqual(sorted(lane), sorted(found), f"{name}, {args}")
            self.assertEqual([piece[0] for piece in lane], sorted(piece[0] for piece in lane))
        return tracks

    def show(self, *args, track="task 11"):
        """Slices of a thread as `name begin-end`, indented, in order."""
        found = sorted(
            self.tracks(*args).get(track, []), key=lambda piece: (piece.begin, piece.depth))
        return [f"{'  ' * piece.depth}{piece.name} {piece.begin}-{piece.end}" for piece in found]

    def names(self, *args, track="task 11"):
        return [line.rsplit(" ", 1)[0] for line in self.show(*args, track=track)]
