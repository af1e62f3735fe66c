# SPDX-License-Identifier: GPL-2.0-only
"""The parts of the suite host that an emulated machine can show, on this kernel: the trigger, exact
numbers of captures, stock perf as their reader, the library in a foreign program, sessions that
others see, what programs report. Parts that are named last run alone."""
import os
import pathlib
import subprocess
import sys

import guest

PARTS = [
    "trigger", "oneshot", "capture", "embed", "sessions", "report_late", "marker", "event", "span",
    "interruption"
]

guest.need_root()
ctl, late, embed, library, loop, reporter, spanned, broken = sys.argv[1:9]
folder = pathlib.Path(__file__).resolve().parents[2] / "host"
env = {
    **os.environ, "PERF_POKE_CTL": ctl, "PERF_POKE_LATE": late, "PERF_POKE_EMBED": embed,
    "PERF_POKE_LIBRARY": library, "PERF_POKE_LOOP": loop, "PERF_POKE_REPORTER": reporter,
    "PERF_POKE_SPANNED": spanned, "PERF_POKE_BROKEN_LIBRARY": broken, "PERF_POKE_EMULATED": "1",
    "PYTHONDONTWRITEBYTECODE": "1"
}
failed = [
    part for part in sys.argv[9:] or PARTS
    if subprocess.run([sys.executable, folder / f"{part}.py"], env=env, check=False).returncode
]
guest.equal(failed, [], "parts that failed")
