# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke captures a late timer with Intel PT: one capture, which stock perf decodes to the
last branch. It ends where the trace was held and begins at the oldest PSB of the ring, in any
order of PSB+."""
import sys

import capture
import guest
from capture import take
from guest import check, equal

CTL = sys.argv[1]
RING = 128 << 10
PSB_PERIOD = 16 << 10


def check_capture(one, freeze):
    """Only whole iterations, and no error. Returns the number of iterations."""
    equal(one.json["recorder"]["kind"], "pt", "recorder")
    equal(one.json["recorder"]["freeze"], freeze, "freeze")
    check(one.json["recorder"]["kcore"], "no kernel code in the capture")
    check(one.line["latency_ns"] >= capture.THRESHOLD_US * 1000, f"latency {one.line}")
    decoded = one.decoded()
    iterations = guest.check_whole_iterations(decoded)
    equal(decoded.edges[-1][1], len(decoded.branches), "the trace ends behind the last branch")
    return iterations


def check_end(one, entry):
    """The trace ends where the PMU was held, and nothing before is missing."""
    first_ns, last_ns = one.times_ns()
    check(last_ns <= entry["mono_ns"],
          f"the last branch is at {last_ns}, after the trace was held at {entry['mono_ns']}")
    check(entry["mono_ns"] - last_ns < 5_000_000,
          f"the last branch is {entry['mono_ns'] - last_ns} ns before the end")
    check(first_ns < one.line["time_ns"], "the trace begins after the spike")


def check_begin(one, entry):
    """Only what precedes the ring's oldest PSB is missing: at most a period and an iteration."""
    least = min(entry["written"], RING - PSB_PERIOD - 1024)
    check(one.line["trace_bytes"] >= least,
          f"{one.line['trace_bytes']} bytes of trace, of {entry['written']} written")


def one_spike(freeze):
    one = take(CTL, f"/tmp/pt_capture_{freeze}", "--freeze", freeze, buffer=str(RING),
               late=capture.Late(every_s=1))[0]
    iterations = check_capture(one, freeze)
    entry = capture.first_after({"pause": "pause", "sample": "snapshot", "signal": "stop"}[freeze],
                                one.line["time_ns"])
    if freeze != "sample":
        check_end(one, entry)
        check_begin(one, entry)
    skid_us = (entry["mono_ns"] - one.line["time_ns"]) / 1000
    print(
        f"{freeze}: {iterations} iterations, {one.line['size_bytes']} bytes, by the PMU's clock "
        f"held "
        f"{skid_us:.0f} us after the spike; told: {one.line['skid_ns'] / 1000:.0f} us")
    capture.check_perfs_agree(one)
    return one


def nothing_after_a_pause(one):
    """The PMU wrote nothing between the pause and the stop."""
    pauses = [e for e in guest.log() if e["what"] == "pause"]
    stops = [e for e in guest.log() if e["what"] == "stop" and e["tsc"] > pauses[-1]["tsc"]]
    equal(stops[0]["head"], pauses[-1]["head"], "bytes written after the pause")
    check(one.line["skid_ns"] > 0, "no skid is told")


capture.load()
for way in capture.ways():
    held = one_spike(way)
    if way == "pause":
        nothing_after_a_pause(held)
equal(
    take(CTL, "/tmp/pt_capture_auto")[0].json["recorder"]["freeze"],
    capture.ways()[0], "the way that auto chooses")
