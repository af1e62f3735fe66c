#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A confusion matrix of causes made here: captures of one have the same fingerprint, in several
sessions, no two causes share one, and a new cause is told from known ones. What else made the
machine late is left out: by when the cause was at work, and as one of four captures at most.
"""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys

import common

# Of each cause, in at least two sessions: as many as wanted, or on a busy machine as few as say
# anything.
CAPTURES, FEWEST = 6, 2
SESSIONS = 10
SPIN_US, LIMIT = 12000, "6ms"
VECTOR = "irq_vectors:call_function_single_"
# The recording begins at least this long before the cause: else its sender may be missing.
BEFORE_NS = 1000000
# Events were lost, and the report says so.
UNRECORDED = ("lost", "unknown", "untraced")
# Keeps threads of lower priority from running, and prints from when until when.
HOG = """
import os, sys, time
cpu, name, ns = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) * 1000
with open("/proc/self/comm", "w") as file: file.write(name)
os.sched_setaffinity(0, [cpu])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
while True:
    time.sleep(0.05)
    begin = time.monotonic_ns()
    while time.monotonic_ns() < begin + ns: pass
    print(begin, time.monotonic_ns(), flush=True)
"""


class Causes(common.HostTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("perf"):
            self.skipTest("needs perf")
        self.cpu = common.find_cpus(1)[0]
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, os.sched_getaffinity(0) - {self.cpu})
        self.matrix = {}

    def ctl(self, *args, code=0):
        result = common.run_ctl("causes", "--json", *args)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return common.parse_lines(result.stdout)

    def session(self, cause, *args):
        folder = os.path.join(self.folder, cause)
        with common.Session([self.cpu], folder, *common.ALL_EVENTS, "--buffer", "1M", "--count",
                            "4", "--cooldown", "100ms", *args) as session:
            self.assertEqual(session.finish(), 0, session.__dict__)
        return session.captures

    def spun(self, cause):
        """Another CPU's function calls spin; perf tells when."""
        # The CPU does not idle, where samples may be dropped.
        with common.busy(self.cpu), common.late(self.cpu, SPIN_US):
            captures = self.session(cause, "--trigger", "irq=" + LIMIT)
        for capture in captures:
            begin = None
            for sample in self.samples(capture["path"]):
                if sample["cpu"] == self.cpu and sample["event"] == VECTOR + "entry":
                    begin = sample["time_ns"]
                elif sample["cpu"] == self.cpu and sample["event"] == VECTOR + "exit" and begin:
                    yield capture, begin, sample["time_ns"]

    def hogged(self, cause):
        """A task has the CPU, and says when."""
        with common.ticker(self.cpu, 2000), subprocess.Popen(
            [sys.executable, "-c", HOG,
             str(self.cpu), cause, str(SPIN_US)], stdout=subprocess.PIPE, text=True) as hog:
            try:
                captures = self.session(cause, "--workload", "none", "--trigger", "thread=" + LIMIT)
            finally:
                hog.kill()
            # The last line may be a part.
            turns = [[int(word) for word in line.split()] for line in hog.stdout
                     if line.endswith("\n")]
        yield from ((capture, *turn) for capture in captures for turn in turns)

    def fill(self, cause, take):
        """Keeps only captures with this cause at work for most of the latency."""
        row, seen = self.matrix.setdefault(cause, collections.defaultdict(list)), set()
        for _ in range(SESSIONS):
            made = {
                capture["path"] for capture, begin, end in take(cause)
                if 2 * (min(end, capture["actual_ns"]) - max(begin, capture["expected_ns"])) >=
                capture["latency_ns"] and begin - BEFORE_NS >= capture["time_ns"] -
                (capture["history_ns"] or 0)
            }
            folder = os.path.join(self.folder, cause)
            for path in glob.glob(os.path.join(folder, "*")):
                if path not in seen:
                    seen.add(path)
                    found = json.loads(common.run_ctl("report", "--json",
                                                      path).stdout)["fingerprint"]
                    if path in made and found["kind"] not in UNRECORDED:
                        row[found["id"]].append(path)
                    else:
                        shutil.rmtree(path)
            if sum(map(len, row.values())) >= CAPTURES:
                break
        of_cause, *others = sorted(row, key=lambda found: -len(row[found]))
        self.assertGreaterEqual(len(row[of_cause]),
                                max(FEWEST, 3 * sum(len(row[found]) for found in others)),
                                (cause, row))
        for path in (path for found in others for path in row[found]):
            shutil.rmtree(path)
        return of_cause

    def show(self):
        columns = sorted({found for row in self.matrix.values() for found in row})
        for number, found in enumerate(columns):
            print("%c: %s" % (ord("A") + number, found))
        for cause, row in self.matrix.items():
            print("%-16s" % cause, *("%3d" % len(row.get(found, ())) for found in columns),
                  flush=True)

    def test_matrix(self):
        known, new = {"acme-call": self.spun, "acme-task": self.hogged,
                      "drm-task": self.hogged}, "new-task"
        found = [self.fill(cause, take) for cause, take in known.items()]
        folders, file = [os.path.join(self.folder, cause)
                         for cause in known], os.path.join(self.folder, "known.json")
        self.ctl(*folders, "--save", file)
        added = self.fill(new, self.hogged)
        self.show()
        self.assertEqual(len({*found, added}), len(self.matrix))
        lines = self.ctl(*folders, "--known", file)
        self.assertEqual((lines[-1]["causes"], lines[-1]["known"]), (len(known), len(known)))
        lines = self.ctl(*folders, os.path.join(self.folder, new), "--known", file, code=4)
        self.assertEqual([line["fingerprint"] for line in lines if line.get("state") == "new"],
                         [added])
        self.assertEqual((lines[-1]["new"], lines[-1]["worse"], lines[-1]["known"]),
                         (1, 0, len(known)))


if __name__ == "__main__":
    common.main()
