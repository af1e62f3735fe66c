#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tracks and files of the export, for programs that switch or run at random.
Usage: tracks.py FEED"""
import os
import random
import unittest

from program import ABORTED, DISABLED, INTERRUPTED, IRET, SIZE, CallsTest, Program, fxt, pftrace


class Switches(CallsTest):
    def test_switches(self):
        p = self.program
        p.tid = p.pid = 11
        p.play(
            "begin a; back = call schedule; inner = call switch_asm; switch 12; ret schedule+40; "
            "ret other+60; "
            "run 2; other = call schedule; other_inner = call switch_asm; switch 11; ret inner; "
            "ret back; run 1; "
            "call schedule; call switch_asm; switch 12; ret other_inner; ret other; run 1; end")
        self.assertEqual(self.names(track="task 11"), [
            "a", "  schedule", "    switch_asm", "    __switch_to", "  schedule", "    switch_asm",
            "    __switch_to"
        ])
        self.assertEqual(self.names(track="task 12"), [
            "other", "  schedule", "    __switch_to", "  schedule", "    switch_asm",
            "    __switch_to"
        ])
        self.assertEqual(self.names(track="CPU 1 tasks"),
                         ["task 11", "task 12", "task 11", "task 12"])
        self.assertEqual([(s.before, s.after, s.cpu) for s in self.trace.switches], [(11, 12, 1),
                                                                                     (12, 11, 1),
                                                                                     (11, 12, 1)])
        self.assertEqual(self.gaps, 0)
        # A CPU's track is its tasks' turns in sequence.
        self.assertEqual(self.names(track="CPU 1 functions"), [
            "a", "  schedule", "    switch_asm", "    __switch_to", "other", "  schedule",
            "    __switch_to", "  schedule", "    switch_asm", "    __switch_to", "a", "  schedule",
            "    __switch_to", "  schedule", "    switch_asm", "    __switch_to", "other",
            "  schedule", "    __switch_to"
        ])

    def test_switches_when_it_branches(self):
        """The next thread's turn begins at the branch to __switch_to, not at the end of the code
        behind it."""
        p = self.program
        p.play("begin a; branch __switch_to")
        at = p.time
        p.time += 50
        p.tid = p.pid = 12
        p.play("run 1; end")
        self.assertEqual(self.show(track="task 12"), [f"__switch_to {at}-{p.time}"])
        self.assertEqual([switch.at for switch in self.trace.switches], [at])
        self.assertEqual(self.show(track="CPU 1 tasks"),
                         [f"task 11 1001-{at}", f"task 12 {at}-{p.time}"])

    def test_renamed_elsewhere(self):
        """A forked task first has its parent's name; the track has the last name."""
        p = self.program
        p.tid = p.pid = 11
        p.play(
            "begin a; switch 12; run 2; rename hog 11; switch 11; run 2; rename late-hog 12; "
            "switch 12; run 2"
        )
        self.assertEqual(self.names(track="CPU 1 tasks"),
                         ["task 11", "task 12", "hog 11", "late-hog 12"])
        self.assertEqual([self.trace.threads[tid][0] for tid in (11, 12)],
                         ["hog 11", "late-hog 12"])
        self.assertEqual([self.trace.processes[tid] for tid in (11, 12)], ["hog", "late-hog"])

    def test_renames_itself(self):
        """The new name counts from the return to user space; the process has its first thread's
        name."""
        self.play(
            "begin u_main; run 1; back = call entry SYSCALL; run 1; rename hog; run 2; ret back "
            "SYSRET; run 1; "
            "back = interrupt irq; rename unseen; rename hog2; iret back; run 1")
        self.assertEqual(self.show(track="CPU 1 tasks"),
                         ["task 11 1001-1007", "hog 11 1007-1010", "hog2 11 1010-1011"])
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
        self.assertEqual([piece.name for piece in tracks["swapper/0"] + tracks["swapper/1"]],
                         ["idle", "idle"])

    def test_unknown_tasks(self):
        """perf has no number for exiting tasks: each is separate, and none is idle."""
        p = self.program
        p.tid = p.pid = 0
        p.begin("idle")
        for name in ("a", "b"):
            p.switch(-1)
            p.ret(p.at(name, 40))
            p.play("run 1; switch 0; ret idle+40")
        self.assertEqual(self.names(track="[unknown]/1"),
                         ["a", "  __switch_to", "__switch_to", "b", "  __switch_to", "__switch_to"])
        self.assertEqual({name.strip() for name in self.names(track="swapper/1")},
                         {"idle", "__switch_to"})

    def test_been_elsewhere(self):
        """A task that ran on an untraced CPU meanwhile."""
        p = self.program
        p.play("begin a; call b; run 1")
        p.tid = 12
        p.play("run 1; ret a+40")
        p.tid = 11
        p.play("run 1; end")
        self.assertEqual(self.names(), ["a", "  b"])

    def test_exception_that_sleeps(self):
        """A task switched away in an exception returns to it; the CPU's track does not wait."""
        self.play(
            "begin a; resume = interrupt page_fault; back = call schedule; inner = call "
            "switch_asm; switch 12; "
            "ret b+40; run 1; call schedule; call switch_asm; switch 11; ret inner; ret back; iret "
            "resume; run 1; "
            "end")
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
        expected = [(max(s.begin, 1100), min(s.end, 1200), s.depth, s.name) for s in whole
                    if s.end >= 1100 and s.begin <= 1200]
        self.assertEqual(sorted(expected), sorted(s[:4] for s in part))
        self.assertEqual(self.trace.check()["CPU 1 tasks"][0][:2], (1100, 1200))

    def test_begins_after_the_window(self):
        """What a thread returns to lies around all that is known of it, and nothing is known of
        the window."""
        p = self.program
        self.work()
        p.time = 2000
        p.tid = p.pid = 12
        p.play("begin late 8; ret around+40; run 3; end")
        self.assertNotIn("task 12", self.tracks("time=1100,1200"))

    def test_spike(self):
        self.work()
        self.assertEqual(
            self.tracks("time=1100,1200", "spike=1150", "expected=1120", "latency=29",
                        "spike-cpu=1")["CPU 1 timer"],
            [fxt.Slice(1120, 1150, 0, "timer is late", "cpu", {"latency ns": 29})])
        flows = [(event.type, event.at, self.trace.name_of(event.track))
                 for event in self.trace.events if event.flow is not None]
        self.assertEqual(sorted(flows), [(fxt.FLOW_BEGIN, 1120, "CPU 1 timer"),
                                         (fxt.FLOW_END, 1150, "task 11")])

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
        found = [piece.name for piece in self.tracks()["task 11"] if piece.depth]
        self.assertEqual(found,
                         [f"f{i}" for i in range(33000)] + [f"f{i}" for i in range(0, 33000, 1000)])

    def test_compressed(self):
        self.work()
        plain = self.tracks()
        self.feed(name="out.fxt.gz")
        self.assertEqual(fxt.read(self.folder / "out.fxt.gz").check(), plain)
        self.assertEqual(sorted(os.listdir(self.folder)), ["out.fxt", "out.fxt.gz"])

    def test_perfetto(self):
        """The same slices, instants and flows as .fxt, though late slices are found last."""
        self.work()
        spike = "time=1100,1200", "spike=1150", "expected=1120", "latency=29", "spike-cpu=1"
        for args in (), spike:
            plain = self.tracks(*args)
            kinds = fxt.BEGIN, fxt.END
            others = [event for event in self.trace.events if event.type not in kinds]
            for name in "out.pftrace", "out.pftrace.gz":
                self.feed(*args, name=name)
                trace = pftrace.read(self.folder / name)
                self.assertEqual(trace.check(), plain)
                self.assertEqual([event for event in trace.events if event.type not in kinds],
                                 others)
        self.assertEqual(sum(event.flow is not None for event in others), 2)

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
            what = rng.choice(
                ["run", "call", "call", "ret", "ret", "tail", "loop", "irq", "iret", "switch"])
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
                if stack[-1][3] == "irq":
                    # Code that interrupts share is part of them.
                    push(name, None, "shared")
                else:
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
            elif what == "iret" and stack[-1][3] == "shared":
                p.iret(stack[-2][2])
                pop()
                pop()
            elif what == "switch" and not any(frame[3] == "irq" for frame in stack):
                resume[p.tid] = p.ip
                # Only where no other thread is, so that the continuation is unambiguous.
                p.end()
                p.tid = rng.choice(list(threads))
                p.time += 1
                if p.tid in resume:
                    p.begin_at(resume[p.tid])
                else:
                    p.begin("f0", 16)
                    push("f0", None, "call")
        for p.tid, stack in threads.items():
            while stack:
                pop()
        tracks = self.check_spans()
        for tid, slices in expected.items():
            found = [piece[:4] for piece in tracks.get(f"task {tid}", [])]
            self.assertEqual(sorted(found), sorted(slices), f"seed {seed}, thread {tid}")
        self.check_spans("time=1100,1400")
        # Each CPU track has the same, in turns.
        turns = tracks["CPU 1 functions"]
        self.assertEqual({piece.name for piece in turns},
                         {slice[3] for slices in expected.values() for slice in slices})
        self.assertGreaterEqual(len(turns), sum(map(len, expected.values())))

    def test_random(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                self.program = Program()
                self.check_one(seed)

    def test_garbage(self):
        """Nonsensical events still give an ordered file."""
        for seed in range(40):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                p = self.program = Program()
                places = [p.at(f"f{i}", offset) for i in range(6) for offset in (0, 4, 60)]
                places += [p.at("u_f", 8), 0, 1, 0xffffffffffffffff, 0x8000000000000000]
                for _ in range(300):
                    p.time = max(0, p.time + rng.choice([0, 0, 1, 1, 5, 1000, -3]))
                    p.cpu, p.tid = rng.choice([0, 1, 1, 1]), rng.choice([0, 11, 11, 12])
                    p.ip = rng.choice(places + [p.ip, p.ip, p.ip])
                    kind = rng.random()
                    if kind < 0.4:
                        p.insn(rng.randrange(4))
                    elif kind < 0.8:
                        p.insn(rng.randrange(4), rng.randrange(IRET + 1), rng.choice(places))
                    elif kind < 0.9:
                        p.event(rng.choice([INTERRUPTED, ABORTED, DISABLED]), rng.choice(places))
                    else:
                        p.begin_at(rng.choice(places))
                args = rng.choice([[], ["axis=cycles"], ["time=1010,1900"],
                                   ["spike=1500", "expected=1200", "axis=instructions"],
                                   ["max-strings=33", "max-threads=1"]])
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
