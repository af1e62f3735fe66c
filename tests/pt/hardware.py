# SPDX-License-Identifier: GPL-2.0-only
"""What the tests on real Intel PT share.

With PERF_POKE_PT_SIMULATED set they run on the simulated PMU (module ptsim) too: that shows that the tests work, and nothing
about hardware. The program that ptsim traces is its own, so what the CPU really did is not looked for then."""
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
# Errors of the decoder in one trace. A trace that the kernel has paused is whole; one that is stopped later, or copied while it
# is running, may have been too fast for the PMU's own buffer here and there (overflow).
ERRORS_MAX = {"pause": 0, "sample": 5, "signal": 5}
# Late timers: how late, how often, what counts as a spike. All far over what a machine does by itself.
SPIN_US, EVERY_MS, THRESHOLD = (30000, 300, "20ms") if SIMULATED else (2500, 50, "1ms")
BUFFER = "128K" if SIMULATED else "1M"
# Of the conversion between the trace's clock and the spike's.
CLOCK_NS = 10000

ERROR = re.compile(r"instruction trace error")
LINE = re.compile(r"\s*\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+(?P<flags>[a-z][a-z ]*?)\s+(?P<rest>[0-9a-f]+ .*)")


def main():
    """Runs the tests of the script where there is Intel PT."""
    if not os.path.isdir(PMU):
        common.skip("there is no PMU intel_pt")
    if os.path.exists(PTSIM) and not SIMULATED:
        common.skip("intel_pt is the simulated one (module ptsim)")
    if SIMULATED:
        print("simulated: this run shows nothing about hardware", flush=True)
    common.main()


class Trace:
    """What stock perf decodes of one CPU of a capture: how many branches and errors, and when. Read as a stream: it can be
    millions of lines."""

    def __init__(self, about, cpu, data):
        clock = about["recorder"]["clock"]
        self.branches, self.errors = 0, []
        self.first_ns = self.last_ns = None
        argv = ["perf", "script", "-i", data, "--itrace=be", "--ns", "-C", str(cpu), "-F", "hw:cpu,time,flags,ip,sym,addr"]
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
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
    """A test that takes captures with the recorder pt of timers that are late on purpose."""

    def options(self, *args, threshold=THRESHOLD):
        return ["--recorder", "pt", "--threshold", threshold, "--buffer", BUFFER, *args]

    def ways(self):
        """Those to hold the trace that are accepted here. The others are refused in one line that says so."""
        cpu = str(common.find_cpus(1)[0])
        accepted = []
        for way in WAYS:
            result = common.run_ctl("start", "--cpu", cpu, "--output", self.output,
                                    *self.options("--freeze", way, "--duration", "1ms", threshold="1h"))
            if result.returncode == 3:
                accepted.append(way)
            else:
                self.assert_fails(result, 1, "freeze " + way, "not on this kernel")
        self.assertIn("signal", accepted)
        return accepted

    def take(self, cpus, late_cpu, count, *args):
        """Just so many captures; what is in capture.json of each."""
        with common.late(late_cpu, SPIN_US, EVERY_MS):
            with common.Session(cpus, self.output, *self.options("--count", str(count), *args)) as session:
                self.assertEqual(session.finish(timeout=300), 0, session.__dict__)
        self.assertEqual(len(session.captures), count, session.lines)
        self.assertEqual(len(self.folders()), count)
        taken = []
        for line in session.captures:
            with open(os.path.join(line["path"], "capture.json")) as file:
                taken.append({"path": line["path"], **json.load(file)})
        return taken

    def decode(self, about, cpu, errors_max, branches_min=100):
        """The trace of a CPU, which has so many branches, and no more errors than that."""
        trace = Trace(about, cpu, os.path.join(about["path"], "perf.data"))
        self.assertEqual((trace.status, trace.stderr), (0, ""))
        print("  CPU %d: %d branches, %d errors of the decoder" % (cpu, trace.branches, len(trace.errors)), flush=True)
        self.assertLessEqual(len(trace.errors), errors_max, trace.errors[:5])
        self.assertGreaterEqual(trace.branches, branches_min)
        return trace
