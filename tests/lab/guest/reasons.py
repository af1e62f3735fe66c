# SPDX-License-Identifier: GPL-2.0-only
"""The table of reasons on this kernel: see tests/reasons.

usage: reasons.py PERF_POKE_CTL LATE_REQUEST LATE [ARGUMENTS OF tests/reasons/reasons.py]"""
import os
import pathlib
import subprocess
import sys

import guest
import ptemu

guest.need_root()
if ptemu.LOGS.is_dir():
    ptemu.load()
ctl, late_request, late = sys.argv[1:4]
script = pathlib.Path(__file__).resolve().parents[2] / "reasons/reasons.py"
env = {
    **os.environ, "PERF_POKE_CTL": ctl, "PERF_POKE_LATE_REQUEST": late_request,
    "PERF_POKE_LATE": late, "PYTHONDONTWRITEBYTECODE": "1"
}
# The lab's --disk
if os.path.ismount("/mnt"):
    env["TMPDIR"] = "/mnt"
arguments = sys.argv[4:] or ["--count", "2", "--single", "--cpu", str(guest.CPU)]
sys.exit(subprocess.run([sys.executable, script, *arguments], env=env, check=False).returncode)
