# SPDX-License-Identifier: GPL-2.0-only
"""Takes captures with Intel PT of user code and kernel, and with events; archives them, and stores
what commands show of them here, for comparison elsewhere.

usage: bundle_take.py PERF_POKE_CTL FOLDER PROGRAMS, in a guest with --pt emulated"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import guest
import ptemu

CTL, FOLDER, PROGRAMS = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import bundle  # noqa: E402  # pylint: disable=wrong-import-position

HERE = pathlib.Path("/var/tmp/taken")
RECORDERS = {
    "pt": ["--recorder", "pt", "-e", "intel_pt/cyc/", "--buffer", "32K"],
    "events": ["--recorder", "events", "--buffer", "64K"]
}


def take(name):
    # The first timer is late enough; until then the program ran.
    argv = [
        CTL, "start", "--json", "--cpu",
        str(guest.CPU), "--threshold", "1us", "--function", "hrtimer_wakeup", "--workload",
        "cyclic", "--period", "20ms", "--duration", "100s", "--output", HERE / "captures",
        *RECORDERS[name]
    ]
    lines = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    taken = next(line for line in map(json.loads, lines) if line["type"] == "capture")
    guest.check(taken["error"] is None, f"the capture failed: {taken}")
    os.rename(taken["path"], HERE / name)
    subprocess.run([CTL, "archive", HERE / name, "-o", FOLDER / f"{name}.tar.zst"], check=True)
    bundle.save(bundle.shown(CTL, HERE, name), FOLDER / "here", name)


HERE.mkdir()
ptemu.load()
shutil.copytree(PROGRAMS, bundle.PROGRAM)
with subprocess.Popen(["taskset", "-c", str(guest.CPU), bundle.PROGRAM / "acme"]) as acme:
    try:
        for recorder in bundle.NAMES:
            take(recorder)
    finally:
        acme.kill()
