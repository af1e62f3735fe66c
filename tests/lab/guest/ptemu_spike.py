# SPDX-License-Identifier: GPL-2.0-only
"""What perf-poke is for: a timer or its thread is late because of a function, and the capture names it.

usage: ptemu_spike.py PERF_POKE_CTL, in a guest with --pt emulated; $PTEMU_RUNS is how often, $PTEMU_WAYS by which --freeze,
$PTEMU_CULPRITS because of what (irqs_off softirqs syscall)"""
import collections
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time

import capture
import common
import ptemu
from common import check, equal

CTL = sys.argv[1]
RUNS = int(os.environ.get("PTEMU_RUNS", "1"))
CULPRITS = os.environ.get("PTEMU_CULPRITS", "irqs_off").split()
FOLDER = pathlib.Path("/sys/kernel/debug/late_timer")
CLOCK = {"ktime_get_mono_fast_ns", "read_tsc"}
TASKLETS = 8
CLOCK_SLACK_NS = 2000
AUXTRACE_INFO = 70
TIMER = "asm_sysvec_apic_timer_interrupt"
# A sample is too small for what happens in so long a time here.
WAYS = os.environ.get("PTEMU_WAYS", " ".join(way for way in capture.ways() if way != "sample")).split()


Line = collections.namedtuple("Line", "flags symbol time")


def script(one):
    """The lines from well before the culprit on."""
    out = subprocess.run([CTL, "script", str(one.folder), "--quiet", "--window", f"{3 * capture.INJECTED_US}us"],
                         capture_output=True, text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), "result of script")
    equal(re.findall(r"^.*instruction trace error.*$", out.stdout, re.M), [], "errors of the decoder")
    lines = re.findall(r"^.*?\[00\d\] +(\d+\.\d+): +([a-z][a-z ]*?) {2,}(\S+)", out.stdout, re.M)
    return [Line(flags, symbol, int(time.replace(".", ""))) for time, flags, symbol in lines]


def position(lines, flags, symbol, begin=0):
    found = next((i for i in range(begin, len(lines)) if lines[i].flags == flags and re.fullmatch(symbol, lines[i].symbol)), None)
    check(found is not None, f"no {flags} of {symbol} after line {begin} of {len(lines)}: {lines[-30:]}")
    return found


def began(lines, begin, end):
    """What was called or came from begin to end."""
    return {line.symbol for line in lines[begin:end] if line.flags in ("hw int", "iret", "syscall", "call")}


def irqs_off(lines):
    """Nothing else runs while the culprit holds interrupts off; then comes the timer's interrupt."""
    culprit = position(lines, "call", "late_timer_irqs_off")
    spin = position(lines, "call", "late_timer_spin", culprit)
    back = position(lines, "return", "late_timer_spin", spin)
    between = began(lines, spin, back)
    check(between <= {"late_timer_spin", *CLOCK}, f"with interrupts off there were {between}")
    return position(lines, "hw int", TIMER, back)


def kept(lines, culprit, back):
    """The timer's interrupt is in time; the thread that it wakes has its turn when the culprit is done."""
    interrupt = position(lines, "hw int", TIMER, culprit)
    check(interrupt < back, f"no interrupt of the timer from line {culprit} to {back}")
    check("__schedule" not in began(lines, culprit, back), "another task was run meanwhile")
    return position(lines, "call", "__schedule", back)


def softirqs(lines):
    """One tasklet after the other, in one go."""
    position(lines, "call", "late_timer_softirqs")
    storm = [i for i, line in enumerate(lines) if (line.flags, line.symbol) == ("call", "late_timer_tasklet")]
    equal(len(storm), TASKLETS, "tasklets")
    return kept(lines, storm[0], position(lines, "return", "late_timer_tasklet", storm[-1]))


def syscall(lines):
    """From the system call to its function, which nothing interrupts but interrupts."""
    culprit = position(lines, "call", "late_timer_syscall")
    written = [(line.flags, line.symbol) for line in lines[:culprit] if line.symbol == "vfs_write"]
    equal(written[-1:], [("call", "vfs_write")], "what it was called in")
    # It is not done yet when the thread has its turn.
    return kept(lines, culprit, position(lines, "call", r"preempt_schedule\w*", culprit))


# What is late, how report calls what it blames, and what has to be in the capture
Culprit = collections.namedtuple("Culprit", "name trigger function kind story")
STORIES = {"irqs_off": Culprit("irqs_off", "irq", "late_timer_irqs_off", "irqs_off", irqs_off),
           "softirqs": Culprit("softirqs", "thread", "late_timer_tasklet", "softirq", softirqs),
           "syscall": Culprit("syscall", "thread", "late_timer_syscall", "thread", syscall)}


def check_story(lines, way, culprit):
    """The culprit, then the timer's interrupt or its thread, then perf-poke's program, and then the trace is held."""
    program = position(lines, "call", r"bpf_prog_[0-9a-f]+_\w+", culprit.story(lines))
    end = len(lines) - 1
    check(lines[end].flags.startswith("tr end"), f"the last line is {lines[end]}")
    if way == "pause":
        pause = position(lines, "call", "perf_event_aux_pause", program)
        # Others of its programs may have looked before the one that saw the spike.
        program = max(i for i in range(program, pause) if lines[i].flags == "call" and lines[i].symbol.startswith("bpf_prog_"))
        equal([line for line in lines[program:] if re.match(r"(__)?schedule|ep_poll|x64_sys_epoll", line.symbol)], [],
              "switches of tasks after the spike")
    return end - program


def check_report(one, culprit):
    """What people read first."""
    out = subprocess.run([CTL, "report", one.folder, "--json"], capture_output=True, text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), "result of report")
    found = json.loads(out.stdout)
    print(found["sentence"], flush=True)
    equal(found["cause"]["kind"], culprit.kind, "what report blames")
    check(f"{culprit.function}()" in found["sentence"], f"{culprit.function} is not named: {found['sentence']}")


def tsc_to_perf_ns(one, tsc):
    """As perf's file says that it is done."""
    content = pathlib.Path(one.data, "data").read_bytes()
    at, _ = struct.unpack_from("<QQ", content, 40)
    while at < len(content):
        kind, _, length = struct.unpack_from("<IHH", content, at)
        if kind == AUXTRACE_INFO:
            shift, mult, zero = struct.unpack_from("<3Q", content, at + 24)
            return ((tsc * mult >> shift) + zero) % 2**64
        at += length
    return check(False, "no AUXTRACE_INFO")


def check_time(lines, one):
    """Where ptsim reads the TSC on its way to hold the trace, the trace has the same time."""
    mark = tsc_to_perf_ns(one, capture.first_after("pause", one.line["time_ns"])["tsc"])
    begin = position(lines, "call", "present", position(lines, "call", "perf_event_aux_pause"))
    end = position(lines, "return", "present", begin)
    check(lines[begin].time - CLOCK_SLACK_NS <= mark <= lines[end].time + CLOCK_SLACK_NS,
          f"the TSC was read at {mark}, in the trace from {lines[begin].time} to {lines[end].time}")
    return mark - lines[begin].time, lines[end].time - mark


class Late(capture.Late):
    """Knows when it made timers late."""

    def __init__(self, culprit):
        super().__init__()
        self.culprit, self.spans = culprit, []

    def run(self):
        if self.culprit.name == "syscall":
            os.sched_setaffinity(0, [common.CPU])
        while not self.stop.wait(self.every_s):
            begin = time.monotonic_ns()
            (FOLDER / self.culprit.name).write_text(f"{common.CPU} {capture.INJECTED_US}\n")
            self.spans.append((begin, time.monotonic_ns()))


def take(way, name, culprit):
    """A spike that was made: others are of the host, which runs something else than the guest now and then."""
    for attempt in range(5):
        late = Late(culprit)
        one = capture.take(CTL, f"/tmp/ptemu_{name}_{attempt}", "--freeze", way, "--trigger", culprit.trigger,
                           buffer="1M" if way == "pause" else "4M", late=late)[0]
        if any(begin <= one.line["time_ns"] <= end for begin, end in late.spans):
            return one
        print(f"{way}: a spike of {one.line['latency_ns'] / 1000:.0f} us that nobody made", flush=True)
    return check(False, "no spike that was made")


def spike(way, number, culprit):
    one = take(way, f"{way}_{culprit.name}{number}", culprit)
    equal(one.json["recorder"]["freeze"], way, "freeze")
    equal(one.line["trigger"], culprit.trigger, "what was late")
    lines = script(one)
    lines_after = check_story(lines, way, culprit)
    if way == "pause":
        after, before = check_time(lines, one)
        print(f"a mark of the guest is {after} ns after what the trace has before it, {before} ns before what it has after it")
        check_report(one, culprit)
    equal(common.counter("unexplained"), 0, "steps that no packet tells")
    count, _ = ptemu.instructions(one.data, one.line["time_ns"] + one.to_perf_ns)
    print(f"{way}: the {culprit.trigger} was {one.line['latency_ns'] / 1000:.0f} us late, {culprit.function} is named; after the spike "
          f"{count} instructions, {one.line['bytes_after_spike']} bytes, {lines_after} lines", flush=True)


ptemu.load()
common.load("late_timer")
for turn in range(RUNS):
    for how in WAYS:
        for who in CULPRITS:
            # What keeps a thread from running ends before a signal is there: the story is of a trace that is held at once.
            if STORIES[who].trigger == "irq" or how == "pause":
                spike(how, turn, STORIES[who])
