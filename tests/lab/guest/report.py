# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl report on simulated Intel PT equals figures that an independent reader computes
from the export.

usage: report.py PERF_POKE_CTL [CAPTURES]; keeps captures in the folder CAPTURES.
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys

import capture
from common import check, equal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import fxt  # noqa: E402  # pylint: disable=wrong-import-position

CTL = sys.argv[1]
OUTPUT = pathlib.Path("/var/tmp/report-captures")
EXPORTED = OUTPUT / "window.fxt"
# Callers of each function, as in code.S.
CALLERS = {"ptsim_outer": "ptsim_main", "ptsim_middle": "ptsim_outer", "ptsim_inner": "ptsim_middle", "ptsim_leaf": "ptsim_inner",
           "ptsim_indirect": "ptsim_main", "ptsim_callee_a": "ptsim_indirect", "ptsim_callee_b": "ptsim_indirect",
           "ptsim_switch": "ptsim_main", "ptsim_interrupted": "ptsim_main", "ptsim_interrupt": "ptsim_interrupted",
           "ptsim_softirq": "ptsim_interrupt"}
SAID = {"none": "nothing in the window explains it: interrupts were on", "idle": "the CPU was idle for",
        "mixed": "nothing took even half of that"}


def run(command, *args, status=0):
    result = subprocess.run([CTL, command, *args], capture_output=True, text=True, check=False)
    equal(result.returncode, status, f"exit status of {command} {args} ({result.stderr[-500:]})")
    return result


def report(*args):
    return json.loads(run("report", *args, "--json", "--top", "1000").stdout)


def slices_of(taken, window_ns):
    """Function slices of the spike's CPU in the window: begin, end, name, category and parent."""
    run("export", taken.folder, "-o", EXPORTED, "--force", "--quiet", "--time", f"-{window_ns}ns,0ns")
    trace = fxt.read(EXPORTED)
    tracks = trace.check()
    events = sorted((e for e in trace.events if trace.name_of(e.track) == f"CPU {taken.json['spike']['cpu']} functions"),
                    key=lambda e: e.at)
    stack, slices = [], []
    for event in events:
        if event.type == fxt.BEGIN:
            slices.append([event.at, None, event.name, event.category, stack[-1] if stack else None])
            stack.append(slices[-1])
        elif event.type == fxt.END:
            stack.pop()[1] = event.at
    return slices, tracks


def check_functions(found, slices):
    """Calls, self and total time."""
    expected = collections.defaultdict(lambda: [0, 0, 0])
    for begin, end, name, _, outer in slices:
        expected[name][0] += 1
        expected[name][1] += end - begin
        expected[name][2] += end - begin
        if outer:
            expected[outer[2]][2] -= end - begin
    got = {row["name"]: [row["calls"], row["total_ns"], row["self_ns"]] for row in found["functions"]}
    equal(got, dict(expected), "functions")
    check(set(got) <= {*CALLERS, "ptsim_main"}, f"functions of the program: {sorted(got)}")
    selves = [row["self_ns"] for row in found["functions"]]
    equal(selves, sorted(selves, reverse=True), "order of functions")


def check_budget(found, slices, tracks, cpu):
    """Interrupts have their time, tasks the rest."""
    interrupts = [s for s in slices if s[3] == "interrupt"]
    # The trace shows no time for short ones.
    row = next((row for row in found["budget"] if row["kind"] == "interrupt"), None) or \
        {"name": "ptsim_interrupt", "time_ns": 0, "count": len(interrupts)}
    equal((row["name"], row["time_ns"], row["count"]),
          ("ptsim_interrupt", sum(s[1] - s[0] for s in interrupts), sum(1 for s in interrupts if s[1] > found["window"]["begin_ns"]
                                                                       and s[0] < found["window"]["end_ns"])), "interrupts")
    tasks = collections.Counter()
    for piece in tracks[f"CPU {cpu} tasks"]:
        tasks[piece.name] += piece.end - piece.begin
    spent = collections.Counter({row["name"]: row["time_ns"] for row in found["budget"] if row["kind"] in ("thread", "idle")})
    equal(set(spent), {name for name in tasks if tasks[name]}, "tasks")
    equal(sum(tasks.values()) - sum(spent.values()), row["time_ns"], "time of tasks that is not theirs")
    window = found["window"]
    equal(sum(row["time_ns"] for row in found["budget"]), window["end_ns"] - window["begin_ns"], "all of the budget")
    # A task's turn begins 1 ns after the previous end; that reduces an interrupt in which it
    # begins.
    off_ns = sum(row["time_ns"] for row in found["irqs_off"])
    check(0 <= off_ns - row["time_ns"] <= len(tracks[f"CPU {cpu} tasks"]), f"{off_ns} ns with interrupts off, {row['time_ns']} in them")
    check({row["name"] for row in found["irqs_off"]} <= {"ptsim_interrupt"}, f"who turned them off: {found['irqs_off']}")


def expected_cause(found, tracks, cpu):
    """The program runs with interrupts on: only the idle task explains a late timer, on a host
    that stalls."""
    late = collections.Counter()
    begin, end = found["spike"]["expected_ns"], found["spike"]["actual_ns"]
    for piece in tracks[f"CPU {cpu} tasks"]:
        late[piece.name] += max(min(piece.end, end) - max(piece.begin, begin), 0)
    (name, ns), = late.most_common(1)
    if 2 * ns < end - begin:
        return "mixed"
    return "idle" if name == f"swapper/{cpu}" else "none"


def check_spike(found, taken, tracks):
    spike = taken.json["spike"]
    for name in ("expected_ns", "actual_ns", "time_ns"):
        equal(found["spike"][name], spike[name] + taken.to_perf_ns, name)
    kind = expected_cause(found, tracks, spike["cpu"])
    equal(found["cause"]["kind"], kind, "the cause")
    check(SAID[kind] in found["sentence"], found["sentence"])


def check_path(found, slices):
    """Position of the program when the timer was due."""
    at = found["spike"]["expected_ns"]
    around = [s for s in slices if s[0] <= at < s[1]]
    equal(found["path"], [s[2] for s in reversed(around)], "the path")
    for inner, outer in zip(found["path"], found["path"][1:]):
        equal(outer, CALLERS[inner], f"what calls {inner}")


def check_text(found, taken):
    """The same as text."""
    text = run("report", taken.folder, "--top", "1000").stdout
    check(max(map(len, text.splitlines())) <= 100, "a line is too long")
    equal(" ".join(text.split("\n\n")[0].split()), found["sentence"], "the sentence")
    for row in found["functions"]:
        line = next(line.split() for line in text.splitlines() if line.startswith(f"  {row['name']} ") and "%" in line)
        equal(line[-1], str(row["calls"]), f"calls of {row['name']}")
    for row in found["budget"]:
        check(f"{row['kind']:11} {row['name']}" in text, f"no {row}")
    print(text)


def check_page(found, taken):
    """The page has all function slices of the CPU and all sentences."""
    page = OUTPUT / "page.html"
    said = run("export", taken.folder, "--force", "--html", page).stderr
    text = page.read_text()
    inside, chart = (json.loads(text.split(f'id="{name}">')[1].split("</script>")[0]) for name in ("report", "chart-data"))
    equal(inside["sentence"], found["sentence"], "the sentence of the page")
    functions = next(lane["spans"] for lane in chart["lanes"] if lane["title"] == "functions")
    equal(said, f"perf-poke-ctl: {page}: {functions} slices\n", "what it said")
    check(functions >= sum(row["calls"] for row in found["functions"]), f"{functions} slices")
    check(set(CALLERS) <= set(chart["names"]), f"names: {chart['names']}")


def check_windows(taken, other):
    for window in ("1ms", "100us"):
        found = report(taken.folder, "--window", window)
        ns = found["window"]["asked_ns"]
        slices, tracks = slices_of(taken, ns)
        check_functions(found, slices)
        check_budget(found, slices, tracks, taken.json["spike"]["cpu"])
    same = report(taken.folder, "--against", taken.folder)["against"]
    equal((same["differences"], same["more_ns"], same["most"]), ([], 0, None), "against itself")
    two = report(taken.folder, "--against", other.folder)["against"]
    check({row["name"] for row in two["differences"]} <= {*CALLERS, "ptsim_main"}, f"the same program: {two['differences']}")


capture.load()
shutil.rmtree(OUTPUT, ignore_errors=True)
OUTPUT.mkdir()
captures = capture.take(CTL, OUTPUT / "captures", count=2)
if len(sys.argv) > 2:
    shutil.copytree(OUTPUT, sys.argv[2], dirs_exist_ok=True)
for one in captures:
    whole = report(one.folder)
    all_slices, all_tracks = slices_of(one, whole["window"]["asked_ns"])
    check_functions(whole, all_slices)
    equal({row["name"] for row in whole["functions"]}, {*CALLERS, "ptsim_main"}, "functions of the program")
    check_budget(whole, all_slices, all_tracks, one.json["spike"]["cpu"])
    check_spike(whole, one, all_tracks)
    check_path(whole, all_slices)
    check_text(whole, one)
    check_page(whole, one)
check_windows(captures[0], captures[1])
broken = OUTPUT / "broken"
shutil.copytree(captures[0].folder, broken)
os.truncate(broken / "perf.data/data", 100)
equal(len(run("report", broken, status=1).stderr.splitlines()), 1, "lines of what is wrong")
