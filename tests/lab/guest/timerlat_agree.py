# SPDX-License-Identifier: GPL-2.0-only
"""Our latency of the timer interrupt equals timerlat's, activation by activation: the median
difference is below 2 us, and no spike is in one only. Ours ends where the interrupt begins,
timerlat's in its own function, so theirs includes what the kernel runs in between: tracepoints with
their programs, and earlier timers of the same interrupt. Without --icount the host's delays are
part of the difference, which is then only printed.

$AGREE_ACTIVATIONS: number of activations to compare (2000)."""
import os
import pathlib
import re
import statistics
import time

import guest
from guest import check, equal
from tracer import TRACING, Session, as_before, need, state

ACTIVATIONS = int(os.environ.get("AGREE_ACTIVATIONS", "2000"))
MEDIAN_NS = 2000
# How much later timerlat may read its clock: up to 6 us in 10,000 activations.
ALLOWANCE_NS = 10000
EXACT = "LAB_ICOUNT" in os.environ
LATE = pathlib.Path("/sys/kernel/debug/late_timer/irqs_off")
LATE_US = 3000
LATE_TIMES = 20
# Not the tick's period: where both expire together, the tick's work always comes first.
PERIOD_US = 1037
# The recorder's events would run between the two clocks: 1.4 us for the default set.
RECORD_NOTHING = ("--event", "sched:sched_process_exit")


def symbol(name):
    for line in pathlib.Path("/proc/kallsyms").read_text().splitlines():
        if line.split()[2] == name:
            return int(line.split()[0], 16)
    return None


def be_late():
    """Makes some activations late, for a bit longer than they all take."""
    for _ in range(LATE_TIMES):
        time.sleep(ACTIVATIONS * PERIOD_US / 10**6 * 1.1 / LATE_TIMES)
        LATE.write_text(f"1 {LATE_US}\n")


def watch():
    """All sources for the same activations: ftrace's timers, the tracer, and the session's
    statistics."""
    instance, ours = TRACING / "instances/compare", TRACING / "instances/perf-poke"
    address = symbol("timerlat_irq")
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text("16384")
        (instance / "trace_clock").write_text("mono")
        for event in ("timer/hrtimer_start", "timer/hrtimer_expire_entry"):
            (instance / f"events/{event}/filter").write_text(f"function == {address:#x}")
            (instance / f"events/{event}/enable").write_text("1")
        samples = instance / "events/osnoise/timerlat_sample/enable"
        if samples.exists():
            samples.write_text("1")
        session = Session("--workload", "timerlat", "--period", f"{PERIOD_US}us",
                          "--trigger=irq=1h", *RECORD_NOTHING)
        (ours / "buffer_size_kb").write_text("8192")
        (ours / "trace_clock").write_text("mono")
        be_late()
        theirs = (ours / "trace").read_text()
        lines = session.end()
        (instance / "tracing_on").write_text("0")
        return (instance / "trace").read_text(), theirs, lines[-1]["cpus"][0]
    finally:
        instance.rmdir()


def timed(text, pattern):
    """Matched numbers with the times of their lines."""
    pattern = re.compile(r" (\d+)\.(\d{6}): .*?" + pattern)
    found = []
    for line in text.splitlines():
        match = pattern.search(line)
        if match:
            found.append((int(match[1]) * 10**6 + int(match[2]), int(match[3])))
    return found


def expiries(text, summary):
    """Times and latencies of all expiries, by ftrace; they equal the session's statistics."""
    starts = timed(text, r"hrtimer_start: .* expires=(\d+)")
    ends = timed(text, r"hrtimer_expire_entry: .* now=(\d+)")
    check(
        len(starts) - len(ends) in (0, 1),
        f"{len(starts)} timers that were started expire {len(ends)} times")
    own = [(at, max(now - expires, 0)) for (at, now), (_, expires) in zip(ends, starts)]
    values = [value for _, value in own]
    equal(len(values), summary["count"], "expiries that ftrace counted, and we")
    equal(sum(values) // len(values), summary["avg_ns"], "average")
    equal(max(values), summary["max_ns"], "maximum")
    return own


def pair(own, samples):
    """Pairs of our and their latencies: a sample belongs to the newest expiry before it."""
    pairs, i = [], 0
    for at, value in samples:
        while i + 1 < len(own) and own[i + 1][0] <= at:
            i += 1
        pairs.append((own[i][1], value))
    check(len(pairs) >= ACTIVATIONS, f"only {len(pairs)} activations of {len(own)} to compare")
    return pairs


def compare(pairs, what):
    differences = sorted(theirs - ours for ours, theirs in pairs)
    median = statistics.median(differences)
    print(
        f"{what}: {len(pairs)} activations, timerlat's latency is more than ours by "
        f"{differences[0]} ns (min), {median:.0f} (median), "
        f"{differences[len(pairs) * 99 // 100]} (p99), {differences[-1]} (max)", flush=True)
    check(differences[0] >= 0, "timerlat's clock was read before ours")
    if not EXACT:
        return
    check(median < MEDIAN_NS, f"the median is not less than {MEDIAN_NS} ns")
    for share in (10, 100, 1000):
        threshold = sorted(ours for ours, _ in pairs)[-len(pairs) // share]
        spikes = sum(ours >= threshold for ours, _ in pairs)
        missing = sum(ours >= threshold > theirs for ours, theirs in pairs)
        between = sum(theirs >= threshold > ours for ours, theirs in pairs)
        more = sum(theirs - ALLOWANCE_NS >= threshold > ours for ours, theirs in pairs)
        print(
            f"over {threshold} ns: {spikes} spikes, {missing} of them not by timerlat's clock; by "
            f"its clock {between} more, {more} of which "
            f"{ALLOWANCE_NS} ns do not explain", flush=True)
        equal((missing, more), (0, 0), "spikes in one only")


def main():
    need()
    guest.load("late_timer")
    before = state()
    text, theirs, summary = watch()
    own = expiries(text, summary)
    check(
        sum(value > LATE_US * 500 for _, value in own) >= LATE_TIMES // 2,
        "the timers that were made late are not")
    compare(pair(own, timed(theirs, r"#\d+ +context +irq timer_latency +(\d+) ns")),
            "its trace file")
    samples = timed(text, r"timerlat_sample: timer_latency=(\d+) seqnum=\d+ context=0")
    if samples:
        compare(pair(own, samples), "osnoise:timerlat_sample")
    as_before(before, "at the end")


main()
