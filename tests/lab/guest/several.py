# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests in this guest one after another, prints their output and seconds, and fails if one
fails.

usage: several.py -- TEST [ARGUMENTS...] [-- TEST [ARGUMENTS...]]..."""
import itertools
import pathlib
import shutil
import subprocess
import sys
import time

SKIPPED = 77
MODULES = ("ptsim", "late_timer", "idle_states")


def temporary():
    return {path for folder in ("/tmp", "/var/tmp") for path in pathlib.Path(folder).iterdir()}


def run(argv):
    begin, before = time.monotonic(), temporary()
    status = subprocess.run([sys.executable, *argv], stderr=subprocess.STDOUT,
                            check=False).returncode
    result = {0: "OK", SKIPPED: "SKIPPED"}.get(status, f"FAILED ({status})")
    print(f"== {pathlib.Path(argv[0]).stem}: {result}, {time.monotonic() - begin:.0f} s\n",
          flush=True)
    for module in MODULES:
        if pathlib.Path("/sys/module", module).exists():
            subprocess.run(["rmmod", module], check=False)
    # Writes stay in the guest's memory, while the host's files may change.
    for path in temporary() - before:
        shutil.rmtree(path, ignore_errors=True)
    return status


tests = [
    list(words) for is_end, words in itertools.groupby(sys.argv[1:], lambda word: word == "--")
    if not is_end
]
results = [run(argv) for argv in tests]
sys.exit(1 if set(results) - {0, SKIPPED} else min(results))
