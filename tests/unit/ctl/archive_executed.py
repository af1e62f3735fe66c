#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl archive packs the files whose code was executed.

Usage: archive_executed.py CTL
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import made

CTL = os.path.abspath(sys.argv.pop(1))
# The caller may ignore SIGHUP, as nohup does.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


class ArchiveTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.capture = self.folder / "capture"
        self.other = self.folder / "other"
        self.make()

    def make(self, segments=10, packets=10, **options):
        self.program = made.capture(self.capture, segments, packets=packets, others=(self.other, ),
                                    **options)
        self.ids = {"11" * 20: self.program, "22" * 20: self.other}

    def command(self, *args):
        return {
            "args": [CTL, "archive", "capture", "-o", "a.tar", "-q", *args], "cwd": self.folder,
            "stdin": subprocess.DEVNULL, "text": True
        }

    def archive(self, *args):
        """Its messages, and which of the files it contains."""
        result = subprocess.run(**self.command(*args), capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        listed = subprocess.run(["tar", "-tf", "a.tar"], cwd=self.folder, capture_output=True,
                                text=True, check=True).stdout
        (self.folder / "a.tar").unlink()
        said = [line for line in result.stderr.splitlines() if "are of this machine" not in line]
        return said, {
            path for one, path in self.ids.items()
            if f"/.build-id/{one[:2]}/{one[2:]}/elf\n" in listed
        }

    def test_those_that_were_executed(self):
        self.assertEqual(self.archive(), ([], {self.program}))

    def test_one_that_is_missing(self):
        self.program.unlink()
        said, found = self.archive()
        self.assertEqual(found, set())
        self.assertEqual(said, [f"perf-poke-ctl: left out {self.program}: not found"])

    def test_without_binaries(self):
        self.assertEqual(self.archive("--no-binaries"), ([], set()))

    def test_all_of_events(self):
        about = json.loads((self.capture / "capture.json").read_text())
        about["recorder"] = {"kind": "events"}
        (self.capture / "capture.json").write_text(json.dumps(about))
        self.assertEqual(self.archive(), ([], {self.program, self.other}))

    def test_all_of_what_cannot_be_decoded(self):
        one = made.Recording()
        one.mapped(7, 0x1000, 0x1000, str(self.program).encode(), build_id=b"\x11" * 20)
        (self.capture / "perf.data/data").write_bytes(one.whole())
        said, found = self.archive()
        self.assertEqual(found, {self.program})
        self.assertEqual(said[-1],
                         "perf-poke-ctl: 'capture': including all mapped files, executed or not")

    def test_interrupted(self):
        self.make(segments=20000, packets=100)
        with subprocess.Popen(**self.command(), stderr=subprocess.PIPE) as process:
            status = pathlib.Path(f"/proc/{process.pid}/status")
            while not int(status.read_text().partition("SigBlk:")[2].split()[0],
                          16) & 1 << signal.SIGINT - 1:
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
        self.assertEqual((process.returncode, said),
                         (1, "perf-poke-ctl: interrupted: nothing is written\n"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["capture", "other", "prog"])


if __name__ == "__main__":
    unittest.main()
