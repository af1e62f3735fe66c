# SPDX-License-Identifier: GPL-2.0-only
"""Helpers for tests on real Intel PT.

With PERF_POKE_PT_SIMULATED set they also run on the simulated PMU (module ptsim), to test the
tests. ptsim traces a program of its own, so what the CPU executed is not checked then."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "host"))
import common  # noqa: E402: of the suite host

PMU = "/sys/bus/event_source/devices/intel_pt"
PTSIM = "/sys/module/ptsim"
SIMULATED = os.path.exists(PTSIM) and "PERF_POKE_PT_SIMULATED" in os.environ

WAYS = ["pause", "sample", "signal"]
# Decoder errors in one trace. A trace that the kernel paused is whole; one that is stopped later,
# or copied while it runs, may have overflowed the PMU's own buffer.
ERRORS_MAX = {"pause": 0, "sample": 5, "signal": 5}
# Late timers: by how much, how often, and the threshold; all far above the machine's own latency.
SPIN_US, EVERY_MS, THRESHOLD = (30000, 300, "20ms") if SIMULATED else (2500, 50, "1ms")
BUFFER = "128K" if SIMULATED else "1M"
# Error of the conversion between the clocks of trace and spike.
CLOCK_NS = 10000

ERROR = re.compile(r"instruction trace error")
LINE = re.compile(
    r"\s*\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+(?P<flags>[a-z][a-z "
    r"]*?)\s+(?P<rest>[0-9a-f]+ .*)"
)


def main():
    """Runs the script's tests where there is Intel PT."""
    if not os.path.isdir(PMU):
        common.skip("there is no PMU intel_pt")
    if os.path.exists(PTSIM) and not SIMULATED:
        common.skip("intel_pt is the simulated one (module ptsim)")
    if SIMULATED:
        print("simulated: this run shows nothing about hardware", flush=True)
    common.main()


class Trace:
    """Stock perf's view of one CPU of a capture: branches, errors, times. Read as a stream, as
    it can be millions of lines."""

    def __init__(self, about, cpu, data):
        clock = about["recorder"]["clock"]
        self.branches, self.errors = 0, []
        self.first_ns = self.last_ns = None
        argv = [
            "perf", "script", "-i", data, "--itrace=be", "--ns", "-C",
            str(cpu), "-F", "hw:cpu,time,flags,ip,sym,addr"
        ]
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "LC_ALL": "C"}) as perf:
            for line in perf.stdout:
                self.add(line, clock["monotonic_ns"] - clock["perf_ns"])
            self.stderr = perf.stderr.read()
        self.status = perf.returncode

    def add(self, line, to_monotonic_ns):
        if ERROR.search(line):
            self.errors.append(line.strip())
            return
        match = LINE.match(line)
        if not match:
            return
        time_ns = int(match["s"]) * 1000000000 + int(match["ns"]) + to_monotonic_ns
        self.branches += 1
        self.first_ns = self.first_ns or time_ns
        self.last_ns = time_ns


class PtTest(common.HostTest):
    """A test that captures late timers with the recorder pt."""

    def options(self, *args, threshold=THRESHOLD):
        return ["--recorder", "pt", "--threshold", threshold, "--buffer", BUFFER, *args]

    def ways(self):
        """Freeze methods that are accepted here. Others are refused in one line."""
        cpu = str(common.find_cpus(1)[0])
        accepted = []
        for way in WAYS:
            result = common.run_ctl(
                "start", "--cpu", cpu, "--output", self.output,
                *self.options("--freeze", way, "--duration", "1ms", threshold="1h"))
            if result.returncode == 3:
                accepted.append(way)
            else:
                self.assert_fails(result, 1, "freeze " + way, "not on this kernel")
        self.assertIn("signal", accepted)
        return accepted

    def take(self, cpus, late_cpu, count, *args):
        """Takes exactly `count` captures; returns each one's capture.json."""
        with common.late(late_cpu, SPIN_US, EVERY_MS):
            with common.Session(cpus, self.output, *self.options("--count", str(count),
                                                                 *args)) as session:
                self.assertEqual(session.finish(timeout=300), 0, session.__dict__)
        self.assertEqual(len(session.captures), count, session.lines)
        self.assertEqual(len(self.folders()), count)
        taken = []
        for line in session.captures:
            with open(os.path.join(line["path"], "capture.json")) as file:
                taken.append({"path": line["path"], **json.load(file)})
        return taken

    def decode(self, about, cpu, errors_max, branches_min=100):
        """The trace of a CPU, with at least so many branches and at most so many errors."""
        trace = Trace(about, cpu, os.path.join(about["path"], "perf.data"))
        self.assertEqual((trace.status, trace.stderr), (0, ""))
        print(
            "  CPU %d: %d branches, %d errors of the decoder" %
            (cpu, trace.branches, len(trace.errors)), flush=True)
        self.assertLessEqual(len(trace.errors), errors_max, trace.errors[:5])
        self.assertGreaterEqual(trace.branches, branches_min)
        return trace
