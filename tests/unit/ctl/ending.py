#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl ends on request wherever it waits, and leaves nothing behind; with a stand-in for
perf.

Usage: ending.py CTL
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
# The caller may ignore SIGHUP, as nohup does.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAME = "20261121-093015.042-cpu1-83us"
CAPTURE = {"schema": 1, "spike": {"time_ns": 3000000000, "cpu": 1}, "recorder": {"kind": "events"}}
# More than any pipe holds, however it is compressed.
SIZE = 4 << 20


class EndingTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.make_capture(CAPTURE)

    def make_capture(self, facts):
        capture = self.folder / NAME
        (capture / "perf.data").mkdir(parents=True, exist_ok=True)
        (capture / "capture.json").write_text(json.dumps(facts))
        header = b"PERFILE2" + (104).to_bytes(8, "little") + bytes(24) + (104).to_bytes(
            8, "little") + bytes(56)
        (capture / "perf.data/data").write_bytes(header + os.urandom(SIZE))

    @contextlib.contextmanager
    def running(self, *args, **popen):
        process = subprocess.Popen([CTL, *args], cwd=self.folder, stderr=subprocess.PIPE, text=True,
                                   **popen)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            for end in (process.stdin, process.stderr):
                if end:
                    end.close()

    def wait_until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def partial(self):
        return sorted(path.name for path in self.folder.glob(".partial-*"))

    def put_perf(self, text):
        perf = self.folder / "perf"
        perf.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo perf version 0 && exit\n" + text)
        perf.chmod(0o755)
        return {**os.environ, "PERF_POKE_PERF": str(perf), "TMPDIR": str(self.folder)}

    def archive(self):
        """An archive of a capture, in a file."""
        subprocess.run([CTL, "archive", NAME, "-o", "a.tar.zst", "-q", "--no-binaries"],
                       cwd=self.folder, stderr=subprocess.DEVNULL, check=True)
        return self.folder / "a.tar.zst"


class Waiting(EndingTest):
    def check(self, process, number, said):
        process.send_signal(number)
        process.wait(timeout=60)
        err = process.stderr.read()
        self.assertEqual((process.returncode, err), (1, f"perf-poke-ctl: {said}\n"))
        self.assertEqual(self.partial(), [])

    def test_for_an_archive(self):
        for number in SIGNALS:
            with self.subTest(number=number), self.running("open", "-",
                                                           stdin=subprocess.PIPE) as process:
                self.wait_until(self.partial)
                self.check(process, number, "interrupted: nothing is written")

    def test_for_the_rest_of_an_archive(self):
        whole = self.archive().read_bytes()
        with self.running("open", "-", "-o", "x", stdin=subprocess.PIPE) as process:
            process.stdin.buffer.write(whole[:SIZE // 2])
            process.stdin.buffer.flush()
            self.wait_until(self.partial)
            self.check(process, signal.SIGTERM, "interrupted: nothing is written")
        self.assertFalse((self.folder / "x").exists())

    def test_for_a_reader(self):
        for number in SIGNALS:
            source, sink = os.pipe()
            with self.subTest(number=number), self.running("archive", NAME, "-o", "-",
                                                           "--no-binaries", stdout=sink) as process:
                # The pipe is full: its content does not change.
                sizes = [0]
                self.wait_until(lambda: sizes.append(self.readable(source)) or sizes[-1] and sizes[
                    -1] == sizes[-20:][0])
                self.check(process, number, "interrupted: the archive is incomplete")
            os.close(source)
            os.close(sink)

    @staticmethod
    def readable(pipe):
        return int.from_bytes(fcntl.ioctl(pipe, 0x541b, bytes(4)), sys.byteorder)  # FIONREAD

    def test_hangup_is_ignored(self):
        """As under nohup."""
        whole = self.archive().read_bytes()
        with self.running(
                "open", "-", "-o", "x", "-q", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as process:
            self.wait_until(self.partial)
            process.send_signal(signal.SIGHUP)
            process.stdin.buffer.write(whole)
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)
        self.assertTrue((self.folder / "x/perf.data/data").exists())


class Killed(EndingTest):
    def test_next_one_removes_what_is_left(self):
        self.archive()
        # Of a session, and of others.
        kept = [".partial-12-34", ".partial-backup", ".partial-perf-poke-abcdefg"]
        for name in kept:
            (self.folder / name).mkdir()
        for killed in (["open", "-"], ["archive", NAME, "-o", "b.tar.zst", "--no-binaries"]):
            with self.running(*killed, stdin=subprocess.PIPE) as process:
                self.wait_until(lambda: list(self.folder.glob(".partial-*/content")) or process.
                                poll() is not None)
                process.kill()
        subprocess.run([CTL, "open", "a.tar.zst", "-o", "x", "-q"], cwd=self.folder,
                       stdout=subprocess.DEVNULL, check=True)
        self.assertEqual(self.partial(), kept)

    def test_one_at_work_is_left_alone(self):
        whole = self.archive().read_bytes()
        with self.running("open", "-", "-o", "x", stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as process:
            self.wait_until(self.partial)
            before = self.partial()
            subprocess.run([CTL, "open", "a.tar.zst", "-o", "y", "-q"], cwd=self.folder,
                           stdout=subprocess.DEVNULL, check=True)
            self.assertEqual(self.partial(), before)
            process.stdin.buffer.write(whole)
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)
        self.assertTrue((self.folder / "x/perf.data/data").exists())


class Perf(EndingTest):
    def test_is_told_that_nobody_reads(self):
        """SIGPIPE is ignored here but must not be in perf."""
        env = self.put_perf(f"grep SigIgn /proc/self/status >{self.folder}/ignored\nexit 1\n")
        subprocess.run([CTL, "script", NAME], cwd=self.folder, env=env, capture_output=True,
                       check=False)
        ignored = int(re.match(r"SigIgn:\s+(\w+)", (self.folder / "ignored").read_text())[1], 16)
        self.assertFalse(ignored & 1 << signal.SIGPIPE - 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
