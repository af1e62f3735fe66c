# SPDX-License-Identifier: GPL-2.0-only
"""The suite unit of a build in a guest: the only place where all of a build for another
architecture runs, as QEMU's user mode lacks some system calls.

usage: unit_suite.py BUILD [NAME...]; the names are prefixes; without any, all but those that fuzz
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import guest

BUILD, NAMES = pathlib.Path(sys.argv[1]), tuple(sys.argv[2:])
# A guest is so many times slower than this machine, at most.
SLOWER = 40
FUZZES = re.compile(r"fuzz-(?!.*-corpus$)")


def tests():
    """Those of meson."""
    for test in json.loads((BUILD / "meson-info/intro-tests.json").read_text()):
        wanted = test["name"].startswith(NAMES) if NAMES else not FUZZES.match(test["name"])
        if "perf-poke:unit" in test["suite"] and wanted:
            yield test


def run(test):
    """The result, and what it printed"""
    program, *words = test["cmd"]
    if pathlib.Path(program).name.startswith("python"):
        program = sys.executable
    try:
        ran = subprocess.run([program, *words], cwd=BUILD, env={**os.environ, **test["env"]},
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
