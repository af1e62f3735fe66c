# SPDX-License-Identifier: GPL-2.0-only
"""Makes timers and threads late by functions of known names, and leaves what perf-poke captures to
../ptemu_spike.py.

usage: ptemu_spike.py PERF_POKE_CTL RUNS WAY:CULPRIT[:CULPRIT...]... in a guest with --pt emulated
--icount; CULPRIT is a file of late_timer. A capture goes to a folder of its name in the scratch
folder, with NAME.json beside it."""
import collections
import glob
import itertools
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import time

import capture
import guest
import ptemu
from guest import equal

CTL, RUNS = sys.argv[1], int(sys.argv[2])
# Under --icount a microsecond is as many instructions as on hardware.
LATE_US, THRESHOLD_US = 300, 200
# The kernel holds interrupts off for 400 us when it fills its lists of pages.
MARKS_LATE_US, MARKS_THRESHOLD_US = 2000, 1000
MARKED_CPUS, MARKS = [0, 1], 50
# What holds up the timer's interrupt. The others hold up its thread.
BEFORE_IRQ = ("irqs_off", "call")


class Marks(ptemu.Late):
    """Notes CLOCK_MONOTONIC on both CPUs at once, where the trace tells it too, and then makes a
    timer late."""

    def __init__(self):
        # At once, as the ring goes round
        super().__init__(late_us=MARKS_LATE_US)
        self.times = {}

    def run(self):
        readers = {
            cpu: multiprocessing.Process(target=self.read, args=[cpu]) for cpu in MARKED_CPUS
        }
        for reader in readers.values():
            reader.start()
        for reader in readers.values():
            reader.join()
        self.times = {
            cpu: [int(word) for word in self.file(cpu).read_text().split()] for cpu in MARKED_CPUS
        }
        super().run()

    @staticmethod
    def file(cpu):
        return pathlib.Path(f"/tmp/marks{cpu}")

    def read(self, cpu):
        os.sched_setaffinity(0, [cpu])
        marks = []
        while len(marks) < MARKS:
            time.sleep(0.0005)
            marks.append((ptemu.LATE / "mark").read_text())
        self.file(cpu).write_text("".join(marks))


def marks():
    """What says which time it was on two CPUs that are traced at once."""
    late = Marks()
    # A ring of 1M has lost most marks when it is stopped.
    one = capture.take(CTL, "/tmp/marks", "--freeze-all", buffer="4M",
                       cpu=",".join(map(str, MARKED_CPUS)), late=late,
                       threshold_us=MARKS_THRESHOLD_US)[0]
    equal([trace["cpu"] for trace in one.json["recorder"]["traces"]], MARKED_CPUS,
          "traces in the capture")
    save("marks", one, {"marks": late.times})


def save(name, one, facts):
    shutil.move(one.folder, ptemu.SCRATCH / name)
    print(f"{name}: {one.line['latency_ns']} ns", flush=True)
    (ptemu.SCRATCH / f"{name}.json").write_text(
        json.dumps({**facts, "line": one.line, "to_perf_ns": one.to_perf_ns}))


def spikes(way, *culprits):
    """Sessions, until each culprit has its captures."""
    made = collections.Counter()
    for session in itertools.count():
        missing = [culprit for culprit in culprits if made[culprit] < RUNS]
        if not missing:
            return
        output = f"/tmp/{way}{session}"
        # pylint: disable-next=cell-var-from-loop
        late = ptemu.Late(*missing, late_us=LATE_US, turn=lambda: len(glob.glob(f"{output}/*")))
        for one in capture.take(CTL, output, "--freeze", way, "--trigger", "irq", "--trigger",
                                "thread", buffer="256K", count=len(missing), late=late,
                                threshold_us=THRESHOLD_US):
            equal(one.json["recorder"]["freeze"], way, "freeze")
            culprit = late.maker(one)
            # An interrupt that is nearly late enough makes its thread late.
            if culprit and made[culprit] < RUNS and (one.line["trigger"]
                                                     == "irq") == (culprit in BEFORE_IRQ):
                held = capture.first_after("pause",
                                           one.line["time_ns"])["tsc"] if way == "pause" else None
                save(f"{way}_{culprit}{made[culprit]}", one,
                     {"way": way, "culprit": culprit, "held_tsc": held})
                made[culprit] += 1
        shutil.rmtree(output)


ptemu.load()
guest.load("late_timer")
for what in sys.argv[3:]:
    spikes(*what.split(":"))
marks()
equal(guest.counter("unexplained"), 0, "steps that no packet tells")
