# SPDX-License-Identifier: GPL-2.0-only
"""rtla's own threshold pokes the session: from the kernel by its BPF action, and by a shell with
--on-threshold. Each makes one capture of Intel PT that stock perf decodes and that has the
spike."""
import json
import os
import pathlib
import re
import subprocess
import sys

import capture
import guest
from guest import check, equal

CTL, ACTION = sys.argv[1:]
PIN = pathlib.Path("/sys/fs/bpf/perf_poke_rtla")
TRACING = pathlib.Path("/sys/kernel/tracing")
# Now and then the guest itself is late by tens of milliseconds.
THRESHOLD_US = 60000
INJECTED_US = 100000


def rtla_with_actions():
    """The lab's newest rtla that knows the option, or None."""
    for path in sorted(filter(None, os.environ.get("LAB_RTLAS", "").split(":")), reverse=True):
        out = subprocess.run([path, "timerlat", "hist", "--help"], capture_output=True, text=True,
                             check=False)
        if "--bpf-action" in out.stdout + out.stderr:
            return path
    return None


class Session:
    """A session without triggers of its own."""

    def __init__(self, output):
        self.output = output
        argv = [
            CTL, "start", "--json", "--cpu",
            str(guest.CPU), "--threshold", "1h", "--workload", "none", "--recorder", "pt",
            "--buffer", "1M", "--session", "of-rtla", "--count", "9", "--duration", "300s",
            "--output", output
        ]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        equal(json.loads(self.process.stdout.readline())["type"], "armed", "first line")

    def end(self):
        """Ends it and returns the captures."""
        subprocess.run([CTL, "stop", "of-rtla"], check=True)
        lines = [json.loads(line) for line in self.process.stdout]
        self.process.wait(60)
        return [capture.Capture(line) for line in lines if line["type"] == "capture"]


def rtla_stops(rtla, threshold, *options):
    """Runs rtla until its threshold; returns its output."""
    argv = [
        rtla, "timerlat", "hist", "-c",
        str(guest.CPU), threshold,
        str(THRESHOLD_US), "-d", "120s", "-E", "1000", "-b", "1000", *options
    ]
    with capture.Late(every_s=1.5, late_us=INJECTED_US):
        out = subprocess.run(argv, capture_output=True, text=True, timeout=200, check=False)
    print(f"{' '.join(argv)}: {out.returncode}\n{out.stdout[-1500:]}{out.stderr}", flush=True)
    return out.stdout + out.stderr


def decodes(one):
    decoded = one.decoded()
    iterations = guest.check_whole_iterations(decoded)
    equal(decoded.edges[-1][1], len(decoded.branches), "the trace ends behind the last branch")
    return iterations


def by_action(rtla, threshold, kind):
    session = Session(f"/tmp/rtla_action_{kind}")
    check(PIN.exists(), f"no {PIN}")
    text = rtla_stops(rtla, threshold, "--bpf-action", ACTION)
    captures = session.end()
    equal(len(captures), 1, "captures")
    one, spike = captures[0], captures[0].json["spike"]
    equal((spike["rtla"], spike["poked"], spike["trigger"], spike["cpu"]),
          (True, False, kind, guest.CPU), "what the capture says")
    equal(one.json["threshold_ns"], None, "rtla's threshold is not known")
    equal(one.json["recorder"]["freeze"], "pause", "freeze")
    equal(spike[f"{kind}_ns"], spike["latency_ns"], "latency")
    check(spike["latency_ns"] >= THRESHOLD_US * 1000, f"latency {spike['latency_ns']}")
    check_latency(text, spike["latency_ns"] // 1000, kind)
    pause = capture.first_after("pause", spike["time_ns"])
    stop = capture.first_after("stop", pause["mono_ns"])
    equal(stop["head"], pause["head"], "bytes written after the pause")
    first_ns, last_ns = one.times_ns()
    check(first_ns < spike["expected_ns"], "the trace begins after the timer should have expired")
    check(spike["expected_ns"] < last_ns <= pause["mono_ns"], f"the last branch is at {last_ns}")
    check(pause["mono_ns"] - last_ns < 5_000_000,
          f"the last branch is {pause['mono_ns'] - last_ns} ns before the trace was held")
    check(one.line["skid_ns"] > 0, "no skid is told")
    print(
        f"action, {kind}: {spike['latency_ns'] / 1000:.0f} us, {decodes(one)} iterations, by the "
        f"PMU's clock held "
        f"{(pause['mono_ns'] - spike['time_ns']) / 1000:.0f} us after rtla's threshold; told: "
        f"{one.line['skid_ns'] / 1000:.0f} us"
    )
    check(not PIN.exists(), f"{PIN} is left behind")


def check_latency(text, latency_us, kind):
    """Equals rtla's maximum."""
    row = re.search(r"^max: +(.*)$", text, re.MULTILINE)
    check(row, f"rtla says no maximum: {text}")
    longest = row[1].split()[["irq", "thread"].index(kind)]
    equal(latency_us, int(longest), "rtla's latency")


def first_sample_over(latency_ns):
    """Time (CLOCK_MONOTONIC) of timerlat's first sample at which rtla stops."""
    for line in (TRACING / "trace").read_text().splitlines():
        match = re.search(r" (\d+)\.(\d{6}): .*timer_latency=(\d+) seqnum=\d+ context=0", line)
        if match and int(match[3]) >= latency_ns:
            return int(match[1]) * 10**9 + int(match[2]) * 1000
    return check(False, "no such sample was seen")


def by_shell(rtla):
    session = Session("/tmp/rtla_action_shell")
    (TRACING / "tracing_on").write_text("1")
    (TRACING / "trace_clock").write_text("mono")
    (TRACING / "events/osnoise/timerlat_sample/enable").write_text("1")
    rtla_stops(rtla, "-i", "--on-threshold", f"shell,command={CTL} poke of-rtla --wait")
    (TRACING / "events/osnoise/timerlat_sample/enable").write_text("0")
    spike_ns = first_sample_over(THRESHOLD_US * 1000)
    captures = session.end()
    equal(len(captures), 1, "captures")
    one = captures[0]
    equal((one.json["spike"]["poked"], one.json["spike"]["rtla"]), (True, False),
          "what the capture says")
    first_ns, last_ns = one.times_ns()
    check(first_ns < spike_ns < last_ns,
          f"the trace is from {first_ns} to {last_ns}, the spike was at {spike_ns}")
    print(
        f"shell: {decodes(one)} iterations, the trace goes on for "
        f"{(last_ns - spike_ns) / 1000:.0f} us after the spike"
    )


def has_bpf(rtla):
    """Debian builds rtla without BPF. Without a session the action does no harm, nor if one
    comes later."""
    text = rtla_stops(rtla, "-i", "--bpf-action", ACTION)
    if "BPF actions are not supported" in text:
        return False
    check("max:" in text, "rtla has not measured")
    check(PIN.exists(), "rtla has not made the map")
    return True


chosen = rtla_with_actions()
if not chosen:
    guest.skip("no rtla with --bpf-action; this builds it: tests/lab/lab rtla 7.3")
capture.load()
if not (TRACING / "events/osnoise/timerlat_sample").exists():
    guest.skip("the kernel has no tracepoint osnoise:timerlat_sample (Linux 6.15)")
if has_bpf(chosen):
    by_action(chosen, "-i", "irq")
    by_action(chosen, "-T", "thread")
by_shell(chosen)
