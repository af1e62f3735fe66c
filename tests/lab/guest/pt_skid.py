# SPDX-License-Identifier: GPL-2.0-only
"""Compares captures of late timers by each freeze. The simulated PMU's log has the times when the
trace was held and resumed. Only what is independent of time decides: all captures decode, to the
same branches before the spikes, nothing is written after a pause, and what `report` says was
executed after the spike ends when the trace was held."""
import itertools
import json
import statistics
import subprocess
import sys

import capture
import guest
from capture import take
from guest import check, equal

CTL, = sys.argv[1:]
COUNT = 10
BUFFER = "128K"
HOLDS = {"pause": "pause", "sample": "snapshot", "signal": "stop"}
RUNS_AGAIN = {"pause": "resume", "signal": "start"}
COLUMNS = ["skid us", "blind us", "file bytes", "buffer needed"]
# History before the spike that all ways must hold, to be comparable.
HISTORY_NS = 100_000_000
# Error between the clocks of trace and spike in a guest whose CPUs are threads of a busy host. The
# traced program takes 1.2 ms an iteration.
CLOCK_NS = 20_000


def rate_bytes_per_ns(log, hold):
    """Rate at which the trace was written since it last began."""
    begun = [e for e in log
             if e["what"] in ("start", "resume") and e["mono_ns"] < hold["mono_ns"]][-1]
    return (hold["bytes"] - begun["bytes"]) / (hold["mono_ns"] - begun["mono_ns"])


def held(log, way, spike_ns):
    """Log entry of what held the trace."""
    check(log[0]["mono_ns"] < spike_ns, f"{way}: the PMU's log does not go back to the spike")
    return [e for e in log if e["what"] == HOLDS[way] and e["mono_ns"] >= spike_ns][0]


def executed_after(way, one, log):
    """Instructions after the spike, by report."""
    spike_ns = one.line["time_ns"]
    out = subprocess.run([CTL, "report", "--json", one.folder], capture_output=True, text=True,
                         check=True).stdout
    after = json.loads(out)["after_spike"]
    most = held(log, way, spike_ns)["mono_ns"] - spike_ns + CLOCK_NS
    check(after["time_ns"] <= most,
          f"{way}: executed for {after['time_ns']} ns after the spike, held after {most}")
    equal(one.line["trace_bytes"], one.json["recorder"]["traces"][0]["bytes"],
          "bytes of trace in the results")
    return after["instructions"]


def row(way, log, one, last):
    """Figures of a capture. The last one is not traced on."""
    spike_ns = one.line["time_ns"]
    hold = held(log, way, spike_ns)
    skid_ns, blind_ns = hold["mono_ns"] - spike_ns, one.line["blind_ns"]
    if not last:
        blind_ns = [
            e for e in log if e["what"] == RUNS_AGAIN[way] and e["mono_ns"] > hold["mono_ns"]
        ][0]["mono_ns"] - spike_ns
    needed = rate_bytes_per_ns(log, hold) * (skid_ns + HISTORY_NS)
    return [skid_ns / 1000, blind_ns / 1000, (one.folder / "perf.data/data").stat().st_size, needed]


def nothing_after(log, spike_ns):
    """The stop after a pause wrote nothing."""
    hold, *later = [e for e in log if e["what"] in ("pause", "stop") and e["mono_ns"] >= spike_ns]
    equal((hold["what"], later[0]["what"]), ("pause", "stop"),
          "what held the trace, and what came then")
    equal((later[0]["head"], later[0]["bytes"]), (hold["head"], hold["bytes"]),
          "place and bytes of the trace after a pause")


class Before:
    """Uninterrupted iterations before a spike: branches, and the end of each."""

    def __init__(self, way, log, one):
        self.way, self.spike_ns, self.iterations = way, one.line["time_ns"], []
        begun_ns = [
            e["mono_ns"] for e in log
            if e["what"] in ("start", "resume", "snapshot") and e["mono_ns"] < self.spike_ns
        ][-1]
        argv = [
            "perf", "script", "-i", one.data, "--itrace=be", "--ns", "-F", "hw:time,ip,sym,addr"
        ]
        out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        branches, main = [], guest.MAINS["mixed"]
        for line in out.splitlines():
            time, _, branch = line.strip().partition(": ")
            if "=>" not in branch or guest.is_sample(line):
                continue
            branches.append(" ".join(branch.split()))
            if [w for w in branch.split() if w.startswith("ptsim_")] == [main, main]:
                self.iterations.append((int(time.replace(".", "")) - one.to_perf_ns, branches))
                branches = []
        # Decoding begins at the first PSB, later than the trace.
        self.length_ns = self.spike_ns - min(
            [t for t, _ in self.iterations if begun_ns <= t <= self.spike_ns] + [self.spike_ns])

    def last(self, length_ns):
        """Those within a period before the spike; iterations begun by other code are left out."""
        return [b for t, b in self.iterations if self.spike_ns - length_ns <= t <= self.spike_ns]


def same_before(one, other):
    """Both have the same branches over their common time, but for an iteration at either end."""
    length_ns = min(one.length_ns, other.length_ns)
    found, expected = one.last(length_ns), other.last(length_ns)
    print(
        f"{one.way} and {other.way}: {len(found)} and {len(expected)} iterations in "
        f"{length_ns / 1e6:.0f} ms before the spike"
    )
    check(len(expected) > 10, f"{other.way}: {len(expected)} iterations before the spike")
    check(
        abs(len(found) - len(expected)) <= 2,
        f"iterations before the spike: {len(found)}, not {len(expected)}")
    for mine, others in itertools.islice(zip(reversed(found), reversed(expected)),
                                         min(len(found), len(expected)) - 1):
        equal(mine, others, f"branches of an iteration by {one.way}, and by {other.way}")


def decoded_iteration(data):
    """The repeated iteration, which is always the same."""
    decoded = guest.Decoded(data)
    guest.check_whole_iterations(decoded)
    return decoded.iterations(guest.MAINS["mixed"])[0]


def by_freeze(way):
    """Figures of the captures, their iteration, and what is before the last spike."""
    captures = take(CTL, f"/tmp/pt_skid_{way}", "--freeze", way, count=COUNT, buffer=BUFFER)
    log, rows, iteration = guest.log(), [], decoded_iteration(captures[0].data)
    for one in captures:
        equal(one.json["recorder"]["freeze"], way, "freeze")
        if way == "pause":
            nothing_after(log, one.line["time_ns"])
        equal(decoded_iteration(one.data), iteration, f"branches of a capture by {way}")
        # A sampled trace continues at once, unlogged.
        rows.append(row(way, log, one, one is captures[-1] or way == "sample"))
    print(f"{way}: {executed_after(way, captures[-1], log)} instructions after the last spike")
    return rows, iteration, Before(way, log, captures[-1])


def print_table(rows):
    print(
        f"{COUNT} spikes each, median and most; ring {BUFFER}, {capture.CALM['bytes_per_sec']} "
        f"bytes/s of trace; buffer needed for "
        f"{HISTORY_NS / 1e6:.0f} ms before the spike; simulated PMU")
    print("held by " + "".join(f"{column:>24}" for column in COLUMNS))
    for way, of_way in rows.items():
        print(f"{way:8}" + "".join(f"{f'{statistics.median(c):.0f} {max(c):.0f}':>24}"
                                   for c in zip(*of_way)))


capture.load()
found = {freeze: by_freeze(freeze) for freeze in capture.ways()}
print_table({freeze: rows for freeze, (rows, _, _) in found.items()})
# The session stops the trace by `signal` once it has woken up, as `perf record -S` is stopped.
for freeze, (_, same, before) in found.items():
    equal(same, found["signal"][1], f"branches by {freeze}, and by signal")
    same_before(before, found["signal"][2])
