# SPDX-License-Identifier: GPL-2.0-only
"""Records windows of what the kernel does, by perf and the emulated Intel PT, with the plugin's log
of what was executed.

usage: ptemu_windows.py PERF_POKE_CTL USER_CALLS INSTRUCTIONS WINDOW... in a guest with --pt
emulated; ../ptemu_flow.py decodes them on the host. A window goes to a folder of its name in the
scratch folder: perf's `data`, vcpuN (the log), facts.json. Behind the name there may be a number:
windows of the same kind with other packets."""
import bisect
import contextlib
import ctypes
import errno
import json
import mmap
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import threading

import guest
import ptemu
from guest import check, equal

CTL, USER_CALLS, INSTRUCTIONS = *sys.argv[1:3], int(sys.argv[3])
TRACING = pathlib.Path("/sys/kernel/tracing")
OPTIMIZATION = pathlib.Path("/proc/sys/debug/kprobes-optimization")
LATE = pathlib.Path("/sys/kernel/debug/late_timer")
KEYS_US = 30000

# What is recorded, CPUs, options of perf record
FULL = ["-m", "1024,32M"]
# Copies of all files that are mapped take a minute.
NO_COPIES = ["--no-buildid-cache"]
WINDOWS = {
    "kernel": ("k", [1], FULL + NO_COPIES),
    "user": ("", [1], FULL),
    "two": ("k", [1, 2], FULL + NO_COPIES),
    "overflow": ("k", [1], FULL + NO_COPIES),
    "ring": ("k", [1], ["-S", "-m", "1024,1M", *NO_COPIES]),
    "ranges": ("k", [1], FULL + NO_COPIES),
}
# Terms of the event, parameters of ptsim
PACKETS = [
    ("cyc,noretcomp", {}),
    ("cyc,psb_period=0", {"long_tnt": 1}),
    ("cyc", {}),
    ("cyc,noretcomp,cyc_thresh=4,psb_period=5", {}),
]
FACTS = ("bytes", "instructions", "branches", "cycles", "overflows", "skipped", "unexplained",
         "truncated")

# Processes that come and go and fault, system calls, a pipe and a switch, sleep
WORK = f"""
dd if=/dev/zero of=/dev/shm/ptemu bs=256k count=2 2>/dev/null
echo from one to another | read -r line </proc/self/stat
sleep 0.005
{USER_CALLS}
"""
# QEMU looks for interrupts within a REP after 65536 rounds: this many files, and the set of them is
# larger.
FILES = 640 << 10
SET = ctypes.create_string_buffer(FILES // 8)
NOW = (ctypes.c_long * 2)()
LIBC = ctypes.CDLL(None)
SOURCE = "/dev/shm/ptemu_source"
CACHE = pathlib.Path("~/.debug").expanduser()


def counters(cpus):
    return {cpu: {name: guest.counter(name, cpu) for name in FACTS} for cpu in cpus}


def copy(cpu):
    """Copies of the kernel's by REP that are interrupted: by the timer, or for what is written to
    is not there yet"""
    os.sched_setaffinity(0, {cpu})
    last = os.dup2(0, FILES - cpu)
    for _ in range(4):
        LIBC.select(last, SET, None, None, NOW)
    os.close(last)
    with open(SOURCE, "rb", buffering=0) as source:
        os.readv(source.fileno(), [memoryview(mmap.mmap(-1, 1 << 18))[100:]])


class Work:
    """Runs on CPUs."""

    def __init__(self, cpus):
        # None of Python's own: to copy all that it has mapped is more work than all the rest.
        self.shells = [
            subprocess.Popen(["taskset", "-c",
                              str(cpu), "busybox", "sh", "-c", WORK]) for cpu in cpus
        ]
        self.copies = [threading.Thread(target=copy, args=[cpu]) for cpu in cpus]
        for thread in self.copies:
            thread.start()

    def wait(self):
        for shell in self.shells:
            equal(shell.wait(), 0, "exit status of the work")
        for thread in self.copies:
            thread.join()
        (LATE / "irqs_off").write_text("1 300\n")
        (LATE / "keys").write_text(f"1 {KEYS_US}\n")


def probe_behind_ftrace(probes, function):
    """Its call is what a function begins with, or stands behind endbr64."""
    try:
        probes.write_text(f"p:ptemu {function}+5\n")
    except OSError as error:
        equal(error.errno, errno.EILSEQ, "error of a kprobe")
        probes.write_text(f"p:ptemu {function}+9\n")


@contextlib.contextmanager
def patching():
    """Code that is run meanwhile is patched: calls of ftrace, static calls of the scheduler's
    tracepoints, and a kprobe."""
    probes, enable = TRACING / "kprobe_events", TRACING / "events/kprobes/ptemu/enable"
    (TRACING / "set_ftrace_filter").write_text("wake_up_process\nvfs_read\nvfs_write\n")
    (TRACING / "current_tracer").write_text("function")
    # Not made a jump, for int3 to be executed
    OPTIMIZATION.write_text("0")
    probe_behind_ftrace(probes, "vfs_open")
    enable.write_text("1")
    yield
    enable.write_text("0")
    probes.write_text("")
    (TRACING / "current_tracer").write_text("nop")


@contextlib.contextmanager
def trigger():
    """The BPF program of perf-poke on all timers, with a spike that never comes. It lasts longer
    than all windows: perf gives up a copy of the kernel whose symbols change meanwhile."""
    argv = [
        CTL, "start", "--json", "--recorder", "events", "--event", "irq:irq_handler_entry",
        "--workload", "cyclic", "--period", "20ms", "--cpu", "1", "--threshold", "10s",
        "--duration", "1h", "--output", "/tmp/ptemu-none"
    ]
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
    return ", ".join(
        f"filter {places[f]:#x}/{starts[bisect.bisect(starts, places[f])] - places[f]:#x}"
        for f in functions)


def run(window, cpus):
    before = counters(cpus)
    work = Work(cpus)
    if window == "overflow":
        guest.set_parameter("inject_overflow", 3)
    if window in ("overflow", "ring", "ranges"):
        work.wait()
        return
    with patching():
        work.wait()
        while any(
                guest.counter("instructions", c) - before[c]["instructions"] < INSTRUCTIONS
                for c in cpus):
            Work(cpus).wait()
        work = Work(cpus)
    work.wait()


def record(name):
    window = name.rstrip("0123456789")
    where, cpus, options = WINDOWS[window]
    terms, parameters = PACKETS[int("0" + name[len(window):]) % len(PACKETS)]
    # It has its name when all is there. A guest that died is started again.
    if (ptemu.SCRATCH / name).exists():
        return
    folder = ptemu.SCRATCH / f"{name}.part"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for parameter, value in {
            "long_tnt": 0, "period_us": 5000, "logging": 1, "inject_overflow": 0, **parameters
    }.items():
        guest.set_parameter(parameter, value)
    for log in ptemu.LOGS.iterdir():
        log.unlink()
    if window == "ranges":
        options = [*options, "--filter", range_filter("late_timer_spin", "vfs_write")]
    before = counters(cpus)
    recording = guest.Record(*options, event=f"intel_pt/{terms}/{where}",
                             cpu=",".join(map(str, cpus)))
    run(window, cpus)
    if window == "ring":
        recording.snapshot()
    recording.end()
    after = counters(cpus)
    facts = {cpu: {fact: after[cpu][fact] - before[cpu][fact] for fact in FACTS} for cpu in cpus}
    (folder / "facts.json").write_text(json.dumps({"cpus": facts, "clock": ptemu.clock()}))
    for cpu in cpus:
        shutil.move(ptemu.log_of(cpu), folder)
    shutil.copytree("data", folder / "data")
    shutil.rmtree("data")
    save_build_ids()
    folder.rename(ptemu.SCRATCH / name)
    print(f"{name}: {terms}: {facts}", flush=True)


def save_build_ids():
    """This kernel's vdso is no file elsewhere."""
    saved = ptemu.SCRATCH / "debug"
    saved.mkdir(exist_ok=True)
    for name in ("[vdso]", ".build-id"):
        if (CACHE / name).exists():
            subprocess.run(["cp", "-a", "--no-clobber", CACHE / name, saved], check=True)


shutil.rmtree(CACHE, ignore_errors=True)
ptemu.load()
guest.load("late_timer")
os.sched_setaffinity(0, {0})
resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
pathlib.Path(SOURCE).write_bytes(bytes(1 << 18))
with guest.in_folder("/tmp/ptemu_windows"), trigger():
    for one in sys.argv[4:]:
        record(one)
