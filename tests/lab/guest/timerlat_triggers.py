# SPDX-License-Identifier: GPL-2.0-only
"""The right trigger fires: irq for a late timer, thread for a thread that is kept from running,
with timerlat, the cyclic workload and any wakeup. Stock perf names the culprit from the capture."""
import collections
import contextlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

import capture
import guest
from guest import check, equal
from tracer import CTL, OSNOISE, Session, as_before, hog, need, state, stop_all, tasks

LATE = pathlib.Path("/sys/kernel/debug/late_timer/irqs_off")
# Now and then the guest itself is late by tens of milliseconds.
THRESHOLD_US = 60000
INJECTED_US = 100000


def irqs_off(microseconds):
    LATE.write_text(f"1 {microseconds}\n")


def captured(session, cause, microseconds):
    """The capture that this causes; none is taken while another is written."""
    for _ in range(3):
        cause(microseconds)
        text = session.read_line(seconds=10)
        if text:
            break
        print("no capture: once more", flush=True)
    check(text, f"nothing more from the session: {session.text()}")
    line = json.loads(text)
    equal(line["type"], "capture", f"line ({session.text()})")
    check(line["error"] is None, f"the capture failed: {line}")
    return line, json.loads((pathlib.Path(line["path"]) / "capture.json").read_text())


def spike(session, kind, cause, microseconds=INJECTED_US, interrupted="", noise=False):
    """The next capture that this causes, with osnoise's account. Repeats if the guest itself was
    late."""
    for _ in range(8):
        line, facts = captured(session, cause, microseconds)
        # The timer of another sleeper may have been late and seen first.
        known = kind == "wakeup" or facts["spike"]["thread_ns"] and (facts["spike"]["noise"]
                                                                     or not noise)
        if line["trigger"] == kind and known and line["comm"].startswith(interrupted):
            break
        print(
            f"another spike came first: {line['trigger']} {line['latency_ns']} ns, {line['comm']}",
            flush=True)
    equal(line["trigger"], kind, "trigger that fired")
    equal(facts["spike"]["trigger"], kind, "trigger in capture.json")
    equal(facts["trigger"]["kind"], kind, "trigger's kind in capture.json")
    equal(facts["threshold_ns"], THRESHOLD_US * 1000, "threshold in capture.json")
    check(line["latency_ns"] >= THRESHOLD_US * 1000, f"latency {line['latency_ns']}")
    equal(line["actual_ns"] - line["expected_ns"], line["latency_ns"], "latency")
    return line, facts["spike"]


def named(line, name, recorder):
    """The culprit, which ran for most of that time: by stock perf, and by report."""
    taken = capture.Capture(line)
    branches = ["--itrace=be"] if recorder == "pt" else []
    out = subprocess.run(
        ["perf", "script", "-i", taken.data, "--ns", "-C", "1", "-F", "comm,time", *branches],
        capture_output=True, text=True, check=True).stdout
    ran, since_ns = collections.Counter(), line["expected_ns"]
    for text in out.splitlines():
        match = re.match(r"\s*(.+?)\s+(\d+)\.(\d+):", text)
        at_ns = int(match[2]) * 10**9 + int(match[3]) - taken.to_perf_ns if match else 0
        if since_ns < at_ns <= line["time_ns"]:
            ran[match[1]] += at_ns - since_ns
            since_ns = at_ns
    check(ran and ran.most_common(1)[0][0].startswith(name),
          f"perf names {ran.most_common(3)}, not {name}")
    said = json.loads(
        subprocess.run([CTL, "report", line["path"], "--json"], capture_output=True, text=True,
                       check=True).stdout)["sentence"]
    check(name in said, f"the report does not name {name}: {said}")


def shown_to_others(kind):
    """The session's spikes of that kind, by status."""
    out = subprocess.run([CTL, "status", "--json"], capture_output=True, text=True,
                         check=True).stdout
    seen = json.loads(out)
    equal(list(seen["triggers"]), [kind], "other kinds than irq")
    seen = seen["triggers"][kind]
    equal(seen["threshold_ns"], THRESHOLD_US * 1000, f"threshold {kind} in status")
    check(seen["all"]["spikes"] >= 1 and seen["all"]["max_ns"] >= THRESHOLD_US * 1000,
          f"spikes in status {seen}")
    cpu = seen["cpus"][0]
    check(
        0 < cpu["min_ns"] <= cpu["avg_ns"] <= cpu["max_ns"] and 0 < cpu["last_ns"] <= cpu["max_ns"]
        and 0 < cpu["p99_ns"] <= cpu["max_ns"], f"latencies in status {cpu}")


def fires(*workload, recorder="events"):
    thresholds = [f"--trigger={kind}={THRESHOLD_US}us" for kind in ("irq", "thread")]
    session = Session(*thresholds, *workload, recorder=[recorder])
    line, facts = spike(session, "irq", irqs_off, interrupted="kworker")
    check(line["comm"].startswith("kworker"),
          f"interrupted was {line['comm']}, not the worker that had interrupts off")
    equal(facts["irq_ns"], line["latency_ns"], "latency of the interrupt")
    check(facts["thread_ns"] and facts["thread_ns"] >= facts["irq_ns"],
          f"the thread's latency is {facts['thread_ns']}, the interrupt's {facts['irq_ns']}")
    named(line, "kworker", recorder)
    irq = facts
    line, facts = spike(session, "thread", hog, interrupted="the-hog", noise="timerlat" in workload)
    equal(line["comm"], "the-hog", "task that was interrupted when the timer expired")
    check(facts["irq_ns"] < THRESHOLD_US * 1000, f"the interrupt was late too: {facts['irq_ns']}")
    equal(facts["thread_ns"], line["latency_ns"], "latency of the thread")
    if "timerlat" in workload:
        share = facts["noise"]["thread_ns"] / (facts["thread_ns"] - facts["irq_ns"])
        check(0.5 < share <= 1.05, f"the hog had {share:.0%} of the time: {facts}")
        print(f"noise: {facts['noise']}", flush=True)
    named(line, "the-hog", recorder)
    shown_to_others("thread")
    session.end(status=0)
    print(
        f"{' '.join(workload)}, {recorder}: irq {irq['irq_ns']} (thread {irq['thread_ns']}), then "
        f"thread {facts['thread_ns']} (irq {facts['irq_ns']})",
        flush=True)


def only_thread():
    """Without the irq trigger a late interrupt is no spike, but its thread is."""
    session = Session(f"--trigger=thread={THRESHOLD_US}us", "--workload", "timerlat")
    line, facts = spike(session, "thread", irqs_off)
    check(facts["irq_ns"] >= THRESHOLD_US * 1000, f"the interrupt was {facts['irq_ns']} late")
    equal(session.end(status=0)[-1]["all"]["spikes"], 0, "spikes of the interrupt")
    print("thread alone: well", flush=True)


@contextlib.contextmanager
def sleeper():
    """A task that is woken all the time. With PREEMPT_RT only real-time tasks' timers expire in
    the interrupt, hence while the hog runs."""
    code = """
import os, time
open('/proc/self/comm', 'w').write('the-sleeper')
os.sched_setaffinity(0, [1])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
while True: time.sleep(0.002)
"""
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            guest.wait_for(
                lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "the-sleeper\n",
                "sleeper")
            yield process.pid
        finally:
            process.kill()


def wakeups():
    with sleeper() as pid:
        for task in (str(pid), "the-sleeper"):
            session = Session(f"--trigger=wakeup={THRESHOLD_US}us", "--task", task, "--workload",
                              "none")
            line, facts = spike(session, "wakeup", hog, interrupted="the-hog")
            equal(line["comm"], "the-hog", "task that ran instead")
            equal((facts["irq_ns"], facts["thread_ns"]), (None, None), "latencies of a timer")
            session.end(status=0)
        session = Session(f"--trigger=wakeup={THRESHOLD_US}us", "--task", "another", "--workload",
                          "none")
        hog(INJECTED_US)
        time.sleep(0.3)
        session.end(status=3)
    text = Session("--trigger=wakeup", "--task", "99999", "--workload", "none", expect=1).text()
    check("task 99999: cannot be found" in text, f"said: {text}")
    print("wakeups: well", flush=True)


def users():
    """Threads in user space and their return: a whole activation in one capture."""
    if not (OSNOISE / "per_cpu/cpu1/timerlat_fd").exists():
        for trigger in ("irq", "user"):
            text = Session("--workload", "user", f"--trigger={trigger}", expect=1).text()
            check("needs Linux 6.5" in text, f"said: {text}")
        print("no threads in user space on this kernel", flush=True)
        return
    session = Session("--workload", "user", f"--trigger=user={THRESHOLD_US}us", "--prio", "f:60")
    pids = [pid for pid, comm in tasks() if comm == "pp-user/1"]
    equal(len(pids), 1, "processes of the workload")
    fields = pathlib.Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()
    equal((fields[38], fields[37]), ("1", "60"), "policy and priority")
    line, facts = spike(session, "user", irqs_off)
    check(facts["irq_ns"] <= facts["thread_ns"] <= facts["user_ns"], f"latencies {facts}")
    equal(facts["user_ns"], line["latency_ns"], "latency")
    shown_to_others("user")
    (OSNOISE / "timerlat_period_us").write_text("2000")
    (OSNOISE / "cpus").write_text("0-1")
    guest.wait_for(lambda: "the thread on CPU 1 was killed" in session.text(), "warning")
    (OSNOISE / "cpus").write_text("1")
    (OSNOISE / "timerlat_period_us").write_text("1000")
    summary = session.end(status=0)[-1]
    irq, user = summary["all"], summary["triggers"]["user"]["all"]
    # Its thread, killed above, may not have returned from the last.
    check(0 <= irq["count"] - user["count"] <= 2,
          f"of {irq['count']} activations {user['count']} were seen to be back in user space")
    check(user["min_ns"] > irq["min_ns"] and user["avg_ns"] > irq["avg_ns"],
          f"latencies of the user {user}, of the interrupt {irq}")
    session = Session("--workload", "user", "--trigger=user=1h")
    session.end(signal.SIGKILL, -9)
    guest.wait_for(lambda: "pp-user/1" not in [comm for _, comm in tasks()],
                   "end of the threads of a killed session")
    stop_all("restored")
    check(
        "needs --workload user" in Session("--workload", "cyclic", "--trigger=user",
                                           expect=2).text(), "trigger user without its workload")
    print(f"user: irq {facts['irq_ns']}, thread {facts['thread_ns']}, user {facts['user_ns']}",
          flush=True)


def main():
    need()
    capture.load()
    before = state()
    fires("--workload", "timerlat")
    fires("--workload", "timerlat", recorder="pt")
    fires("--workload", "cyclic", "--function", "hrtimer_wakeup")
    only_thread()
    wakeups()
    users()
    as_before(before, "at the end")


main()
