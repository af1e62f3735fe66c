#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a user of a terminal sees: lines that fit, and a quiet end.

usage: terminal.py CTL
"""
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

import made

CTL = os.path.abspath(sys.argv.pop(1))
CHAIN = "acme_" + "write_one_more_word_" * 2 + "flush"


def on_terminal(folder, columns, *argv):
    """What the command writes to a terminal of so many columns, and its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([CTL, *argv], cwd=folder, stdin=subprocess.DEVNULL, stdout=slave,
                          stderr=slave) as process:
        os.close(slave)
        parts = []
        try:
            while part := os.read(master, 65536):
                parts.append(part)
        except OSError:  # the other end is closed
            pass
        os.close(master)
    return b"".join(parts).decode().replace("\r\n", "\n"), process.returncode


class Terminal(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "cache")

    def fill(self):
        path = self.folder / "perf-poke.data/20261121-093000.000-cpu1-83us"
        made.stack_capture(path, CHAIN, below="acme_" + "middle_" * 5,
                           host="a-machine-with-a-rather-long-name.example.org")
        (self.folder / "real").mkdir()
        made.capture(self.folder / "real/20261121-093001.000-cpu1-1us", 4)

    def assert_fits(self, text, columns):
        long = [line for line in text.split("\n") if len(line) > columns]
        self.assertEqual(long, [])

    def test_lists_fit(self):
        self.fill()
        for words in (["list"], ["list", "--why"], ["causes"], ["report"], ["report", "real"],
                      ["report", "--normal", "real"], ["check"], ["status"], ["list", "--help"]):
            piped = subprocess.run([CTL, *words], cwd=self.folder, capture_output=True, text=True,
                                   check=False)
            for columns in (80, 132):
                text, code = on_terminal(self.folder, columns, *words)
                with self.subTest(words=words, columns=columns):
                    self.assert_fits(text, columns)
                    self.assertEqual(code, piped.returncode)
                    if words != ["status"] and not piped.stderr:
                        self.assertEqual(sorted(text.split()), sorted(piped.stdout.split()))

    def test_not_cut_elsewhere(self):
        """Pipes and files get lines as they are, and so do programs that read JSON."""
        self.fill()
        piped = subprocess.run([CTL, "list", "--why"], cwd=self.folder, capture_output=True,
                               text=True, check=True).stdout
        self.assertGreater(max(map(len, piped.splitlines())), 100)
        text, _ = on_terminal(self.folder, 80, "list", "--why", "--json")
        self.assertEqual(text.count("\n"), 1)

    def test_version_of_perf(self):
        """Is the headline of script on a terminal, and nothing in a pipe."""
        self.fill()
        perf = self.folder / "perf"
        perf.write_text("#!/bin/sh\n[ $1 = --version ] && echo perf version 0\nexit 0\n")
        perf.chmod(0o755)
        os.environ["PERF_POKE_PERF"] = str(perf)
        self.addCleanup(os.environ.pop, "PERF_POKE_PERF")
        text, _ = on_terminal(self.folder, 80, "script", "real")
        self.assertIn("perf-poke-ctl: perf version 0", text)
        piped = subprocess.run([CTL, "script", "real"], cwd=self.folder, capture_output=True,
                               text=True, check=True)
        self.assertEqual(piped.stderr, "")

    def test_closed_pipe(self):
        """`| head` ends it without a word."""
        self.fill()
        for words in (["start", "--help"], ["causes"], ["list", "--why"], ["report"], ["check"]):
            reader, writer = os.pipe()
            os.close(reader)
            result = subprocess.run([CTL, *words], cwd=self.folder, stdout=writer,
                                    stderr=subprocess.PIPE, text=True, check=False)
            os.close(writer)
            self.assertEqual((result.returncode, result.stderr), (-13, ""), words)


if __name__ == "__main__":
    unittest.main()
