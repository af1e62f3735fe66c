# SPDX-License-Identifier: GPL-2.0-only
"""Pokes stock `perf record -S` by each delivery of this kernel, a spike each 100 ms that interrupts
the idle task, a kernel thread or a user task. Each signal must become pending and yield a snapshot.
Signals that become pending while perf still writes a snapshot may be dropped by perf itself; they
are counted separately.
PERF_POKE_SPIKES: number of spikes for each delivery."""
import collections
import contextlib
import json
import os
import signal
import statistics
import struct
import subprocess
import sys
import time

import capture
import guest
from guest import check, equal

CTL, LATE = sys.argv[1:3]
COUNT = int(os.environ.get("PERF_POKE_SPIKES", "49"))
# A spike each 100 ms: the timer is in the first 40 ms; later ones stay below the threshold.
LATE_US = 60000
# The task waits there with preemption off. perf and its controller are on CPU 0.
LATE_CPU = 2
PAUSE_MS = 40
PERIOD_US = 40000
# By then the signal is pending.
SETTLED_S = 20
DELIVERIES = ["task-work", "fasync", "tracepoint", "relay"]
# What the late timer interrupts
KINDS = ["idle", "kernel thread", "user task"]
# A busy host causes spikes of its own.
OF_KIND = 3
PERF_RECORD_AUXTRACE = 71
BUSY = "import os\nos.sched_setaffinity(0, [%d])\nprint(flush=True)\nwhile True: pass" % guest.CPU


def deliveries():
    """Deliveries of this kernel; prints why others are missing."""
    out = subprocess.run([CTL, "check", "--json"], capture_output=True, text=True,
                         check=False).stdout
    rows = {
        row["name"]: row for row in map(json.loads, out.splitlines()) if row["type"] == "capability"
    }
    found = []
    for delivery in DELIVERIES:
        row = rows.get(delivery.replace("-", "_"))
        if row and not row["have"]:
            print(f"{delivery}: not on this kernel: {row['detail']}")
        else:
            found.append(delivery)
    return found


@contextlib.contextmanager
def running(argv, ready=False):
    process = subprocess.Popen(argv, stdout=subprocess.PIPE if ready else None,
                               preexec_fn=lambda: os.sched_setaffinity(0, {LATE_CPU}))
    if ready:
        process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def late(kind):
    """Makes timers late while the task runs on their CPU: late_timer from a worker, the other in
    interrupt context of any task."""
    with contextlib.ExitStack() as stack:
        if kind == "kernel thread":
            stack.enter_context(capture.Late(every_s=PAUSE_MS / 1000, late_us=LATE_US))
        else:
            stack.enter_context(running([LATE, str(guest.CPU), str(LATE_US), str(PAUSE_MS)]))
        if kind == "user task":
            stack.enter_context(running([sys.executable, "-c", BUSY], ready=True))
        yield


def kind_of(line):
    """What the spike interrupted."""
    if line["idle"]:
        return "idle"
    return "user task" if line["comm"].startswith(
        "python") else "kernel thread" if line["comm"].startswith("kworker") else line["comm"]


class Session:
    """perf-poke-ctl with a perf record of its own."""

    def __init__(self, output, options, record):
        argv = [
            CTL, "start", "--json", "--cpu",
            str(guest.CPU), "--threshold", f"{capture.THRESHOLD_US}us", "--count", "1000000",
            "--output", output, *options, "--", "perf", "record", "-q", *record
        ]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        self.lines = []
        armed = self.read()
        equal(armed["type"], "armed", f"first line {armed}")
        self.name, self.perf = armed["session"], armed["targets"][0]

    def read(self):
        line = self.process.stdout.readline()
        check(line, f"the session ended by itself: {self.process.poll()}")
        self.lines.append(json.loads(line))
        return self.lines[-1]

    def read_capture(self):
        line = self.read()
        equal((line["type"], line.get("error")), ("capture", None), f"{line}")
        return line

    def status(self):
        out = subprocess.run([CTL, "status", "--json", self.name], capture_output=True, text=True,
                             check=True).stdout
        return json.loads(out)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.lines += map(json.loads, self.process.stdout)
        equal(self.process.wait(), 0, "exit status")
        return [line for line in self.lines if line["type"] == "capture"], self.lines[-1]


def auxtrace_records(path):
    """Number of snapshots in the data."""
    with open(path, "rb") as file:
        header = struct.unpack("<8s7Q", file.read(64))
        at, end, found = header[5], header[5] + header[6], 0
        while at < end:
            file.seek(at)
            kind, _, size, more = struct.unpack("<IHHQ", file.read(16))
            check(size >= 8, f"{path}: a record of {size} bytes at {at}")
            at += size
            if kind == PERF_RECORD_AUXTRACE:
                found += 1
                at += more
    return found


def make_spikes(session, kind, count):
    """On a busy host the first reports still concern the previous kind."""
    found = 0
    with late(kind):
        for _ in range(3 * count):
            found += kind_of(session.read_capture()) == kind
            if found == count:
                break


def target_of(line):
    with open(f"{line['path']}/capture.json", encoding="utf-8") as file:
        return json.load(file)["poke"]["targets"][0]


def check_kinds(delivery, lines):
    """The intended tasks were interrupted, and poked by the expected way."""
    others = collections.Counter(kind_of(line) for line in lines if kind_of(line) not in KINDS)
    print(f"  from others: {dict(others)}")
    for kind in KINDS:
        of_kind = [line for line in lines if kind_of(line) == kind]
        check(
            len(of_kind) >= OF_KIND,
            f"{delivery}: {len(of_kind)} of {len(lines)} spikes from {kind}")
        # A spike right after another is not reported.
        ways = list(filter(None, (target_of(line)["delivery"] for line in of_kind)))
        counts = {way: ways.count(way) for way in sorted(set(ways))}
        print(f"  from {kind}: {counts}")
        if delivery in ("task-work", "fasync", "relay"):
            check(counts.get(delivery, 0) * 2 >= len(ways), f"{delivery} from {kind}: {counts}")


def wait_accounted(delivery, session):
    """Waits until each spike's signal has become pending or was merged. Returns the status."""
    end = time.monotonic() + SETTLED_S
    while True:
        seen = session.status()
        taken = seen["all"]["spikes"] - seen["all"]["unarmed"]
        if seen["pokes"] + seen["merged"] == taken:
            return seen
        check(time.monotonic() < end,
              f"{delivery}: {taken} spikes were taken, and are not as many signals: {seen}")
        time.sleep(0.02)


def check_deliveries(delivery):
    """All spikes became signals, and all signals that perf was ready for became snapshots."""
    data, output = f"/tmp/{delivery}.data", f"/tmp/deliveries-{delivery}"
    record = ["-S", "-e", "intel_pt//k", "-C", str(guest.CPU), "-m", ",16K", "-o", data]
    session = Session(output,
                      ["--delivery", delivery, "--period", f"{PERIOD_US}us", "--housekeeping", "0"],
                      record)
    for kind in KINDS:
        make_spikes(session, kind, COUNT // 3)
    status = wait_accounted(delivery, session)
    lines, summary = session.end()
    spikes = len(lines)
    last = target_of(lines[-1])
    snapshots = auxtrace_records(data)
    equal(summary["perf"]["status"], 0, "exit status of perf")
    equal(summary["failed"], 0, "captures that failed")
    # perf drops these itself; nothing else lies between a pending signal and its handler.
    dropped = spikes - status["merged"] - snapshots
    gaps = sorted((b["time_ns"] - a["time_ns"]) / 1e6 for a, b in zip(lines, lines[1:]))
    print(
        f"{delivery}: {spikes} spikes, {gaps[0]:.0f} to {gaps[-1]:.0f} ms apart, "
        f"{statistics.median(gaps):.0f} at the median; "
        f"{status['pokes']} signals pending, {status['merged']} merged with one, {snapshots} "
        f"snapshots, "
        f"{dropped} dropped by perf while it wrote; sent {last['sent']}, refused {last['refused']}",
        flush=True)
    # Lost deliveries are repeated; in idle the task may not even be tried again.
    again = sum(last["refused"].get(way, 0) for way in ("fasync", "tracepoint"))
    sent = sum(last["sent"].values())
    check(sent - again <= spikes, f"{delivery}: pokes sent")
    check(0 <= dropped < spikes / 2, f"{delivery}: {dropped} dropped by perf")
    check_kinds(delivery, lines)


if os.cpu_count() <= LATE_CPU:
    guest.skip(f"needs {LATE_CPU + 1} CPUs (LAB_OPTIONS=--cpus {LATE_CPU + 1})")
capture.load()
for one in deliveries():
    check_deliveries(one)
