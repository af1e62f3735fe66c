#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Call stacks from instructions and branches: the export shows what a synthetic program did.
Usage: calls.py FEED"""
import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import fxt  # noqa: E402

FEED = sys.argv.pop(1)
KERNEL = 0xffffffff81000000
USER = 0x401000
SIZE = 0x200  # of a function
CALL, RETURN, ASYNC, INTERRUPT, SYSCALL = 1, 2, 4, 8, 16
SAME, OFF, ON, RESTORED = range(4)
INSN = 4  # length of each
LINE = 64
NAMES = ("symbol", "comm")

Frame = collections.namedtuple("Frame", "name begin counts lines")


class Program:
    """Executes instructions of functions and records the expected result. Addresses are
    (function, offset)."""
    def __init__(self):
        self.lines = []
        self.functions = {}
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

    def insn(self, irqs=SAME):
        self.lines.append(f"insn {self.where()} {self.ip:x} {INSN:x} {irqs:x} {self.cycles:x}")

    def run(self, count, irqs=SAME):
        for _ in range(count):
            self.time += 1
            self.insn(irqs)
            self.ip += INSN

    def raw(self, source, target, flags, length=INSN):
        self.lines.append(f"branch {self.where()} {source:x} {target:x} {length:x} {flags:x}")
        self.ip = target

    def branch(self, target, flags=0):
        """A branch instruction."""
        self.time += 1
        self.insn()
        self.raw(self.ip, target, flags)

    def begin(self, name, offset=0):
        self.time += 1
        self.raw(0, self.at(name, offset), 32)

    def end(self, flags=ASYNC, insn=False):
        self.time += 1
        if insn:
            self.insn()
        self.raw(self.ip, 0, flags | 64)

    def call(self, name, flags=CALL):
        back = self.ip + INSN
        self.branch(self.at(name), flags)
        return back

    def ret(self, back, flags=RETURN):
        self.branch(back, flags)

    def interrupt(self, name):
        back = self.ip
        self.time += 1
        self.raw(self.ip, self.at(name), CALL | ASYNC | INTERRUPT, 0)
        return back

    def iret(self, back):
        self.branch(back, RETURN | INTERRUPT)


class CallsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = Program()

    def feed(self, *args):
        # Symbols and names are looked up before they are recorded.
        lines = sorted(self.program.lines, key=lambda line: not line.startswith(NAMES))
        result = subprocess.run([FEED, f"output={self.folder}/out.fxt", *args], input="\n".join(lines) + "\n",
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.slices, self.gaps = map(int, result.stdout.split())

    def tracks(self, *args, name="out.fxt"):
        self.feed(*args)
        self.trace = fxt.read(self.folder / name)
        return self.trace.check()

    def check_spans(self, *args):
        """Spans in memory equal the CPU's slices in the file."""
        lines = sorted(self.program.lines, key=lambda line: not line.startswith(NAMES))
        result = subprocess.run([FEED, "spans=1", *args], input="\n".join(lines) + "\n", capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lanes = [[], [], [], []]
        for line in result.stdout.splitlines()[1:]:
            lane, depth, begin, end, insns, cycles, _, name = line.split(" ", 7)
            lanes[int(lane)].append((int(begin), int(end), int(depth), name, int(insns), int(cycles)))
        tracks = self.tracks(*args)
        for lane, name in zip(lanes, ("functions", "tasks", "interrupts off", "trace")):
            found = [(piece.begin, piece.end, piece.depth, piece.name, piece.args.get("instructions", 0),
                      piece.args.get("cycles", 0)) for piece in tracks.get(f"CPU 1 {name}", [])]
            self.assertEqual(sorted(lane), sorted(found), f"{name}, {args}")
            self.assertEqual([piece[0] for piece in lane], sorted(piece[0] for piece in lane))

    def show(self, *args, track="task 11"):
        """Slices of a thread as `name begin-end`, indented, in order."""
        found = sorted(self.tracks(*args).get(track, []), key=lambda piece: (piece.begin, piece.depth))
        return [f"{'  ' * piece.depth}{piece.name} {piece.begin}-{piece.end}" for piece in found]

    def names(self, *args, track="task 11"):
        return [line.rsplit(" ", 1)[0] for line in self.show(*args, track=track)]


class Stacks(CallsTest):
    def test_calls(self):
        p = self.program
        p.begin("a", 8)
        p.run(2)
        back = p.call("b")
        p.run(3)
        inner = p.call("c")
        p.ret(inner)
        p.run(1)
        p.ret(back)
        p.end()
        self.assertEqual(self.show(), ["a 1001-1012", "  b 1004-1011", "    c 1008-1009"])
        slices = {piece.name: piece for piece in self.trace.check()["task 11"]}
        self.assertEqual(slices["b"].args, {"time": "0.000001004,0.000001011", "instructions": 7, "cycles": 14, "IPC": 0.5,
                                            "icache bytes": 2 * LINE})
        self.assertEqual(slices["c"].args["icache bytes"], LINE)
        self.assertEqual(slices["a"].args["instructions"], 10)
        self.assertTrue(slices["a"].args["unfinished"])
        self.assertEqual(self.gaps, 0)

    def test_icache_of_nested_calls(self):
        """A line counts once in each slice that executed it, wherever it was before."""
        p = self.program
        p.begin("a")
        for _ in range(2):
            back = p.call("b")
            for _ in range(3):
                inner = p.call("c")
                p.run(20)  # 21 instructions: 2 lines
                p.ret(inner)
            p.ret(back)
        p.run(1)
        p.end()
        found = [(piece.name, piece.args["icache bytes"] // LINE) for piece in self.tracks()["task 11"]]
        self.assertEqual(found, 2 * [*3 * [("c", 2)], ("b", 3)] + [("a", 4)])

    def test_icache_of_what_is_interrupted(self):
        """The interrupted instruction has not been executed yet."""
        p = self.program
        p.begin("a")
        p.run(LINE // INSN)
        p.interrupt("irq")
        p.run(1)
        p.end()
        lines = {piece.name: piece.args["icache bytes"] // LINE for piece in self.tracks()["task 11"]}
        self.assertEqual(lines, {"a": 2, "irq": 1})

    def test_unmatched_returns(self):
        """Returned-to functions began where the trace did."""
        p = self.program
        p.begin("c", 8)
        p.run(1)
        p.ret(p.at("b", 40))
        p.run(2)
        back = p.call("d")
        p.ret(back)
        p.ret(p.at("a", 80))
        p.run(1)
        p.end()
        self.assertEqual(self.show(), ["a 1001-1010", "  b 1001-1008", "    c 1001-1003", "    d 1006-1007"])
        outer = [piece for piece in self.trace.check()["task 11"] if piece.name == "a"][0]
        self.assertTrue(outer.args["began before the trace"])
        self.assertEqual(outer.args["instructions"], 8)
        lines = {piece.name: piece.args["icache bytes"] // LINE for piece in self.trace.check()["task 11"]}
        self.assertEqual(lines, {"a": 4, "b": 3, "c": 1, "d": 1})

    def test_tail_call(self):
        p = self.program
        p.begin("a")
        back = p.call("b")
        p.run(1)
        p.branch(p.at("c"))
        p.run(1)
        p.ret(back)
        p.run(1)
        p.end()
        self.assertEqual(self.show(), ["a 1001-1008", "  b 1002-1004", "  c 1004-1006"])

    def test_jumps_inside(self):
        """Loops and the cold part of a function belong to it."""
        p = self.program
        p.begin("a")
        back = p.call("b")
        p.run(4)
        p.branch(p.at("b", 8))
        p.branch(p.at("b.cold", 8))
        p.run(2)
        p.branch(p.at("b", 20))
        p.ret(back)
        p.end()
        self.assertEqual(self.names(), ["a", "  b"])

    def test_recursion(self):
        p = self.program
        p.begin("a")
        backs = [p.call("b")]
        for _ in range(5):
            p.run(1)
            backs.append(p.call("b"))
        for back in reversed(backs):
            p.ret(back)
        p.end()
        self.assertEqual(self.names(), ["a", *("  " * i + "b" for i in range(1, 7))])

    def test_retpoline(self):
        """A call within the thunk, and a return that jumps to a function's begin."""
        p = self.program
        p.begin("a")
        back = p.call("thunk")
        p.branch(p.at("thunk", 32), CALL)
        p.run(1)
        p.branch(p.at("b"), RETURN)
        p.run(2)
        p.ret(back)
        p.run(1)
        p.end()
        self.assertEqual(self.names(), ["a", "  thunk", "  b"])

    def test_skipped_returns(self):
        """A jump out of several functions, like longjmp()."""
        p = self.program
        p.begin("a")
        back = p.call("b")
        p.call("c")
        p.call("d")
        p.ret(back)
        back = p.call("e")
        p.ret(back)
        p.end()
        self.assertEqual(self.names(), ["a", "  b", "    c", "      d", "  e"])

    def test_falls_through(self):
        p = self.program
        p.at("a"), p.at("b")
        p.begin("a", SIZE - 2 * INSN)
        p.run(4)
        p.end()
        self.assertEqual(self.show(), ["a 1001-1004", "b 1004-1006"])

    def test_interrupts(self):
        p = self.program
        p.begin("a")
        back = p.call("b")
        p.run(1)
        resume = p.interrupt("irq")
        p.run(1)
        inner = p.call("handler")
        nested = p.interrupt("nmi")
        p.run(1)
        p.iret(nested)
        p.ret(inner)
        p.iret(resume)
        p.run(1)
        p.ret(back)
        p.end()
        self.assertEqual(self.names(), ["a", "  b", "    irq", "      handler", "        nmi"])
        self.assertEqual(self.names(track="CPU 1 interrupts"), ["irq", "  nmi"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["irq 1004-1011"])
        kinds = {piece.name: piece.category for piece in self.trace.check()["task 11"]}
        self.assertEqual(kinds, {"a": "kernel", "b": "kernel", "irq": "interrupt", "handler": "kernel", "nmi": "interrupt"})

    def test_interrupts_that_nothing_returns_from(self):
        """At 100,000 frames the stack is dropped: the function continues as a new slice, and
        interrupts-off begins anew."""
        p = self.program
        p.begin("a")
        nr = 100010
        for _ in range(nr):
            p.interrupt("irq")
        self.feed("tracks=threads")
        self.assertEqual(self.slices, 2 * nr + len(["task", "a", "irq", "off", "off"]))

    def test_return_in_interrupt_stays_there(self):
        """An unmatched return in an interrupt does not end the interrupted function."""
        p = self.program
        p.begin("a")
        resume = p.interrupt("irq")
        p.run(1)
        p.ret(p.at("stub", 40))
        p.iret(resume)
        p.run(1)
        p.end()
        self.assertEqual(self.names(), ["a", "  irq", "  stub"])

    def test_interrupts_off(self):
        p = self.program
        p.begin("a")
        p.run(1)
        p.run(1, OFF)
        back = p.call("b")
        p.run(2, OFF)
        p.ret(back)
        p.run(1, ON)
        p.run(1, ON)
        p.run(1, OFF)
        p.run(1, RESTORED)
        p.end()
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["a 1003-1008", "a 1010-1011"])

    def test_system_call(self):
        p = self.program
        p.begin("u_main")
        p.run(2)
        back = p.call("entry", CALL | SYSCALL)
        inner = p.call("sys_read")
        p.ret(inner)
        p.ret(back, RETURN | SYSCALL)
        p.run(2)
        p.end()
        self.assertEqual(self.names(), ["u_main", "  entry", "    sys_read"])
        kinds = {piece.name: piece.category for piece in self.trace.check()["task 11"]}
        self.assertEqual(kinds, {"u_main": "user", "entry": "syscall", "sys_read": "kernel"})

    def test_kernel_only(self):
        """Everything ends at the return to user space; interrupts are off at kernel entry."""
        p = self.program
        for _ in range(2):
            p.begin("entry")
            p.run(1, ON)
            back = p.call("sys_read")
            p.ret(back)
            p.end(RETURN | SYSCALL, insn=True)
            p.time += 100
        self.assertEqual(self.show(), ["entry 1001-1005", "  sys_read 1003-1004", "entry 1106-1110", "  sys_read 1108-1109"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["entry 1106-1107"])
        self.assertEqual(self.show(track="CPU 1 trace"), ["[not traced] 1005-1106"])
        self.assertEqual(self.gaps, 0)
        # Nothing was below either.
        self.assertEqual(self.show("axis=instructions"), ["entry 0-4", "  sys_read 2-3", "entry 4-8", "  sys_read 6-7"])

    def test_call_out_of_the_filter(self):
        p = self.program
        p.begin("a")
        p.run(1)
        back = p.ip + INSN
        p.end(CALL, insn=True)
        p.time += 50
        p.raw(0, back, 32)
        p.run(1)
        p.end()
        self.assertEqual(self.show(), ["a 1001-1055", "  [not traced] 1003-1053"])


class Gaps(CallsTest):
    def test_lost_in_the_same_function(self):
        p = self.program
        p.begin("a")
        back = p.call("b")
        p.run(1)
        p.ip += 100
        p.time += 50
        p.run(1)
        p.ret(back)
        p.run(1)
        p.end()
        self.assertEqual(self.names(), ["a", "  b"])
        self.assertEqual(self.show(track="CPU 1 trace"), ["[lost] 1003-1054"])
        self.assertEqual(self.gaps, 1)

    def test_lost_returns(self):
        p = self.program
        p.begin("a")
        p.call("b")
        p.call("c")
        p.ip = p.at("a", 100)
        p.run(1)
        p.end()
        self.assertEqual(self.show(), ["a 1001-1005", "  b 1002-1004", "    c 1003-1004"])

    def test_lost_all(self):
        """What a gap returns to began after the gap."""
        p = self.program
        p.begin("a")
        p.call("b")
        p.ip = p.at("d", 60)
        p.time += 10
        p.run(2)
        p.ret(p.at("c", 80))
        p.run(1)
        p.end()
        self.assertEqual(self.show(), ["a 1001-1013", "  b 1002-1013", "c 1014-1017", "  d 1014-1015"])

    def test_overflow(self):
        """The trace begins again without an end."""
        p = self.program
        p.begin("a")
        p.call("b")
        p.run(1)
        p.time += 10
        p.raw(0, p.at("a", 200), 32)
        p.run(1)
        p.end()
        self.assertEqual(self.names(), ["a", "  b"])
        self.assertEqual(self.gaps, 1)

    def test_lost_in_interrupt(self):
        p = self.program
        p.begin("a")
        p.interrupt("irq")
        p.run(1)
        p.ip = p.at("a", 40)
        p.run(1)
        p.end()
        self.assertEqual(self.names(), ["a", "  irq"])
        self.assertEqual(self.names(track="CPU 1 interrupts"), ["irq"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["irq 1002-1004"])

    def test_unknown_code(self):
        p = self.program
        p.begin("a")
        back = p.ip + INSN
        p.branch(0xffffffffc0000000, CALL)
        p.run(2)
        p.ret(back)
        p.end()
        self.assertEqual(self.names(), ["a", "  [unknown]"])


class Switches(CallsTest):
    def switch(self, tid):
        """Like perf: what follows the jump to __switch_to belongs to the next thread."""
        self.program.branch(self.program.at("__switch_to"))
        self.program.tid = self.program.pid = tid
        self.program.run(1)

    def test_switches(self):
        p = self.program
        p.tid = p.pid = 11
        p.begin("a")
        back = p.call("schedule")
        inner = p.call("switch_asm")
        self.switch(12)
        p.ret(p.at("schedule", 40))
        p.ret(p.at("other", 60))
        p.run(2)
        other = p.call("schedule")
        other_inner = p.call("switch_asm")
        self.switch(11)
        p.ret(inner)
        p.ret(back)
        p.run(1)
        p.call("schedule")
        p.call("switch_asm")
        self.switch(12)
        p.ret(other_inner)
        p.ret(other)
        p.run(1)
        p.end()
        self.assertEqual(self.names(track="task 11"),
                         ["a", "  schedule", "    switch_asm", "    __switch_to", "  schedule", "    switch_asm", "    __switch_to"])
        self.assertEqual(self.names(track="task 12"),
                         ["other", "  schedule", "    __switch_to", "  schedule", "    switch_asm", "    __switch_to"])
        self.assertEqual(self.names(track="CPU 1 tasks"), ["task 11", "task 12", "task 11", "task 12"])
        self.assertEqual([(s.before, s.after, s.cpu) for s in self.trace.switches], [(11, 12, 1), (12, 11, 1), (11, 12, 1)])
        self.assertEqual(self.gaps, 0)
        # A CPU's track is its tasks' turns in sequence.
        self.assertEqual(self.names(track="CPU 1 functions"),
                         ["a", "  schedule", "    switch_asm", "    __switch_to",
                          "other", "  schedule", "    __switch_to", "  schedule", "    switch_asm", "    __switch_to",
                          "a", "  schedule", "    __switch_to", "  schedule", "    switch_asm", "    __switch_to",
                          "other", "  schedule", "    __switch_to"])
        self.assertNotIn("CPU 1 functions", self.tracks("tracks=threads"))

    def test_switches_when_it_branches(self):
        """The next thread's turn begins at the branch to __switch_to, not at the end of the code
        behind it."""
        p = self.program
        p.begin("a")
        p.branch(p.at("__switch_to"))
        at = p.time
        p.time += 50
        p.tid = p.pid = 12
        p.run(1)
        p.end()
        self.assertEqual(self.show(track="task 12"), [f"__switch_to {at}-{p.time}"])
        self.assertEqual([switch.at for switch in self.trace.switches], [at])
        self.assertEqual(self.show(track="CPU 1 tasks"), [f"task 11 1001-{at}", f"task 12 {at}-{p.time}"])

    def test_renamed_elsewhere(self):
        """A forked task first has its parent's name; the track has the last name."""
        p = self.program
        p.tid = p.pid = 11
        p.begin("a")
        self.switch(12)
        p.run(2)
        p.rename("hog", 11)
        self.switch(11)
        p.run(2)
        p.rename("late-hog", 12)
        self.switch(12)
        p.run(2)
        self.assertEqual(self.names(track="CPU 1 tasks"), ["task 11", "task 12", "hog 11", "late-hog 12"])
        self.assertEqual([self.trace.threads[tid][0] for tid in (11, 12)], ["hog 11", "late-hog 12"])
        self.assertEqual([self.trace.processes[tid] for tid in (11, 12)], ["hog", "late-hog"])

    def test_renames_itself(self):
        """The new name counts from the return to user space; the process has its first thread's
        name."""
        p = self.program
        p.begin("u_main")
        p.run(1)
        back = p.call("entry", CALL | SYSCALL)
        p.run(1)
        p.rename("hog")
        p.run(2)
        p.ret(back, RETURN | SYSCALL)
        p.run(1)
        back = p.interrupt("irq")
        p.rename("unseen")
        p.rename("hog2")
        p.iret(back)
        p.run(1)
        self.assertEqual(self.show(track="CPU 1 tasks"), ["task 11 1001-1007", "hog 11 1007-1010", "hog2 11 1010-1011"])
        self.assertEqual(self.trace.threads[11][0], "hog2 11")
        self.assertEqual(self.trace.processes[10], "task")

    def test_idle_tasks(self):
        """Each CPU has its own."""
        p = self.program
        p.tid = p.pid = 0
        for cpu in (0, 1):
            p.cpu = cpu
            p.begin("idle")
            p.run(2)
        tracks = self.tracks()
        self.assertEqual([piece.name for piece in tracks["swapper/0"] + tracks["swapper/1"]], ["idle", "idle"])

    def test_unknown_tasks(self):
        """perf has no number for exiting tasks: each is separate, and none is idle."""
        p = self.program
        p.tid = p.pid = 0
        p.begin("idle")
        for name in ("a", "b"):
            self.switch(-1)
            p.ret(p.at(name, 40))
            p.run(1)
            self.switch(0)
            p.ret(p.at("idle", 40))
        self.assertEqual(self.names(track="[unknown]/1"), ["a", "  __switch_to", "__switch_to", "b", "  __switch_to", "__switch_to"])
        self.assertEqual({name.strip() for name in self.names(track="swapper/1")}, {"idle", "__switch_to"})

    def test_been_elsewhere(self):
        """A task that ran on an untraced CPU meanwhile."""
        p = self.program
        p.begin("a")
        p.call("b")
        p.run(1)
        p.tid = 12
        p.run(1)
        p.ret(p.at("a", 40))
        p.tid = 11
        p.run(1)
        p.end()
        self.assertEqual(self.names(), ["a", "  b"])

    def test_exception_that_sleeps(self):
        """A task switched away in an exception returns to it; the CPU's track does not wait."""
        p = self.program
        p.begin("a")
        resume = p.interrupt("page_fault")
        back = p.call("schedule")
        inner = p.call("switch_asm")
        self.switch(12)
        p.ret(p.at("b", 40))
        p.run(1)
        p.call("schedule")
        p.call("switch_asm")
        self.switch(11)
        p.ret(inner)
        p.ret(back)
        p.iret(resume)
        p.run(1)
        p.end()
        self.assertEqual(self.names()[:2], ["a", "  page_fault"])
        fault = [piece for piece in self.trace.check()["task 11"] if piece.name == "page_fault"][0]
        interrupt = self.trace.check()["CPU 1 interrupts"][0]
        self.assertEqual(interrupt.begin, fault.begin)
        self.assertLess(interrupt.end, fault.end)


class Output(CallsTest):
    def work(self, count=50):
        p = self.program
        p.begin("a", 8)
        for i in range(count):
            back = p.call(f"b{i % 7}")
            p.run(3)
            inner = p.call("c")
            p.run(1)
            p.ret(inner)
            p.ret(back)
        p.ret(p.at("main", 40))
        p.run(3)
        p.end()

    def test_window(self):
        self.work()
        whole = self.tracks()["task 11"]
        part = self.tracks("time=1100,1200")["task 11"]
        expected = [(max(s.begin, 1100), min(s.end, 1200), s.depth, s.name) for s in whole if s.end >= 1100 and s.begin <= 1200]
        self.assertEqual(sorted(expected), sorted(s[:4] for s in part))
        self.assertEqual(self.trace.check()["CPU 1 tasks"][0][:2], (1100, 1200))

    def test_begins_after_the_window(self):
        """What a thread returns to lies around all that is known of it, and nothing is known of
        the window."""
        p = self.program
        self.work()
        p.time = 2000
        p.tid = p.pid = 12
        p.begin("late", 8)
        p.ret(p.at("around", 40))
        p.run(3)
        p.end()
        self.assertNotIn("task 12", self.tracks("time=1100,1200"))

    def test_spike(self):
        self.work()
        self.assertEqual(self.tracks("time=1100,1200", "spike=1150", "expected=1120", "spike-cpu=1")["CPU 1 timer"],
                         [fxt.Slice(1120, 1150, 0, "timer is late", "cpu", {"latency ns": 30})])
        flows = [(event.type, event.at, self.trace.name_of(event.track)) for event in self.trace.events if event.flow is not None]
        self.assertEqual(sorted(flows), [(fxt.FLOW_BEGIN, 1120, "CPU 1 timer"), (fxt.FLOW_END, 1150, "task 11")])

    def test_split(self):
        """The pieces together equal the whole."""
        self.work()
        whole = self.tracks()["task 11"]
        pieces = collections.Counter()
        paths = []
        self.tracks("split=100", name="out.000.fxt")
        for path in sorted(self.folder.glob("out.*.fxt")):
            paths.append(path.name)
            trace = fxt.read(path)
            for piece in trace.check()["task 11"]:
                self.assertLessEqual(piece.end - piece.begin, 100)
                pieces[piece.depth, piece.name] += piece.end - piece.begin
        self.assertEqual(paths, [f"out.{i:03}.fxt" for i in range(len(paths))])
        self.assertGreater(len(paths), 4)
        expected = collections.Counter()
        for piece in whole:
            expected[piece.depth, piece.name] += piece.end - piece.begin
        self.assertEqual(pieces, expected)

    def test_split_of_renamed(self):
        """Each file has the last name within its time."""
        p = self.program
        p.begin("u_a")
        p.run(150)
        back = p.call("entry", CALL | SYSCALL)
        p.rename("hog")
        p.ret(back, RETURN | SYSCALL)
        p.run(100)
        names = []
        for number in range(3):
            self.tracks("split=100", name=f"out.{number:03}.fxt")
            names.append(self.trace.threads[11][0])
        self.assertEqual(names, ["task 11", "hog 11", "hog 11"])

    def test_axes(self):
        self.work()
        names = [piece[2:5] for piece in self.tracks()["task 11"]]
        insns = self.tracks("axis=instructions")["task 11"]
        cycles = self.tracks("axis=cycles")["task 11"]
        self.assertEqual([piece[2:5] for piece in insns], names)
        self.assertEqual([piece[2:5] for piece in cycles], names)
        for piece in insns:
            self.assertEqual(piece.end - piece.begin, piece.args["instructions"])
        for piece in cycles:
            self.assertEqual(piece.end - piece.begin, piece.args["cycles"])
        window = self.tracks("axis=instructions", "time=1100,1200")["task 11"]
        self.assertEqual([piece.begin for piece in window if piece.name in ("main", "a")], [0, 0])
        # One a nanosecond
        self.assertTrue(95 <= max(piece.end for piece in window) <= 101)

    def test_small_tables(self):
        """Evicted entries that come again change nothing."""
        self.work()
        for tid in (12, 13, 14, 11, 12):
            self.program.tid = tid
            self.work()
        large = self.tracks()
        self.assertLess(self.trace.counts[3], 15)
        small = self.tracks("max-strings=20", "max-threads=2")
        self.assertEqual(small, large)
        self.assertGreater(self.trace.counts[3], 20)

    def test_more_names_than_the_table_has(self):
        p = self.program
        p.begin("a")
        for i in range(33000):
            p.ret(p.call(f"f{i}"))
        for i in range(0, 33000, 1000):
            p.ret(p.call(f"f{i}"))
        p.end()
        found = [piece.name for piece in self.tracks("tracks=threads")["task 11"] if piece.depth]
        self.assertEqual(found, [f"f{i}" for i in range(33000)] + [f"f{i}" for i in range(0, 33000, 1000)])

    def test_compressed(self):
        self.work()
        plain = self.tracks()
        subprocess.run([FEED, f"output={self.folder}/out.fxt.gz"], check=True, text=True, capture_output=True,
                       input="\n".join(sorted(self.program.lines, key=lambda line: not line.startswith("symbol"))) + "\n")
        self.assertEqual(fxt.read(self.folder / "out.fxt.gz").check(), plain)
        self.assertEqual(sorted(os.listdir(self.folder)), ["out.fxt", "out.fxt.gz"])

    def test_no_trace(self):
        self.assertEqual(self.tracks(), {})


class Random(CallsTest):
    """Programs that call, return, jump, are interrupted and switch at random."""

    def check_one(self, seed):
        p = self.program
        rng = random.Random(seed)
        threads = {tid: [] for tid in (11, 12, 13)}  # frames as [name, begin, back]
        resume = {}
        expected = {tid: [] for tid in threads}
        names = [f"f{i}" for i in range(12)]

        def push(name, back, kind):
            threads[p.tid].append([name, p.time, back, kind])

        def pop():
            frame = threads[p.tid].pop()
            expected[p.tid].append((frame[1], p.time, len(threads[p.tid]), frame[0]))
            return frame

        p.begin("f0", 16)
        push("f0", None, "call")
        for _ in range(400):
            stack = threads[p.tid]
            room = p.ip - p.at(stack[-1][0]) < SIZE - 60
            what = rng.choice(["run", "call", "call", "ret", "ret", "tail", "loop", "irq", "iret", "switch"])
            if what == "run" and room:
                p.run(rng.randrange(1, 5))
            elif what == "call" and room and len(stack) < 30:
                name = rng.choice(names)
                push_back = p.call(name)
                push(name, push_back, "call")
            elif what == "ret" and len(stack) > 1 and stack[-1][3] == "call":
                p.ret(stack[-1][2])
                pop()
            elif what == "tail" and len(stack) > 1:
                name = rng.choice([name for name in names if name != stack[-1][0]])
                p.branch(p.at(name))
                frame = pop()
                push(name, *frame[2:])
            elif what == "loop":
                p.branch(p.at(stack[-1][0], 4 * rng.randrange(10)))
            elif what == "irq" and room and len(stack) < 30:
                back = p.interrupt("irq")
                push("irq", back, "irq")
            elif what == "iret" and stack[-1][3] == "irq":
                p.iret(stack[-1][2])
                pop()
            elif what == "switch" and not any(frame[3] == "irq" for frame in stack):
                resume[p.tid] = p.ip
                # Only where no other thread is, so that the continuation is unambiguous.
                p.end()
                p.tid = rng.choice(list(threads))
                p.time += 1
                if p.tid in resume:
                    p.raw(0, resume[p.tid], 32)
                else:
                    p.begin("f0", 16)
                    push("f0", None, "call")
        for p.tid, stack in threads.items():
            while stack:
                pop()
        tracks = self.tracks()
        for tid, slices in expected.items():
            found = [piece[:4] for piece in tracks.get(f"task {tid}", [])]
            self.assertEqual(sorted(found), sorted(slices), f"seed {seed}, thread {tid}")
        self.check_spans()
        self.check_spans("time=1100,1400")
        # Each CPU track has the same, in turns.
        turns = tracks["CPU 1 functions"]
        self.assertEqual({piece.name for piece in turns}, {slice[3] for slices in expected.values() for slice in slices})
        self.assertGreaterEqual(len(turns), sum(map(len, expected.values())))

    def test_random(self):
        for seed in range(40):
            with self.subTest(seed=seed):
                self.program = Program()
                self.check_one(seed)

    def test_garbage(self):
        """Nonsensical events still give an ordered file."""
        for seed in range(20):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                p = self.program = Program()
                places = [p.at(f"f{i}", offset) for i in range(6) for offset in (0, 4, 60)]
                places += [p.at("u_f", 8), 0, 1, 0xffffffffffffffff, 0x8000000000000000]
                for _ in range(300):
                    p.time = max(0, p.time + rng.choice([0, 0, 1, 1, 5, 1000, -3]))
                    p.cpu, p.tid = rng.choice([0, 1, 1, 1]), rng.choice([0, 11, 11, 12])
                    p.ip = rng.choice(places + [p.ip, p.ip, p.ip])
                    if rng.random() < 0.4:
                        p.insn(rng.randrange(4))
                    else:
                        p.raw(p.ip, rng.choice(places), rng.randrange(128), rng.choice([0, 2, 4]))
                args = rng.choice([[], ["axis=cycles"], ["split=1000"], ["time=1010,1900"],
                                   ["spike=1500", "expected=1200", "axis=instructions"], ["max-strings=33", "max-threads=1"]])
                if "split=1000" not in args:
                    self.check_spans(*args)
                self.feed(*args)
                paths = list(self.folder.glob("*.fxt"))
                traces = [fxt.read(path) for path in paths]
                for path in paths:
                    path.unlink()
                for trace in traces:
                    try:
                        trace.check()
                    except fxt.Malformed as error:
                        self.fail(f"{args}: {error}")


if __name__ == "__main__":
    unittest.main()
