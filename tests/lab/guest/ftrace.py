# SPDX-License-Identifier: GPL-2.0-only
"""The recorder ftrace, by what the kernel wrote into the rings: each trace ends at the message of
the spike's BPF program; with --freeze swap none of the expiries between two captures is missing;
--stop-tracing ends the rings of others there; selftest is green; and a session ends soon. Prints
what it measured.

In the environment: LAB_SPIKES, captures of each freeze; LAB_KEEP, a folder for one capture of each.

usage: ftrace.py PERF_POKE_CTL"""
import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

import capture
import guest
import ring_pages
from guest import check, equal

CTL, = sys.argv[1:]
SPIKES = int(os.environ.get("LAB_SPIKES", "3"))
KEEP = os.environ.get("LAB_KEEP")
TRACING = pathlib.Path("/sys/kernel/tracing")
MESSAGE_EVENT = "events/bpf_trace/bpf_trace_printk"
TRACER = "function_graph" if guest.VERSION >= (6, 11) else "function"
LATE_US, THRESHOLD_US = 30000, 20000
# As those of the trigger: two microseconds to a function in a guest
LATEST_NS = 2000000
END_S = 0.3


def event_id(name):
    return int((TRACING / "events" / name / "id").read_text())


@contextlib.contextmanager
def instance(name, **files):
    """A tracing instance of this test's own."""
    folder = TRACING / "instances" / name
    folder.mkdir()
    try:
        for file, text in files.items():
            (folder / file.replace("__", "/")).write_text(text)
        yield folder
    finally:
        for file, text in (("tracing_on", "0"), ("current_tracer", "nop"), ("events/enable", "0")):
            (folder / file).write_text(text)
        for line in (folder / "events/timer/hrtimer_expire_entry/trigger").read_text().splitlines():
            if line.startswith("hist:"):
                (folder / "events/timer/hrtimer_expire_entry/trigger"
                 ).write_text("!" + line.partition(" [")[0])
        folder.rmdir()


# -- The last event --------------------------------------------------------------------------------

def check_end(one, freeze):
    """The message is the last event of the spike's CPU but for the line of the recorder. Returns
    how much later than the spike it was printed, in ns."""
    told, spike = one.json["recorder"], one.json["spike"]
    equal((told["freeze"], told["late_freezes"]), (freeze, 0), "freeze, and late ones")
    equal(told["tracer"], TRACER, "the tracer")
    *_, message, marker = ring_pages.rings(one.folder / "trace.dat")[guest.CPU]
    check(b"perf-poke: spike at" in marker.data, f"{one.folder}: the last line is {marker}")
    equal(message.kind, event_id("bpf_trace/bpf_trace_printk"), "kind of the last event")
    check(told["message"].encode() in message.data, f"{one.folder}: the last event is {message}")
    after_ns = message.time_ns - spike["time_ns"]
    check(0 <= after_ns <= LATEST_NS, f"{one.folder}: the message is {after_ns} ns after the spike")
    return after_ns


def check_reader(folder):
    """Stock trace-cmd shows it without a word."""
    if not shutil.which("trace-cmd"):
        print("no trace-cmd")
        return
    out = subprocess.run(["trace-cmd", "report", folder / "trace.dat"], capture_output=True,
                         text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), "exit status and stderr of trace-cmd")
    check("late_timer_irqs_off" in out.stdout and "bpf_trace_printk" in out.stdout,
          "trace-cmd does not show function and message")


def named(one):
    said = json.loads(
        subprocess.run([CTL, "report", "--json", one.folder], capture_output=True, text=True,
                       check=True).stdout)
    return "late_timer_irqs_off" in said["sentence"]


def ends_at_the_message(freeze):
    after = []
    for one in capture.take(CTL, f"/tmp/{freeze}", "--freeze", freeze, duration="1h",
                            recorder="ftrace", buffer="4M", count=SPIKES,
                            threshold_us=THRESHOLD_US,
                            late=capture.Late(late_us=LATE_US)):
        after.append(check_end(one, freeze))
        if len(after) == 1:
            check_reader(one.folder)
            if KEEP:
                shutil.copytree(one.folder, pathlib.Path(KEEP, f"{guest.KERNEL}-{freeze}"))
    check(named(one), "the report does not name the culprit")
    print(f"{freeze}, {TRACER}: {len(after)} of {len(after)} end at the message, "
          f"{statistics.median(after) / 1000:.1f} us after the expiry in the median, at most "
          f"{max(after) / 1000:.1f} us", flush=True)
    shutil.rmtree(f"/tmp/{freeze}")


# -- No blind time ---------------------------------------------------------------------------------

def expiries_in(folder):
    """By the kernel's histogram: pairs of the timer and its time."""
    text = (folder / "events/timer/hrtimer_expire_entry/hist").read_text()
    equal(re.search(r"Dropped: (\d+)", text)[1], "0", "expiries that the histogram dropped")
    found = {}
    for row in re.finditer(r"\{ hrtimer: +(\d+), now: +(\d+) .*hitcount: +(\d+)", text):
        found[int(row[1]), int(row[2])] = int(row[3])
    return found


def no_expiry_is_missing():
    """A spike each 500 us. The kernel counts all expiries; the traces of two captures have each of
    those between them."""
    kind = event_id("timer/hrtimer_expire_entry")
    keys = "hist:keys=hrtimer,now:size=131072"
    function = re.search(r"^([0-9a-f]+) \w hrtimer_wakeup$",
                         pathlib.Path("/proc/kallsyms").read_text(), re.M)[1]
    with instance("witness", events__timer__hrtimer_expire_entry__trigger=
                  f"{keys} if CPU == {guest.CPU} && function == 0x{function}") as witness:
        argv = [
            CTL, "start", "--json", "--cpu", str(guest.CPU), "--recorder", "ftrace", "--freeze",
            "swap", "-e", "nop", "-e", "timer:hrtimer_expire_entry", "--workload", "cyclic",
            "--period", "500us", "--function", "hrtimer_wakeup", "--threshold", "1us", "--count",
            str(4 * SPIKES), "--output", "/tmp/blind", "--no-why"
        ]
        out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        counted = expiries_in(witness)
    lines = [json.loads(line) for line in out.splitlines()]
    captures = [line for line in lines if line["type"] == "capture"]
    traced, unseen, spans, first_ns = set(), set(), [], None
    for line in captures:
        events = ring_pages.rings(pathlib.Path(line["path"], "trace.dat"))[guest.CPU]
        traced |= {ring_pages.expiry(event) for event in events if event.kind == kind}
        first_ns = first_ns or events[0].time_ns
        spans.append(line["time_ns"])
    between = {key for key in counted if first_ns < key[1] < spans[-1]}
    unseen = between - traced
    apart = [b - a for a, b in itertools.pairwise(spans)]
    summary = lines[-1]["cpus"][0]
    print(f"swap: {len(captures)} spikes, {min(apart) / 1000:.0f} to {max(apart) / 1000:.0f} us "
          f"apart; {len(between)} expiries by the kernel's histogram, {len(between & traced)} in "
          f"the traces; the session counted {summary['count']} of {sum(counted.values())}, "
          f"{summary['unarmed']} of them while it was not armed", flush=True)
    check(len(between) > 2 * len(captures), "too few expiries")
    equal(sorted(unseen), [], "expiries that are in no trace")
    check(summary["count"] <= sum(counted.values()), "more expiries than the kernel counted")
    shutil.rmtree("/tmp/blind")


# -- The user's own proof --------------------------------------------------------------------------

def selftest_is_green():
    """With function_graph, its own culprit is named, too."""
    out = subprocess.run([
        CTL, "selftest", "--json", "--recorder", "ftrace", "--cpu", str(guest.CPU), "--threshold",
        f"{THRESHOLD_US}us", "--delivery", "relay"
    ], capture_output=True, text=True, check=False)
    print(out.stdout, out.stderr, flush=True)
    equal(out.returncode, 0, "exit status of selftest")
    *rows, result = map(json.loads, out.stdout.splitlines())
    check(result["ok"], "not all is well")
    equal([row["freeze"] for row in rows], ["swap", "traceoff"], "ways to freeze")


# -- The rings of others, and the end --------------------------------------------------------------

def start(*options):
    process = subprocess.Popen([
        CTL, "start", "--json", "--cpu", str(guest.CPU), "--threshold", f"{THRESHOLD_US}us",
        "--workload", "cyclic", "--output", "/tmp/other", *options
    ], stdout=subprocess.PIPE, text=True)
    equal(json.loads(process.stdout.readline())["type"], "armed", "first line")
    return process


def has_trigger(folder):
    return "traceoff:" in (folder / MESSAGE_EVENT / "trigger").read_text()


def stops_others():
    """A ring of somebody else ends at the spike; the trigger goes with the session, and after a
    kill with the next one."""
    filters = {"set_ftrace_filter": "late_timer_* *hrtimer*"} if TRACER != "nop" else {}
    with instance("others", **filters, trace_clock="mono", current_tracer=TRACER,
                  events__bpf_trace__bpf_trace_printk__enable="1") as other:
        with start("--recorder", "none", "--stop-tracing", "others", "--count", "1") as session, \
                capture.Late(late_us=LATE_US):
            session.wait(100)
        equal((other / "tracing_on").read_text().strip(), "0", "tracing_on of the other ring")
        lines = [line for line in (other / "per_cpu" / f"cpu{guest.CPU}" / "trace"
                                   ).read_text().splitlines() if not line.startswith("#")]
        check("bpf_trace_printk" in lines[-1], f"the other ring ends with {lines[-2:]}")
        check(any("late_timer_irqs_off" in line for line in lines), "the culprit is not in it")
        check(not has_trigger(other), "the trigger is still there")
        session = start("--recorder", "none", "--stop-tracing", "others")
        check(has_trigger(other), "there is no trigger")
        session.send_signal(signal.SIGKILL)
        session.communicate()
        check(has_trigger(other), "the trigger has gone with a killed session")
        end(start("--recorder", "none"))
        check(not has_trigger(other), "the trigger of a killed session is still there")
    print("others: the ring ends at the message; its trigger goes, also after a kill", flush=True)


def end(session):
    begin = time.monotonic()
    session.send_signal(signal.SIGINT)
    session.communicate(timeout=100)
    return time.monotonic() - begin


def ends_soon():
    """A process goes on removing the instance."""
    for name, options in ((TRACER, ()), ("nop", ("-e", "nop", "-e", "sched:*"))):
        took = end(start("--recorder", "ftrace", *options))
        begin = time.monotonic()
        guest.wait_until_closed()
        print(f"end of a session: {name} {took:.3f} s, the instance is removed "
              f"{time.monotonic() - begin:.1f} s later", flush=True)
        check(name != "nop" or took < END_S, "a session without functions does not end soon")
        equal(list((TRACING / "instances").iterdir()), [], "instances that are left")


guest.load("late_timer")
for way in ("swap", "traceoff"):
    ends_at_the_message(way)
no_expiry_is_missing()
selftest_is_green()
stops_others()
ends_soon()
