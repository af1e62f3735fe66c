#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Slices of a trace that several perfs decoded make the file that one perf makes of all: to the byte. Usage: merge.py FEED"""
import gzip
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "decode"))
import calls  # noqa: E402
from calls import CALL, FEED, NAMES, OFF, ON, RETURN, SAME, SYSCALL, Program  # noqa: E402

OVERLAP = 150  # ns
END = 2**64 - 1
VARIANTS = ([], ["tracks=threads"], ["axis=cycles"], ["axis=instructions"], ["split=700ns"], ["time=0.000004000,0.000009000"],
            ["split=900ns", "time=0.000003000,0.000012345"], ["spike=8000", "expected=5500", "spike-cpu=1"], ["time=,0.000002000"],
            ["split=700ns", "spike=99000000", "expected=98000000", "spike-cpu=1"],
            ["time=9.000000000,"])
LIMITS = ["max-strings=9", "max-threads=2"]


def walk(rng, steps):
    """Two CPUs with two tasks each: calls, returns that match and others, interrupts, switches, new names, what is lost."""
    program = Program()
    tasks = [{"cpu": cpu, "pid": pid, "tid": pid, "stack": [], "ip": 0} for cpu, pid in ((1, 11), (1, 12), (2, 21), (2, 0))]
    names = [f"f{i}" for i in range(40)]
    running = {1: tasks[0], 2: tasks[2]}
    lost = set()

    def switch(task):
        program.cpu, program.pid, program.tid = task["cpu"], task["pid"], task["tid"]
        program.ip = task["ip"]

    for task in tasks:
        switch(task)
        program.begin(rng.choice(names), 8)
        task["ip"] = program.ip
    for _ in range(steps):
        task = running[rng.choice((1, 2))]
        switch(task)
        if rng.random() < 0.05:
            program.rename(rng.choice(("task", "hog", "other")))
        stack = task["stack"]
        if task["cpu"] in lost:
            program.begin(rng.choice(names), 12)
            lost.discard(task["cpu"])
        what = rng.random()
        program.run(rng.randrange(1, 4), rng.choice((SAME, SAME, SAME, OFF, ON)))
        if what < 0.35 and len(stack) < 30:
            stack.append(program.call(rng.choice(names), rng.choice((CALL, CALL, CALL, CALL | SYSCALL))))
        elif what < 0.65 and stack:
            program.ret(stack.pop())
        elif what < 0.7:
            program.ret(program.at(rng.choice(names), 40), RETURN)
        elif what < 0.76:
            stack.append(program.interrupt(rng.choice(names)))
        elif what < 0.8 and stack:
            program.iret(stack.pop())
        elif what < 0.82:
            program.end(rng.choice((calls.ASYNC, RETURN)))
            lost.add(task["cpu"])
        elif what < 0.9:
            program.branch(program.at(rng.choice(names), rng.choice((0, 16))))
        else:
            running[task["cpu"]] = rng.choice([other for other in tasks if other["cpu"] == task["cpu"]])
        task["ip"] = program.ip
    return program.lines


def time_of(line):
    return int(line.split()[1], 16)


class Merge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def feed(self, *args, lines=(), message=""):
        result = subprocess.run([FEED, *args], input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (1, f"feed: {message}\n") if message else (0, ""))
        return result.stdout

    def files(self, *args, name="out.fxt", **feed):
        """What was written, by name, and what was said."""
        result = self.folder / "result"
        result.mkdir()
        said = self.feed(*args, f"output={result}/{name}", **feed)
        found = {path.name: path.read_bytes() for path in result.iterdir()}
        self.assertEqual([path for path in result.iterdir() if path.stat().st_mode & 0o077], [])
        for path in result.iterdir():
            path.unlink()
        result.rmdir()
        return said, found

    def cut(self, lines, nr, change=lambda number, events: events):
        """Files of slices, as arguments."""
        names = [line for line in lines if line.startswith(NAMES)]
        events = [line for line in lines if not line.startswith(NAMES)]
        cuts = [time_of(events[len(events) * i // nr]) for i in range(1, nr)]
        words = []
        for i, (begin, end) in enumerate(zip([0, *cuts], [*cuts, END])):
            path = self.folder / f"events.{i}"
            part = [line for line in events if (not i or time_of(line) >= begin - OVERLAP) and time_of(line) < end + OVERLAP]
            self.feed(f"events={path}", lines=names + change(i, part))
            words.append(f"slice={path},{end - OVERLAP if end < END else END},{end}")
        return names + events, words

    def test_same(self):
        for seed in range(12):
            rng = random.Random(seed)
            lines, words = self.cut(walk(rng, 1500), rng.randrange(2, 7))
            limits = LIMITS if seed % 2 else []
            for variant in VARIANTS if seed < 3 else [rng.choice(VARIANTS)]:
                with self.subTest(seed=seed, variant=variant):
                    expected = self.files(*variant, *limits, lines=lines)
                    self.assertTrue(expected[1])
                    self.assertEqual(self.files(*words, *variant, *limits), expected)

    def test_compressed(self):
        """What is large is compressed by several processes."""
        lines, words = self.cut(walk(random.Random(1), 12000), 4)
        expected = self.files(lines=lines)[1]["out.fxt"]
        found = self.files(*words, name="out.fxt.gz")[1]["out.fxt.gz"]
        self.assertGreater(len(expected), 1500000)
        # Not assertEqual(), which takes minutes to show how they differ.
        self.assertTrue(gzip.decompress(found) == expected)
        self.assertTrue(found == self.files(lines=lines, name="out.fxt.gz")[1]["out.fxt.gz"])

    def test_first_events_of_a_decoder(self):
        """They count what was before them too."""
        def change(number, events):
            words = events[0].split()
            odd = [" ".join(["insn", *words[1:5], words[5], "4", "0", "fff"])] if words[0] == "insn" else [events[0]]
            return odd + events[1:] if number else events
        lines, words = self.cut(walk(random.Random(3), 1000), 3, change)
        self.assertEqual(self.files(*words), self.files(lines=lines))

    def test_slices_that_do_not_fit(self):
        """One event more or less, a time, a place, near a cut on either side."""
        def later(line):
            words = line.split()
            return " ".join([words[0], f"{time_of(line) + 1:x}", *words[2:]])

        def change_at(where, how):
            def change(number, events):
                i = next(i for i, line in enumerate(events) if time_of(line) >= cut + where)
                return events[:i] + how(events[i]) + events[i + 1:] if number == 1 else events
            return change

        lines = walk(random.Random(5), 1000)
        events = [line for line in lines if not line.startswith(NAMES)]
        cut = time_of(events[len(events) // 2])
        for where in (-20, 0, 30):
            for how in (lambda line: [], lambda line: [line, line], lambda line: [later(line)]):
                words = self.cut(lines, 2, change_at(where, how))[1]
                self.feed(*words, f"output={self.folder}/out.fxt", message="slices do not fit")
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("out")])

    def test_no_overlap(self):
        lines = walk(random.Random(5), 1000)
        events = [line for line in lines if not line.startswith(NAMES)]
        begin = time_of(events[len(events) // 2]) - 5
        words = self.cut(lines, 2, lambda number, events: [line for line in events if not number or time_of(line) >= begin])[1]
        self.feed(*words, f"output={self.folder}/out.fxt", message="slices do not fit")

    def test_incomplete(self):
        words = self.cut(walk(random.Random(5), 300), 2)[1]
        path = self.folder / "events.0"
        whole = path.read_bytes()
        for size in (0, 1, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            self.feed(*words, f"output={self.folder}/out.fxt", message="Bad message")


if __name__ == "__main__":
    unittest.main()
