# SPDX-License-Identifier: GPL-2.0-only
"""A span that ends at a later exit, because the kernel ran no program at its own, is uncertain and
blamed on nobody. A thread reads, then sleeps, and has priority over one that reads all the time, so
it comes now and then while that one is in the program of an exit. The witness is the kernel's own
ring: it has all exits. Prints how many spikes were wrong, and how many uncertain. Where the kernel
is not preempted, as Debian's 6.1, none is missed. Nor is a hit that a filter lets pass taken for
one of the other thread.

usage: span_missed.py PERF_POKE_CTL"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import guest
from guest import check, equal

CTL, = sys.argv[1:]
RING = pathlib.Path("/sys/kernel/tracing/instances/witness")
CAPTURES, SLEEP_MS, THRESHOLD_US = 12, 2, 1000
PREAD = 17
VICTIM = f"""
import os, pathlib, time
pathlib.Path("/proc/self/comm").write_text("victim")
os.sched_setaffinity(0, [{guest.CPU}])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
zero = os.open("/dev/zero", os.O_RDONLY)
while True:
    os.pread(zero, 1, 0)
    time.sleep({SLEEP_MS / 1000})
    os.read(zero, 1)
"""
BUSY = ["taskset", "-c", str(guest.CPU), "dd", "if=/dev/zero", "of=/dev/null", "bs=1"]
SPANS = {
    "tp": f'tp:raw_syscalls:sys_enter/id == {PREAD} && comm == "victim"/..'
          'tp:raw_syscalls:sys_exit/comm == "victim"/',
    "fn": "fn:__x64_sys_pread64..fn:vfs_read",
}


@contextlib.contextmanager
def witness():
    RING.mkdir()
    try:
        (RING / "trace_clock").write_text("mono")
        (RING / "buffer_size_kb").write_text("4096")
        (RING / "events/raw_syscalls/sys_exit/filter").write_text('comm == "victim"')
        (RING / "events/raw_syscalls/sys_exit/enable").write_text("1")
        yield
    finally:
        (RING / "events/enable").write_text("0")
        RING.rmdir()


@contextlib.contextmanager
def running(*command):
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def victim_exits():
    """(time in ns, system call), by the kernel's ring."""
    text = (RING / "trace").read_text()
    return [(int(float(time) * 1e6) * 1000, int(number))
            for time, number in re.findall(r"victim-\d+ .*? (\d+\.\d+): sys_exit: NR (\d+)", text)]


def ended_before(spike, exits):
    """Whether another call of the thread, its sleep, was over too when the span seemed to end."""
    preads = [time for time, number in exits
              if number == PREAD and time >= spike["expected_ns"] - 1000]
    check(preads, f"the ring has no exit of {spike}")
    return any(preads[0] < time < spike["actual_ns"] + SLEEP_MS * 500000 for time, _ in exits)


def judge(line, exits):
    spike = json.loads((pathlib.Path(line["path"]) / "capture.json").read_text())["spike"]
    report = json.loads(subprocess.check_output([CTL, "report", "--json", line["path"]]))
    if spike["uncertain"]:
        equal(report["cause"]["kind"], "none", report["sentence"])
        check("may have been shorter" in report["sentence"], report["sentence"])
    return ended_before(spike, exits), spike["uncertain"]


def session(folder, *trigger):
    command = [CTL, "start", "--json", "--cpu", str(guest.CPU), "--workload", "none", "--recorder",
               "events", *trigger, "--count", str(CAPTURES), "--duration", "10s", "--output",
               folder]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    lines = [json.loads(line) for line in out.splitlines() if b'"path"' in line]
    return [line for line in lines if line.get("path")]


def try_span(name, span):
    with tempfile.TemporaryDirectory() as folder, witness(), running(*BUSY), \
            running("python3", "-c", VICTIM):
        lines = session(folder, "--span", "it=" + span, "--trigger", f"it={THRESHOLD_US}us")
        exits = victim_exits()
        verdicts = [judge(line, exits) for line in lines]
    missed = sum(ended for ended, _ in verdicts)
    print(f"{name}: {len(verdicts)} spikes, {missed} had ended before, "
          f"{sum(uncertain for _, uncertain in verdicts)} uncertain", flush=True)
    check(all(uncertain for ended, uncertain in verdicts if ended),
          f"{name}: (had ended before, uncertain): {verdicts}")
    return missed


def try_event():
    """With a filter that no call of the other thread passes."""
    event = f'event=tp:raw_syscalls:sys_exit/id == {PREAD} && comm == "victim"/'
    with tempfile.TemporaryDirectory() as folder, running(*BUSY), \
            running("python3", "-c", VICTIM):
        names = [line["comm"] for line in session(folder, "--trigger", event)]
    print(f"event: {len(names)} spikes, {names.count('victim')} of the thread", flush=True)
    check(names, "no hit passed the filter")
    check(set(names) == {"victim"}, f"event: {names}")


guest.need_root()
check(os.cpu_count() > guest.CPU, "needs two CPUs")
try_event()
FOUND = {name: try_span(name, span) for name, span in SPANS.items()}
check(FOUND["fn"], "no exit was missed: nothing was tried")
