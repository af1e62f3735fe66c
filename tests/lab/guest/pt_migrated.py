# SPDX-License-Identifier: GPL-2.0-only
"""A thread whose timer expired on one CPU runs on another: the capture holds both traces, and
both CPUs are recorded on. A spike that does not fit into the controller's ring stops no trace."""
import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import time

import capture
import guest
from guest import check, counter, equal
from tracer import Session

TIMER_CPU, OTHER = guest.CPU, 0
BPF_OBJ_GET, BPF_PROG_TEST_RUN = 7, 10
SYS_BPF = 321
NOT_TOLD = 2
# Now and then the guest itself is late by tens of milliseconds.
THRESHOLD = "60ms"
SLEEPER = "import time\nprint(flush=True)\nwhile True: time.sleep(0.05)"
HOG = """
import os, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print(flush=True)
end = time.monotonic() + 0.8
while time.monotonic() < end: pass
"""


def python_on(cpu, code):
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                               preexec_fn=lambda: os.sched_setaffinity(0, [cpu]))
    process.stdout.readline()
    return process


def is_recorded(cpu):
    before = counter("iterations", cpu)
    guest.wait_for(lambda: counter("iterations", cpu) > before, f"an iteration on CPU {cpu}")


def migrated(session, task):
    """The first capture of a thread that migrated."""
    for _ in range(8):
        with python_on(TIMER_CPU, HOG):
            time.sleep(0.3)
            os.sched_setaffinity(task.pid, [OTHER])
        os.sched_setaffinity(task.pid, [TIMER_CPU])
        one = capture.Capture(json.loads(session.process.stdout.readline()))
        if (one.line["cpu"], one.line.get("ran_cpu", OTHER)) == (TIMER_CPU, OTHER):
            return one
        print(f"another spike came first: {one.line['comm']} on CPU {one.line['cpu']}", flush=True)
    return check(False, "no thread was seen to run elsewhere")


def of_both(way, task, cpus):
    session = Session(f"--trigger=thread={THRESHOLD}", "--workload", "none", "--freeze", way,
                      cpu=",".join(map(str, cpus)), recorder=["pt"])
    one = migrated(session, task)
    for cpu in cpus:
        is_recorded(cpu)
    equal((one.json["spike"]["ran_cpu"], one.json["spike"]["ran_watched"]), (OTHER, OTHER in cpus),
          "where it ran")
    equal([trace["cpu"] for trace in one.json["recorder"]["traces"]], cpus, "traces in the capture")
    equal(one.decoded().errors, [], "errors of the decoder")
    if way == "pause" and OTHER in cpus:
        paused, stopped = [
            capture.first_after(what, one.line["time_ns"], cpu)["mono_ns"] - one.line["time_ns"]
            for what, cpu in (("pause", OTHER), ("stop", TIMER_CPU))
        ]
        check(paused < stopped,
              f"where it ran was paused after {paused} ns, its own CPU stopped after {stopped} ns")
        check(one.line["skid_ns"] > paused, f"skid {one.line['skid_ns']}: of where it ran")
        print(
            f"pause: where it ran after {paused // 1000} us, its own CPU after {stopped // 1000} "
            f"us",
            flush=True)
    said = subprocess.run([sys.argv[1], "report", one.line["path"], "--json"], capture_output=True,
                          text=True, check=True).stdout
    equal(json.loads(said)["spike"]["cpu"], TIMER_CPU, "CPU that is reported on")
    session.end(status=0)
    print(f"{way}, CPUs {cpus}: well", flush=True)


def bpf(command, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(SYS_BPF, command, attr, len(attr))
    check(result >= 0, f"bpf {command}: {os.strerror(ctypes.get_errno())}")
    return result


def fill_ring(name):
    """Fills the ring with stop requests while the controller is stopped."""
    path = ctypes.create_string_buffer(f"/sys/fs/bpf/perf-poke/{name}/stop".encode())
    program = bpf(
        BPF_OBJ_GET,
        ctypes.create_string_buffer(struct.pack("=QII", ctypes.addressof(path), 0, 0), 16))
    for _ in range(1000):
        attr = ctypes.create_string_buffer(struct.pack("=I", program), 80)
        bpf(BPF_PROG_TEST_RUN, attr)
        if struct.unpack_from("=I", attr, 4)[0] == NOT_TOLD:
            return
    check(False, "the ring does not become full")


def untold():
    session = Session("--workload", "cyclic", "--freeze", "pause", threshold=THRESHOLD,
                      recorder=["pt"])
    is_recorded(TIMER_CPU)
    session.process.send_signal(signal.SIGSTOP)
    fill_ring(session.armed["session"])
    paused = counter("pause")
    for _ in range(3):
        capture.LATE.write_text(f"{TIMER_CPU} 100000\n")
    is_recorded(TIMER_CPU)
    equal(counter("pause"), paused, "pauses that nobody was told of")
    session.process.send_signal(signal.SIGCONT)
    summary = session.end(how=None)[-1]
    check(summary["all"]["unarmed"] > 0,
          f"spikes that were not told are not counted: {summary['all']['spikes']}")
    print("not told: well", flush=True)


capture.load()
sleeper = python_on(TIMER_CPU, SLEEPER)
try:
    for freeze in capture.ways():
        of_both(freeze, sleeper, [OTHER, TIMER_CPU])
    of_both(capture.ways()[0], sleeper, [TIMER_CPU])
    if "pause" in capture.ways():
        untold()
finally:
    sleeper.kill()
