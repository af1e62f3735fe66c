# SPDX-License-Identifier: GPL-2.0-only
"""Runs the suite pt on the simulated PMU, to test the tests; says nothing about hardware. Without a
PMU they skip.

usage: pt_suite.py PERF_POKE_CTL LATE EMBED"""
import os
import pathlib
import subprocess
import sys

import capture
import guest

PARTS = ["selftest", "sessions"]

guest.need_root()
ctl, late, embed = sys.argv[1:]
folder = pathlib.Path(__file__).resolve().parents[2] / "pt"
env = {
    **os.environ, "PERF_POKE_CTL": ctl, "PERF_POKE_LATE": late, "PERF_POKE_EMBED": embed,
    "PERF_POKE_EMULATED": "1", "PERF_POKE_PT_SIMULATED": "1", "PYTHONDONTWRITEBYTECODE": "1"
}


def status_of(part):
    return subprocess.run([sys.executable, folder / f"{part}.py"], env=env, check=False).returncode


guest.equal([status_of(part) for part in PARTS], [77, 77], "exit status of the parts without a PMU")
capture.load()
guest.equal([status_of(part) for part in PARTS], [0, 0], "exit status of the parts")
