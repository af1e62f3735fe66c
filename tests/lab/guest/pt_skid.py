# SPDX-License-Identifier: GPL-2.0-only
"""Compares captures of late timers by each freeze. The simulated PMU's log has the times when the
trace was held and resumed, and the bytes after the spike. Only what is independent of time decides:
all captures decode, to the same branches before the spikes, nothing is written after a pause, and
the reported bytes after the spike are those of the PMU."""
import itertools
import statistics
import subprocess
import sys

import capture
import common
from capture import take
from common import check, equal

CTL, = sys.argv[1:]
COUNT = 10
BUFFER = "128K"
HOLDS = {"pause": "pause", "sample": "snapshot", "signal": "stop"}
RUNS_AGAIN = {"pause": "resume", "signal": "start"}
COLUMNS = ["skid us", "bytes after", "blind us", "file bytes", "buffer needed"]
# History before the spike that all ways must hold, to be comparable.
HISTORY_NS = 100_000_000
# Error between the clocks of trace and spike in a guest whose CPUs are threads of a busy host. The
# traced program takes 1.2 ms an iteration.
CLOCK_NS = 20_000


def rate_bytes_per_ns(log, hold):
    """Rate at which the trace was written since it last began."""
    begun = [e for e in log if e["what"] in ("start", "resume") and e["mono_ns"] < hold["mono_ns"]][-1]
    return (hold["bytes"] - begun["bytes"]) / (hold["mono_ns"] - begun["mono_ns"])


class Truth:
    """What the PMU logged of its trace."""

    def __init__(self):
        self.log, self.marks = common.log(), common.marks()
        first, last = self.log[0], self.log[-1]
        self.tsc_per_ns = (last["tsc"] - first["tsc"]) / (last["mono_ns"] - first["mono_ns"])

    def hold(self, way, spike_ns):
        """Log entry of what held the trace."""
        check(self.log[0]["mono_ns"] < spike_ns, f"{way}: the PMU's log does not go back to the spike")
        return [e for e in self.log if e["what"] == HOLDS[way] and e["mono_ns"] >= spike_ns][0]

    def end(self, way, hold):
        """Bytes written when the trace was held. A sample's entry is logged when the trace
        begins again."""
        return next(b for t, b in self.marks if t > hold["tsc"]) if way == "sample" else hold["bytes"]

    def bytes_after(self, way, spike_ns, clock_ns=0):
        """Bytes of the trace written after the spike, or after a delay from it."""
        hold = self.hold(way, spike_ns)
        tsc = hold["tsc"] - (hold["mono_ns"] - spike_ns - clock_ns) * self.tsc_per_ns
        check(self.marks[0][0] < tsc, f"{way}: the PMU's marks do not go back to the spike")
        end = self.end(way, hold)
        return end - min([b for t, b in self.marks if t > tsc] + [end])


def check_bytes_after(way, one, truth):
    """As many as the PMU wrote; bytes within the clock error may be on either side."""
    spike_ns, told = one.line["time_ns"], one.json["bytes_after_spike"]
    least, most = truth.bytes_after(way, spike_ns, CLOCK_NS), truth.bytes_after(way, spike_ns, -CLOCK_NS)
    check(least <= told <= most, f"{way}: {told} bytes after the spike, by the PMU {least} to {most}")
    check(one.json["bytes_after_spike_exact"], f"{way}: the bytes after the spike are an upper bound")
    equal(one.line["bytes_after_spike"], told, "bytes after the spike in the results")
    traces = one.json["recorder"]["traces"]
    equal([t["bytes_after_spike"] for t in traces], [told], "bytes after the spike of the CPU's trace")
    equal(one.line["trace_bytes"], traces[0]["bytes"], "bytes of trace in the results")
    return least == most


def row(way, truth, spike_ns, blind_ns=None):
    """Figures of a spike, without the file's size. `blind_ns` is taken from the log if it is not
    given."""
    log, hold = truth.log, truth.hold(way, spike_ns)
    skid_ns = hold["mono_ns"] - spike_ns
    if blind_ns is None:
        again = [e for e in log if e["what"] == RUNS_AGAIN[way] and e["mono_ns"] > hold["mono_ns"]][0]
        blind_ns = again["mono_ns"] - spike_ns
    needed = rate_bytes_per_ns(log, hold) * (skid_ns + HISTORY_NS)
    return [skid_ns / 1000, truth.bytes_after(way, spike_ns), blind_ns / 1000, needed]


def nothing_after(log, spike_ns):
    """The stop after a pause wrote nothing."""
    hold, *later = [e for e in log if e["what"] in ("pause", "stop") and e["mono_ns"] >= spike_ns]
    equal((hold["what"], later[0]["what"]), ("pause", "stop"), "what held the trace, and what came then")
    equal((later[0]["head"], later[0]["bytes"]), (hold["head"], hold["bytes"]), "place and bytes of the trace after a pause")


class Before:
    """Uninterrupted iterations before a spike: branches, and the end of each."""

    def __init__(self, way, truth, spike_ns):
        begun = [e for e in truth.log if e["what"] in ("start", "resume", "snapshot") and e["mono_ns"] < spike_ns][-1]
        self.way, self.spike_ns, self.length_ns = way, spike_ns, spike_ns - begun["mono_ns"]
        self.iterations, self.to_perf_ns = [], None

    def read(self, data, to_perf_ns):
        self.to_perf_ns = to_perf_ns
        argv = ["perf", "script", "-i", data, "--itrace=be", "--ns", "-F", "hw:time,ip,sym,addr"]
        out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        branches, main = [], common.MAINS["mixed"]
        for line in out.splitlines():
            time, _, branch = line.strip().partition(": ")
            if "=>" not in branch:
                continue
            branches.append(" ".join(branch.split()))
            if [w for w in branch.split() if w.startswith("ptsim_")] == [main, main]:
                self.iterations.append((int(time.replace(".", "")) - to_perf_ns, branches))
                branches = []
        # Decoding begins at the first PSB, later than the trace.
        begun_ns = self.spike_ns - self.length_ns
        self.length_ns = self.spike_ns - min([t for t, _ in self.iterations if begun_ns <= t <= self.spike_ns] + [self.spike_ns])
        return self

    def last(self, length_ns):
        """Those within a period before the spike; iterations begun by other code are left out."""
        return [b for t, b in self.iterations if self.spike_ns - length_ns <= t <= self.spike_ns]


def same_before(one, other):
    """Both have the same branches over their common time, but for an iteration at either end."""
    length_ns = min(one.length_ns, other.length_ns)
    found, expected = one.last(length_ns), other.last(length_ns)
    print(f"{one.way} and {other.way}: {len(found)} and {len(expected)} iterations in {length_ns / 1e6:.0f} ms before the spike")
    check(len(expected) > 10, f"{other.way}: {len(expected)} iterations before the spike")
    check(abs(len(found) - len(expected)) <= 2, f"iterations before the spike: {len(found)}, not {len(expected)}")
    for mine, others in itertools.islice(zip(reversed(found), reversed(expected)), min(len(found), len(expected)) - 1):
        equal(mine, others, f"branches of an iteration by {one.way}, and by {other.way}")


def decoded_iteration(data):
    """The repeated iteration, which is always the same."""
    decoded = common.Decoded(data)
    common.check_whole_iterations(decoded)
    return decoded.iterations(common.MAINS["mixed"])[0]


def by_perf_poke(way, iterations, before):
    captures = take(CTL, f"/tmp/pt_skid_{way}", "--freeze", way, count=COUNT, buffer=BUFFER)
    truth, rows, sharp = Truth(), [], 0
    for one in captures:
        spike_ns = one.line["time_ns"]
        equal(one.json["recorder"]["freeze"], way, "freeze")
        if way == "pause":
            nothing_after(truth.log, spike_ns)
        sharp += check_bytes_after(way, one, truth)
        found = decoded_iteration(one.data)
        equal(found, iterations.setdefault(way, found), f"branches of a capture by {way}")
        # The last one is not traced on; a sampled trace continues at once, unlogged.
        last = one is captures[-1] or way == "sample"
        size = (one.folder / "perf.data/data").stat().st_size
        rows.append(row(way, truth, spike_ns, one.line["blind_ns"] if last else None) + [size])
    before[way] = Before(way, truth, captures[-1].line["time_ns"]).read(captures[-1].data, captures[-1].to_perf_ns)
    print(f"{way}: bytes after the spike to the byte as the PMU says in {sharp} of {COUNT}, in the others within the clocks' error")
    check(sharp, f"{way}: none to the byte")
    return rows


def print_table(rows):
    print(f"{COUNT} spikes each, median and most; ring {BUFFER}, {capture.CALM['bytes_per_sec']} bytes/s of trace; buffer needed for "
          f"{HISTORY_NS / 1e6:.0f} ms before the spike; simulated PMU")
    print("held by " + "".join(f"{column:>24}" for column in COLUMNS))
    for way, of_way in rows.items():
        # The buffer comes last: its size follows from the rest.
        columns = [f"{statistics.median(c):.0f} {max(c):.0f}" for c in zip(*([*r[:3], r[4], r[3]] for r in of_way))]
        print(f"{way:8}" + "".join(f"{column:>24}" for column in columns))


capture.load()
found_iterations = {}
found_before = {}
figures = {}
for freeze in capture.ways():
    figures[freeze] = by_perf_poke(freeze, found_iterations, found_before)
print_table(figures)
# By the session, once it has woken up, as `perf record -S` is stopped
for freeze in capture.ways():
    equal(found_iterations[freeze], found_iterations["signal"], f"branches by {freeze}, and by signal")
    same_before(found_before[freeze], found_before["signal"])
