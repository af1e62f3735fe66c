# SPDX-License-Identifier: GPL-2.0-only
"""What perf-poke is for: a timer is late because of a function, and the capture names it.

usage: ptemu_spike.py PERF_POKE_CTL, in a guest with --pt emulated; $PTEMU_RUNS is how often, $PTEMU_WAYS by which --freeze"""
import collections
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
RUNS = int(os.environ.get("PTEMU_RUNS", "2"))
CULPRIT = ("late_timer_irqs_off", "late_timer_spin")
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


def check_story(lines, way):
    """The culprit, then the timer's interrupt, then perf-poke's program, and then the trace is held."""
    culprit = position(lines, "call", CULPRIT[0])
    spin = position(lines, "call", CULPRIT[1], culprit)
    back = position(lines, "return", CULPRIT[1], spin)
    # Nothing but the culprit runs while it holds interrupts off.
    between = {line.symbol for line in lines[spin:back] if line.flags in ("hw int", "iret", "syscall", "call")}
    check(between <= {*CULPRIT, "ktime_get_mono_fast_ns", "read_tsc"}, f"with interrupts off there were {between}")
    interrupt = position(lines, "hw int", TIMER, back)
    program = position(lines, "call", r"bpf_prog_[0-9a-f]+_\w+", interrupt)
    end = len(lines) - 1
    check(lines[end].flags.startswith("tr end"), f"the last line is {lines[end]}")
    if way == "pause":
        position(lines, "call", "perf_event_aux_pause", program)
        equal([line for line in lines[program:] if re.match(r"(__)?schedule|ep_poll|x64_sys_epoll", line.symbol)], [],
              "switches of tasks after the spike")
    return end - program


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
    return lines[end].time - lines[begin].time


def instructions_after(one):
    """How many the CPU still executed with the trace on when the spike had been seen: the skid, whatever the speed."""
    spike_ns = one.line["time_ns"] + one.to_perf_ns
    out = subprocess.run(["perf", "script", "-i", one.data, "--itrace=i0ns", "--ns", "-F", "ip", "--time",
                          f"{spike_ns // 10**9}.{spike_ns % 10**9:09},"], capture_output=True, text=True, check=True)
    return len(out.stdout.splitlines())


class Late(capture.Late):
    """Knows when it made timers late."""

    def __init__(self):
        super().__init__()
        self.spans = []

    def run(self):
        while not self.stop.wait(self.every_s):
            begin = time.monotonic_ns()
            capture.LATE.write_text(f"{common.CPU} {capture.INJECTED_US}\n")
            self.spans.append((begin, time.monotonic_ns()))


def take(way, name):
    """A spike that was made: others are of the host, which runs something else than the guest now and then."""
    for attempt in range(5):
        late = Late()
        one = capture.take(CTL, f"/tmp/ptemu_{name}_{attempt}", "--freeze", way, buffer="1M" if way == "pause" else "4M", late=late)[0]
        if any(begin <= one.line["time_ns"] <= end for begin, end in late.spans):
            return one
        print(f"{way}: a spike of {one.line['latency_ns'] / 1000:.0f} us that nobody made", flush=True)
    return check(False, "no spike that was made")


def spike(way, number):
    one = take(way, f"{way}{number}")
    equal(one.json["recorder"]["freeze"], way, "freeze")
    lines = script(one)
    after = check_story(lines, way)
    if way == "pause":
        print(f"a mark of the guest lies where the trace has it, within {check_time(lines, one)} ns")
    equal(common.counter("unexplained"), 0, "steps that no packet tells")
    print(f"{way}: the timer was {one.line['latency_ns'] / 1000:.0f} us late, {CULPRIT[0]} is named; after the spike "
          f"{instructions_after(one)} instructions, {one.line['bytes_after_spike']} bytes, {after} lines", flush=True)


ptemu.load()
common.load("late_timer")
for turn in range(RUNS):
    for how in WAYS:
        spike(how, turn)
