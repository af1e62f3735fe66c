# SPDX-License-Identifier: GPL-2.0-only
"""Helpers for tests of perf-poke's own Intel PT captures."""
import functools
import glob
import json
import os
import pathlib
import subprocess
import threading

import guest
from guest import check, equal

LATE = pathlib.Path("/sys/kernel/debug/late_timer/irqs_off")
THRESHOLD_US = 20000
INJECTED_US = 30000
# Of the simulated PMU: loses nothing; a ring of 128K holds more than a second.
CALM = {"bytes_per_sec": 60000, "max_burst": 131072, "program": "mixed", "period_us": 1000}


def load():
    guest.load("late_timer")
    if guest.HAS_PTSIM:
        guest.load("ptsim")
        be_calm()


def be_calm():
    for name, value in CALM.items():
        guest.set_parameter(name, value)


def ways():
    """Freeze methods of this kernel, the best first."""
    if not guest.HAS_PTSIM:
        return []
    return (["pause"] if guest.HAS_PAUSE else []) + ["sample", "signal"]


class Capture:
    def __init__(self, line):
        check(line["error"] is None, f"the capture failed: {line}")
        self.line = line
        self.folder = pathlib.Path(line["path"])
        self.data = str(self.folder / "perf.data")
        self.json = json.loads((self.folder / "capture.json").read_text())
        # Other recorders use the clock of the spike.
        clock = self.json["recorder"].get("clock", {"perf_ns": 0, "monotonic_ns": 0})
        self.to_perf_ns = (clock["perf_ns"] or 0) - clock["monotonic_ns"]

    @functools.cache
    def decoded(self, perf="perf"):
        return guest.Decoded(self.data, perf=perf)

    def times_ns(self):
        """Times of the first and the last branch, in CLOCK_MONOTONIC."""
        times = self.decoded().times
        return times[0] - self.to_perf_ns, times[-1] - self.to_perf_ns


class Late(threading.Thread):
    """Makes timers of a CPU late repeatedly while it runs."""

    def __init__(self, cpus=(guest.CPU,), every_s=0.3, late_us=INJECTED_US):
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


def take(ctl, output, *options, cpu=str(guest.CPU), count=1, buffer="128K", late=None,
         recorder="pt", each=None, threshold_us=THRESHOLD_US, duration="100s"):
    """Captures timers that are late on purpose. Calls `each` with the session's pid at each
    capture."""
    argv = [
        ctl, "start", "--json", "--cpu", cpu, "--threshold", f"{threshold_us}us", "--count",
        str(count), "--duration", duration, "--recorder", recorder, "--buffer", buffer, "--output",
        output, *options
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as session:
        armed = json.loads(session.stdout.readline())
        equal(armed["type"], "armed", "first line")
        lines = []
        with late or Late():
            for line in map(json.loads, session.stdout):
                lines.append(line)
                if each and line["type"] == "capture":
                    each(session.pid)
        equal(session.wait(), 0, f"exit status with {options}")
    captures = [Capture(line) for line in lines if line["type"] == "capture"]
    equal(len(captures), count, "captures of spikes")
    equal(len(glob.glob(f"{output}/*")), len(captures), "folders")
    equal(glob.glob(f"{output}/.session-*"), [], "half-written folders")
    return captures


def first_after(what, time_ns, cpu=guest.CPU):
    """The PMU's first action after that time."""
    return [e for e in guest.log(cpu) if e["what"] == what and e["mono_ns"] >= time_ns][0]


def check_perfs_agree(one):
    """All perfs decode the same, without warnings."""
    expected = vars(one.decoded())
    equal(expected["said"], "", "what perf said")
    for perf in perfs()[1:]:
        check(vars(one.decoded(perf)) == expected, f"{perf} decodes something else")


def perfs():
    return ["perf"] + sorted(p for p in os.environ.get("LAB_PERFS", "").split(":") if p)
