# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl selftest with emulated Intel PT: all is well, and the function that made timers
late is named in a trace of what the guest's CPU truly executed. One way to freeze and one delivery,
for all of it is emulated, instruction by instruction.

usage: ptemu_selftest.py PERF_POKE_CTL, in a guest with --pt emulated and --icount"""
import json
import os
import subprocess
import sys

import guest
import ptemu
from guest import check, equal

CTL, = sys.argv[1:]
OPTIONS = [
    "--recorder", "pt", "--freeze", "signal", "--delivery", "relay", "--cpu",
    str(guest.CPU), "--buffer", "256K"
]
# In which there is no perf: to decode by it takes several times as long as all the rest.
NO_PERF = "/tmp"

ptemu.load()
out = subprocess.run([CTL, "selftest", "--json", *OPTIONS], capture_output=True, text=True,
                     check=False, env={**os.environ, "PATH": NO_PERF})
print(out.stdout, flush=True)
equal((out.returncode, out.stderr), (0, ""), "exit status, and what is said")
row, result = [json.loads(line) for line in out.stdout.splitlines()]
check(result["ok"], "not all is well")
for name, verdict in row["checks"].items():
    equal(verdict["ok"], None if name == "perf" else True, name)
equal(guest.counter("unexplained"), 0, "steps that no packet tells")
