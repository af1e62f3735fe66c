# SPDX-License-Identifier: GPL-2.0-only
"""The workload osnoise and the trigger noise: a task that keeps the tracer's thread from running is
the spike, and named; all settings are as before afterwards. Beside a session that uses rtla's
tracer, rtla has the same longest noise."""
import json
import pathlib
import re
import signal
import subprocess
import time

import capture
import guest
from guest import check, equal
from tracer import CTL, OSNOISE, TRACING, Session, as_before, hog, read, state

# The guest itself makes a noise of some milliseconds now and then.
THRESHOLD_US = 60000
HOG_US = 150000


def next_capture(session):
    line = json.loads(session.read_line(seconds=30) or "null")
    check(line and line["type"] == "capture", f"line {line} ({session.text()})")
    return line


def of_the_hog(session):
    """Its capture and its pid. The guest may make noises of its own, so the capture may be of an
    earlier hog."""
    pids = {}
    for _ in range(8):
        pid = hog(HOG_US, 50)
        pids[f"thread the-hog:{pid}"] = pid
        line = next_capture(session)
        if line["label"] in pids:
            return line, pids[line["label"]]
        print(f"another noise came first: {line['latency_ns']} ns, {line['label']}", flush=True)
    check(False, f"no noise of the hog: {line}")
    return None


def check_capture(line, pid):
    facts = capture.Capture(line).json
    noise = facts["spike"]["noise"]
    equal((line["trigger"], facts["spike"]["trigger"], facts["workload"]["kind"]),
          ("noise", "noise", "osnoise"), "trigger, workload")
    check(line["latency_ns"] >= HOG_US * 1000, f"latency {line['latency_ns']}")
    equal(line["actual_ns"] - line["expected_ns"], line["latency_ns"], "latency")
    # The hog is interrupted by timers, and the thread of osnoise may have been late before.
    check(0.5 * line["latency_ns"] < noise["most_ns"] <= noise["thread_ns"] <= line["latency_ns"],
          f"noise {noise} of {line['latency_ns']}")
    check(noise["irq_ns"] > 0, f"noise {noise}")
    said = json.loads(
        subprocess.run([CTL, "report", line["path"], "--json"], capture_output=True, text=True,
                       check=True).stdout)["sentence"]
    check(re.match(rf"noise of \S+: thread the-hog:{pid} caused \S+ of it", said), said)


def check_events(line):
    """Recorded by default; stock perf reads them. The noise of the hog is the longest, and its
    sample follows."""
    out = subprocess.run(
        ["perf", "script", "-i",
         capture.Capture(line).data, "-C", "1", "-F", "event,trace"], capture_output=True,
        text=True, check=True).stdout
    # Not every perf can print the time of the start, and then it prints all fields.
    hogs = [
        int(ns) for ns in re.findall(r"osnoise:thread_noise: .*the-hog\b.*duration[ =](\d+)", out)
    ]
    samples = re.findall(r"osnoise:sample_threshold: .*duration[ =](\d+)", out)
    most = json.loads(
        (pathlib.Path(line["path"]) / "capture.json").read_text())["spike"]["noise"]["most_ns"]
    check(most in hogs, f"perf shows {hogs} of the hog, the capture {most}")
    check(
        str(line["latency_ns"]) in samples,
        f"perf shows the samples {samples[-5:]}, not {line['latency_ns']}")


def own_tracer():
    before = state()
    session = Session("--trigger", f"noise={THRESHOLD_US}us", recorder=["events"])
    equal((read(OSNOISE / "cpus"), read(TRACING / "tracing_thresh")), ("1", "1"), "settings")
    equal(read(TRACING / "instances/perf-poke/current_tracer"), "osnoise", "tracer")
    line, pid = of_the_hog(session)
    check_capture(line, pid)
    check_events(line)
    refused = Session("--workload", "timerlat", expect=1)
    check("the tracer osnoise runs" in refused.text(), f"said: {refused.text()}")
    summary = session.end(status=0)[-1]
    seen = summary["triggers"]["noise"]["all"]
    check(seen["count"] > 10 and seen["min_ns"] >= 1000 and seen["max_ns"] >= line["latency_ns"],
          f"statistics {seen}")
    as_before(before, "after the session")
    session = Session("--trigger", "noise=1h", "--prio", "o:5")
    session.end(signal.SIGKILL, -9)
    out = subprocess.run([CTL, "stop", "--all"], capture_output=True, text=True, check=False)
    check("restored" in out.stderr, f"stop --all said: {out.stderr}")
    as_before(before, "after a killed session")


def event():
    """The tracepoint of a sample is a trigger like any other."""
    session = Session("--workload", "osnoise", "--trigger", "event=tp:osnoise:sample_threshold")
    line = next_capture(session)
    equal((line["trigger"], line["label"], line["latency_ns"]),
          ("event", "osnoise:sample_threshold", 0), "trigger, label, latency")
    check("osnoise" in line["comm"], f"the thread {line['comm']}")
    session.end(status=0)


def beside_rtla():
    """rtla's tracer is used; the noise of the hog is the longest of both, to the microsecond that
    rtla has."""
    with subprocess.Popen(["rtla", "osnoise", "top", "-q", "-c", "1", "-d", "12s"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as rtla:
        time.sleep(3)
        session = Session("--trigger", f"noise={THRESHOLD_US}us")
        check("osnoise runs already" in session.text(), f"said: {session.text()}")
        line, pid = of_the_hog(session)
        check_capture(line, pid)
        out, errors = rtla.communicate(timeout=120)
    row = re.search(r"^ *1 #\d+ +\d+ +\d+ +[\d.]+ +(\d+) +(\d+)", out, re.MULTILINE)
    check(row, f"no row of CPU 1: {out} {errors}")
    guest.wait_for(lambda: "stopped the tracer osnoise" in session.text(), "warning")
    seen = session.end(status=0)[-1]["triggers"]["noise"]["all"]
    equal(seen["max_ns"] // 1000, int(row[2]), "the longest noise, ours and rtla's")
    print(
        f"the longest noise: {seen['max_ns']} ns here, {row[2]} us by rtla, {line['latency_ns']} "
        f"ns of the hog",
        flush=True)


def main():
    guest.need_root()
    if "osnoise" not in (read(TRACING / "available_tracers")).split():
        guest.skip("the kernel has no tracer osnoise (CONFIG_OSNOISE_TRACER)")
    own_tracer()
    event()
    beside_rtla()
    wrong = Session("--workload", "cyclic", "--trigger", "noise=1ms", expect=2)
    check("needs --workload osnoise" in wrong.text(), f"said: {wrong.text()}")


main()
