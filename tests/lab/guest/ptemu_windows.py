# SPDX-License-Identifier: GPL-2.0-only
"""Records windows of what the kernel does, by perf and the emulated Intel PT, with the plugin's log of what was executed.

usage: ptemu_windows.py PERF_POKE_CTL INSTRUCTIONS WINDOW... in a guest with --pt emulated; ../ptemu_flow.py decodes them on the
host. A window goes to a folder of its name in the scratch folder: perf's `data`, vcpuN (the log), facts.json."""
import bisect
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import common
import ptemu
from common import check, equal

CTL, INSTRUCTIONS = sys.argv[1], int(sys.argv[2])
TRACING = pathlib.Path("/sys/kernel/tracing")
LATE = pathlib.Path("/sys/kernel/debug/late_timer/irqs_off")

# What is recorded, parameters of ptsim, CPUs, options of perf record
FULL = ["-m", "1024,32M"]
WINDOWS = {
    "kernel": ("intel_pt/cyc,noretcomp/k", {}, [1], FULL),
    "compressed": ("intel_pt/cyc,psb_period=0/k", {"long_tnt": 1}, [1], FULL),
    "patched": ("intel_pt/cyc,noretcomp/k", {}, [1], FULL),
    "user": ("intel_pt/cyc/", {}, [1], FULL),
    "two": ("intel_pt/cyc/k", {}, [1, 2], FULL),
    "overflow": ("intel_pt/cyc/k", {}, [1], FULL),
    "ring": ("intel_pt/cyc/k", {}, [1], ["-S", "-m", "1024,1M"]),
    "ranges": ("intel_pt/cyc/k", {}, [1], FULL),
}
FACTS = ("bytes", "instructions", "branches", "cycles", "overflows", "skipped", "unexplained", "truncated")

# Processes that come and go and fault, system calls, a large copy by REP, a pipe and a switch, sleep
WORK = """
dd if=/dev/zero of=/dev/shm/ptemu bs=256k count=2 2>/dev/null
echo from one to another | read -r line </proc/self/stat
sleep 0.005
"""


def counters(cpus):
    return {cpu: {name: common.counter(name, cpu) for name in FACTS} for cpu in cpus}


def work(cpus):
    running = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", WORK]) for cpu in cpus]
    for process in running:
        equal(process.wait(), 0, "exit status of the work")
    LATE.write_text("1 300\n")


@contextlib.contextmanager
def patching(window):
    """The code of the scheduler is patched after the trace began, and back before it ends."""
    if window != "patched":
        yield
        return
    (TRACING / "set_ftrace_filter").write_text("wake_up_process\nvfs_read\nvfs_write\n")
    (TRACING / "current_tracer").write_text("function")
    yield
    (TRACING / "current_tracer").write_text("nop")


@contextlib.contextmanager
def trigger():
    """The BPF program of perf-poke on all timers, with a spike that never comes."""
    argv = [CTL, "start", "--json", "--recorder", "events", "--event", "irq:irq_handler_entry", "--workload", "cyclic",
            "--period", "20ms", "--cpu", "1", "--threshold", "10s", "--duration", "200s", "--output", "/tmp/ptemu-none"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as session:
        check('"armed"' in session.stdout.readline(), "the session is not armed")
        try:
            yield
        finally:
            session.terminate()
            session.communicate()


def range_filter(*functions):
    """Of whole functions, as addresses: stock perf looks for no names in modules."""
    lines = [line.split()[:3] for line in pathlib.Path("/proc/kallsyms").read_text().splitlines()]
    starts = sorted({int(address, 16) for address, _, _ in lines})
    places = {name: int(address, 16) for address, _, name in lines}
    return ", ".join(f"filter {places[f]:#x}/{starts[bisect.bisect(starts, places[f])] - places[f]:#x}" for f in functions)


def record(window):
    event, parameters, cpus, options = WINDOWS[window]
    folder = ptemu.SCRATCH / window
    folder.mkdir()
    for name, value in {"long_tnt": 0, "period_us": 5000, "logging": 1, "inject_overflow": 0, **parameters}.items():
        common.set_parameter(name, value)
    for log in ptemu.LOGS.iterdir():
        log.unlink()
    if window == "ranges":
        options = [*options, "--filter", range_filter("late_timer_spin", "vfs_write")]
    before = counters(cpus)
    recording = common.Record(*options, event=event, cpu=",".join(map(str, cpus)))
    work(cpus)
    if window == "overflow":
        common.set_parameter("inject_overflow", 3)
    with patching(window):
        work(cpus)
        # A ring is counted when it stops only, and of ranges there is little.
        while window not in ("ring", "ranges") and \
                any(common.counter("instructions", c) - before[c]["instructions"] < INSTRUCTIONS for c in cpus):
            work(cpus)
    if window == "ring":
        recording.snapshot()
    recording.end()
    after = counters(cpus)
    facts = {cpu: {name: after[cpu][name] - before[cpu][name] for name in FACTS} for cpu in cpus}
    (folder / "facts.json").write_text(json.dumps({"cpus": facts, "clock": ptemu.clock()}))
    for cpu in cpus:
        shutil.move(ptemu.log_of(cpu), folder)
    shutil.copytree("data", folder / "data")
    shutil.rmtree("data")
    print(f"{window}: {facts}", flush=True)


def save_build_ids():
    """This kernel's vdso is no file elsewhere."""
    cache = pathlib.Path("~/.debug").expanduser()
    for name in ("[vdso]", ".build-id"):
        if (cache / name).exists():
            shutil.copytree(cache / name, ptemu.SCRATCH / "debug" / name, symlinks=True)


shutil.rmtree(pathlib.Path("~/.debug").expanduser(), ignore_errors=True)
ptemu.load()
common.load("late_timer")
os.sched_setaffinity(0, {0})
with common.in_folder("/tmp/ptemu_windows"), trigger():
    for one in sys.argv[3:]:
        record(one)
    save_build_ids()
