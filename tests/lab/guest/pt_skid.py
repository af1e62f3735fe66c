# SPDX-License-Identifier: GPL-2.0-only
"""Side by side: late timers captured by `perf record -S` that a process pokes when the trigger program has told it, and by perf-poke
with each way to hold the trace. The simulated PMU's own log says when the trace was held and when it went on. Only what does not
depend on time decides: that all decodes, to the same branches, and that nothing is written after a pause."""
import pathlib
import statistics
import subprocess
import sys

import capture
import common
from capture import take
from common import check, equal

CTL, RELAY = sys.argv[1:3]
COUNT = 10
AIM = 20
BUFFER = "128K"
HOLDS = {"relay": "stop", "pause": "pause", "sample": "snapshot", "signal": "stop"}
RUNS_AGAIN = {"relay": "start", "pause": "resume", "signal": "start"}
COLUMNS = ["skid us", "bytes after", "blind us", "file bytes"]


class Relay:
    """perf and the process that pokes it."""

    def __init__(self, perf):
        argv = [RELAY, str(common.CPU), str(capture.THRESHOLD_US * 1000), str(perf.pid)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        equal(self.process.stdout.readline(), "ready\n", "first line of the relay")

    def spike_ns(self):
        """When the next one was."""
        starts = common.counter("start")
        self.process.stdin.write("arm\n")
        self.process.stdin.flush()
        with capture.Late():
            time_ns, latency_ns = map(int, self.process.stdout.readline().split())
        check(latency_ns >= capture.THRESHOLD_US * 1000, f"latency {latency_ns}")
        common.wait_for(lambda: common.counter("start") > starts, "snapshot")
        return time_ns

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        equal(self.process.wait(30), 0, "exit status of the relay")


def rate_bytes_per_ns(log, hold):
    """What the trace had been written at since it was last begun."""
    begun = [e for e in log if e["what"] in ("start", "resume") and e["mono_ns"] < hold["mono_ns"]][-1]
    return (hold["bytes"] - begun["bytes"]) / (hold["mono_ns"] - begun["mono_ns"])


def row(way, log, spike_ns, blind_ns=None):
    """A spike's figures, but the file's size. What `blind_ns` is not given for is in the log."""
    check(log[0]["mono_ns"] < spike_ns, f"{way}: the PMU's log does not go back to the spike")
    hold = [e for e in log if e["what"] == HOLDS[way] and e["mono_ns"] >= spike_ns][0]
    skid_ns = hold["mono_ns"] - spike_ns
    if blind_ns is None:
        again = [e for e in log if e["what"] == RUNS_AGAIN[way] and e["mono_ns"] > hold["mono_ns"]][0]
        blind_ns = again["mono_ns"] - spike_ns
    return [skid_ns / 1000, rate_bytes_per_ns(log, hold) * skid_ns, blind_ns / 1000]


def nothing_after(log, spike_ns):
    """The stop that follows a pause wrote nothing."""
    hold, *later = [e for e in log if e["what"] in ("pause", "stop") and e["mono_ns"] >= spike_ns]
    equal((hold["what"], later[0]["what"]), ("pause", "stop"), "what held the trace, and what came then")
    equal((later[0]["head"], later[0]["bytes"]), (hold["head"], hold["bytes"]), "place and bytes of the trace after a pause")


def decoded_iteration(data):
    """What was executed again and again, the same each time."""
    decoded = common.Decoded(data)
    common.check_whole_iterations(decoded)
    return decoded.iterations(common.MAINS["mixed"])[0]


def by_relay(iterations):
    rows = []
    with common.in_folder("/tmp/pt_skid_relay"):
        record = common.Record("-S", "-m", f",{BUFFER}")
        with Relay(record.process) as relay:
            for _ in range(COUNT):
                spike_ns = relay.spike_ns()
                rows.append(row("relay", common.log(), spike_ns))
        record.end()
        iterations["relay"] = decoded_iteration("data")
        size = sum(f.stat().st_size for f in pathlib.Path("data").iterdir() if f.name == "data")
    return [r + [size / COUNT] for r in rows]


def by_perf_poke(way, iterations):
    captures = take(CTL, f"/tmp/pt_skid_{way}", "--freeze", way, count=COUNT, buffer=BUFFER)
    log, rows = common.log(), []
    for one in captures:
        spike_ns = one.line["time_ns"]
        equal(one.json["recorder"]["freeze"], way, "freeze")
        if way == "pause":
            nothing_after(log, spike_ns)
        found = decoded_iteration(one.data)
        equal(found, iterations.setdefault(way, found), f"branches of a capture by {way}")
        # The last one is not traced on after; and what a sample is taken of goes on at once, unlogged.
        last = one is captures[-1] or way == "sample"
        size = (one.folder / "perf.data/data").stat().st_size
        rows.append(row(way, log, spike_ns, one.line["blind_ns"] if last else None) + [size])
    return rows


def print_table(rows):
    print(f"{COUNT} spikes each, median and most; ring {BUFFER}, {capture.CALM['bytes_per_sec']} bytes/s of trace; simulated PMU")
    print("held by " + "".join(f"{column:>24}" for column in COLUMNS))
    for way, of_way in rows.items():
        columns = [f"{statistics.median(c):.0f} {max(c):.0f}" for c in zip(*of_way)]
        print(f"{way:8}" + "".join(f"{column:>24}" for column in columns))
    best = next(way for way in rows if way != "relay")
    medians = {way: statistics.median(r[0] for r in rows[way]) for way in ("relay", best)}
    print(f"skid of the relay to that of {best}, medians: {medians['relay'] / medians[best]:.1f} (aim with pause: at least {AIM})")


capture.load()
found_iterations = {}
figures = {"relay": by_relay(found_iterations)}
for freeze in capture.ways():
    figures[freeze] = by_perf_poke(freeze, found_iterations)
print_table(figures)
for freeze in capture.ways():
    equal(found_iterations[freeze], found_iterations["relay"], f"branches by {freeze}, and by perf record")
