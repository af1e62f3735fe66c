#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""From recordings of real CPUs to users: captures, read by stock perf, script, report and export.

Usage: chain.py CTL TAKE FOLDER_OF_RECORDINGS
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import fxt  # noqa: E402

CTL, TAKE, BESIDE = [os.path.abspath(path) for path in sys.argv[1:4]]
REALPT = pathlib.Path(os.environ.get("PERF_POKE_REALPT", BESIDE))
PERF = shutil.which("perf")
# Instructions, by perf 6.1; DynamoRIO's tests have those of 926b, c2d9, 8e84 and d36d too; bytes of
# trace from the first PSB on
RECORDINGS = {
    "926b": (146740, 32176), "8bcc": (103749, 32304), "0b3b": (91452, 22112),
    "c2d9": (59234, 14632), "8e84": (59225, 15040), "d36d": (8, 2272), "b54e": (6, 2848),
}
# More than is decoded of the end
REPEATED = 12


def run(*argv, **options):
    result = subprocess.run(argv, capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL, **options)
    if result.returncode:
        raise AssertionError(f"{argv}: status {result.returncode}: {result.stderr}")
    return result


def words(text):
    """Lines without column padding, whose width depends on event names."""
    return [line.split() for line in text.splitlines()]


class Chain(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def take(self, recording, times=1):
        capture = pathlib.Path(
            run(TAKE, REALPT / "perf.data" / recording, self.folder, str(times)).stdout.strip())
        return capture, json.loads((capture / "capture.json").read_text())

    def ctl(self, name, *argv):
        """Runs the command with a perf that finds the recording's files."""
        perf = self.folder / "perf"
        perf.write_text(
            '#!/bin/bash\nwords=()\nfor word; do\n\twords+=("$word")\n'
            f"\t[ \"$word\" != script ] || words+=(--symfs '{REALPT}/sym/drio-{name}')\ndone\nexec "
            f"'{PERF}' \"${{words[@]}}\"\n"
        )
        perf.chmod(0o755)
        return run(CTL, *argv, env={**os.environ, "PERF_POKE_PERF": str(perf)})

    def test_perf(self):
        """Stock perf decodes the capture like the recording."""
        for name, (instructions, size) in RECORDINGS.items():
            with self.subTest(name):
                capture, about = self.take(f"drio-{name}.perf.data")
                (trace,) = about["recorder"]["traces"]
                self.assertEqual(trace["bytes"], size)
                self.assertGreater(about["history_ns"], 0)
                options = [
                    f"--symfs={REALPT}/sym/drio-{name}", "--itrace=bei0ns", "--ns", "-F",
                    "cpu,time,event,ip,addr,sym,flags"
                ]
                ours = run(PERF, "script", "-i", capture / "perf.data", *options).stdout
                self.assertEqual(sum(" instructions:" in line for line in ours.splitlines()),
                                 instructions)
                self.assertFalse("instruction trace error" in ours, "an error of decoding")
                theirs = run(PERF, "script", "-i", REALPT / f"perf.data/drio-{name}.perf.data",
                             *options).stdout
                self.assertTrue(
                    words(ours) == words(theirs), "not what perf decodes of the recording")

    def test_script(self):
        for name in "926b", "0b3b":
            capture, _ = self.take(f"drio-{name}.perf.data")
            ours = self.ctl(name, "script", capture, "--all", "--all-cpus", "--quiet").stdout
            theirs = run(PERF, "script", "-i", REALPT / f"perf.data/drio-{name}.perf.data",
                         f"--symfs={REALPT}/sym/drio-{name}", "--ns", "--call-ret-trace", "-F",
                         "-dso").stdout
            self.assertGreater(len(ours.splitlines()), 1000)
            self.assertTrue(words(ours) == words(theirs), "not what perf shows of the recording")

    def view(self, name, *argv):
        return run(CTL, *argv, "--symfs", f"{REALPT}/sym/drio-{name}")

    def test_report(self):
        """Its functions are the slices of export: how often called, and their own time."""
        capture, about = self.take("drio-926b.perf.data")
        report = json.loads(
            self.view("926b", "report", capture, "--window", "10ms", "--top", "1000",
                      "--json").stdout)
        self.view("926b", "export", capture, "--output", self.folder / "a.fxt", "--time",
                  "-10ms,0ns")
        calls, times = collections.Counter(), collections.Counter()
        inside = collections.Counter()  # by depth, of what ended there
        for piece in fxt.read(self.folder /
                              "a.fxt").check()[f"CPU {about['spike']['cpu']} functions"]:
            calls[piece.name] += 1
            times[piece.name] += piece.end - piece.begin - inside.pop(piece.depth + 1, 0)
            inside[piece.depth] += piece.end - piece.begin
        self.assertIn("__tunable_get_val", calls)
        self.assertEqual(
            {row["name"]: (row["calls"], row["self_ns"]) for row in report["functions"]},
            {name: (count, times[name]) for name, count in calls.items() if name != "[not traced]"})
        selves = [row["self_ns"] for row in report["functions"]]
        self.assertEqual(selves, sorted(selves, reverse=True))
        self.assertEqual(sum(row["time_ns"] for row in report["budget"]),
                         report["window"]["end_ns"] - report["window"]["begin_ns"])

    def test_report_without_times(self):
        """The end of a trace longer than what is decoded for it; the same for a short one."""
        reports = []
        for times in 1, REPEATED:
            capture, about = self.take("drio-926b.perf.data", times)
            about["recorder"]["clock"]["perf_ns"] = None
            (capture / "capture.json").write_text(json.dumps(about))
            report = json.loads(self.view("926b", "report", capture, "--json").stdout)
            self.assertEqual((report["window"]["instructions"], report["decoding_errors"]),
                             (20000, 0))
            self.assertEqual(report["path"][:2] + report["path"][-2:],
                             ["[not traced]", "_exit", "__libc_start_main", "_start"])
            reports.append((report["path"], report["functions"]))
        self.assertEqual(*reports)

    def test_export(self):
        """Any number of threads gives the same result, with DynamoRIO's count of instructions."""
        for name, (instructions, _) in RECORDINGS.items():
            capture, _ = self.take(f"drio-{name}.perf.data")
            files = []
            for jobs in "1", "3":
                files.append(self.folder / f"{name}-{jobs}.fxt")
                said = self.view(name, "export", capture, "--output", files[-1], "--jobs",
                                 jobs).stderr
                self.assertNotIn("error", said)
            self.assertTrue(files[0].read_bytes() == files[1].read_bytes(),
                            "not the same by threads")
            tracks = fxt.read(files[0]).check()
            (thread,) = [track for track in tracks if not track.startswith("CPU ")]
            outer = [piece for piece in tracks[thread] if piece.depth == 0]
            self.assertEqual(sum(piece.args["instructions"] for piece in outer), instructions, name)

    def test_kernel_and_user(self):
        """Two CPUs without code: perf sees only where the trace continues."""
        capture, about = self.take("perf.data.intel_pt-4.14")
        self.assertEqual({trace["cpu"]: trace["bytes"] for trace in about["recorder"]["traces"]},
                         {0: 12240, 3: 137728})
        self.assertGreater(about["history_ns"], 1000000)
        out = run(PERF, "script", "-i", capture / "perf.data", "--itrace=b", "-F",
                  "event,ip").stdout
        self.assertEqual(sum("branches" in line for line in out.splitlines()), 619)


if not REALPT.is_dir():
    print(f"skipped: no recordings of real CPUs in {REALPT} (PERF_POKE_REALPT)")
    sys.exit(77)
if not PERF:
    print("skipped: no perf in PATH")
    sys.exit(77)
unittest.main(argv=sys.argv[:1] + sys.argv[4:])
