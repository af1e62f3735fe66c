# SPDX-License-Identifier: GPL-2.0-only
"""Makes timers and threads late by a function of a known name, and leaves what perf-poke captures to ../ptemu_spike.py.

usage: ptemu_spike.py PERF_POKE_CTL RUNS WAYS CULPRITS in a guest with --pt emulated --icount; the last two are lists with commas. A
capture goes to a folder of its name in the scratch folder, with facts.json beside it."""
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import time

import capture
import common
import ptemu
from common import check, equal

CTL, RUNS = sys.argv[1], int(sys.argv[2])
WAYS, CULPRITS = (word.split(",") for word in sys.argv[3:])
# Under --icount a microsecond is as many instructions as on hardware.
capture.THRESHOLD_US, LATE_US = 200, 300
FOLDER = pathlib.Path("/sys/kernel/debug/late_timer")
MARKED_CPUS, MARKS = [0, 1], 50
TRIGGERS = {"irqs_off": "irq", "softirqs": "thread", "syscall": "thread"}


class Late(capture.Late):
    """Knows when it made timers late."""

    def __init__(self, culprit, late_us=LATE_US):
        # Of so short delays, one in ten makes a timer late enough.
        super().__init__(every_s=0.02, late_us=late_us)
        self.culprit, self.spans = culprit, []

    def run(self):
        if self.culprit == "syscall":
            os.sched_setaffinity(0, [common.CPU])
        while not self.stop.wait(self.every_s):
            begin = time.monotonic_ns()
            (FOLDER / self.culprit).write_text(f"{common.CPU} {self.late_us}\n")
            self.spans.append((begin, time.monotonic_ns()))


class Marks(Late):
    """Notes CLOCK_MONOTONIC on both CPUs at once, where the trace tells it too, and then makes a timer late."""

    def __init__(self):
        # At once, as the ring goes round
        super().__init__("irqs_off", late_us=2000)
        self.times = {}

    def run(self):
        readers = {cpu: multiprocessing.Process(target=self.read, args=[cpu]) for cpu in MARKED_CPUS}
        for reader in readers.values():
            reader.start()
        for reader in readers.values():
            reader.join()
        self.times = {cpu: [int(word) for word in self.file(cpu).read_text().split()] for cpu in MARKED_CPUS}
        super().run()

    @staticmethod
    def file(cpu):
        return pathlib.Path(f"/tmp/marks{cpu}")

    def read(self, cpu):
        os.sched_setaffinity(0, [cpu])
        marks = []
        while len(marks) < MARKS:
            time.sleep(0.0005)
            marks.append((FOLDER / "mark").read_text())
        self.file(cpu).write_text("".join(marks))


def marks():
    """What says which time it was on two CPUs that are traced at once."""
    late = Marks()
    one = capture.take(CTL, "/tmp/marks", "--freeze-all", buffer="1M", cpu=",".join(map(str, MARKED_CPUS)), late=late)[0]
    equal([trace["cpu"] for trace in one.json["recorder"]["traces"]], MARKED_CPUS, "traces in the capture")
    save("marks", one, {"way": "marks", "marks": late.times})


def save(name, one, facts):
    shutil.move(one.folder, ptemu.SCRATCH / name)
    (ptemu.SCRATCH / f"{name}.json").write_text(json.dumps({**facts, "line": one.line, "to_perf_ns": one.to_perf_ns}))


def spike(way, culprit, turn):
    late = Late(culprit)
    name = f"{way}_{culprit}{turn}"
    one = capture.take(CTL, f"/tmp/{name}", "--freeze", way, "--trigger", TRIGGERS[culprit], buffer="256K", late=late)[0]
    equal(one.json["recorder"]["freeze"], way, "freeze")
    equal(one.line["trigger"], TRIGGERS[culprit], "what was late")
    made = [span for span in late.spans if span[0] <= one.line["time_ns"] <= span[1]]
    check(made, f"{name}: a spike of {one.line['latency_ns']} ns that nobody made: {one.line}, {late.spans}")
    held = capture.first_after("pause", one.line["time_ns"])["tsc"] if way == "pause" else None
    save(name, one, {"way": way, "culprit": culprit, "held_tsc": held})
    print(f"{name}: {one.line['latency_ns']} ns late", flush=True)


ptemu.load()
common.load("late_timer")
for number in range(RUNS):
    for how in WAYS:
        for who in CULPRITS:
            # What keeps a thread from running ends before a signal is there: the story is of a trace that is held at once.
            if how == "pause" or TRIGGERS[who] == "irq":
                spike(how, who, number)
marks()
equal(common.counter("unexplained"), 0, "steps that no packet tells")
