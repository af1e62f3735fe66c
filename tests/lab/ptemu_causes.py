#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A confusion matrix of causes made in guests: captures of one have the same fingerprint by each
recorder (events, emulated Intel PT, and ftrace), on each kernel and in each boot; no two causes
share one; and a new cause is told from known ones.

usage: ptemu_causes.py KERNEL,... SECONDS PERF_POKE_CTL USER_LOOP

Runs guest/ptemu_causes.py in a guest for each kernel and seed, and reads here what these captured.
$PTEMU_RUNS is how often each recorder takes each cause in a guest, $PTEMU_SEEDS how many guests
each kernel has. $PTEMU_KEEP is a folder for the captures: guests that left theirs there already are
not run again."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

KERNELS, SECONDS, CTL, USER_LOOP = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
RUNS, SEEDS = (os.environ.get(name, "1") for name in ("PTEMU_RUNS", "PTEMU_SEEDS"))
CAUSES = ("irqs_off", "call", "hrtimer", "user", "preempt_off", "syscall")
# In a real-time kernel threads come before softirqs.
NEW, NOT_RT = "softirqs", [kernel for kernel in KERNELS.split(",") if "rt" not in kernel]

failed = []


def fail(message):
    print(f"FAILED: {message}", flush=True)
    failed.append(message)


def ctl(*argv, code=0):
    ran = subprocess.run([CTL, *argv, "--json"], capture_output=True, text=True, check=False)
    if ran.returncode != code:
        fail(f"{argv[0]}: exit status {ran.returncode}, not {code}: {ran.stderr}")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def take(folder, kernel, seed):
    """Runs a guest, if there is none of its captures."""
    if folder.exists():
        return
    half = folder.with_name(f"{folder.name}.half")
    half.mkdir(parents=True)
    causes = (*CAUSES, NEW) if kernel in NOT_RT else CAUSES
    guest = subprocess.run(
        [HERE / "run-test", kernel, SECONDS, "python3", HERE / "guest/ptemu_causes.py", CTL,
         USER_LOOP, RUNS, str(seed), *causes], check=False,
        env={**os.environ, "LAB_OPTIONS": f"--pt emulated --icount 0 --scratch {half}"})
    if guest.returncode:
        sys.exit(guest.returncode)
    half.rename(folder)


def show(matrix):
    """A row for each cause, recorder and kernel; a column for each fingerprint."""
    columns = sorted({found for row in matrix.values() for found in row})
    for number, found in enumerate(columns):
        print(f"{chr(ord('A') + number)}: {found}")
    print(f"{'':32}", *(f"{chr(ord('A') + number):>3}" for number in range(len(columns))))
    for cell, row in sorted(matrix.items()):
        print("{:12} {:8} {:10}".format(*cell), *(f"{row[found] or '.':>3}" for found in columns))


def check_cells(matrix):
    """The most frequent fingerprint of a cause is the same everywhere, and of this cause alone."""
    causes = collections.defaultdict(set)
    for (cause, *_), row in matrix.items():
        causes[cause].add(row.most_common(1)[0][0])
    for cause, found in causes.items():
        if len(found) != 1:
            fail(f"{cause}: {len(found)} fingerprints: {', '.join(sorted(found))}")
    all_found = [found for each in causes.values() for found in each]
    if len(set(all_found)) != len(all_found):
        fail("causes share a fingerprint")


def check_causes(known, new, scratch):
    """As `causes` groups and tells them"""
    file = scratch / "known.json"
    file.unlink(missing_ok=True)
    *groups, _ = ctl("causes", *known, "--save", file)
    for group in groups:
        print(f"causes: {group['count']:4} {group['fingerprint']}")
    if len(groups) != len(CAUSES):
        fail(f"{len(groups)} causes, not {len(CAUSES)}")
    ctl("causes", *known, "--known", file)
    if NOT_RT:
        lines = ctl("causes", *known, *new, "--known", file, code=4)
        states = [line["fingerprint"] for line in lines if line.get("state") == "new"]
        print(f"causes: new is {', '.join(states)}", flush=True)
        if len(states) != 1:
            fail(f"{len(states)} new causes, not one")


def main(scratch):
    matrix, folders = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    for kernel in KERNELS.split(","):
        for seed in range(int(SEEDS)):
            taken = scratch / f"{kernel}-{seed}"
            take(taken, kernel, seed)
            for folder in sorted(taken.glob("*:*")):
                cause, recorder, _ = folder.name.split(":")
                found, = ctl("report", folder)
                matrix[cause, recorder, kernel][found["fingerprint"]["id"]] += 1
                folders[cause == NEW].append(folder)
    show(matrix)
    check_cells(matrix)
    check_causes(folders[False], folders[True], scratch)


if "PTEMU_KEEP" in os.environ:
    main(pathlib.Path(os.environ["PTEMU_KEEP"]))
else:
    with tempfile.TemporaryDirectory(prefix="perf-poke-causes-") as scratch_folder:
        main(pathlib.Path(scratch_folder))
sys.exit(1 if failed else 0)
