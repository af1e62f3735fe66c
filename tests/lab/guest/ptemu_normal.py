# SPDX-License-Identifier: GPL-2.0-only
"""Makes timers and threads late by functions of known names, and leaves what perf-poke captures to
../ptemu_normal.py.

usage: ptemu_normal.py PERF_POKE_CTL RUNS CULPRIT... in a guest with --pt emulated
--icount; CULPRIT is a file of late_timer. Captures go to CULPRIT:NUMBER in the scratch folder."""
import collections
import glob
import itertools
import shutil
import sys

import capture
import guest
import ptemu

CTL, RUNS, CULPRITS = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
LATE_US, THRESHOLD_US = 300, 200
# Until the ring holds enough normal activations
EVERY_S = 0.03
# A capture is some megabytes of the guest's memory.
AT_ONCE = 10
BEFORE_IRQ = ("irqs_off", "call")
OPTIONS = ("--workload", "cyclic", "--freeze", "pause", "--trigger", "irq", "--trigger", "thread")


def kind_of(one, late):
    culprit = late.maker(one)
    # An interrupt that is nearly late enough makes its thread late.
    if culprit and (one.line["trigger"] == "irq") == (culprit in BEFORE_IRQ):
        return culprit
    return None


def take(output, missing):
    """Captures of one session, by what they are of"""
    def turn():
        return len(glob.glob(f"{output}/*"))

    late = ptemu.Late(*missing, late_us=LATE_US, turn=turn)
    late.every_s = EVERY_S
    for one in capture.take(CTL, output, *OPTIONS, buffer="256K", late=late,
                            count=min(len(missing), AT_ONCE), threshold_us=THRESHOLD_US):
        yield kind_of(one, late), one


ptemu.load()
guest.load("late_timer")
made = collections.Counter()
for session in itertools.count():
    lacking = [culprit for culprit in CULPRITS for _ in range(RUNS - made[culprit])]
    if not lacking:
        break
    folder = f"/tmp/normal{session}"
    for kind, taken in take(folder, lacking):
        if kind and made[kind] < RUNS:
            shutil.move(taken.folder, ptemu.SCRATCH / f"{kind}:{made[kind]}")
            print(f"{kind}: {taken.line['latency_ns']} ns", flush=True)
            made[kind] += 1
        else:
            print(f"{kind or 'nobody'}, not kept: {taken.line['trigger']} "
                  f"{taken.line['latency_ns']} ns", flush=True)
    shutil.rmtree(folder)
