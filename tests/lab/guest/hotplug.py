# SPDX-License-Identifier: GPL-2.0-only
"""A watched CPU goes offline and comes back: spikes of other CPUs are captured meanwhile, its
own before and after, and old data is never taken for new."""
import contextlib
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time

import capture
import guest
from guest import check, equal  # and finds the helpers of the suite host
import poked

CTL = sys.argv[1]
ONLINE = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
WENT = "CPU 1 went offline: it is not watched until it is back"
BACK = "CPU 1 is back: watched again"
# Longer than hotplug itself makes the guest late
LATE_US = 900000
THRESHOLD = "500ms"


def make_late(cpu):
    now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    capture.LATE.write_text(f"{cpu} {LATE_US}\n")
    return now_ns


class Session:
    """A running `perf-poke-ctl start`, its messages and captures."""

    def __init__(self, name, *options, workload="none", cpu="0-1"):
        argv = [
            CTL, "start", "--json", "--cpu", cpu, "--output", f"/tmp/hotplug_{name}", "--workload",
            workload, "--threshold", THRESHOLD, "--count", "99", "--verbose", *options
        ]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        self.lines, self.said = queue.Queue(), []
        for job in (self.read_lines, self.read_said):
            threading.Thread(target=job, daemon=True).start()
        equal(self.next()["type"], "armed", f"first line ({self.said})")

    def read_lines(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def read_said(self):
        for line in self.process.stderr:
            if "libbpf: " not in line:
                self.said.append(line.strip())

    def next(self):
        try:
            return self.lines.get(timeout=60)
        except queue.Empty:
            check(False, f"nothing more from the session: {self.said}")

    def spike(self, cpu):
        """Repeats if another spike came first: none is taken while a capture is written."""
        since_ns = make_late(cpu)
        while not (line := self.capture_of(cpu, since_ns)):
            make_late(cpu)
        return line

    def captured(self, cpu, since_ns):
        """The first capture of a spike of that CPU since then; several timers can be late at
        once."""
        while not (line := self.capture_of(cpu, since_ns)):
            pass
        return line

    def capture_of(self, cpu, since_ns):
        """The next capture, if it is of that CPU."""
        line = self.next()
        equal(line["type"], "capture", "line")
        return capture.Capture(line) if line["cpu"] == cpu and line["time_ns"] >= since_ns else None

    def count(self, text):
        return sum(text in line for line in self.said)

    def goes(self):
        before = self.count(WENT)
        ONLINE.write_text("0")
        guest.wait_for(lambda: self.count(WENT) > before, f"warning, of {self.said}")

    def comes(self):
        before = self.count(BACK)
        at_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        ONLINE.write_text("1")
        guest.wait_for(lambda: self.count(BACK) > before, f"message, of {self.said}")
        return at_ns

    def end(self, status=0):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        equal(self.process.returncode, status, f"exit status ({self.said})")
        equal(self.count("went offline"), self.count(WENT),
              f"other words about the CPU: {self.said}")


@contextlib.contextmanager
def session(name, *options, status=0, **kwargs):
    one = Session(name, *options, **kwargs)
    try:
        yield one
        one.end(status)
    finally:
        ONLINE.write_text("1")
        one.process.kill()


def bytes_of(one, cpu):
    return [t["bytes"] for t in one.json["recorder"]["traces"] if t["cpu"] == cpu]


def shown(one, cpu, *args):
    """Times and symbols that perf shows for that CPU; decoder errors have no time."""
    out = subprocess.run(
        ["perf", "script", "-i", one.data, "--ns", "-C",
         str(cpu), "-F", "time,event", *args], capture_output=True, text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), "perf script")
    words = [line.split() for line in out.stdout.splitlines()]
    return [(int(time.rstrip(":").replace(".", "")) - one.to_perf_ns, name)
            for time, name, *_ in words]


def check_trace(one, cpu, since_ns=0):
    """The CPU's trace exists, decodes, and has nothing older."""
    sizes = bytes_of(one, cpu)
    check(
        len(sizes) == 1 and sizes[0] > 0,
        f"traces of the capture of CPU {cpu}: {one.json['recorder']['traces']}")
    branches = [
        branch for branch in shown(one, cpu, "--itrace=be") if branch[1].startswith("branches")
    ]
    check(branches, f"nothing of CPU {cpu} was decoded")
    check(
        min(branches)[0] > since_ns,
        f"CPU {cpu}: the trace begins at {min(branches)[0]}, before {since_ns}")


def gone_for_a_spike(one, way, everyone):
    one.goes()
    away = one.spike(0)
    check_trace(away, 0)
    equal([t["cpu"] for t in away.json["recorder"]["traces"]], [0, 1] if everyone else [0],
          "CPUs with a trace")
    since_ns = one.comes()
    time.sleep(0.3)
    for _ in range(2):
        back = one.spike(1)
        check_trace(back, 1, since_ns)
        since_ns = back.line["time_ns"] if way != "sample" else since_ns


def gone_before_rearming(one, verify, again=False):
    """The CPU goes offline between the spike and the re-arming, as near as can be: the session
    is stopped at the spike and continues when the CPU is gone or, with `again`, is back."""
    went, back = one.count(WENT), one.count(BACK)
    one.process.send_signal(signal.SIGSTOP)
    spike_ns = make_late(1)
    ONLINE.write_text("0")
    if again:
        ONLINE.write_text("1")
    one.process.send_signal(signal.SIGCONT)
    verify(one.captured(1, spike_ns), 1)
    guest.wait_for(lambda: one.count(WENT) > went, "warning")
    since_ns = 0
    if again:
        guest.wait_for(lambda: one.count(BACK) > back, "message")
    else:
        since_ns = one.comes()
    time.sleep(0.3)
    verify(one.spike(1), 1, since_ns)


def pt(way, *options):
    with session(f"{way}{len(options)}", "--recorder", "pt", "--buffer", "128K", "--freeze", way,
                 *options) as one:
        check_trace(one.spike(1), 1)
        gone_for_a_spike(one, way, "--freeze-all" in options)
        gone_before_rearming(one, check_trace)
        if not options:
            gone_before_rearming(one, check_trace, again=True)
    print(f"pt, {way} {options}: well", flush=True)


def check_events(one, cpu, since_ns=0):
    found = shown(one, cpu)
    check(any(name.startswith("timer:hrtimer") for _, name in found),
          f"no timer of CPU {cpu} among {len(found)} events")
    check(found[0][0] > since_ns, f"CPU {cpu}: events from {found[0][0]}, before {since_ns}")


def events():
    with session("events", "--recorder", "events", "--buffer", "64K") as one:
        check_events(one.spike(1), 1)
        one.goes()
        check_events(one.spike(0), 0)
        since_ns = one.comes()
        back = one.spike(1)
        check_events(back, 1, since_ns)
        check_events(back, 0)
        gone_before_rearming(one, check_events)
    print("events: well", flush=True)


def only_cpu():
    """With all watched CPUs gone the session and its workload wait."""
    with session("only", "--recorder", "pt", "--buffer", "128K", workload="cyclic", cpu="1") as one:
        check_trace(one.spike(1), 1)
        one.goes()
        time.sleep(0.5)
        equal(one.process.poll(), None, "exit status of a session without a CPU")
        since_ns = one.comes()
        guest.wait_for(lambda: cyclic_affinity(one.process.pid) == "1",
                       "affinity of the workload's thread")
        check_trace(one.spike(1), 1, since_ns)


def targets():
    """One target has ended when the CPU comes back: its number first belongs to another process,
    which gets nothing, then to nobody. The other target is still signalled."""
    with poked.Counter() as other, poked.Counter() as ends:
        pids = [word for pid in (ends.pid, other.pid) for word in ("--perf-pid", str(pid))]
        with session("targets", "--recorder", "perf", "--any-process", "--delivery", "fasync",
                     *pids) as one:
            one.spike(1)
            ends.wait_signal()
            other.wait_signal()
            ends.process.kill()
            ends.process.wait()
            guest.wait_for(lambda: one.count("has ended"), "warning")
            with poked.Newcomer(ends.pid) as newcomer:
                one.goes()
                one.comes()
                one.spike(1)
                other.wait_signal()
                check(not newcomer.has_signal(2), "the newcomer was signalled")
            one.goes()
            one.comes()
            target = one.spike(1).json["poke"]["targets"][1]
            other.wait_signal()
            equal((target["pid"], target["sent"]["fasync"]), (other.pid, 3),
                  "the other target and its signals")
    print("targets: well", flush=True)


def cyclic_affinity(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text() == "pp-cyclic/1\n":
            status = (task / "status").read_text()
            return status.split("Cpus_allowed_list:")[1].split()[0]
    return None


def reopening_fails():
    """Another user took the CPU's Intel PT: the session warns and continues."""
    with session("fails", "--recorder", "pt", "--buffer", "128K") as one:
        one.goes()
        one.process.send_signal(signal.SIGSTOP)
        before = guest.counter("start")
        ONLINE.write_text("1")
        with subprocess.Popen([
                "perf", "record", "-q", "-e", "intel_pt//k", "-S", "-C", "1", "-o",
                "/tmp/hotplug_other"
        ]) as other:
            guest.wait_for(lambda: guest.counter("start") > before, "start of the other's trace")
            one.process.send_signal(signal.SIGCONT)
            text = "CPU 1 is back, but cannot be watched again: Device or resource busy"
            guest.wait_for(lambda: one.count(text), "warning")
            equal(one.count(BACK), 0, "messages that it is watched")
            check_trace(one.spike(0), 0)
            equal(one.spike(1).json["recorder"]["traces"], [], "traces")
            other.send_signal(signal.SIGINT)
        one.goes()
        since_ns = one.comes()
        time.sleep(0.3)
        check_trace(one.spike(1), 1, since_ns)


def offline_at_start():
    ONLINE.write_text("0")
    try:
        result = subprocess.run([CTL, "start", "--cpu", "1", "--recorder", "pt"],
                                capture_output=True, text=True, check=False)
    finally:
        ONLINE.write_text("1")
    equal(result.returncode, 2, "exit status")
    check("is offline" in result.stderr, f"said: {result.stderr}")


def main():
    capture.load()
    if not os.access(ONLINE, os.W_OK):
        guest.skip("this kernel has no CPU hotplug")
    for way in capture.ways():
        pt(way)
        if way != "sample":
            pt(way, "--freeze-all")
    events()
    only_cpu()
    targets()
    reopening_fails()
    offline_at_start()


main()
