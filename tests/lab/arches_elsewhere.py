#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An archive from a guest of another architecture shows the same here, and one from here in the
guest.

usage: arches_elsewhere.py KERNEL SECONDS PERF_POKE_CTL, which is of the guest's architecture;
$PERF_POKE_HERE is that of this machine, built from the same tree"""
import os
import pathlib
import subprocess
import sys
import tempfile

import arches

KERNEL, SECONDS, CTL = *sys.argv[1:3], os.path.realpath(sys.argv[3])
LAB = pathlib.Path(__file__).resolve().parent


def guest(folder):
    ran = subprocess.run(
        [LAB / "run-test", KERNEL, SECONDS, "python3", LAB / "guest/other_arch.py", CTL, folder],
        check=False, env={**os.environ, "LAB_OPTIONS": f"--accel tcg-single --share {folder}"})
    if ran.returncode:
        sys.exit(ran.returncode)


def compare(one, other, what):
    for kind in arches.COMMANDS:
        if not one[kind] or one[kind] != other[kind]:
            sys.exit(f"FAILED: {kind} of {what}:\n{one[kind].decode()[:2000]}\n"
                     f"and elsewhere:\n{other[kind].decode()[:2000]}")


def saved(folder):
    return {kind: (folder / kind).read_bytes() for kind in arches.COMMANDS}


here = os.environ.get("PERF_POKE_HERE")
if not here or os.geteuid():
    print("skipped: needs root, and PERF_POKE_HERE=BUILD/src/ctl/perf-poke-ctl of this machine")
    sys.exit(77)
here = os.path.realpath(here)
with tempfile.TemporaryDirectory(prefix="perf-poke-arches-") as scratch:
    scratch = pathlib.Path(scratch)
    taken = scratch / "host-events.tar.zst"
    arches.take(here, scratch / "captures", taken, "--recorder", "events", "--cpu", "0")
    guest(scratch)
    for recorder in ("events", "ftrace"):
        compare(saved(scratch / f"here-{recorder}"),
                arches.shown(here, scratch / f"guest-{recorder}.tar.zst", scratch / recorder),
                f"{recorder} of the guest")
    compare(arches.shown(here, taken, scratch / "again"), saved(scratch / "there-host"),
            "events of this machine")
