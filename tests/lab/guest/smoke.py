# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke works on this kernel: `check` passes, an interrupt that makes a timer late is captured
and named by `report`, and with Intel PT a capture with each freeze is whole.

usage: smoke.py PERF_POKE_CTL LATE"""
import contextlib
import json
import os
import subprocess
import sys

import capture
import guest
from guest import check, equal

CTL, LATE = sys.argv[1:]
# examples/late spins in an interrupt from another CPU. That of x86, and of arm64
CULPRITS = ("call_function_single", "call_function")
CAPTURES = 3
# A guest on a busy host is late by tens of milliseconds.
THRESHOLD_US, LATE_US = 60000, 100000


def ctl(*args):
    result = subprocess.run([CTL, *args], capture_output=True, text=True, check=False)
    equal(result.returncode, 0, f"exit status of {args} ({result.stderr[-500:]})")
    return result.stdout


def report(one):
    return json.loads(ctl("report", one.folder, "--json", "--top", "1000"))


@contextlib.contextmanager
def interrupted():
    """A busy CPU with a long interrupt now and then"""
    cpu = str(guest.CPU)
    with subprocess.Popen(["taskset", "-c", cpu, "sh", "-c", "while :; do :; done"]) as busy, \
            subprocess.Popen([LATE, cpu, str(LATE_US), "300"]) as late:
        try:
            yield
        finally:
            late.kill()
            busy.kill()


def names_the_culprit():
    """With the recorder events."""
    taken = capture.take(CTL, "/tmp/smoke_events", count=CAPTURES, buffer="256K",
                         late=interrupted(), recorder="events", threshold_us=THRESHOLD_US)
    causes = [report(one)["cause"] for one in taken]
    print(f"causes: {[(cause['kind'], cause['name']) for cause in causes]}")
    check(any(cause["kind"] == "interrupt" and cause["name"] in CULPRITS for cause in causes),
          f"no report names one of {CULPRITS}")


def holds(way):
    one = capture.take(CTL, f"/tmp/smoke_{way}", "--freeze", way)[0]
    equal(one.json["recorder"]["freeze"], way, "freeze")
    iterations = guest.check_whole_iterations(one.decoded())
    functions = {row["name"] for row in report(one)["functions"]}
    check({"ptsim_main", "ptsim_leaf"} <= functions, f"functions: {functions}")
    print(
        f"{way}: {iterations} iterations, skid {one.line['skid_ns'] / 1000:.0f} us, then executed "
        f"{report(one)['after_spike']}"
    )


capture.load()
told = ctl("check")
print(told)
rows = {line.split(" ")[0] for line in told.splitlines()}
# CoreSight is arm64's, TSC and Intel PT are x86's.
equal({"cs_etm", "tsc"} & rows, {"tsc"} if os.uname().machine == "x86_64" else {"cs_etm"}, "rows")
names_the_culprit()
for freeze in capture.ways():
    holds(freeze)
