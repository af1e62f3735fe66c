#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl export and report turn a trace into a file, or into one error line.

Usage: export_run.py CTL
"""
import contextlib
import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import fxt  # noqa: E402
import made  # noqa: E402

CTL = os.path.abspath(sys.argv.pop(1))
# The caller may ignore SIGHUP, as nohup does.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
SEGMENTS, PACKETS = 40, 10
LOOPS = SEGMENTS * PACKETS * made.RETURNS
BEGIN, STEP = 2000000000, 1000


class Export(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.capture = self.folder / "capture"
        self.results = self.folder / "results"
        self.results.mkdir()
        self.output = self.results / "a.fxt"
        self.make()

    def make(self, segments=SEGMENTS, packets=PACKETS, **options):
        self.program = made.capture(self.capture, segments, BEGIN, STEP, packets, **options)
        self.data = self.capture / "perf.data/data"

    def command(self, *args, name="export"):
        words = ["-o", self.output] if name == "export" else []
        return {
            "args": [CTL, name, self.capture, *words, *args], "text": True,
            "stdin": subprocess.DEVNULL
        }

    def run_it(self, *args, name="export"):
        return subprocess.run(**self.command(*args, name=name), capture_output=True, check=False,
                              timeout=300)

    def export(self, *args):
        result = self.run_it(*args)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        return result.stderr

    def check_failure(self, result, message):
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (1, "", f"perf-poke-ctl: {message}\n"))
        self.assertEqual(os.listdir(self.results), [])


class ExportTest(Export):
    def test_fine(self):
        self.output.write_text("old")
        exists = f"--output '{self.output}': file exists; not overwriting (--force to overwrite)"
        result = self.run_it()
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (1, "", f"perf-poke-ctl: {exists}\n"))
        self.assertEqual(self.output.read_text(), "old")
        self.assertRegex(self.export("--force"), f"^perf-poke-ctl: {self.output}: [0-9]+ slices\n$")
        self.assertEqual(os.listdir(self.results), ["a.fxt"])
        self.assertEqual(self.export("-qf"), "")
        leaves = [piece for piece in fxt.read(self.output).check()["prog 77"]
                  if piece.name == "leaf" and not piece.args.get("unfinished")]
        self.assertEqual(len(leaves), LOOPS)
        self.assertEqual({piece.args["instructions"] for piece in leaves}, {2})

    def test_lost(self):
        """Losses recorded by the kernel."""
        whole = bytearray(self.data.read_bytes())
        extra = made.Recording.__new__(made.Recording)
        extra.data = b""
        extra.event(made.Recording.AUX, struct.pack("<QQQ", 0, 64, 1), time=BEGIN, cpu=1)
        extra.event(made.Recording.LOST, struct.pack("<QQ", 1, 3), time=BEGIN)
        struct.pack_into("<Q", whole, 48, struct.unpack_from("<Q", whole, 48)[0] + len(extra.data))
        self.data.write_bytes(whole + extra.data)
        said = self.export()
        self.assertIn("full buffer 1 time: trace was lost\n", said)
        self.assertIn("3 records lost by the kernel: ", said)

    def test_window(self):
        begin, end = BEGIN + 10 * STEP, BEGIN + 12 * STEP - 1
        self.export("--time", f"{begin / 1e9:.9f},{end / 1e9:.9f}")
        tracks = fxt.read(self.output).check()
        self.assertEqual(sum(piece.name == "leaf" for piece in tracks["prog 77"]),
                         2 * PACKETS * made.RETURNS)
        (loop,) = [piece for piece in tracks["prog 77"] if piece.name == "loop"]
        self.assertEqual((loop.begin, loop.end), (begin, end))

    def test_instructions(self):
        self.export("--axis", "instructions")
        leaves = [
            piece for piece in fxt.read(self.output).check()["prog 77"] if piece.name == "leaf"
        ]
        self.assertEqual({piece.end - piece.begin for piece in leaves}, {2})

    def test_cycles(self):
        """Of a trace without cycle counts nothing is written."""
        self.check_failure(
            self.run_it("--axis", "cycles"), f"--axis cycles: '{self.capture}' has no cycles: "
            "use --axis instructions, or record with the term cyc of intel_pt")

    def test_same_by_any_number(self):
        """The result does not depend on the number of threads or on compression."""
        self.make(segments=300, cpus=(1, 2))
        files = []
        for jobs in 1, 2, 5:
            self.export("-f", "--jobs", str(jobs))
            files.append(self.output.read_bytes())
        self.assertTrue(files[0] == files[1] == files[2])
        self.output = self.results / "a.fxt.gz"
        self.export()
        self.assertTrue(gzip.decompress(self.output.read_bytes()) == files[0])

    def test_files_elsewhere(self):
        """Files below --symfs; a missing file is reported, and the rest is decoded."""
        whole = self.export()
        moved = self.folder / "root" / str(self.program)[1:]
        moved.parent.mkdir(parents=True)
        self.program.rename(moved)
        said = self.export("-f")
        self.assertRegex(
            said,
            rf"^perf-poke-ctl: {SEGMENTS} decoding errors, first: CPU 1, offset [0-9]+: code of "
            rf"0x401000 "
        )
        self.assertEqual(self.export("-f", "--symfs", self.folder / "root"), whole)
        report = self.run_it("--symfs", self.folder / "root", "--json", name="report")
        self.assertEqual(json.loads(report.stdout)["decoding_errors"], 0)
        found = self.run_it("--window", "30us", name="report").stdout
        self.assertIn("IRQ latency 2us: the code that ran for 1us of that is not in the capture\n",
                      found)
        # Not those of what is decoded around the window.
        self.assertRegex(
            found,
            "30 decoding errors in the window, the first:\n +CPU 1, offset [0-9]+: code of "
            "0x401000 is not in the capture\n"
            " +its file was not found, or it has none: --symfs names a folder that has it\n")
        script = self.run_it("--symfs", "/a root", "--dry-run",
                             name="script").stdout if shutil.which("perf") else "--symfs '/a root'"
        self.assertIn("--symfs '/a root'", script)

    def test_window_shorter_than_the_latency(self):
        """It was not asked for the rest; it may be recorded."""
        def sentence(window):
            return json.loads(self.run_it("--window", window, "--json",
                                          name="report").stdout)["sentence"]

        self.assertEqual(
            sentence("500ns"),
            "IRQ latency 2us: the window (--window) does not reach back to the expected expiry")
        self.assertIn("interrupts were on all the time", sentence("2us"))
        report = self.run_it("--window", "500ns", name="report").stdout
        self.assertRegex(report, r"not recorded +\(before the window\) +2us 100.0%")

    def test_command_line_of_perf(self):
        """Each instruction by xed, by a perf that has a disassembler, else as bytes."""
        bin_ = self.folder / "bin dir"
        bin_.mkdir()
        perf, xed = bin_ / "perf", bin_ / "xed"
        view = f"'{perf}' script -i {self.capture}/perf.data --ns -C 1 --time "

        def dry_run(*args, disassembles="exit 129"):
            perf.write_text(
                "#!/bin/sh\n"
                f'case $1 in --version) echo "perf version 6.1.2" ;; *) {disassembles} ;; esac\n')
            perf.chmod(0o755)
            result = subprocess.run(
                [CTL, "script", self.capture, "--dry-run", *args], capture_output=True, text=True,
                check=True, env={**os.environ, "PATH": str(bin_), "PERF_POKE_PERF": str(perf)})
            return result.stdout.removeprefix(view), result.stderr

        self.assertEqual(dry_run("--", "-F", "+a b"),
                         ("1.999840000, --call-ret-trace -F -dso -F '+a b'\n", ""))
        warning = "perf-poke-ctl: showing instructions as bytes: " \
                  "install xed, or a perf with capstone, for disassembly\n"
        self.assertEqual(dry_run("-q", "--insns"), ("1.999840000, --insn-trace\n", warning))
        self.assertEqual(dry_run("--insns", disassembles="exit 1"),
                         ("1.999840000, --insn-trace=disasm\n", ""))
        xed.symlink_to("/bin/true")
        self.assertEqual(dry_run("--insns"), ("1.999840000, --insn-trace --xed\n", ""))

    def test_output_that_cannot_be(self):
        self.output = self.folder / "nowhere/a.fxt"
        self.check_failure(self.run_it(), f"--output '{self.output}': No such file or directory")

    def test_no_trace(self):
        self.data.write_bytes(made.Recording().whole())
        result = self.run_it()
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(
            result.stderr,
            f"^perf-poke-ctl: '{self.capture}' cannot be decoded: its trace is empty\n$")
        self.assertEqual(os.listdir(self.results), [])

    def test_truncated(self):
        # Data of 8 bytes at 104, then a table of two features, then these.
        whole = (struct.pack("<8s8Q", b"PERFILE2", 104, 136, 104, 0, 104, 8, 0, 0) +
                 struct.pack("<4Q", 3, 0, 0, 0) + b"x" * 8 + struct.pack("<4Q", 144, 4, 148, 12) +
                 b"y" * 16)
        for size in sorted(
            {*range(0, len(whole), 16), 103, 104, 127, 128, 143, 144, 147, 148,
             len(whole) - 1}):
            self.data.write_bytes(whole[:size])
            needed = 144 if size < 128 else 148 if size < 144 else 160
            message = f"{self.data} is truncated: it has {size} of {needed} bytes"
            if size < 104:
                message = f"{self.data} is not a perf.data file"
            self.check_failure(self.run_it(), f"'{self.capture}': {message}")

    def test_truncated_for_others(self):
        """No command waits for a pipe."""
        page = str(self.output) + ".html"
        for size, why in ((100, f"{self.data} is not a perf.data file"),
                          (None, f"{self.data} is not a regular file")):
            self.data.unlink()
            os.mkfifo(self.data) if size is None else self.data.write_bytes(b"x" * size)
            for words in (["script"], ["script",
                                       "--dry-run"], ["report"], ["export", "--html", page]):
                with self.subTest(size=size, words=words):
                    result = subprocess.run([CTL, words[0], self.capture, *words[1:]],
                                            capture_output=True, check=False, timeout=60, text=True)
                    self.check_failure(result, f"'{self.capture}': {why}")

    def test_not_intel_pt(self):
        self.make(about={
            "schema": 1, "spike": {"time_ns": 3000000000, "cpu": 1}, "recorder": {"kind": "events"}
        })
        result = self.run_it("--axis", "cycles")
        self.assertEqual(
            (result.returncode, result.stderr),
            (2, f"perf-poke-ctl: --axis cycles: '{self.capture}' has events, not Intel PT\n"))


class LongTest(Export):
    """Long exports."""

    def setUp(self):
        super().setUp()
        self.output = self.results / "a.fxt.gz"
        self.make(segments=4000, packets=100)

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with subprocess.Popen(**self.command(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                while not os.listdir(self.results):
                    time.sleep(0.01)
                process.send_signal(number)
                out, err = process.communicate()
            self.assertEqual((process.returncode, out, err),
                             (1, "", "perf-poke-ctl: interrupted: nothing is written\n"))
            self.assertEqual(os.listdir(self.results), [])
        page = self.results / "a.html"
        for words, what in (["report", "--window",
                             "1ms"], ""), (["export", "--html", page, "-t",
                                            "-1ms,"], ": nothing is written"):
            with subprocess.Popen([CTL, words[0], self.capture, *words[1:]], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                while "decoding" not in pathlib.Path(
                        f"/proc/{process.pid}/status").read_text() and process.poll() is None:
                    # Once a thread waits for signals
                    caught = int(
                        re.search(r"SigBlk:\s+(\w+)",
                                  pathlib.Path(f"/proc/{process.pid}/status").read_text())[1], 16)
                    if caught & 1 << signal.SIGINT - 1:
                        break
                process.send_signal(signal.SIGINT)
                out, err = process.communicate()
            self.assertEqual((process.returncode, out, err),
                             (1, "", f"perf-poke-ctl: interrupted{what}\n"))
            self.assertEqual(os.listdir(self.results), [])

    @staticmethod
    def all_of(terminal):
        """Everything written to a terminal until its writers closed it: it arrives in pieces, then
        an error."""
        shown = b""
        with contextlib.suppress(OSError):
            while True:
                shown += os.read(terminal, 10000)
        return shown.decode()

    def test_progress(self):
        """Progress is shown on a terminal after a second, and then erased.

        It is stopped for that long, so that the length of the decoding does not matter.
        """
        terminal, tty = pty.openpty()
        self.addCleanup(os.close, terminal)
        with subprocess.Popen([CTL, "export", self.capture, "-o", self.output, "-q"],
                              stdin=subprocess.DEVNULL, stderr=tty) as process:
            os.close(tty)
            while not os.listdir(self.results):
                time.sleep(0.01)
            for _ in range(3):
                time.sleep(0.05)
                process.send_signal(signal.SIGSTOP)
                time.sleep(1.2)
                process.send_signal(signal.SIGCONT)
            self.assertEqual(process.wait(), 0)
        shown = self.all_of(terminal)
        self.assertRegex(shown, r"exporting: [0-9]+%")
        self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown))


if __name__ == "__main__":
    unittest.main()
