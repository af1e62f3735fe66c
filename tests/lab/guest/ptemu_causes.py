# SPDX-License-Identifier: GPL-2.0-only
"""Makes timers and threads late by known causes, and leaves what perf-poke captures by each
recorder to ../ptemu_causes.py.

usage: ptemu_causes.py PERF_POKE_CTL USER_LOOP RUNS SEED CAUSE... in a guest with --pt emulated
--icount; CAUSE is a file of late_timer, or `user`. The seed shuffles them. Captures go to
CAUSE:RECORDER:NUMBER in the scratch folder."""
import collections
import glob
import itertools
import random
import shutil
import subprocess
import sys

import capture
import guest
import ptemu

CTL, USER_LOOP, RUNS, SEED, CAUSES = *sys.argv[1:3], int(sys.argv[3]), sys.argv[4], sys.argv[5:]
# A capture is some megabytes of the guest's memory.
AT_ONCE = 10
BEFORE_IRQ = ("irqs_off", "call", "hrtimer")
# The threads of user_loop come before those that wait. The host is faster at finding causes.
OPTIONS = ("--workload", "cyclic", "--prio", "f:97", "--trigger", "irq", "--trigger", "thread",
           "--no-why")
# How late, the threshold in microseconds, and the ring. function_graph itself makes each timer a
# millisecond or two late.
RECORDERS = {
    "events": (300, 200, "256K"),
    "pt": (300, 200, "256K", "--freeze", "pause"),
    "ftrace": (20000, 12000, "4M")
}


class Late(ptemu.Late):
    """A program in user space, too"""

    def make(self, kind):
        if kind != "user":
            return super().make(kind)
        print(self.late_us, file=user_loop.stdin, flush=True)
        return int(user_loop.stdout.readline())


def is_of(cause, trigger):
    """An interrupt that is nearly late enough makes its thread late."""
    return cause and (trigger == "irq") == (cause in BEFORE_IRQ)


def tell(_):
    print("captured", flush=True)


def session(output, recorder, lacking):
    late_us, threshold_us, buffer, *options = RECORDERS[recorder]
    late = Late(*lacking, late_us=late_us, turn=lambda: len(glob.glob(f"{output}/*")))
    for one in capture.take(CTL, output, *OPTIONS, *options, recorder=recorder, buffer=buffer,
                            late=late, count=min(len(lacking), AT_ONCE), threshold_us=threshold_us,
                            each=tell):
        cause = late.maker(one)
        yield cause if is_of(cause, one.line["trigger"]) else None, one


def take_all(recorder):
    made = collections.Counter()
    for number in itertools.count():
        lacking = [cause for cause in CAUSES for _ in range(RUNS - made[cause])]
        if not lacking:
            return
        output = f"/tmp/{recorder}{number}"
        for cause, one in session(output, recorder, lacking):
            kept = cause and made[cause] < RUNS
            if kept:
                shutil.move(one.folder, ptemu.SCRATCH / f"{cause}:{recorder}:{made[cause]}")
                made[cause] += 1
            print(
                f"{cause or 'nobody'}, {recorder}{'' if kept else ', not kept'}: "
                f"{one.line['trigger']} "
                f"{one.line['latency_ns']} ns", flush=True)
        shutil.rmtree(output)


ptemu.load()
guest.load("late_timer")
shuffle = random.Random(SEED).shuffle
shuffle(CAUSES)
recorders = list(RECORDERS)
shuffle(recorders)
with subprocess.Popen([USER_LOOP, str(guest.CPU)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                      text=True) as user_loop:
    for each in recorders:
        take_all(each)
    user_loop.stdin.close()
