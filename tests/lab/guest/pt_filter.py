# SPDX-License-Identifier: GPL-2.0-only
"""Address filters with symbols: captures hold only what was executed inside the ranges, and
stock perf decodes them; a wrong filter is one clear line."""
import collections
import pathlib
import re
import subprocess
import sys

import capture
import guest
from guest import check, equal

CTL = sys.argv[1]
OUTPUT = pathlib.Path("/tmp/pt_filter_errors")
COUNTERS = ("iterations", "branches", "entered", "left")
# No samples: they hold only a part of the trace.
WAY, WHAT = next(
    (way, what) for way, what in (("pause", "pause"), ("signal", "stop")) if way in capture.ways())


def symbols():
    """Addresses of functions by name, in the order of /proc/kallsyms."""
    found = collections.defaultdict(list)
    for line in pathlib.Path("/proc/kallsyms").read_text().splitlines():
        address, kind, name = line.split()[:3]
        if kind in "tTwW":
            found[name].append(int(address, 16))
    return found


def whole_iteration():
    """Branches of an iteration without filters."""
    one = capture.take(CTL, "/tmp/pt_filter_none", "--freeze", WAY)[0]
    decoded = one.decoded()
    guest.check_whole_iterations(decoded)
    equal(told_filter(one), "", "a filter that nobody asked for")
    return decoded.iterations("ptsim_main")[0]


def told_filter(one):
    """The filter as passed to perf's decoder."""
    out = subprocess.run(["perf", "script", "-i", one.data, "-D"], capture_output=True, text=True,
                         errors="replace", check=True)
    told = re.search(r"^ *Filter string  +(.*)$", out.stdout, re.MULTILINE)
    return told[1].strip() if told else ""


def filtered(number, iteration, inside, text, event="intel_pt/cyc,noretcomp/k"):
    """inside: functions within the ranges."""
    before = {name: guest.counter(name) for name in COUNTERS}
    one = capture.take(CTL, f"/tmp/pt_filter_{number}", "-e", event, "--filter", text, "--freeze",
                       WAY, buffer="1M")[0]
    held = capture.first_after(WHAT, one.line["time_ns"])
    decoded = one.decoded()
    expected = [b for b in iteration if b.from_symbol in inside and b.to_symbol in inside]
    entered = sum(b.from_symbol not in inside and b.to_symbol in inside for b in iteration)
    left = sum(b.from_symbol in inside and b.to_symbol not in inside for b in iteration)
    rounds = held["iterations"] - before["iterations"]
    print(
        f"'{text}' {event}: {rounds} iterations of {len(expected)} branches, {entered} times "
        f"entered, {left} times left",
        flush=True)

    check(rounds > 1 and left, f"{rounds} iterations, {left} times left")
    equal(decoded.errors, [], "errors of the decoder")
    equal(len(decoded.branches), rounds * len(expected),
          "branches decoded, and those of the iterations until it was held")
    equal(decoded.branches, expected * rounds, "branches decoded")
    kinds = collections.Counter(flags.split()[1] + (" async" if "async" in flags else "")
                                for flags, _ in decoded.edges)
    at_main = "ptsim_main" in inside
    equal(kinds["strt"], rounds * entered + at_main, f"times that the trace begins, of {kinds}")
    equal(kinds["end"], rounds * left, f"times that the trace ends, of {kinds}")
    equal(held["branches"] - before["branches"], len(decoded.branches),
          "branches by the PMU's own count")
    after = {name: guest.counter(name) - before[name] for name in COUNTERS}
    equal((after["entered"], after["left"]),
          (after["iterations"] * entered, after["iterations"] * left), "entered and left")
    capture.check_perfs_agree(one)
    return told_filter(one)


def captures():
    iteration = whole_iteration()
    at = {name: addresses[0] for name, addresses in symbols().items() if name.startswith("ptsim_")}

    said = filtered(1, iteration, {"ptsim_leaf"}, "filter ptsim_leaf")
    equal(said, f"filter {at['ptsim_leaf']:#x}/{at['ptsim_indirect'] - at['ptsim_leaf']:#x}",
          "filter told")
    # The interrupt comes from outside the ranges and returns there. Returns are compressed.
    two = "filter ptsim_indirect / ptsim_callee_b, filter ptsim_softirq #1"
    said = filtered(2, iteration,
                    {"ptsim_indirect", "ptsim_callee_a", "ptsim_callee_b", "ptsim_softirq"}, two,
                    "intel_pt//k")
    check(f",filter {at['ptsim_softirq']:#x}/" in said, said)
    # The program begins, and is interrupted, inside the ranges.
    filtered(3, iteration, {"ptsim_main", "ptsim_outer", "ptsim_interrupted"},
             f"filter ptsim_main / ptsim_outer filter {at['ptsim_interrupted']:#x}/0x10",
             "intel_pt/cyc/k")


def fails(text, *parts, event="intel_pt//k"):
    result = subprocess.run([
        CTL, "start", "--cpu",
        str(guest.CPU), "--recorder", "pt", "--output", OUTPUT, "--threshold", "1h", "--duration",
        "200ms", "-e", event, "--filter", text
    ], capture_output=True, text=True, timeout=120, check=False)
    lines = result.stderr.splitlines()
    equal(len(lines), 1, f"lines of {lines}")
    print(lines[0], flush=True)
    for part in parts:
        check(part in lines[0], f"no '{part}' in: {lines[0]}")
    equal(result.returncode, 2, "exit status")
    check(not OUTPUT.exists(), f"left behind: {OUTPUT}")


def errors():
    name, twice = next(
        (name, addresses) for name, addresses in symbols().items() if len(addresses) == 2)
    fails("filter no_such_function", "'filter no_such_function'", "no function 'no_such_function'",
          "/proc/kallsyms")
    fails(f"filter {name}", f"'filter {name}'", "#1", f"#2 ({twice[1]:#x})")
    fails(f"filter {name} #3", "from #1 to #2")
    fails("filter ptsim_main, filter ptsim_leaf, filter ptsim_loop", "'filter ptsim_loop'",
          "2 address ranges")
    fails("tracestop ptsim_main", "tracestop is not supported here")
    fails("start ptsim_main", "neither start nor stop")
    fails("filter 0x1000/0x10 @ /bin/sh", "events of one task only")
    fails("filter ptsim_main", "intel_pt//u", event="intel_pt//u")
    fails("fliter ptsim_main", "'fliter' is none of filter")


capture.load()
captures()
errors()
