# SPDX-License-Identifier: GPL-2.0-only
"""late_timer makes timers late by the given time, and timerlat sees it."""
import os
import pathlib
import re
import subprocess
import time

import guest
from guest import check

LATE = pathlib.Path("/sys/kernel/debug/late_timer")
TRACING = pathlib.Path("/sys/kernel/tracing")
INJECTED_US = 20000


def worst_us(context):
    """The worst latency of a kind (irq or thread) in the tracer's output, in us."""
    lines = [
        line for line in (TRACING / "trace").read_text().splitlines()
        if f"context {context:>6}" in line
    ]
    return max(
        (int(re.search(r"timer_latency +(\d+) ns", line)[1]) for line in lines), default=0) // 1000


def function_seen(function):
    out = subprocess.run(["grep", "-c", f" {function}$", "/proc/kallsyms"], capture_output=True,
                         text=True, check=False)
    return int(out.stdout or 0)


def measure(kind):
    (TRACING / "trace").write_text("")
    time.sleep(0.3)
    (LATE / kind).write_text(f"{guest.CPU} {INJECTED_US}\n")
    time.sleep(0.3)
    return worst_us("irq"), worst_us("thread")


guest.load("late_timer")
if "timerlat" not in (TRACING / "available_tracers").read_text():
    guest.skip("this kernel has no timerlat tracer")
before = (TRACING / "osnoise/cpus").read_text()
(TRACING / "osnoise/cpus").write_text(str(guest.CPU))
# Linux 6.1 takes the main buffer for expanded once an instance has had a tracer: it would hold some
# ten milliseconds.
(TRACING / "buffer_size_kb").write_text("1408")
(TRACING / "current_tracer").write_text("timerlat")
(TRACING / "tracing_on").write_text("1")
try:
    irq, thread = measure("irqs_off")
    print(f"{INJECTED_US} us with interrupts off: irq {irq} us, thread {thread} us late")
    # The timer fires in the first period of 1 ms.
    check(irq >= INJECTED_US - 1500, f"the timer was only {irq} us late")
    os.sched_setaffinity(0, [guest.CPU])
    # With PREEMPT_RT, threads run before softirqs.
    for kind in ("preempt_off", "syscall") + (() if "PREEMPT_RT" in os.uname().version else
                                              ("softirqs", )):
        _, thread = measure(kind)
        print(f"{INJECTED_US} us of {kind}: thread {thread} us late")
        check(thread >= INJECTED_US - 1500, f"the thread was only {thread} us late")
finally:
    (TRACING / "current_tracer").write_text("nop")
    (TRACING / "osnoise/cpus").write_text(before)
for name in ("late_timer_irqs_off", "late_timer_preempt_off", "late_timer_spin",
             "late_timer_softirqs", "late_timer_tasklet", "late_timer_syscall"):
    check(function_seen(f"{name}\t\\[late_timer\\]") == 1, f"{name} is not one symbol")
os.sched_setaffinity(0, [0])
(LATE / "keys").write_text(f"{guest.CPU} {INJECTED_US}\n")
check(int((LATE / "switches").read_text()) > 1, "the static key was not switched")
try:
    (LATE / "syscall").write_text(f"{guest.CPU} 1\n")
    check(False, "a system call was made late on another CPU")
except OSError:
    pass
for bad in ("x", "1", "1 2 3", "9999 10", "1 999999999"):
    try:
        (LATE / "irqs_off").write_text(bad)
    except OSError:
        continue
    check(False, f"'{bad}' was accepted")
