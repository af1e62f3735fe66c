# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of emulated Intel PT share."""
import os
import pathlib
import subprocess

import common

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
