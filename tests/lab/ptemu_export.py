#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl export of what a guest's CPU truly executed: every call is a slice, the stacks are those that the kernel has, and
what held interrupts off is named.

usage: ptemu_export.py KERNEL SECONDS PERF_POKE_CTL. Runs guest/ptemu_take.py in a guest; what that recorded is exported here."""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KERNEL, SECONDS, CTL = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import emulator  # noqa: E402  # pylint: disable=wrong-import-position
import fxt  # noqa: E402  # pylint: disable=wrong-import-position

LATE_NS = 27000000  # of 30 ms, by a clock that is emulated
LINE = re.compile(r" *(?P<s>\d+)\.(?P<ns>\d{9}): +(?P<flags>[a-z][a-z ]*?) +\S+ \S+ => +[0-9a-f]+ (?P<symbol>\S+)\+0x0$")
# Each of them is called by the next one.
CULPRIT = ["late_timer_irqs_off", "work_for_cpu_fn", "process_one_work", "worker_thread"]
SPIKE = ["hrtimer_interrupt", "__sysvec_apic_timer_interrupt", "sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt"]


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def equal(got, expected, message):
    check(got == expected, f"{message}: {got}, not {expected}")


def calls_of(one):
    """Times and functions that perf shows as called."""
    out = subprocess.run(["perf", "script", "-i", one / "perf.data", "--itrace=be", "--ns", "-F", "time,flags,ip,sym,symoff,addr"],
                         capture_output=True, text=True, check=True).stdout
    found = collections.Counter()
    for line in out.splitlines():
        match = LINE.fullmatch(line.rstrip())
        if match and match["flags"].split()[0] in ("call", "hw", "syscall"):
            found[int(match["s"] + match["ns"]), match["symbol"]] += 1
    check(sum(found.values()) > 1000, f"only {sum(found.values())} calls: {out[-500:]}")
    return found


def outside(slices, piece):
    """The names of those around a slice, inner ones first."""
    around = [s for s in slices if s.begin <= piece.begin and s.end >= piece.end and s.depth < piece.depth]
    return [s.name for s in sorted(around, key=lambda s: -s.depth)]


if not emulator.folders():
    print(f"skipped: no QEMU that can do it; this fetches it: {HERE}/lab qemu")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    ran = subprocess.run([HERE / "run-test", KERNEL, SECONDS, "python3", HERE / "guest/ptemu_take.py", CTL, folder], check=False,
                         env={**os.environ, "LAB_OPTIONS": f"--pt emulated --share {folder}"})
    if ran.returncode:
        sys.exit(ran.returncode)
    taken = pathlib.Path(folder) / "capture"
    result = subprocess.run([CTL, "export", taken, "-o", f"{folder}/a.fxt"], capture_output=True, text=True, check=False)
    equal((result.returncode, len(result.stderr.splitlines())), (0, 1), f"exit status, and lines of {result.stderr}")
    trace = fxt.read(f"{folder}/a.fxt")
    calls = calls_of(taken)
tracks = trace.check()
threads = {name: slices for name, slices in tracks.items() if not name.startswith("CPU ")}

shown = collections.Counter((s.begin, s.name) for slices in threads.values() for s in slices)
equal(calls - shown, collections.Counter(), "calls that are no slices")
# On the track of the CPU too. A task's turn begins there a nanosecond after the last one's end.
on_cpu = {(s.begin, s.name) for s in tracks["CPU 1 functions"]}
missing = [(at, name) for at, name in calls if (at, name) not in on_cpu and (at + 1, name) not in on_cpu]
equal(missing, [], "calls that are not on the track of the CPU")

late = max((s for s in tracks["CPU 1 interrupts off"]), key=lambda s: s.end - s.begin)
equal(late.name, CULPRIT[0], "who held interrupts off for longest")
check(late.end - late.begin > LATE_NS, f"interrupts were off for {late.end - late.begin} ns")
worker, slices = next((name, s) for name, s in threads.items() if any(piece.name == CULPRIT[0] for piece in s))
culprit = next(s for s in slices if s.name == CULPRIT[0])
equal(outside(slices, culprit), CULPRIT[1:], "who called it")
# All that has been there from before the trace on is one slice each, however deep.
check(any(s.name == "cpu_startup_entry" and s.depth == 0 and "began before the trace" in s.args for s in threads["swapper/1"]),
      "the idle task's outermost function")
flow = next(e for e in trace.events if e.type == fxt.FLOW_END)
equal(trace.name_of(flow.track), worker, "whom the arrow leads to")
at_spike = sorted((s for s in slices if s.begin <= flow.at <= s.end), key=lambda s: -s.depth)
names = [s.name for s in at_spike]
check([name for name in names if name in SPIKE] == SPIKE, f"what ran at the spike: {names}")
equal(names[-4:], CULPRIT, "what the timer interrupted")
print(f"{sum(calls.values())} calls, {len(slices)} slices of {worker}, interrupts off for {late.end - late.begin} ns in {late.name}")
