# SPDX-License-Identifier: GPL-2.0-only
"""Without Intel PT, by the recorder events: what makes a timer or a thread late on purpose is named by the report. Prints how often.

usage: culprits.py PERF_POKE_CTL LATE"""
import json
import os
import pathlib
import subprocess
import sys
import time

import common
from common import check

CTL, LATE_PROGRAM = sys.argv[1:]
SPIKES = int(os.environ.get("LAB_SPIKES", "10"))
# The guest itself is late by milliseconds now and then.
THRESHOLD_US = 20000
INJECTED_US = 40000
LATE = pathlib.Path("/sys/kernel/debug/late_timer")


def late_timer(kind):
    """Returns when it was over: in that moment a spike of it was going on."""
    (LATE / kind).write_text(f"{common.CPU} {INJECTED_US}\n")
    return int((LATE / "until_ns").read_text())


def late_syscall():
    """The writer itself is what keeps the CPU."""
    code = f"import os; os.sched_setaffinity(0, [{common.CPU}]); open('{LATE}/syscall', 'w').write('{common.CPU} {INJECTED_US}')"
    subprocess.run([sys.executable, "-c", code], check=True)
    return int((LATE / "until_ns").read_text())


def late_call():
    """A function call from another CPU."""
    subprocess.run([LATE_PROGRAM, str(common.CPU), str(2 * INJECTED_US), "10", "1"], check=True)


class Session:
    """An armed session, whose captures are told one after another."""

    def __init__(self, trigger, *options):
        self.output = f"/tmp/culprits-{trigger}"
        argv = [CTL, "start", "--json", "--cpu", str(common.CPU), "--recorder", "events", "--workload", "cyclic", "--buffer", "512K",
                f"--trigger={trigger}={THRESHOLD_US}us", "--output", self.output, "--count", "1000", *options]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        check(json.loads(self.process.stdout.readline())["type"] == "armed", "session is not armed")

    def capture(self, inject):
        """That of a spike of this injection; others are of the guest itself."""
        while True:
            time.sleep(0.1)
            until = inject()
            while True:
                line = json.loads(self.process.stdout.readline())
                check(line["error"] is None, f"the capture failed: {line}")
                if line["expected_ns"] < until <= line["time_ns"] if until else line["latency_ns"] > INJECTED_US * 1500:
                    return line
                if not until or line["expected_ns"] >= until:
                    break

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=60)


def report(path):
    out = subprocess.run([CTL, "report", "--json", path], capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def run(trigger, kinds):
    session, right = Session(trigger), {}
    for kind, (inject, expected) in kinds.items():
        right[kind] = 0
        for _ in range(SPIKES):
            line = session.capture(inject)
            said = report(line["path"])["sentence"]
            right[kind] += expected in said
            if expected not in said or not right[kind] - 1:
                print(f"{kind}: {said}", flush=True)
            subprocess.run(["rm", "-rf", line["path"]], check=True)
    session.end()
    return right


def table(rows):
    print(f"{'trigger':8} {'what made it late':14} {'named':>6} of {'spikes':>6}")
    for trigger, right in rows.items():
        for kind, number in right.items():
            print(f"{trigger:8} {kind:14} {number:6} of {SPIKES:6}", flush=True)


common.load("late_timer")
# Where preemption is turned on again, only a kernel that is preempted there gives up the CPU there.
preempts = os.path.exists("/sys/kernel/realtime")
has_senders = os.path.exists("/sys/kernel/tracing/events/csd/csd_queue_cpu")
rows = {
    "irq": run("irq", {
        "irqs_off": (lambda: late_timer("irqs_off"), "late_timer_irqs_off() [late_timer]"),
        "call": (late_call, " late, from " if has_senders else "call_function_single"),
    }),
    "thread": run("thread", {
        "preempt_off": (lambda: late_timer("preempt_off"), "late_timer_preempt_off() [late_timer]"),
        "syscall": (late_syscall, "late_timer_syscall() [late_timer]"),
    } if preempts else {
        "softirqs": (lambda: late_timer("softirqs"), "softirq TASKLET"),
    }),
}
table(rows)
for right in rows.values():
    for kind, number in right.items():
        # What came while the last capture was copied is not recorded, and a busy host makes the guest late all the time.
        check(number * 2 > SPIKES, f"{kind}: {number} of {SPIKES} named")
