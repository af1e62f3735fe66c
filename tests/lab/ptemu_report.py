#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl report names what made a timer or a thread late, each time, from what a guest's CPU truly executed.

usage: ptemu_report.py KERNEL SECONDS PERF_POKE_CTL. Runs guest/ptemu_report.py in a guest; the reports are made here. $PTEMU_RUNS is
how often each, $PTEMU_CULPRITS which (irqs_off softirqs syscall preempt_off)"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

KERNEL, SECONDS, CTL = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
RUNS = int(os.environ.get("PTEMU_RUNS", "1"))

# What is late, and what report is to blame: the kind, and the function
Culprit = collections.namedtuple("Culprit", "trigger kind function")
CULPRITS = {"irqs_off": Culprit("irq", "irqs_off", "late_timer_irqs_off"),
            "softirqs": Culprit("thread", "softirq", "late_timer_tasklet"),
            "syscall": Culprit("thread", "thread", "late_timer_syscall"),
            "preempt_off": Culprit("thread", "thread", "late_timer_preempt_off")}
WHICH = os.environ.get("PTEMU_CULPRITS", " ".join(CULPRITS)).split()


def named(capture, culprit):
    out = subprocess.run([CTL, "report", capture, "--json"], capture_output=True, text=True, check=False)
    if out.returncode or out.stderr:
        print(f"{capture.name}: exit status {out.returncode} of report: {out.stderr}")
        return False
    found = json.loads(out.stdout)
    print(f"{capture.name}: {found['cause']['kind']}: {found['sentence']}", flush=True)
    return found["cause"]["kind"] == culprit.kind and f"{culprit.function}()" in found["sentence"]


def main():
    with tempfile.TemporaryDirectory(prefix="perf-poke-report-") as scratch:
        out = subprocess.run([HERE / "run-test", KERNEL, SECONDS, "python3", HERE / "guest/ptemu_report.py", CTL, str(RUNS),
                              *(f"{kind}:{CULPRITS[kind].trigger}" for kind in WHICH)], check=False,
                             env={**os.environ, "LAB_OPTIONS": f"--pt emulated --icount 0 --scratch {scratch}"})
        if out.returncode:
            return out.returncode
        counts = {kind: sum(named(pathlib.Path(scratch, f"{kind}{i}"), CULPRITS[kind]) for i in range(RUNS)) for kind in WHICH}
    for kind, count in counts.items():
        print(f"{kind}: {CULPRITS[kind].function}() is named in {count} of {RUNS}")
    return 0 if set(counts.values()) == {RUNS} else 1


sys.exit(main())
