#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The recorder ftrace: captures end at the message of the spike, its tracing instance goes with the
session, or after a kill with the next one; and the tracing instances of others are stopped."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

import common

TRACING = pathlib.Path("/sys/kernel/tracing")
INSTANCES = TRACING / "instances"
KSHARK = pathlib.Path(__file__).resolve().parents[1] / "kshark.py"
FTRACE = ["--recorder", "ftrace", "--threshold", "5ms", "--workload", "cyclic"]


def instances():
    return {folder.name for folder in INSTANCES.iterdir()}


def has_row(name):
    rows = map(json.loads, common.run_ctl("check", "--json").stdout.splitlines())
    return any(row.get("name") == name and row["have"] for row in rows)


class Ftrace(common.HostTest):
    def setUp(self):
        super().setUp()
        self.cpu = common.find_cpus(1)[0]
        # Of the test's own mounts.
        if not INSTANCES.is_dir() and "PERF_POKE_TEST_UNSHARED" in os.environ:
            subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=False)
        if not INSTANCES.is_dir():
            self.skipTest(f"there is no {INSTANCES}")
        self.before = instances()

    def start(self, *args):
        return common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output, *args)

    def background(self, *args):
        return subprocess.Popen([
            common.CTL, "start", "--cpu",
            str(self.cpu), "--output", self.output, "--threshold", "1h", *args
        ], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def check_all_gone(self):
        common.wait_for(lambda: not common.is_closing(), "the instance is removed")
        self.assertEqual(instances(), self.before)

    def check_capture(self, folder, freeze):
        told = json.loads((folder / "capture.json").read_text())
        self.assertEqual(told["recorder"]["kind"], "ftrace")
        self.assertEqual(told["recorder"]["freeze"], freeze)
        self.assertIn(told["recorder"]["tracer"], ("function_graph", "function", "nop"))
        if not shutil.which("trace-cmd"):
            return
        report = subprocess.run(["trace-cmd", "report", str(folder / "trace.dat")],
                                capture_output=True, text=True, check=True)
        self.assertEqual(report.stderr, "")
        lines = [line for line in report.stdout.splitlines() if f"[{self.cpu:03}]" in line]
        # The last event is the message, and behind it the line of this recorder.
        self.assertIn("perf-poke: spike at", lines[-1])
        if told["recorder"]["late_freezes"] == 0:
            self.assertIn(f"bpf_trace_printk:     {told['recorder']['message']}", lines[-2])
        self.assertTrue(any("hrtimer_expire_entry" in line for line in lines[-20:]))
        at = re.search(r"spike at (\d+)\.(\d+) ", lines[-1])
        self.assertEqual(int(at[1]) * 10**9 + int(at[2]), told["spike"]["time_ns"])
        self.check_kernelshark(folder, len(re.findall(r"(?m)\] .*?\d\.\d{6}: ", report.stdout)))

    def check_kernelshark(self, folder, events):
        """Its library has the same events, and says nothing."""
        read = subprocess.run([sys.executable, KSHARK, folder / "trace.dat"], capture_output=True,
                              text=True, check=False)
        if read.returncode != 77:
            self.assertEqual((read.returncode, read.stderr), (0, ""))
            self.assertIn(f": {events} entries, in order: True", read.stdout)

    def test_captures(self):
        ways = [way for way in ("swap", "traceoff") if has_row("ftrace_" + way)]
        self.assertIn("traceoff", ways)
        for way in ways:
            with self.subTest(freeze=way), common.busy(self.cpu), common.late(self.cpu):
                result = self.start(*FTRACE, "--freeze", way, "--count", "2")
                self.assertEqual(result.returncode, 0, result.stderr)
                for name in self.folders():
                    if not name.startswith("."):
                        self.check_capture(pathlib.Path(self.output) / name, way)
            shutil.rmtree(self.output)
        self.check_all_gone()

    @unittest.skipUnless((TRACING / "events/csd/csd_queue_cpu").is_dir(),
                         "this kernel does not tell of calls between CPUs (Linux 6.4)")
    def test_names_the_sender(self):
        """Of a call from a CPU that is not watched."""
        with common.busy(self.cpu), common.late(self.cpu) as late:
            result = self.start(*FTRACE, "--count", "5")
        self.assertEqual(result.returncode, 0, result.stderr)
        reports = [
            json.loads(common.run_ctl("report", "--json", os.path.join(self.output, name)).stdout)
            for name in os.listdir(self.output)
        ]
        senders = [report["cause"]["sender"] for report in reports if report["cause"].get("sender")]
        self.assertIn(late.pid, [sender["tid"] for sender in senders], reports)
        self.assertIn("bpf_prog_test_run_raw_tp", json.dumps(senders))

    def test_killed(self):
        name = f"killed{os.getpid()}"
        with self.background("--recorder", "ftrace", "--session", name) as session:
            common.wait_for(lambda: f"perf-poke-{name}" in instances(), "the instance")
            session.kill()
        self.assertIn(f"perf-poke-{name}", instances())
        self.start(*common.NO_SPIKES, "--duration", "100ms")
        self.assertEqual(instances(), self.before)

    def test_next_session(self):
        """It may have the same name at once, and takes nobody for killed."""
        for _ in range(3):
            result = self.start("--threshold", "1h", "--duration", "100ms", "--recorder", "ftrace",
                                "--session", f"again{os.getpid()}")
            self.assertNotIn("killed", result.stderr)
            self.assertEqual(result.returncode, 3, result.stderr)
        self.check_all_gone()

    def test_service(self):
        """Leaves nothing to a child, which the service manager would kill."""
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                "--threshold", "1h", "--duration", "100ms", "--recorder", "ftrace",
                                env={**os.environ, "NOTIFY_SOCKET": "/nonexistent"})
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(instances(), self.before)

    def test_instance_of_others(self):
        """It has the name of a killed session's, which was removed."""
        name = f"killed{os.getpid()}"
        own = INSTANCES / f"perf-poke-{name}"
        with self.background("--recorder", "ftrace", "--session", name) as session:
            common.wait_for(lambda: name in common.run_ctl("status").stdout, "the session")
            session.kill()
        # Another inode, even if they are used again.
        other = INSTANCES / f"other{os.getpid()}"
        other.mkdir()
        own.rmdir()
        own.mkdir()
        other.rmdir()
        try:
            self.start(*common.NO_SPIKES, "--duration", "100ms")
            self.assertTrue(own.is_dir())
            result = self.start("--recorder", "ftrace", "--session", name)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("is of no session that has ended", result.stderr)
        finally:
            own.rmdir()

    def test_stops_others(self):
        other = INSTANCES / f"other{os.getpid()}"
        trigger = other / "events/bpf_trace/bpf_trace_printk/trigger"
        other.mkdir()
        try:
            self.assertEqual((other / "tracing_on").read_text().strip(), "1")
            with common.busy(self.cpu), common.late(self.cpu):
                result = self.start("--recorder", "none", "--threshold", "5ms", "--workload",
                                    "cyclic", "--count", "1", "--stop-tracing", other.name)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((other / "tracing_on").read_text().strip(), "0")
            self.assertNotIn("traceoff:", trigger.read_text())
            # A killed session's trigger goes with the next session.
            with self.background("--recorder", "none", "--stop-tracing", other.name) as session:
                common.wait_for(lambda: "traceoff:" in trigger.read_text(), "the trigger")
                session.send_signal(signal.SIGKILL)
            self.start(*common.NO_SPIKES, "--duration", "100ms")
            self.assertNotIn("traceoff:", trigger.read_text())
        finally:
            other.rmdir()
        result = self.start("--recorder", "none", "--stop-tracing", "no-such-instance")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--stop-tracing 'no-such-instance': no such tracing instance", result.stderr)

    def test_refuses(self):
        for args, message in (
            (["--freeze", "signal"], "--freeze signal"),
            (["-e", "cpu-clock"], "takes tracepoints"),
            (["-e", "nop,function"], "second tracer"),
            (["-e", "function_graph/depth=3/"], "max-depth=N"),
        ):
            with self.subTest(args=args):
                result = self.start("--recorder", "ftrace", *args)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    common.main()
