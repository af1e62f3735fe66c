# SPDX-License-Identifier: GPL-2.0-only
"""The parts of the suite host that an emulated machine can show, on this kernel: the trigger, exact
numbers of captures, stock perf as their reader, the library in a foreign program, sessions that
others see, what programs report. Parts that are named last run alone."""
import json
import os
import pathlib
import subprocess
import sys
import time

import guest

PARTS = [
    "trigger", "oneshot", "capture", "embed", "sessions", "report_late", "marker", "event", "span",
    "interruption", "stacks", "moved", "perf_pid", "archive", "endings", "detach", "fulldisk",
    "kills", "python", "script"
]


def tests(build):
    """Those of meson by their names, with the programs that they run in their environment"""
    listed = json.loads((build / "meson-info/intro-tests.json").read_text())
    return {test["name"]: test for test in listed if "perf-poke:host" in test["suite"]}


def run(test):
    script = next(part for part in test["cmd"] if part.endswith(".py"))
    begin = time.monotonic()
    code = subprocess.run([sys.executable, script], check=False,
                          env={**os.environ, **test["env"], "PERF_POKE_EMULATED": "1"}).returncode
    print(f"{test['name']}: {code} in {time.monotonic() - begin:.0f} s", flush=True)
    return code in (0, 77)


guest.need_root()
build = pathlib.Path(sys.argv[1])
known = tests(build)
failed = [part for part in sys.argv[2:] or PARTS if not run(known[part])]
guest.equal(failed, [], "parts that failed")
