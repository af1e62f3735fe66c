# SPDX-License-Identifier: GPL-2.0-only
"""A spike makes the perf record of the session's command line, with options of its own, take a
snapshot, which is kept. Stock perf decodes it, and the spike is in its trace."""
import json
import pathlib
import re
import subprocess
import sys

import capture
import guest
from guest import check, equal

CTL = sys.argv[1]
OUTPUT = pathlib.Path("/tmp/one_command")
RECORD = [
    "record", "-m", ",128K", "--cpu",
    str(guest.CPU), "--no-switch-events", "--kcore", "-e", "intel_pt/cyc,noretcomp/k", "-S"
]


def clock():
    """Converts CLOCK_MONOTONIC to perf's clock by a capture of the recorder pt, which has both."""
    return capture.take(CTL, "/tmp/one_command_clock")[0].to_perf_ns


def run():
    """Returns its lines; perf.data is in the current folder."""
    argv = [
        CTL, "start", "--json", "--cpu",
        str(guest.CPU), "--threshold", f"{capture.THRESHOLD_US}us", "--duration", "100s",
        "--housekeeping", "0", "--output", OUTPUT, "--", "perf", *RECORD
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as session:
        lines = [json.loads(session.stdout.readline())]
        equal(lines[0]["type"], "armed", f"first line {lines[0]}")
        with capture.Late():
            lines += map(json.loads, session.stdout)
        equal(session.wait(), 0, "exit status")
    return lines


def check_trace(data, spike_ns):
    decoded = guest.Decoded(data)
    iterations = guest.check_whole_iterations(decoded)
    times = decoded.times
    check(times[0] < spike_ns < times[-1],
          f"the spike at {spike_ns} is not within the trace, {times[0]} to {times[-1]}")
    print(
        f"{iterations} iterations decoded; the trace begins {(spike_ns - times[0]) / 1e6:.1f} ms "
        f"before the spike, and ends "
        f"{(times[-1] - spike_ns) / 1e6:.1f} ms after it")


def check_shown(data):
    out = subprocess.run([
        "perf", "script", "-i", data, "--deltatime", "--call-ret-trace", "-F",
        "-cpu,+flags,+callindent"
    ], capture_output=True, text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), "perf script")
    check(len(re.findall(r" call .*\sptsim_\w+", out.stdout)) > 10, f"calls in {out.stdout[:500]}")


capture.load()
to_perf_ns = clock()
HERE = pathlib.Path("/tmp/one_command_here")
with guest.in_folder(HERE):
    said = run()
spikes = [line for line in said if line["type"] == "capture"]
perf = said[-1]["perf"]
equal([line["type"] for line in said], ["armed", "capture", "summary"], "lines")
equal(perf["status"], 0, "exit status of perf")
equal(len(perf["data"]), 1, f"data of perf {perf}")
check_trace(HERE / perf["data"][0], spikes[0]["time_ns"] + to_perf_ns)
check_shown(HERE / perf["data"][0])
