# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl selftest on the simulated PMU: only the culprit fails, as the PMU traces a program
of its own. The archive has the evidence. A ring that does not reach back to the spike is reported.
Without that PMU, all is well.

usage: selftest.py PERF_POKE_CTL"""
import json
import pathlib
import subprocess
import sys

import capture
import guest
from guest import check, equal

CTL, = sys.argv[1:]
BUFFER = 128 << 10
# An emulated machine makes timers late by more than the usual threshold.
OPTIONS = ["--json", "--threshold", "20ms", "--delivery", "relay"]
NOT_NAMED = ["culprit", "perf"]
ATTEMPTS = 3


def selftest(output, *options):
    """The rows, and the folder with what was archived."""
    folder = pathlib.Path("/tmp", output)
    folder.mkdir()
    archive = folder / "archive.tar.zst"
    has_pt = guest.HAS_PTSIM
    # On a busy host other timers of the guest take the captures.
    for _ in range(1 if has_pt else ATTEMPTS):
        out = subprocess.run([CTL, "selftest", *OPTIONS, "--force", "-o", archive, *options],
                             capture_output=True, text=True, check=False)
        print(out.stdout, flush=True)
        if not out.returncode:
            break
    equal((out.returncode, out.stderr), (int(has_pt), ""), "exit status, and what is said")
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    equal((lines[-1]["ok"], lines[-1]["intel_pt"]), (not has_pt, has_pt), "the result")
    with subprocess.Popen(["zstd", "-dcq", archive], stdout=subprocess.PIPE) as zstd:
        subprocess.run(["tar", "-xf", "-", "-C", folder], stdin=zstd.stdout, check=True)
    return lines[:-1], folder / "perf-poke-selftest"


def wrong(row):
    return [name for name, verdict in row["checks"].items() if verdict["ok"] is False]


def check_ring(folder):
    """perf.data has the end of the ring."""
    about = json.loads((folder / "capture.json").read_text())
    if about["recorder"]["kind"] != "pt" or about["recorder"]["freeze"] == "sample":
        return 0
    trace, = about["recorder"]["traces"]
    ring = (folder / f"ring.cpu{trace['cpu']}").read_bytes()
    equal(len(ring), BUFFER, "bytes of the ring")
    check(ring[-trace["bytes"]:] in (folder / "perf.data/data").read_bytes(),
          f"{folder}: perf.data is not of its ring")
    return 1


def only_the_culprit_is_missing():
    rows, folder = selftest("all", "--buffer", str(BUFFER))
    equal([row["freeze"] for row in rows], [*capture.ways(), None], "ways to freeze")
    for row in rows:
        equal(wrong(row), NOT_NAMED if row["recorder"] == "pt" else [],
              f"what is wrong with {row['freeze']}")
    rings = sum(check_ring(one.parent) for one in folder.glob("*/capture.json"))
    equal(rings, 2 * max(0, len(rows) - 2), "rings in the archive")


def sees_a_ring_that_is_too_small():
    guest.set_parameter("bytes_per_sec", 10000000)
    rows, _ = selftest("small", "--buffer", "16K", "--recorder", "pt", "--freeze",
                       capture.ways()[0])
    check("history" in wrong(rows[0]), "a ring that is too small is not seen")


capture.load()
only_the_culprit_is_missing()
if guest.HAS_PTSIM:
    sees_a_ring_that_is_too_small()
