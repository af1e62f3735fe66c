# SPDX-License-Identifier: GPL-2.0-only
"""Leaves captures of timers and threads that are late on purpose for ../ptemu_report.py.

usage: ptemu_report.py PERF_POKE_CTL RUNS KIND:TRIGGER... in a guest with --pt emulated; KIND is a file of late_timer. Captures are KIND0
and so on in the scratch folder."""
import pathlib
import shutil
import sys

import capture
import common
import ptemu

CTL, RUNS = sys.argv[1], int(sys.argv[2])
# Of one session: they are all in memory until it ends.
AT_ONCE = 5
# Under --icount a microsecond is as many instructions as on hardware.
capture.THRESHOLD_US, LATE_US = 200, 300


def take(kind, trigger):
    made = session = 0
    while made < RUNS:
        late, output = ptemu.Late(kind, LATE_US), pathlib.Path(f"/tmp/{kind}_{session}")
        session += 1
        for one in capture.take(CTL, output, "--trigger", trigger, buffer="256K", count=min(AT_ONCE, RUNS - made), late=late):
            if late.made(one):
                shutil.copytree(one.folder, ptemu.SCRATCH / f"{kind}{made}")
                made += 1
        shutil.rmtree(output)


ptemu.load()
common.load("late_timer")
for what in sys.argv[3:]:
    take(*what.split(":"))
common.equal(common.counter("unexplained"), 0, "steps that no packet tells")
