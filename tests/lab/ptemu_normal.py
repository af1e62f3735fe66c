#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A function that the timer's normal activations do not have makes it late: report --normal names
it by the activations before, in the same trace.

usage: ptemu_normal.py KERNEL SECONDS PERF_POKE_CTL

Runs guest/ptemu_normal.py in a guest and reads here what it captured. $PTEMU_RUNS is how often
each; $PTEMU_KEEP, a folder for captures that fail."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

KERNEL, SECONDS, CTL = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
RUNS = int(os.environ.get("PTEMU_RUNS", "1"))
KEEP = os.environ.get("PTEMU_KEEP")
# What is added
CULPRITS = {"irqs_off": "late_timer_irqs_off", "call": "late_timer_called",
            "softirqs": "late_timer_tasklet", "syscall": "late_timer_syscall",
            "preempt_off": "late_timer_preempt_off"}

failed = []


def fail(message, *folders):
    print(f"FAILED: {message}", flush=True)
    failed.append(message)
    for folder in folders if KEEP else []:
        shutil.copytree(folder, pathlib.Path(KEEP) / folder.name, dirs_exist_ok=True)


def ctl(*argv):
    ran = subprocess.run([CTL, *argv, "--json"], capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"FAILED: {' '.join(map(str, argv))}: {ran.stderr}")
    return ran.stdout


def check_normal(folder, function):
    normal = json.loads(ctl("report", folder, "--normal"))["normal"]
    most = normal.get("most") or {"name": None, "callers": []}
    chain = [name for name in (most["name"], *most["callers"]) if name]
    print(f"{folder.name}: {normal['activations']} normal activations, "
          f"{normal.get('more_ns')} ns more, {' < '.join(chain)}", flush=True)
    if function not in chain:
        fail(f"{folder.name}: {function} is not what is added", folder)


def folders_of(scratch, kind, count):
    folders = sorted(pathlib.Path(scratch).glob(f"{kind}:*"))
    if len(folders) != count:
        fail(f"{len(folders)} captures of {kind}, not {count}")
    return folders


with tempfile.TemporaryDirectory(prefix="perf-poke-normal-") as scratch_folder:
    guest = subprocess.run(
        [HERE / "run-test", KERNEL, SECONDS, "python3", HERE / "guest/ptemu_normal.py", CTL,
         str(RUNS), *CULPRITS], check=False,
        env={**os.environ, "LAB_OPTIONS": f"--pt emulated --icount 0 --scratch {scratch_folder}"})
    if guest.returncode:
        sys.exit(guest.returncode)
    for culprit, added in CULPRITS.items():
        for spike in folders_of(scratch_folder, culprit, RUNS):
            check_normal(spike, added)
sys.exit(1 if failed else 0)
