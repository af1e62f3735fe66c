# SPDX-License-Identifier: GPL-2.0-only
"""With Intel PT the trace stops at the exit of a span, on this kernel, as at a timer that is late:
spans of a system call, a function of the kernel, and one of a library.

usage: span.py PERF_POKE_CTL"""
import subprocess
import sys
import threading

import capture
import guest
from guest import check, equal

CTL, = sys.argv[1:]
# The guest itself is late by tens of milliseconds now and then.
THRESHOLD, LONG_S = "300ms", 0.6
SPANS = {
    "call": "tp:syscalls:sys_enter_clock_nanosleep..tp:syscalls:sys_exit_clock_nanosleep",
    "function": "fn:hrtimer_nanosleep",
    "library": "uprobe:/lib/x86_64-linux-gnu/libc.so.6:clock_nanosleep",
}
HELD = {"pause": "pause", "sample": "snapshot", "signal": "stop"}


class Sleeper(threading.Thread):
    """Something that takes long, and again, on the watched CPU"""

    def __init__(self):
        super().__init__(daemon=True)
        self.stop = threading.Event()

    def __enter__(self):
        self.start()

    def run(self):
        while not self.stop.wait(0.1):
            subprocess.run(["taskset", "-c", str(guest.CPU), "sleep", str(LONG_S)], check=True)

    def __exit__(self, *_):
        self.stop.set()
        self.join()


def held_ns(one, way):
    """From the spike until the PMU did not trace any more"""
    return capture.first_after(HELD[way], one.line["time_ns"])["mono_ns"] - one.line["time_ns"]


def stops_at_the_exit(name, way):
    one, = capture.take(CTL, f"/tmp/span_{name}_{way}", "--freeze", way, "--workload", "none",
                        "--span", f"{name}={SPANS[name]}", "--trigger", f"{name}={THRESHOLD}",
                        late=Sleeper())
    equal((one.line["trigger"], one.line["label"]), ("span", name), "trigger and label")
    check(one.line["latency_ns"] >= LONG_S * 1e9, f"latency {one.line['latency_ns']}")
    equal(one.json["recorder"]["freeze"], way, "freeze")
    guest.check_whole_iterations(one.decoded())
    print(f"{name}, {way}: held {held_ns(one, way) / 1000:.0f} us after the exit")


capture.load()
print(subprocess.run([CTL, "check"], capture_output=True, text=True, check=True).stdout)
for freeze in capture.ways():
    late, = capture.take(CTL, f"/tmp/timer_{freeze}", "--freeze", freeze, threshold_us=60000,
                         late=capture.Late(late_us=100000))
    print(f"timer, {freeze}: held {held_ns(late, freeze) / 1000:.0f} us after the spike")
for span in SPANS:
    stops_at_the_exit(span, capture.ways()[0])
