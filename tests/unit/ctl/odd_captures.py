#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl with captures that have no trace, or something else in place of a file.

Usage: odd_captures.py CTL
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
NAME = "20261121-093015.042-cpu1-83us"
CAPTURE = {
    "schema": 1, "spike": {
        "time_ns": 3000083000, "cpu": 1, "latency_ns": 83000, "expected_ns": 3000000000,
        "actual_ns": 3000083000, "pid": 7, "tid": 7, "comm": "stress"
    }, "threshold_ns": 30000, "history_ns": 0, "recorder": {"kind": "perf"}
}
STACK = [{
    "address": "0xffffffffc0000017", "symbol": "acme_flush", "module": "acme", "offset": 23,
    "user": False
}, {
    "address": "0xffffffff81000123", "symbol": "worker_thread", "module": None, "offset": 3,
    "user": False
}]


class CaptureTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, path, **facts):
        path.mkdir(parents=True)
        (path / "capture.json").write_text(json.dumps({**CAPTURE, **facts}))

    def ctl(self, *args, code=0):
        result = subprocess.run([CTL, *args], cwd=self.folder, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, code, result)
        return result


class PerfHasTheTrace(CaptureTest):
    KIND = "perf"
    WHY = "IRQ latency 83us: the cause is in the trace of the poked perf"

    def setUp(self):
        super().setUp()
        self.write(self.folder / "perf-poke.data" / NAME, recorder={"kind": self.KIND})

    def test_without_a_trace(self):
        for args in (["script"], ["export", "-o", "x.fxt"], ["export", "--html", "x.html"]):
            result = self.ctl(*args, code=1)
            self.assertEqual(len(result.stderr.splitlines()), 1)
            self.assertIn("no trace", result.stderr)
        self.assertIn("no trace",
                      self.ctl("report", "--against", "perf-poke.data/" + NAME, code=2).stderr)

    def test_is_archived(self):
        self.ctl("archive", "-o", "a.tar.zst", "-q")
        self.ctl("open", "a.tar.zst", "-q")
        self.assertEqual(sorted(os.listdir(self.folder / NAME)), ["capture.json", "host.json"])
        self.assertEqual(self.ctl("report", NAME).stdout.splitlines()[0], self.WHY)


class NothingWasRecorded(PerfHasTheTrace):
    KIND = "none"
    WHY = "IRQ latency 83us: nothing recorded explains it"

    def test_the_stack_tells(self):
        self.write(self.folder / NAME, recorder={"kind": "none"},
                   spike={**CAPTURE["spike"], "stack": STACK})
        self.assertEqual(
            self.ctl("report", NAME).stdout.splitlines()[0],
            "IRQ latency 83us: the interrupt came in acme_flush() [acme], called from "
            "worker_thread()"
        )


class NoFile(CaptureTest):
    """Opening a pipe waits for a writer."""

    def test_pipe_for_data(self):
        self.write(self.folder / NAME, recorder={"kind": "events"})
        (self.folder / NAME / "perf.data").mkdir()
        os.mkfifo(self.folder / NAME / "perf.data/data")
        for args in (["archive", NAME, "-o",
                      "a.tar.zst"], ["archive", NAME, "-o", "a.tar.zst", "--no-binaries"],
                     ["report", NAME], ["script", NAME], ["export", NAME, "--html", "x.html"]):
            result = self.ctl(*args, code=1)
            self.assertRegex(result.stderr, "perf.data/data(:| is) not a regular file")
        self.assertEqual(os.listdir(self.folder), [NAME])

    def test_pipe_for_facts(self):
        (self.folder / NAME).mkdir()
        os.mkfifo(self.folder / NAME / "capture.json")
        for args in (["archive", NAME, "-o", "a.tar.zst"], ["report", NAME], ["list", NAME]):
            self.assertIn("not a regular file", self.ctl(*args, code=1).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
