#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl export makes of what perf does a file or one line, with a perf that does as it is told.
Usage: export_run.py CTL [FEED]; FEED is tests/unit/dlfilter/feed."""
import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
FEED = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None
# Whoever runs the tests may ignore it, as nohup does.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
CAPTURE = {"schema": 1, "spike": {"time_ns": 3000000000, "cpu": 1, "latency_ns": 50000, "expected_ns": 2999940000}, "history_ns": 2000000000,
           "recorder": {"kind": "pt", "freeze": "pause", "clock": {"monotonic_ns": 5, "perf_ns": 5}}}
PERF = """#!/usr/bin/env python3
import os, sys, time
if sys.argv[1:] == ["--version"]:
    print("perf version 0")
    sys.exit()
def dlarg(name):
    return next((word[len(name) + 1:] for word in sys.argv if word.startswith(name + "=")), None)
output, events = dlarg("output"), dlarg("events")
number = int(events.rsplit(".", 1)[1]) if events else None
def write(path, text):
    with open(path, "w") as file:
        file.write(text)
def tell(text):
    os.write(3, text.encode() + b"\\n")
"""
# Of the events of all, those of a slice, into the file of its events.
SLICE = """
import subprocess
def decode(feed, lines, change=lambda line: line):
    times = sys.argv[sys.argv.index("--time") + 1].split(",")
    begin, end = [int(time.replace(".", "")) if time else default for time, default in zip(times, (0, 1 << 63))]
    mine = [change(line) for line in open(lines) if line.startswith("symbol") or begin <= int(line.split()[1], 16) <= end]
    subprocess.run([feed, "events=" + events], input="".join(mine), text=True, check=True)
"""


class Export(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.results = self.folder / "results"
        self.results.mkdir()
        self.output = self.results / "a.fxt"
        self.make_capture(CAPTURE)

    def make_capture(self, about):
        (self.folder / "capture/perf.data").mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "capture/perf.data/data"
        # Data of 8 bytes at 104, then a table of two features, then these.
        self.whole = (struct.pack("<8s8Q", b"PERFILE2", 104, 136, 104, 0, 104, 8, 0, 0) + struct.pack("<4Q", 3, 0, 0, 0) + b"x" * 8 +
                      struct.pack("<4Q", 144, 4, 148, 12) + b"y" * 16)
        self.data.write_bytes(self.whole)
        (self.folder / "capture/capture.json").write_text(json.dumps(about))

    def command(self, does, *args):
        """With a perf that runs these lines of Python."""
        perf = self.folder / "perf"
        perf.write_text(PERF + does)
        perf.chmod(0o755)
        return {"args": [CTL, "export", self.folder / "capture", "-o", self.output, *args], "text": True,
                "env": {**os.environ, "PERF_POKE_PERF": str(perf)}, "stdin": subprocess.DEVNULL}

    def export(self, does, *args):
        return subprocess.run(**self.command(does, *args), capture_output=True, check=False)

    def check_failure(self, result, message):
        self.assertEqual((result.returncode, result.stdout, result.stderr), (1, "", f"perf-poke-ctl: {message}\n"))
        self.assertEqual(os.listdir(self.results), [])

    def needs_filter(self):
        if not os.path.exists(os.path.join(os.path.dirname(CTL), "../dlfilter/perf-poke-fxt.so")):
            self.skipTest("the filter was not built")


class ExportTest(Export):
    def test_fine(self):
        self.needs_filter()
        self.output.write_text("old")
        exists = f"--output '{self.output}': file exists; not overwriting (--force to overwrite)"
        result = self.export("write(output, 'new'); tell('done 7 0')")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (1, "", f"perf-poke-ctl: {exists}\n"))
        self.assertEqual(self.output.read_text(), "old")
        result = self.export("write(output, 'new'); tell('at 5'); tell('done 7 0')", "--force")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", f"perf-poke-ctl: {self.output}: 7 slices\n"))
        self.assertEqual(self.output.read_text(), "new")
        self.assertEqual(os.listdir(self.results), ["a.fxt"])
        self.assertEqual(self.export("write(output, 'new'); tell('done 7 0')", "-qf").stderr, "")

    def test_several_files(self):
        self.needs_filter()
        result = self.export("write(output[:-3] + '000.fxt', 'x'); write(output[:-3] + '001.fxt', 'y'); tell('done 9 2')", "--split", "1ms")
        self.assertEqual((result.returncode, result.stderr),
                         (0, f"perf-poke-ctl: {self.output}: 9 slices in 2 files\nperf-poke-ctl: 2 gaps in the trace\n"))
        self.assertEqual(sorted(os.listdir(self.results)), ["a.000.fxt", "a.001.fxt"])

    def test_errors_of_decoding(self):
        self.needs_filter()
        result = self.export("write(output, 'x'); tell('done 9 0'); print(' instruction trace error type 1 x\\n instruction trace error y')", "-q")
        self.assertEqual((result.returncode, result.stderr),
                         (0, "perf-poke-ctl: 2 errors of decoding, the first: instruction trace error type 1 x\n"))

    def test_failures(self):
        self.needs_filter()
        capture = f"'{self.folder}/capture' cannot be exported: "
        write = "write(output, 'part'); "
        for does, message in (
                (write + "sys.exit(3)", "perf failed with status 3, and did not say why"),
                (write + "os.kill(os.getpid(), 11)", "perf died of signal 11"),
                (write + "tell('done 1 0'); print('no data', file=sys.stderr); sys.exit(1)", "no data"),
                (write + "print('warning', file=sys.stderr); print('perf-poke-fxt: no space'); print('and more')", "perf-poke-fxt: no space"),
                (write + "print('  Error: unknown option', file=sys.stderr); print(' usage')", "Error: unknown option"),
                (write + "print('a' * 100000)", "a" * 1023)):
            with self.subTest(does=does):
                self.check_failure(self.export(does), capture + message)

    def test_output_that_cannot_be(self):
        self.needs_filter()
        self.output = self.folder / "nowhere/a.fxt"
        self.check_failure(self.export(""), f"--output '{self.output}': No such file or directory")

    def test_truncated(self):
        """Perf is not even asked."""
        for size in range(len(self.whole)):
            self.data.write_bytes(self.whole[:size])
            needed = 144 if size < 128 else 148 if size < 144 else 160
            message = f"{self.data} is truncated: it has {size} bytes, not {needed}"
            if size < 104:
                message = f"{self.data} is not a file of perf"
            self.check_failure(self.export("write(output, 'x'); tell('done 1 0')"), f"'{self.folder}/capture': {message}")

    def test_truncated_for_others(self):
        """Whoever runs perf looks first; and nobody waits for a pipe."""
        command = self.command("write(output, 'x'); tell('done 1 0')")
        capture = str(self.folder / "capture")
        page = str(self.output) + ".html"
        for size, why in ((150, f"{self.data} is truncated: it has 150 bytes, not 160"), (100, f"{self.data} is not a file of perf"),
                          (None, f"{self.data} is not a file")):
            self.data.unlink()
            os.mkfifo(self.data) if size is None else self.data.write_bytes(self.whole[:size])
            for words in (["script", capture], ["script", capture, "--dry-run"], ["report", capture], ["export", capture, "--html", page]):
                with self.subTest(size=size, words=words):
                    result = subprocess.run(**{**command, "args": [CTL, *words]}, capture_output=True, check=False, timeout=60)
                    self.assertNotIn("perf version", result.stderr)
                    self.check_failure(result, f"'{capture}': {why}")

    def test_not_intel_pt(self):
        self.make_capture({**CAPTURE, "recorder": {"kind": "events"}})
        result = self.export("")
        self.assertEqual((result.returncode, result.stderr),
                         (2, f"perf-poke-ctl: '{self.folder}/capture' has events, not Intel PT: see them with script\n"))

    def test_dry_run(self):
        self.needs_filter()
        result = self.export("", "-n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(f" --dlarg output={self.output} ", result.stdout)
        self.assertIn(" --dlarg spike=3000000000 --dlarg expected=2999940000 --dlarg spike-cpu=1\n", result.stdout)
        self.assertNotIn("progress", result.stdout)
        self.assertEqual(os.listdir(self.results), [])

    def test_interrupted(self):
        self.needs_filter()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with subprocess.Popen(**self.command("write(output, 'part'); tell('at 5'); time.sleep(100)"), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                while not list(self.results.glob("a.fxt.*/a.fxt")):
                    time.sleep(0.01)
                process.send_signal(number)
                out, err = process.communicate()
            self.assertEqual((process.returncode, out, err), (1, "", "perf-poke-ctl: interrupted: nothing is written\n"))
            self.assertEqual(os.listdir(self.results), [])

    def test_perf_that_does_not_end(self):
        self.needs_filter()
        does = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); write(output, 'part'); time.sleep(100)"
        with subprocess.Popen(**self.command(does), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            while not list(self.results.glob("a.fxt.*/a.fxt")):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            err = process.communicate()[1]
        self.assertEqual((process.returncode, err), (1, "perf-poke-ctl: interrupted: nothing is written\n"))
        self.assertEqual(os.listdir(self.results), [])

    @staticmethod
    def all_of(terminal):
        """What was written to it, by whom has closed it: it comes in pieces, and then an error."""
        shown = b""
        with contextlib.suppress(OSError):
            while True:
                shown += os.read(terminal, 10000)
        return shown.decode()

    def test_progress(self):
        """On a terminal, of what takes more than a second; it is wiped away."""
        self.needs_filter()
        terminal, tty = pty.openpty()
        self.addCleanup(os.close, terminal)
        does = "tell('at 2000000000'); time.sleep(1.2); tell('at 2500000000'); time.sleep(0.2); write(output, 'x'); tell('done 3 0')"
        subprocess.run(**self.command(does, "-q"), stderr=tty, check=True)
        os.close(tty)
        shown = self.all_of(terminal)
        self.assertRegex(shown, r"exporting: 75%")
        self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown))
        self.assertEqual(re.findall(r"slices", shown), [])


class JobsTest(Export):
    """With a trace that can be cut: a synchronisation point each 512 bytes, and a byte takes a nanosecond."""
    BEGIN = 2000000000
    SIZE = 1 << 20

    def setUp(self):
        super().setUp()
        self.needs_filter()
        if not FEED:
            self.skipTest("the filter's tests were not built")
        # As Skylake writes PSB+: PSB, PAD, CYC, then TSC, CBR and PSBEND
        trace = b"".join((b"\x02\x82" * 8 + bytes.fromhex("00000000ef0819") + struct.pack("<Q", self.BEGIN + at)[:7] +
                          bytes.fromhex("02030c000223")).ljust(512, b"\0") for at in range(0, self.SIZE, 512))
        # Shift, factor and zero of times, and that they are good
        info = struct.pack("<IHHII5Q", 70, 0, 56, 1, 0, 11, 0, 1, 0, 1)
        data = info + struct.pack("<IHHQQQIIiI", 71, 0, 48, len(trace), 0, self.BEGIN + len(trace), 0, 0, 1, 0) + trace
        self.data.write_bytes(struct.pack("<8s8Q", b"PERFILE2", 104, 136, 104, 0, 104, len(data), 0, 0) + struct.pack("<4Q", 0, 0, 0, 0) + data)
        start = 0xffffffff81000000
        self.lines = [f"symbol f{i} {start + 256 * i:x} {start + 256 * (i + 1):x} k" for i in range(3)]
        for at in range(0, self.SIZE - 200, 200):
            # f0 calls f1 calls f2, and back, and again
            source, target, flags = [(start + 16, start + 256, 1), (start + 272, start + 512, 1), (start + 528, start + 276, 2),
                                     (start + 280, start + 20, 2)][at // 200 % 4]
            self.lines.append(f"branch {self.BEGIN + at:x} 1 5 5 {source:x} {target:x} 4 {flags:x}")
        self.all = self.folder / "lines"
        self.all.write_text("".join(f"{line}\n" for line in self.lines))

    def decode(self, before="", change="lambda line: line"):
        return f"{SLICE}\n{before}\ndecode('{FEED}', '{self.all}', {change})"

    def alone(self, *args):
        """What one perf makes of it."""
        path = self.folder / "alone.fxt"
        subprocess.run([FEED, f"output={path}", "axis=time", "spike=3000000000", "expected=2999940000", "spike-cpu=1", *args],
                       input=self.all.read_text(), text=True, check=True, capture_output=True)
        return path.read_bytes()

    def test_same(self):
        for jobs in 2, 5:
            result = self.export(self.decode("assert not output"), "--force", "--jobs", str(jobs))
            self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
            self.assertRegex(result.stderr, f"^perf-poke-ctl: {self.output}: [0-9]+ slices\n")
            self.assertEqual(self.output.read_bytes(), self.alone())
            self.assertEqual(os.listdir(self.results), ["a.fxt"])

    def test_one(self):
        """As it was asked for, or as one has to do."""
        for args in ["--jobs", "1"], ["--time", "1us,2us", "-j", "1"], ["--", "-v"], []:
            result = self.export("assert not events; write(output, 'one'); tell('done 7 0')", "-f", *args)
            self.assertEqual((result.returncode, result.stderr), (0, f"perf-poke-ctl: {self.output}: 7 slices\n"))
            self.assertEqual(self.output.read_text(), "one")

    def test_slices_that_do_not_fit(self):
        other = self.decode(change="lambda line: line if number != 2 else line.replace(' 5 5 ', ' 6 6 ')")
        does = f"if output:\n    write(output, 'one'); tell('done 7 0'); sys.exit()\n{other}"
        result = self.export(does, "--jobs", "2")
        self.assertEqual((result.returncode, result.stderr),
                         (0, "perf-poke-ctl: slices of the trace cannot be decoded apart: decoding it as one\n"
                             f"perf-poke-ctl: {self.output}: 7 slices\n"))
        self.assertEqual(self.output.read_text(), "one")
        self.assertEqual(os.listdir(self.results), ["a.fxt"])

    def test_errors_of_decoding(self):
        """Perf goes on in its own way after one, so that one perf has to do, but after those of the last slice. Two slices see each."""
        for first, nr, said in ((0, 7, "perf-poke-ctl: slices of the trace cannot be decoded apart: decoding it as one\n"),
                                (self.SIZE - 8192, None, "perf-poke-ctl: 2 errors of decoding, the first: instruction trace error type 1 time 2.001040384 "
                                                         "cpu 1\n")):
            before = (f"if output:\n    write(output, 'one'); tell('done 7 0'); sys.exit()\n"
                      f"for at in range({self.BEGIN + first}, {self.BEGIN + self.SIZE}, 4096):\n"
                      "    print(' instruction trace error type 1 time %d.%09d cpu 1' % divmod(at, 10**9))")
            result = self.export(self.decode(before), "-f", "--jobs", "3")
            self.assertEqual(result.returncode, 0)
            self.assertTrue(result.stderr.startswith(said), result.stderr)
            self.assertEqual(self.output.read_bytes() == b"one", nr is not None)

    def test_failures(self):
        for before, message in (("if number == 3: os.kill(os.getpid(), 9)", "perf died of signal 9"),
                                ("if number == 3: print('no memory', file=sys.stderr); sys.exit(1)", "no memory"),
                                ("if number == 4: open(events, 'w').write('x'); sys.exit(0)", "Bad message")):
            self.check_failure(self.export(self.decode(before), "--jobs", "3"), f"'{self.folder}/capture' cannot be exported: {message}")

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            before = "if number == 1: open(events, 'w').close(); time.sleep(100)"
            with subprocess.Popen(**self.command(self.decode(before), "--jobs", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                while not list(self.results.glob("a.fxt.*/.events.1")):
                    time.sleep(0.01)
                process.send_signal(number)
                out, err = process.communicate()
            self.assertEqual((process.returncode, out, err), (1, "", "perf-poke-ctl: interrupted: nothing is written\n"))
            self.assertEqual(os.listdir(self.results), [])


if __name__ == "__main__":
    unittest.main()
