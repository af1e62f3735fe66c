# SPDX-License-Identifier: GPL-2.0-only
"""aux_pause and aux_resume by system calls: ptsim stops and resumes where it is told to. Kernels
and PMUs without them refuse. Usage: ptsim_pause.py PATH_OF_AUX_EVENTS"""
import errno
import sys
import time

import guest
from guest import check, equal

SIZE = 1 << 20


def Events(**options):
    return guest.AuxEvents(sys.argv[1], SIZE, **options)


def refusals(errors):
    """Refused events with their errors, printed as `refused pause 22`."""
    for name, options in (("pause", {}), ("leader", {"start_paused": True, "siblings": False})):
        with Events(**options) as events:
            equal(events.answer, ["refused", name, str(errors[name])], f"answer to {options}")
    # Works without aux_pause.
    with Events(siblings=False) as events:
        equal(events.answer, ["ready"], "answer")
        is_tracing(events)


def is_tracing(events, enable=True):
    if enable:
        events.do("enable")
    before = guest.counter("iterations")
    guest.wait_for(lambda: guest.counter("iterations") > before, "iteration")


def is_still():
    before = guest.counter("iterations"), guest.counter("bytes")
    time.sleep(0.1)
    equal((guest.counter("iterations"), guest.counter("bytes")), before, "iterations and bytes of a paused trace")


def pause(events):
    count = guest.counter("pause")
    begin, end = map(int, events.do("print PTSIM-PAUSE").split())
    equal(guest.counter("pause"), count + 1, "pauses")
    entry = guest.log()[-1]
    equal(entry["what"], "pause", "last call")
    check(begin <= entry["mono_ns"] <= end, f"pause at {entry['mono_ns']}, not from {begin} to {end}")
    is_still()
    return entry, entry["mono_ns"] - begin


def resume(events):
    count = guest.counter("resume")
    events.do("print PTSIM-RESUME")
    equal(guest.counter("resume"), count + 1, "resumes")
    is_tracing(events, enable=False)


def by_printk(events):
    is_tracing(events)
    latencies = []
    for _ in range(5):
        entry, latency = pause(events)
        latencies.append(latency // 1000)
        # Only the first one counts.
        events.do("print PTSIM-PAUSE again")
        equal(guest.log()[-1], entry, "last call")
        events.do("print something else")
        equal(guest.log()[-1], entry, "last call")
        resume(events)
    print(f"from the BPF program's start to the pause: {latencies} us")


def by_clock(events):
    """Paused, disabled, read; the cpu-clock sibling resumes it."""
    entry, _ = pause(events)
    events.do("disable")
    equal(int(events.do("head")), entry["head"] % SIZE, "aux_head")
    events.do("enable")
    is_still()
    events.do("disable")
    count = guest.counter("resume")
    events.do("refresh")
    events.do("enable")
    guest.wait_for(lambda: guest.counter("resume") == count + 1, "resume")
    is_tracing(events, enable=False)


def pauses_and_resumes():
    with Events() as events:
        equal(events.answer, ["ready"], "answer")
        by_printk(events)
        by_clock(events)
        events.do("disable")
    with Events(start_paused=True) as events:
        events.do("enable")
        is_still()
        resume(events)


guest.load("ptsim", bytes_per_sec=100000)
if not guest.HAS_PAUSE:
    refusals({"pause": errno.EINVAL, "leader": errno.EINVAL})
    print("refused, as by any kernel that does not know it")
    sys.exit(0)
pauses_and_resumes()
guest.unload("ptsim")
guest.load("ptsim", bytes_per_sec=100000, refuse_aux_pause=1)
refusals({"pause": errno.EINVAL, "leader": errno.EOPNOTSUPP})
