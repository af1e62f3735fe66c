# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of emulated Intel PT share."""
import os
import pathlib
import subprocess
import time

import capture
import common

LATE = pathlib.Path("/sys/kernel/debug/late_timer")
SCRATCH = pathlib.Path(os.environ.get("LAB_SCRATCH", "/tmp"))
LOGS = SCRATCH / "ptemu"


def load(**parameters):
    common.need_root()
    if not LOGS.is_dir():
        common.skip("the guest's QEMU has not the plugin: lab run --pt emulated")
    common.load("ptsim", source="emulated", **parameters)


def clock():
    """The ratio of TSC and CTC, and the core's frequency, as strings."""
    n, d = (common.PMU / "tsc_art_ratio").read_text().strip().split(":")
    return [n, d], (common.PMU / "max_nonturbo_ratio").read_text().strip()


def log_of(cpu=common.CPU):
    """Where the plugin writes it."""
    return str(LOGS / f"vcpu{cpu}")


def instructions(data, from_ns):
    """How many the CPU executed with the trace on from that time of perf's clock on, and whether the trace begins before it."""
    before_ns = from_ns - 1000000
    out = subprocess.run(["perf", "script", "-i", data, "--itrace=i0ns", "--ns", "-F", "time", "--time",
                          f"{before_ns // 10**9}.{before_ns % 10**9:09},"], capture_output=True, text=True, check=True).stdout
    times = [int(word.rstrip(":").replace(".", "")) for word in out.split()]
    after = sum(at >= from_ns for at in times)
    return after, after < len(times)


class Late(capture.Late):
    """Knows when it made something late, as a file of late_timer does."""

    def __init__(self, kind="irqs_off"):
        super().__init__()
        self.kind, self.spans = kind, []

    def run(self):
        if self.kind == "syscall":
            os.sched_setaffinity(0, [common.CPU])
        while not self.stop.wait(self.every_s):
            begin = time.monotonic_ns()
            (LATE / self.kind).write_text(f"{common.CPU} {self.late_us}\n")
            self.spans.append((begin, time.monotonic_ns()))

    def made(self, one):
        """Else it is the host that runs something else than the guest now and then."""
        if any(begin <= one.line["time_ns"] <= end for begin, end in self.spans):
            return True
        print(f"a spike of {one.line['latency_ns'] / 1000:.0f} us that nobody made", flush=True)
        return False
