# SPDX-License-Identifier: GPL-2.0-only
"""The compiled tests of the suite unit in a guest. QEMU's user mode, in which tests/fresh/run has
the whole suite of another architecture, lacks what some of them need.

usage: unit_suite.py BUILD"""
import json
import os
import pathlib
import subprocess
import sys
import time

import guest

BUILD = pathlib.Path(sys.argv[1])
# A guest is so many times slower than this machine, at most.
SLOWER = 40


def tests():
    """Those of meson."""
    for test in json.loads((BUILD / "meson-info/intro-tests.json").read_text()):
        is_compiled = pathlib.Path(test["cmd"][0]).name.startswith("test-")
        if "perf-poke:unit" in test["suite"] and is_compiled:
            yield test


def run(test):
    """The result, and what it printed"""
    try:
        ran = subprocess.run(test["cmd"], cwd=BUILD, env={**os.environ, **test["env"]},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, text=True, errors="replace",
                             timeout=SLOWER * test["timeout"], check=False)
    except subprocess.TimeoutExpired as error:
        return "timeout", error.stdout.decode(errors="replace") if error.stdout else ""
    except OSError as error:
        return "failed", str(error)
    return {0: "passed", 77: "skipped"}.get(ran.returncode, "failed"), ran.stdout


results = {"passed": [], "skipped": [], "failed": [], "timeout": []}
for each in tests():
    begin = time.monotonic()
    result, printed = run(each)
    results[result].append(each["name"])
    print(f"{result:8} {time.monotonic() - begin:6.1f} s {each['name']}", flush=True)
    if result != "passed":
        print(printed[-3000:], flush=True)
print(", ".join(f"{len(names)} {result}" for result, names in results.items()))
guest.check(results["passed"], "no test passed")
guest.check(not results["failed"] and not results["timeout"],
            f"failed: {' '.join(results['failed'] + results['timeout'])}")
