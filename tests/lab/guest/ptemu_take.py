# SPDX-License-Identifier: GPL-2.0-only
"""Leaves a capture of a late timer for the host, and a window of what a CPU does in the kernel,
recorded by perf.

usage: ptemu_take.py PERF_POKE_CTL FOLDER ROUNDS, in a guest with --pt emulated. What is left in
FOLDER: `capture`, `window` and its `log` by the plugin; the window has that many rounds of work."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import capture
import guest
import ptemu
from guest import check

CTL, FOLDER, ROUNDS = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
# Does nothing on other timers: its programs are executed
SESSION = [
    CTL, "start", "--json", "--recorder", "events", "--event", "irq:irq_handler_entry",
    "--workload", "cyclic", "--period", "20ms", "--cpu",
    str(guest.CPU), "--threshold", "10s", "--duration", "200s", "--output", "/tmp/ptemu_none"
]


def work():
    """A process that comes and goes, faults, a pipe and switches, a large copy, sleep, timers that
    are late."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, bytes(1000))
        os._exit(0)
    os.read(reader, 1000)
    # Perf has no number for a task that is gone before it has left the CPU.
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    time.sleep(0.05)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    pathlib.Path("/dev/shm/ptemu_take").write_bytes(bytearray(1 << 18))
    for kind in ("irqs_off", "preempt_off", "softirqs", "syscall"):
        (ptemu.LATE / kind).write_text(f"{guest.CPU} 100\n")


def window():
    guest.set_parameter("logging", 1)
    before = guest.counter("instructions")
    recording = guest.Record("-m", "1024,32M", event="intel_pt/cyc/k", data="/tmp/ptemu_window")
    # Until the end: what runs elsewhere for a while comes back with other calls than it left with.
    os.sched_setaffinity(0, [guest.CPU])
    for _ in range(ROUNDS):
        work()
    recording.end()
    os.sched_setaffinity(0, [0])
    guest.set_parameter("logging", 0)
    guest.equal(guest.counter("truncated"), 0, "times that the AUX area was full")
    shutil.move(ptemu.log_of(), FOLDER / "log")
    shutil.copytree("/tmp/ptemu_window", FOLDER / "window")
    print(f"{guest.counter('instructions') - before} instructions in {ROUNDS} rounds")


ptemu.load()
os.sched_setaffinity(0, [0])
guest.load("late_timer")
for attempt in range(5):
    late = ptemu.Late()
    taken = capture.take(CTL, f"/tmp/ptemu_take{attempt}", buffer="1M", late=late)[0]
    if late.maker(taken):
        break
shutil.copytree(taken.folder, FOLDER / "capture")
with subprocess.Popen(SESSION, stdout=subprocess.PIPE, text=True) as session:
    check('"armed"' in session.stdout.readline(), "the session is not armed")
    window()
    session.terminate()
    session.communicate()
guest.equal(guest.counter("unexplained"), 0, "steps that no packet tells")
