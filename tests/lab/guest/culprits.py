# SPDX-License-Identifier: GPL-2.0-only
"""Without Intel PT, by the recorder events: what makes a timer or a thread late on purpose is named
by the report. With PREEMPT_RT rtla's auto-analysis watches the same moments. Prints how often each
of them names it, and how often the comparison with normal activations does. In the environment:
LAB_SPIKES, of each kind; LAB_RTLA, how many of these rtla watches; LAB_KINDS, by commas;
LAB_RECORDER, another recorder with its options; LAB_SECONDS, after which no more is made late;
LAB_LATE_MS, by how much; LAB_KEEP, a folder for the first capture of each kind, and those in which
it is not named.

usage: culprits.py PERF_POKE_CTL USER_LOOP"""
import collections
import glob
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import guest
from guest import check

CTL, USER_LOOP = sys.argv[1:]
SPIKES = int(os.environ.get("LAB_SPIKES", "10"))
WATCHED = int(os.environ.get("LAB_RTLA", "3"))
KEEP = os.environ.get("LAB_KEEP")
RECORDER = os.environ.get("LAB_RECORDER", "events").split()
SECONDS = int(os.environ.get("LAB_SECONDS", "400"))
# A guest is late by itself now and then: by tens of milliseconds, with all CPUs in one thread of
# QEMU by two hundred.
INJECTED_US = 1000 * int(os.environ.get("LAB_LATE_MS", "60"))
THRESHOLD_US = INJECTED_US // 2
LATE = pathlib.Path("/sys/kernel/debug/late_timer")
EXIT_US = pathlib.Path("/sys/module/idle_states/parameters/exit_us")
CPUIDLE = "/sys/devices/system/cpu/cpu{}/cpuidle/state{}/disable"


# The same in all kernels; but 6.1 does not tell what another CPU has called.
FINGERPRINTS = {
    # A guest cannot rule out its hypervisor.
    "irqs_off": "irqs-off-or-outside/late_timer_irqs_off:90c75023",
    "call": "interrupt/late_timer_called:96d6d62e",
    "idle": "idle/LAB3:0a4844d4",
    "user": "thread/user_loop:f06daf25",
    "preempt_off": "thread/late_timer_preempt_off:2f8b8ec0",
    "syscall": "thread/late_timer_syscall:52ef6c5d",
    "softirqs": "softirq/late_timer_tasklet:1df486d0",
}
if os.uname().machine == "aarch64":
    # One kind of interrupt asks for calls.
    FINGERPRINTS["call"] = "interrupt/late_timer_called:235f6765"
# An idle CPU that polls is sent no interrupt: it looks for calls itself.
CALLED_UNSEEN = r"call_function|flush_smp_call_function_queue"
# The function that the interrupt hit; if it hit the kernel, any of the program.
IN_USER = r"user_loop \d+ ran for (.*hit user space, in user_loop_spin\(\) \[user_loop\]|" \
          r"(?!.*hit user space).*(user_loop\+0x|\[user_loop\]))"
HAS_SENDERS = os.path.exists("/sys/kernel/tracing/events/csd/csd_queue_cpu")
HAS_TASKLETS = os.path.exists("/sys/kernel/tracing/events/irq/tasklet_entry")
if not HAS_TASKLETS:
    FINGERPRINTS["softirqs"] = "softirq/TASKLET:3aeae423"


# -- What makes it late: each returns a moment in which it was -------------------------------------

def late_timer(kind):
    (LATE / kind).write_text(f"{guest.CPU} {INJECTED_US}\n")
    return int((LATE / "until_ns").read_text())


def late_syscall():
    """The writer itself is what keeps the CPU."""
    command = f"echo {guest.CPU} {INJECTED_US} >{LATE}/syscall"
    subprocess.run(["taskset", "-c", str(guest.CPU), "sh", "-c", command], check=True)
    return int((LATE / "until_ns").read_text())


class UserLoop:
    """A program that keeps the CPU when it is asked to."""

    def __init__(self):
        self.process = subprocess.Popen([USER_LOOP, str(guest.CPU)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def spin(self):
        print(INJECTED_US, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


def late_idle():
    """Each time that the CPU leaves the state it is late: the first time is enough."""
    EXIT_US.write_text(str(INJECTED_US))
    begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    time.sleep(INJECTED_US / 1e6)
    EXIT_US.write_text("0")
    return begin_ns + INJECTED_US * 500


class Kind:
    def __init__(self, trigger, inject, named, by_rtla, partly, by_normal=None):
        """What the sentence says if it names the culprit; what rtla prints if it does, and if it
        tells what kind of thing it was; what the comparison with normal activations says, if it is
        not what rtla does."""
        self.trigger, self.inject, self.named = trigger, inject, named
        self.by_rtla, self.partly = by_rtla, partly
        self.by_normal = by_normal or by_rtla
        self.spikes = self.right = self.normal = self.rtla = self.rtla_partly = self.watched = 0
        self.fingerprints = collections.Counter()


def kinds():
    functions = {kind: f"late_timer_{kind}" for kind in ("irqs_off", "preempt_off", "syscall")}
    found = {
        "irqs_off": Kind("irq", lambda: late_timer("irqs_off"),
                         r"late_timer_irqs_off\(\) \[late_timer\]", functions["irqs_off"],
                         "kworker"),
        "call": Kind(
            "irq", lambda: late_timer("call"),
            r"late_timer_called.*sent by CPU 0, task \d+ python3, from late_timer_call\(\)"
            if HAS_SENDERS else CALLED_UNSEEN, "late_timer_called",
            "call_function|IRQ interference", None if HAS_SENDERS else CALLED_UNSEEN),
        "idle": Kind("irq", late_idle, "the CPU left LAB3 after", "LAB3", "exit from idle"),
        "user": Kind("thread",
                     UserLoop().spin, IN_USER, r"user_loop\+0x|user_loop_spin", "user_loop",
                     "user_loop"), "preempt_off": Kind("thread", lambda: late_timer("preempt_off"),
                                                       r"late_timer_preempt_off\(\)",
                                                       functions["preempt_off"], "kworker"),
        "syscall": Kind("thread", late_syscall, r"late_timer_syscall\(\) \[late_timer\]",
                        functions["syscall"], r"\bsh:"),
    }
    # In a real-time kernel threads come before softirqs.
    if "PREEMPT_RT" not in os.uname().version:
        inside = ", most of it in late_timer_tasklet" if HAS_TASKLETS else ""
        found["softirqs"] = Kind("thread", lambda: late_timer("softirqs"),
                                 f"softirq TASKLET{inside}", "TASKLET", "TASKLET")
    chosen = os.environ.get("LAB_KINDS", "").replace(",", " ").split()
    return {name: kind for name, kind in found.items() if not chosen or name in chosen}


# -- Who watches -----------------------------------------------------------------------------------

class Session:
    """An armed session, whose captures are told one after another. Its threads come before rtla's:
    else these would be what they wait for at last."""

    def __init__(self):
        argv = [
            CTL, "start", "--json", "--cpu",
            str(guest.CPU), "--recorder", *RECORDER, "--workload", "cyclic", "--period", "5ms",
            "--prio", "f:97", "--buffer", "512K", f"--trigger=irq={THRESHOLD_US}us",
            f"--trigger=thread={THRESHOLD_US}us", "--output", "/tmp/culprits", "--count", "1000"
        ]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        check(json.loads(self.process.stdout.readline())["type"] == "armed", "session is not armed")

    def capture(self, kind):
        """That of a spike of this injection; others are of the guest itself."""
        while True:
            time.sleep(0.1)
            until = kind.inject()
            while True:
                readable, _, _ = select.select([self.process.stdout], [], [], 10)
                if not readable:
                    break
                line = json.loads(self.process.stdout.readline())
                check(line["error"] is None, f"the capture failed: {line}")
                if line["trigger"] == kind.trigger and line["expected_ns"] < until <= line[
                        "time_ns"]:
                    return line
                print(f"another spike: {line['trigger']} {line['latency_ns']} ns", flush=True)
                shutil.rmtree(line["path"])
                if line["expected_ns"] >= until:
                    break

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=60)


class Rtla:
    """rtla's auto-analysis, which ends at the first spike: one run for each."""
    path = next(
        iter(sorted(filter(None,
                           os.environ.get("LAB_RTLAS", "").split(":")), reverse=True)), None)

    def __init__(self):
        argv = [
            self.path, "timerlat", "top", "-q", "-k", "-c",
            str(guest.CPU), "--aa-only",
            str(THRESHOLD_US), "-d", "60s"
        ]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)
        guest.wait_for(lambda: self.is_armed() or self.process.poll() is not None, "rtla's thread",
                       60)
        # Only later does it measure.
        time.sleep(3)

    @staticmethod
    def is_armed():
        return any("timerlat" in pathlib.Path(path).read_text()
                   for path in glob.glob("/sys/kernel/tracing/instances/timerlat*/current_tracer"))

    def said(self):
        """What it printed; empty if the spike was none of its own."""
        if self.process.poll() is None:
            try:
                self.process.wait(8)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGINT)
        text = self.process.communicate(timeout=60)[0]
        latency = re.search(r"latency: +([\d.]+) us \(100%\)", text)
        return text if latency and float(latency[1]) > INJECTED_US * 0.8 else ""


def report(path):
    out = subprocess.run([CTL, "report", "--json", "--normal", path], capture_output=True,
                         text=True, check=True).stdout
    return json.loads(out)


def named_by_normal(kind, normal):
    """What took longer than normal, with its callers, or the function of the stack."""
    most = normal.get("most") or {"name": "", "callers": []}
    return re.search(kind.by_normal,
                     " ".join([most["name"], *most["callers"],
                               normal.get("stack") or ""]))


def watched_by_rtla(kind, name, text):
    if not text:
        return
    kind.watched += 1
    kind.rtla += bool(re.search(kind.by_rtla, text))
    kind.rtla_partly += bool(re.search(kind.partly, text))
    if kind.watched == 1:
        print(f"{name}, rtla:\n{text}", flush=True)


def watch(session, name, kind, with_rtla):
    rtla = Rtla() if with_rtla else None
    while rtla and rtla.process.poll() is not None:
        rtla = Rtla()
    line = session.capture(kind)
    kind.spikes += 1
    if rtla:
        watched_by_rtla(kind, name, rtla.said())
    said = report(line["path"])
    found = re.search(kind.named, said["sentence"])
    kind.right += bool(found)
    if named_by_normal(kind, said["normal"]):
        kind.normal += 1
    else:
        print(f"{name}, against normal: {said['normal']}", flush=True)
    if found:
        kind.fingerprints[said["fingerprint"]["id"]] += 1
    if KEEP and (not found or kind.right == 1):
        shutil.copytree(
            line["path"],
            pathlib.Path(
                KEEP, f"{os.environ['LAB_KERNEL']}-{name}-{kind.spikes if not found else 'named'}"),
            # A guest that died is repeated.
            dirs_exist_ok=True)
    if not found or kind.right == 1:
        print(f"{name}: {said['sentence']}", flush=True)
        print(
            "    " + ", ".join(f"{row['term']} {row['name'] or ''} {row['percent']:.1f}%"
                               for row in said["analysis"]), flush=True)
    if not found:
        print(f"    stack: {' < '.join(frame['name'] for frame in said['stack'])}", flush=True)
    shutil.rmtree(line["path"])


def run(chosen):
    session, until = Session(), time.monotonic() + SECONDS
    for number in range(SPIKES):
        for name, kind in chosen.items():
            if time.monotonic() < until:
                watch(session, name, kind, Rtla.path and number < WATCHED)
    session.end()


def deep_states():
    """The last state alone, on the watched CPU; all but that elsewhere."""
    guest.load("idle_states", exit_us=INJECTED_US)
    EXIT_US.write_text("0")
    for cpu in range(os.cpu_count()):
        for state in range(4):
            pathlib.Path(CPUIDLE.format(cpu, state)).write_text(
                str(int((cpu == guest.CPU) != (state == 3))))


def table(rows):
    for name, kind in rows.items():
        for fingerprint, count in kind.fingerprints.most_common():
            print(f"{name:12} {count:3} {fingerprint}")
    print(
        f"{'trigger':8} {'what made it late':18} {'named':>5} {'normal':>6} of {'spikes':>6} "
        f"{'rtla':>6} {'partly':>6} of {'spikes':>6}"
    )
    for name, kind in rows.items():
        print(
            f"{kind.trigger:8} {name:18} {kind.right:5} {kind.normal:6} of {kind.spikes:6} "
            f"{kind.rtla:6} {kind.rtla_partly:6} of {kind.watched:6}",
            flush=True)


guest.load("late_timer")
os.sched_setaffinity(0, {cpu for cpu in range(os.cpu_count()) if cpu != guest.CPU})
if not os.path.exists("/sys/kernel/tracing/osnoise"):
    Rtla.path = None
elif not Rtla.path:
    print("without rtla: `lab rtla 7.3` fetches it", flush=True)
all_kinds = kinds()
if "idle" in all_kinds:
    deep_states()
run(all_kinds)
table(all_kinds)
for name, kind in all_kinds.items():
    if not kind.spikes:
        print(f"{name}: out of time before the first")
        continue
    # What came while the last capture was copied is not recorded, and a busy host makes the guest
    # late all the time.
    check(kind.right * 2 > kind.spikes, f"{name}: {kind.right} of {kind.spikes} named")
    # The state is idle as ever.
    check(name == "idle" or kind.normal * 2 > kind.spikes,
          f"{name}: {kind.normal} of {kind.spikes} differ from normal in it")
    if name == "call" and not HAS_SENDERS:
        continue
    usual = kind.fingerprints.most_common(1)[0]
    check(usual[1] * 2 > kind.spikes, f"{name}: fingerprints {dict(kind.fingerprints)}")
    check(usual[0] == FINGERPRINTS[name],
          f"{name}: fingerprint {usual[0]}, not {FINGERPRINTS[name]}")
