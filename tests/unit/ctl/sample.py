#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The sample capture is opened and exported. Its cause is that of another kernel and another
recorder.

usage: sample.py PERF_POKE_CTL SPIKE.TAR.ZST
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CTL, SAMPLE = sys.argv[1:]
CULPRIT = "late_timer_irqs_off"


def run(*argv, **environment):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **environment}).stdout


# The stack that the timer's interrupt hit on Debian's 6.12.117 with PREEMPT_RT, recorded with
# events; the sample is of Intel PT, on 7.3.
STACK = ("late_timer_irqs_off", "work_for_cpu_fn", "process_one_work", "worker_thread", "kthread",
         "ret_from_fork", "ret_from_fork_asm")


def elsewhere(folder):
    folder.mkdir()
    (folder / "capture.json").write_text(
        json.dumps({
            "schema": 1, "threshold_ns": 30000000, "history_ns": 0, "recorder": {"kind": "none"},
            "machine": {"hypervisor": False}, "spike": {
                "time_ns": 2060000000, "cpu": 1, "latency_ns": 60000000, "expected_ns": 2000000000,
                "actual_ns": 2060000000, "irqs_off": True,
                "stack": [{"symbol": name, "user": False} for name in STACK]
            }
        }))
    return folder


def fingerprint(folder):
    return json.loads(run(CTL, "report", "--json", folder))["fingerprint"]["id"]


def executed_after_spike(folder):
    """By perf, whose instructions have the time of the packet before; our blocks have one time."""
    facts = json.loads((folder / "capture.json").read_text())
    clock = facts["recorder"]["clock"]
    spike = facts["spike"]["time_ns"] + clock["perf_ns"] - clock["monotonic_ns"]
    out = run("perf", "script", "-i", folder / "perf.data", "--itrace=i0ns", "--ns", "-F",
              "time,event", "--time", f"{spike // 10**9}.{spike % 10**9:09},")
    return [
        int(time.replace(".", "")) - spike for time in re.findall(r"([\d.]+): +instructions", out)
    ]


def main():
    with tempfile.TemporaryDirectory(prefix="perf-poke-sample-") as folder:
        spike = pathlib.Path(folder, "spike")
        run(CTL, "open", "-q", SAMPLE, "-o", spike)
        assert fingerprint(spike) == fingerprint(elsewhere(pathlib.Path(
            folder, "other"))) == f"irqs-off/{CULPRIT}:b74ad5ac", fingerprint(spike)
        if shutil.which("perf"):
            after, times = json.loads(run(CTL, "report", "--json",
                                          spike))["after_spike"], executed_after_spike(spike)
            assert abs(after["instructions"] -
                       len(times)) < 32 and abs(after["time_ns"] - times[-1]) < 100, (after,
                                                                                      len(times),
                                                                                      times[-1])
        normal = json.loads(run(CTL, "report", "--json", "--normal", spike))["normal"]
        assert normal["activations"] == 15 and normal["same_timer"], normal
        assert [normal["most"]["name"],
                *normal["most"]["callers"]][:2] == ["late_timer_spin", CULPRIT], normal["most"]
        assert abs(normal["more_ns"] -
                   227000) < 1000 and normal["steps"][-1]["median_ns"] < 1000, normal["steps"]
        few = json.loads(run(CTL, "report", "--json", "--normal", "--activations", "6",
                             spike))["normal"]
        assert few["activations"] == 6 and "late_timer_spin" in run(CTL, "report", "--normal",
                                                                    spike), few
        for name in ("spike.pftrace.gz", "spike.html"):
            run(CTL, "export", "-q", spike, "--html" if name.endswith("html") else "-o",
                spike / name)
            assert (spike / name).stat().st_size > 50000, name


main()
