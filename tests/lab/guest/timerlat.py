# SPDX-License-Identifier: GPL-2.0-only
"""The workload timerlat: the kernel's tracer runs during a session, configured as requested, and
every way to end restores all settings; a running tracer is used unchanged."""
import os
import re
import shutil
import signal
import subprocess
import time

import guest
from guest import check, equal
from tracer import (CTL, OSNOISE, THREAD, TRACING, Session, as_before, comms, dma_latency, need,
                    read, state, stop_all, tasks, thread_policy)

def ends(before):
    options = ("--workload", "timerlat", "--period", "2ms", "--prio", "f:70", "--dma-latency", "20")
    for how, status in ((None, 3), (signal.SIGINT, 3), (signal.SIGTERM, 3), (signal.SIGKILL, -9)):
        session = Session(*options, *([] if how else ["--duration", "3s"]))
        equal(session.armed["workload"], "timerlat", "workload")
        equal(read(OSNOISE / "cpus"), "1", "cpus")
        equal(read(OSNOISE / "timerlat_period_us"), "2000", "period")
        equal(thread_policy(), (1, 70), "policy and priority of the thread")
        if not str(before["dma latency"]).startswith("error"):
            equal(dma_latency(), 20, "dma latency")
        equal(read(TRACING / "current_tracer"), before[str(TRACING / "current_tracer")],
              "tracer of the main instance")
        time.sleep(0.5)
        lines = session.end(how, status)
        if how == signal.SIGKILL:
            check(
                thread_policy(),
                "the tracer of a killed session has ended by itself: nothing is shown by the rest")
            stop_all("restored")
        else:
            count = lines[-1]["all"]["count"]
            check(20 < count < 2000, f"{count} expiries of a timer of 2 ms in about 0.5 s, or 3 s")
        as_before(before, f"after {how.name if how else 'its duration'}")
    print("ends: well", flush=True)


def next_start_restores(before):
    Session("--workload", "timerlat").end(signal.SIGKILL, -9)
    session = Session("--workload", "none")
    check("restored the kernel settings" in session.text(), f"said: {session.text()}")
    as_before({**before, "run": False}, "after the next start")
    session.end()
    as_before(before, "at the end")
    print("next start: well", flush=True)


def others_change(before):
    """Changes by others are reported and left alone."""
    session = Session("--workload", "timerlat")
    (OSNOISE / "timerlat_period_us").write_text("3000")
    guest.wait_for(lambda: "timerlat_period_us: another process set it to '3000'" in session.text(),
                   f"warning: {session.text()}")
    (OSNOISE / "cpus").write_text("0")
    guest.wait_for(lambda: "osnoise/cpus: another process set it to '0'" in session.text(),
                   "warning")
    session.end()
    check(
        "are not restored: osnoise/cpus is '0' (the session had set '1', before that"
        in session.text(), f"said: {session.text()}")
    equal(read(OSNOISE / "cpus"), "0", "cpus")
    equal(read(OSNOISE / "timerlat_period_us"), "3000", "period")
    (OSNOISE / "cpus").write_text(before[str(OSNOISE / "cpus")])
    (OSNOISE / "timerlat_period_us").write_text(before[str(OSNOISE / "timerlat_period_us")])
    as_before(before, "at the end")
    print("changed by somebody else: well", flush=True)


def runs_already(before):
    """A tracer in another user's instance is used by `auto` and by `timerlat`, never changed."""
    other = TRACING / "instances/other"
    other.mkdir()
    (OSNOISE / "cpus").write_text("1")
    (other / "current_tracer").write_text("timerlat")
    try:
        during = state()
        for workload in ("auto", "timerlat"):
            session = Session("--workload", workload, "--period", "5ms")
            equal(session.armed["workload"], "timerlat", "workload")
            check("using it unchanged" in session.text(), f"said: {session.text()}")
            as_before({**during, "run": True}, "with a tracer of somebody else")
            time.sleep(0.5)
            lines = session.end()
            check(lines[-1]["all"]["count"] > 50, f"{lines[-1]['all']['count']} expiries")
            as_before(during, "after the session with a tracer of somebody else")
        check("on CPUs 1 only" in Session("--workload", "timerlat", cpu=0, expect=1).text(),
              "why it cannot be used is not said")
        session = Session(cpu=0)
        equal(session.armed["workload"], "cyclic", "workload on a CPU that the tracer has not")
        session.end()
        session = Session()
        (other / "current_tracer").write_text("nop")
        guest.wait_for(lambda: "another process stopped the tracer" in session.text(), "warning")
        session.end()
    finally:
        (other / "current_tracer").write_text("nop")
        other.rmdir()
        (OSNOISE / "cpus").write_text(before[str(OSNOISE / "cpus")])
    as_before(before, "at the end")
    print("a tracer that runs already: well", flush=True)


def comes_after(before):
    """A tracer that another user starts meanwhile survives the end of ours."""
    other = TRACING / "instances/other"
    session = Session("--workload", "timerlat")
    other.mkdir()
    (other / "current_tracer").write_text("timerlat")
    pids = [pid for pid, comm in tasks() if comm == THREAD]
    session.end()
    equal([pid for pid, comm in tasks() if comm == THREAD], pids,
          "threads of the tracer of somebody else")
    check("are not restored while another tracer runs" in session.text(), f"said: {session.text()}")
    (other / "current_tracer").write_text("nop")
    other.rmdir()
    stop_all("restored")
    as_before(before, "at the end")
    print("a tracer that comes later: well", flush=True)


def rtla(before):
    """rtla and a session work side by side."""
    if not shutil.which("rtla"):
        print("no rtla: not tried beside it")
        return
    cpus = os.cpu_count()
    process = subprocess.Popen(["rtla", "timerlat", "top", "-q", "-c", f"0-{cpus - 1}", "-d", "6s"],
                               stdout=subprocess.PIPE, text=True)
    guest.wait_for(lambda: THREAD in comms(), "thread of rtla's tracer")
    time.sleep(1)
    session = Session("--workload", "timerlat", "--trigger=thread=1h", cpu=f"0-{cpus - 1}")
    time.sleep(1.5)
    lines = session.end()
    out, _ = process.communicate(timeout=60)
    equal(process.returncode, 0, "exit status of rtla")
    counts = [int(count) for count in re.findall(r"^ *\d+ #(\d+)", out, re.MULTILINE)]
    check(len(counts) == cpus and min(counts) > 1000, f"rtla's counts are {counts}: {out}")
    for cpu in (*lines[-1]["cpus"], *lines[-1]["triggers"]["thread"]["cpus"]):
        check(cpu["count"] > 100, f"{cpu['count']} activations on CPU {cpu['cpu']}")
    as_before(before, "after rtla")
    print(
        f"beside rtla: it saw {counts} activations, we saw "
        f"{[c['count'] for c in lines[-1]['cpus']]} of them",
        flush=True)


def two_sessions(before):
    """The second session has its own timers if it may choose; else it uses the first one's and
    is told when they end."""
    first = Session("--workload", "timerlat")
    second = Session()
    equal(second.armed["workload"], "cyclic", "workload of the second session")
    third = Session("--workload", "timerlat")
    first.end()
    guest.wait_for(lambda: "another process stopped the tracer" in third.text(), "warning")
    for session in (second, third):
        session.end()
    as_before(before, "after two sessions")
    print("two sessions: well", flush=True)


def hotplug(before):
    """After hotplug a CPU has the tracer's thread again, with its settings."""
    online = guest.pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    session = Session("--workload", "timerlat", "--prio", "f:70")
    try:
        online.write_text("0")
        guest.wait_for(lambda: "went offline" in session.text(), "warning")
    finally:
        online.write_text("1")
    guest.wait_for(lambda: "is back: watched again" in session.text(), "message")
    equal(thread_policy(), (1, 70), "policy and priority of the new thread")
    session.end()
    as_before(before, "after a CPU was away")
    print("hotplug: well", flush=True)


def time_jumps(before):
    """Steps of the wall clock do not affect measurements by CLOCK_MONOTONIC."""
    session = Session("--workload", "timerlat")
    time.clock_settime(time.CLOCK_REALTIME, time.time() + 3600)
    time.sleep(0.5)
    time.clock_settime(time.CLOCK_REALTIME, time.time() - 3600)
    time.sleep(0.5)
    row = session.end()[-1]["all"]
    check(row["count"] > 100 and row["spikes"] == 0, f"after the time was set: {row}")
    as_before(before, "after the time was set")
    print("time jumps: well", flush=True)


def unmounted(before):
    """Needs no mount of tracefs, and leaves none."""
    subprocess.run(["umount", str(TRACING)], check=True)
    try:
        mounts = guest.pathlib.Path("/proc/mounts").read_text()
        session = Session("--workload", "timerlat")
        check(THREAD in comms(), "there is no thread of the tracer")
        equal(
            guest.pathlib.Path("/proc/mounts").read_text().count("tracefs"),
            mounts.count("tracefs"), "mounts of tracefs")
        session.end()
        equal(guest.pathlib.Path("/proc/mounts").read_text(), mounts, "mounts")
    finally:
        subprocess.run(["mount", "-t", "tracefs", "tracefs", str(TRACING)], check=True)
    as_before(before, "after a session without a mount")
    print("without a mount: well", flush=True)


def main():
    need()
    before = state()
    ends(before)
    next_start_restores(before)
    others_change(before)
    runs_already(before)
    comes_after(before)
    rtla(before)
    two_sessions(before)
    hotplug(before)
    time_jumps(before)
    unmounted(before)


main()
