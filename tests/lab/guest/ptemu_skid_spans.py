# SPDX-License-Identifier: GPL-2.0-only
"""Skid in instructions of spans: how many a CPU executes with its trace on from a span's EXIT on,
beside a late timer's. EXIT is the instruction that calls the tracepoint, that returns from the
function, or the first one of the kernel behind the probe or the call of the library. The CPU is
busy with system calls of another task.

What a user sees is how long the trace goes on after the latency has ended. That of a timer ends
before EXIT, where hrtimer_interrupt() reads the clock; that of a span after it, where our program
does. A library's caller reads the clock itself.

usage: ptemu_skid_spans.py PERF_POKE_CTL, in a guest with --pt emulated; $PTEMU_RUNS is how many
spikes each, $PTEMU_KINDS which"""
import os
import re
import statistics
import subprocess
import sys
import threading

import capture
import guest
import ptemu
from guest import check, equal

CTL, = sys.argv[1:]
RUNS = int(os.environ.get("PTEMU_RUNS", "1"))
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
# How much of the trace is decoded: usually enough, and with the time slices of other tasks, should
# EXIT be followed by such
BEFORE_NS = (1000000, 20000000)
KERNEL_ENTRIES = r"entry_SYSCALL_64|asm_exc_int3"
INTERRUPTS = r"asm_sysvec_\w+|asm_common_interrupt"
PROGRAM = "bpf_prog_[0-9a-f]{16}_"
TIMER_CLOCK = "ktime_get_update_offsets_now"
OUR_CLOCK = "ktime_get_mono_fast_ns"
# Of the timer's, from the end of the latency on
MOST = 1.25


class Writer(threading.Thread):
    """A system call that takes long, on the watched CPU, again and again"""

    def __init__(self):
        super().__init__(daemon=True)
        self.stop = threading.Event()

    def __enter__(self):
        self.start()

    def run(self):
        os.sched_setaffinity(0, {guest.CPU})
        file = os.open(ptemu.LATE / "syscall", os.O_WRONLY)
        while not self.stop.wait(0.3):
            os.write(file, f"{guest.CPU} {capture.INJECTED_US}\n".encode())

    def __exit__(self, *_):
        self.stop.set()
        self.join()


class Caller(Writer):
    """A function that takes long, called from another CPU"""

    def run(self):
        while not self.stop.wait(0.3):
            (ptemu.LATE / "call").write_text(f"{guest.CPU} {capture.INJECTED_US}\n")


class Reporter(Writer):
    """A program that says that it was late"""

    def run(self):
        while not self.stop.wait(0.3):
            subprocess.run(["taskset", "-c",
                            str(guest.CPU), CTL, "report-late", "--latency", "1s"],
                           stderr=subprocess.DEVNULL, check=False)


def span(points):
    return ["--span", f"skid={points}", "--trigger", f"skid={capture.THRESHOLD_US}us"]


# Options of the session, what is late, functions that EXIT is in, and whether it is the first
# instruction there or the last one
SPANS = {
    "timer": ([], capture.Late, "__hrtimer_run_queues",
              False), "tp": (span("tp:csd:csd_function_entry..tp:csd:csd_function_exit,by=cpu"),
                             Caller, "csd_do_func|__flush_smp_call_function_queue", False),
    "syscall": (span("tp:syscalls:sys_enter_write..tp:syscalls:sys_exit_write"), Writer,
                "syscall_exit_work|trace_syscall_exit|do_syscall_64", False),
    "fn": (span("fn:vfs_write"), Writer, "vfs_write", False),
    "uprobe": (span(f"uprobe:{LIBC}:write"), Writer, KERNEL_ENTRIES, True),
    "library": (["--trigger", "report=500ms"], Reporter, KERNEL_ENTRIES, True),
}


def executed(one, before_ns):
    """Thread and function of each instruction in the end of the trace"""
    from_ns = one.line["time_ns"] + one.to_perf_ns - before_ns
    out = subprocess.run([
        "perf", "script", "-i", one.data, "--itrace=i0ns", "--ns", "-F", "tid,event,ip,sym",
        "--time", f"{from_ns // 10**9}.{from_ns % 10**9:09},"
    ], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ *(-?\d+) +instructions\S*: +[0-9a-f]+ (\S+)", out, re.MULTILINE)
    check(found, f"no instructions in the trace: {out[:300]}")
    return found


def skid(one, functions, first):
    """What is executed up to EXIT, and behind it"""
    tid = str(one.line["tid"])
    for before_ns in BEFORE_NS:
        trace = executed(one, before_ns)
        inside = [
            thread == tid and bool(re.fullmatch(functions, symbol)) for thread, symbol in trace
        ]
        at = max((i for i, here in enumerate(inside) if here), default=0)
        while first and at and inside[at - 1]:
            at -= 1
        if at:
            return trace[:at + 1], trace[at + 1:]
    check(
        False,
        f"none of the last {len(trace)} instructions of thread {tid} is in {functions}: "
        f"{trace[-20:]}"
    )
    return [], []


def way(behind, tid):
    """Without other threads and interrupts, which may come as long as interrupts are on"""
    found, interrupted = [], False
    for thread, symbol in behind:
        if thread != tid:
            continue
        interrupted |= bool(re.fullmatch(INTERRUPTS, symbol))
        if not interrupted:
            found.append((thread, symbol))
        elif symbol == "native_irq_return_iret":
            interrupted = False
    return found


def parts(behind):
    """The functions in which it was executed, in order"""
    found = []
    for _, symbol in behind:
        if found and found[-1][0] == symbol:
            found[-1][1] += 1
        else:
            found.append([symbol, 1])
    return " ".join(f"{symbol}:{count}" for symbol, count in found)


def since_clock(kind, before, found, ours):
    """How many come after the clock is read that ends the latency, without interrupts and other
    threads"""
    if kind == "library":
        return len(found) - ours
    if kind == "timer":
        return len(found) + [symbol for _, symbol in reversed(before)].index(TIMER_CLOCK)
    at = next(i for i in range(ours, len(found)) if found[i][1] == OUR_CLOCK)
    while found[at][1] == OUR_CLOCK:
        at += 1
    return len(found) - at


def measure(kind, number):
    options, late, functions, first = SPANS[kind]
    one, = capture.take(CTL, f"/tmp/skid_{kind}_{number}", "--workload", "none", "--freeze",
                        capture.ways()[0], *options, late=late())
    before, behind = skid(one, functions, first)
    found = way(behind, str(one.line["tid"]))
    ours = next(i for i, (_, symbol) in enumerate(found) if re.match(PROGRAM, symbol))
    since = since_clock(kind, before, found, ours)
    print(
        f"{kind}: {len(found)} instructions from EXIT on, {since} from the end of the latency, "
        f"{len(found) - ours} from our program on, "
        f"and {len(behind) - len(found)} of interrupts and other threads", flush=True)
    if not number:
        print(f"    {parts(found)}", flush=True)
    return len(found), since


ptemu.load()
guest.load("late_timer")
figures = {kind: [] for kind in os.environ.get("PTEMU_KINDS", ",".join(SPANS)).split(",")}
busy = subprocess.Popen(
    ["taskset", "-c", str(guest.CPU), "dd", "if=/dev/zero", "of=/dev/null", "bs=1"],
    stderr=subprocess.DEVNULL)
try:
    for run in range(RUNS):
        for name, pairs in figures.items():
            pairs.append(measure(name, run))
finally:
    busy.kill()
    busy.wait()
equal(guest.counter("unexplained"), 0, "steps that no packet tells")
print(
    f"instructions without interrupts and other threads, {RUNS} spikes each: from EXIT on, from "
    f"the end of the latency on "
    "(library: from our program on)")
for name, pairs in figures.items():
    print(
        f"{name:8} {statistics.median(pair[0] for pair in pairs):>8.0f} "
        f"{statistics.median(pair[1] for pair in pairs):>8.0f}"
    )
limit = MOST * max(since for _, since in figures.get("timer", [(0, 2500)]))
for name, pairs in figures.items():
    check(max(since for _, since in pairs) <= limit, f"{name}: {pairs}, more than {limit}")
