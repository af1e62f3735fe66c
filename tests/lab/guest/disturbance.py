# SPDX-License-Identifier: GPL-2.0-only
"""What an isolated CPU notices of a session: its interrupts, by /proc/interrupts, while a session
starts, is armed, and ends, beside those of the same time without a session.

usage: disturbance.py PERF_POKE_CTL"""
import contextlib
import os
import signal
import subprocess
import sys
import time

import guest
from guest import check

CTL = sys.argv[1]
SECONDS = 3
# Start and end together, with some room for the kernel's own; see docs/figures.md.
LIMITS = {"events": 1000, "none": 40}
OTHER = 0


def interrupts():
    """Of the isolated CPU, all of its own and from other CPUs."""
    with open("/proc/interrupts") as file:
        column = file.readline().split().index("CPU%d" % guest.CPU)
        rows = [line.partition(":")[2].split() for line in file]
    return sum(int(row[column]) for row in rows if len(row) > column and row[column].isdigit())


@contextlib.contextmanager
def busy():
    """User space that makes no system calls: its tick stops."""
    code = "import os\nos.sched_setaffinity(0, [%d])\nwhile True: pass" % guest.CPU
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        time.sleep(2)
        try:
            yield
        finally:
            process.kill()


def of_session(*options):
    """Interrupts of its start, while it is armed, and of its end."""
    moments = [interrupts()]
    with subprocess.Popen([
        CTL, "start", "--json", "--threshold", "1h", "--workload", "none", "--output",
        "/tmp/disturbance", *options
    ], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as session:
        check('"armed"' in session.stdout.readline(), "not armed")
        moments.append(interrupts())
        time.sleep(SECONDS)
        moments.append(interrupts())
        session.send_signal(signal.SIGINT)
        session.communicate()
    # A child goes on closing tracepoints.
    guest.wait_until_closed()
    moments.append(interrupts())
    return [after - before for before, after in zip(moments, moments[1:])]


guest.need_root()
if str(guest.CPU) not in open("/sys/devices/system/cpu/nohz_full").read():
    guest.skip("needs nohz_full=%d" % guest.CPU)
os.sched_setaffinity(0, [OTHER])
with busy():
    before = interrupts()
    time.sleep(SECONDS)
    quiet = interrupts() - before
    print("without a session: %d interrupts in %d s" % (quiet, SECONDS))
    for recorder, cpu in (("none", OTHER), ("events", OTHER), ("events", guest.CPU)):
        start, armed, end = of_session("--cpu", str(cpu), "--recorder", recorder)
        print("%s, of CPU %d: start %d, armed for %d s %d, end %d" %
              (recorder, cpu, start, SECONDS, armed, end), flush=True)
        check(armed <= quiet + 3, "the armed session interrupts")
        check(start + end <= LIMITS[recorder] + quiet,
              "more than %d interrupts" % LIMITS[recorder])
