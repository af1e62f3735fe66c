# SPDX-License-Identifier: GPL-2.0-only
"""Event Trace of Intel PT: perf-poke asks for it by itself, decodes the trace as without it, and
names system management interrupts; each perf tells the same events.

usage: ptemu_events.py PERF_POKE_CTL, in a guest with --pt emulated"""
import collections
import mmap
import os
import pathlib
import re
import subprocess
import sys

sys.path += map(str, pathlib.Path(__file__).resolve().parents[1:3])
import fxt  # noqa: E402  # pylint: disable=wrong-import-position
import capture  # noqa: E402  # pylint: disable=wrong-import-position
import guest  # noqa: E402  # pylint: disable=wrong-import-position
import ptemu  # noqa: E402  # pylint: disable=wrong-import-position
import recording as recordings  # noqa: E402  # pylint: disable=wrong-import-position
from guest import check, equal  # noqa: E402  # pylint: disable=wrong-import-position

CTL, = sys.argv[1:]
SMIS = 4
PAGES = 8
# Of the firmware: any value makes a system management interrupt, of the first CPU.
APM_CONTROL = 0xb2
CPU = 0
FOLDER = pathlib.Path("/tmp/ptemu_events")


def work():
    """Some of those, and page faults by the kernel"""
    with open("/dev/port", "wb", buffering=0) as port, open("/dev/zero", "rb", buffering=0) as zero:
        for _ in range(SMIS):
            port.seek(APM_CONTROL)
            port.write(b"\0")
        zero.readinto(mmap.mmap(-1, PAGES * mmap.PAGESIZE))


def told_by(perf):
    """How often each event is told, and addresses of page faults"""
    out = subprocess.run([perf, "script", "-i", "data", "--itrace=Ie"], capture_output=True,
                         text=True, check=True)
    check("instruction trace error" not in out.stdout + out.stderr,
          f"{perf}: {out.stdout[:2000]} {out.stderr[:2000]}")
    events = collections.Counter(re.findall(r"cfe: (\w+)", out.stdout))
    vectors = collections.Counter(map(int, re.findall(r"cfe: INTR .*vector: (\d+)", out.stdout)))
    return events, vectors, len(re.findall(r"PFA: 0x[1-9a-f]", out.stdout))


def our_spans():
    """What the CPU did where there is no trace"""
    taken = recordings.as_capture(FOLDER / "data", FOLDER / "no", CPU)
    out = subprocess.run([CTL, "export", taken, "-o", FOLDER / "out.fxt"], capture_output=True,
                         text=True, check=False)
    equal((out.returncode, "error" in out.stderr), (0, False), f"export: {out.stderr}")
    trace = fxt.read(FOLDER / "out.fxt")
    return collections.Counter(piece.name for piece in trace.check()[f"CPU {CPU} trace"])


ptemu.load(event_trace=1)
os.sched_setaffinity(0, [CPU])
config = subprocess.run([
    CTL, "start", "--json", "--recorder", "pt", "--workload", "cyclic", "--cpu", "1", "--threshold",
    "10s", "--duration", "1s", "--output", "/tmp/ptemu_none"
], capture_output=True, text=True, check=False)
equal(config.returncode, 3, f"exit status without a spike: {config.stderr}")
with guest.in_folder(FOLDER):
    recording = guest.Record(event="intel_pt/cyc,noretcomp,event/k", cpu=CPU)
    work()
    recording.end()
    equal(guest.counter("unexplained", CPU), 0, "steps that no packet tells")
    for perf in capture.perfs():
        events, vectors, faults = told_by(perf)
        print(perf, dict(events), dict(vectors), faults, flush=True)
        equal((events["SMI"], events["RSM"]), (SMIS, SMIS), f"{perf}: system management interrupts")
        check(vectors[14] >= PAGES and faults >= PAGES,
              f"{perf}: page faults {vectors}, with address {faults}")
        check(events["INTR"] == sum(vectors.values()),
              f"{perf}: interrupts without a vector: {events}, {vectors}")
    spans = our_spans()
    print(dict(spans), flush=True)
    equal(spans["SMI"], SMIS, f"system management interrupts in {spans}")
