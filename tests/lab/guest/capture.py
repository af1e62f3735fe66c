# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of perf-poke's own Intel PT captures share."""
import glob
import json
import os
import pathlib
import re
import subprocess
import threading

import common
from common import check, equal

LATE = pathlib.Path("/sys/kernel/debug/late_timer/irqs_off")
THRESHOLD_US = 20000
INJECTED_US = 30000
# Of the simulated PMU: nothing is lost, and a ring of 128K holds a second and more.
CALM = {"bytes_per_sec": 60000, "max_burst": 131072, "program": "mixed", "period_us": 1000}


def load():
    common.load("ptsim")
    common.load("late_timer")
    be_calm()


def be_calm():
    for name, value in CALM.items():
        common.set_parameter(name, value)


def ways():
    """Those to hold a trace that this kernel has, the best first."""
    return (["pause"] if common.HAS_PAUSE else []) + ["sample", "signal"]


class Capture:
    def __init__(self, line):
        check(line["error"] is None, f"the capture failed: {line}")
        self.line = line
        self.folder = pathlib.Path(line["path"])
        self.data = str(self.folder / "perf.data")
        self.json = json.loads((self.folder / "capture.json").read_text())
        # Other recorders have the clock of the spike.
        clock = self.json["recorder"].get("clock", {"perf_ns": 0, "monotonic_ns": 0})
        self.to_perf_ns = (clock["perf_ns"] or 0) - clock["monotonic_ns"]

    def decoded(self, perf="perf"):
        return common.Decoded(self.data, perf=perf)

    def times_ns(self):
        """Of the first and the last branch, in CLOCK_MONOTONIC."""
        out = subprocess.run(["perf", "script", "-i", self.data, "--itrace=be", "--ns", "-F", "time"],
                             capture_output=True, text=True, check=True).stdout.split()
        times = [int(t.rstrip(":").replace(".", "")) - self.to_perf_ns for t in (out[0], out[-1])]
        return times[0], times[1]


class Late(threading.Thread):
    """Makes timers of a CPU late again and again while it runs."""

    def __init__(self, cpus=(common.CPU,), every_s=0.3, late_us=INJECTED_US):
        super().__init__(daemon=True)
        self.cpus, self.every_s, self.late_us, self.stop = cpus, every_s, late_us, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def run(self):
        while not self.stop.wait(self.every_s):
            for cpu in self.cpus:
                LATE.write_text(f"{cpu} {self.late_us}\n")

    def __exit__(self, *_):
        self.stop.set()
        self.join()


def take(ctl, output, *options, cpu=str(common.CPU), count=1, buffer="128K", late=None, recorder="pt"):
    """Captures of timers that are late on purpose."""
    argv = [ctl, "start", "--json", "--cpu", cpu, "--threshold", f"{THRESHOLD_US}us", "--count", str(count), "--duration", "100s",
            "--recorder", recorder, "--buffer", buffer, "--output", output, *options]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as session:
        armed = json.loads(session.stdout.readline())
        equal(armed["type"], "armed", "first line")
        with late or Late():
            lines = [json.loads(line) for line in session.stdout]
        equal(session.wait(), 0, f"exit status with {options}")
    captures = [Capture(line) for line in lines if line["type"] == "capture"]
    equal(len(captures), count, "captures")
    equal(len(glob.glob(f"{output}/*")), count, "folders")
    equal(glob.glob(f"{output}/.session-*"), [], "half-written folders")
    return captures


def first_after(what, time_ns, cpu=common.CPU):
    """What the PMU did first after that time."""
    return [e for e in common.log(cpu) if e["what"] == what and e["mono_ns"] >= time_ns][0]


def same_text(capture, perfs):
    """Each perf says the same of it, but for how it spaces its columns."""
    texts = set()
    for perf in perfs:
        out = subprocess.run([perf, "script", "-i", capture.data, "--itrace=be", "--ns"], capture_output=True, text=True, check=False)
        equal((out.returncode, out.stderr), (0, ""), f"{perf} script")
        texts.add(re.sub(" +", " ", out.stdout))
    equal(len(texts), 1, "different texts from the same capture")


def perfs():
    return ["perf"] + sorted(p for p in os.environ.get("LAB_PERFS", "").split(":") if p)

