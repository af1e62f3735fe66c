# SPDX-License-Identifier: GPL-2.0-only
"""Skid in instructions: how many a CPU still executes with its trace on when the spike has been seen, by `perf record -S` that a
process pokes, and by perf-poke with each way to hold the trace. The CPU is busy with system calls: one that sleeps after the spike
executes next to nothing, however late its trace is held.

usage: ptemu_skid.py PERF_POKE_CTL RELAY, in a guest with --pt emulated; $PTEMU_RUNS is how many spikes each"""
import os
import statistics
import subprocess
import sys

import capture
import common
import ptemu
from common import check, equal
from poking import Relay

CTL, RELAY = sys.argv[1:3]
RUNS = int(os.environ.get("PTEMU_RUNS", "2"))
BUFFER = "4M"


def by_perf_poke(way):
    """The figures, and the distance of perf's clock from that of spikes."""
    # The same timers as with the relay
    one = capture.take(CTL, f"/tmp/ptemu_skid_{way}_{len(figures[way])}", "--freeze", way, "--workload", "none",
                       buffer="128K" if way in ("pause", "sample") else BUFFER)[0]
    equal(one.json["recorder"]["freeze"], way, "freeze")
    return ptemu.instructions(one.data, one.line["time_ns"] + one.to_perf_ns), one.to_perf_ns


def by_relay(to_perf_ns):
    with common.in_folder(f"/tmp/ptemu_skid_relay_{len(figures['relay'])}"):
        record = common.Record("-S", "-m", f",{BUFFER}")
        with Relay(RELAY, record.process) as relay:
            spike_ns = relay.spike_ns()
        record.end()
        return ptemu.instructions("data", spike_ns + to_perf_ns)


def add(way, found):
    count, whole = found
    print(f"{way}: {count} instructions{'' if whole else ' or more: the trace begins after the spike'}", flush=True)
    check(count > 0, f"{way}: no instruction after the spike")
    check(whole or way != "pause", "the trace begins after the spike")
    figures[way].append(count)


def run_table():
    for _ in range(RUNS):
        for how in capture.ways():
            taken, distance_ns = by_perf_poke(how)
            add(how, taken)
        add("relay", by_relay(distance_ns))


ptemu.load()
common.load("late_timer")
figures = {way: [] for way in capture.ways() + ["relay"]}
busy = subprocess.Popen(["taskset", "-c", str(common.CPU), "dd", "if=/dev/zero", "of=/dev/null", "bs=1"], stderr=subprocess.DEVNULL)
try:
    run_table()
finally:
    busy.kill()
    busy.wait()
equal(common.counter("unexplained"), 0, "steps that no packet tells")
print(f"instructions executed after the spike, {RUNS} spikes each: least, median, most")
for how, counts in figures.items():
    print(f"{how:8} {min(counts):>12} {statistics.median(counts):>12.0f} {max(counts):>12}")
# Who is to stop the trace has to be woken first, by what comes after the pause.
for how in ("signal", "relay"):
    if "pause" in figures:
        check(max(figures["pause"]) < statistics.median(figures[how]), f"pause: {figures['pause']}, {how}: {figures[how]}")
