# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl export writes what the simulated PMU executed: each call of its program, by name,
in order, nested, with instructions and cycles.

usage: export.py PERF_POKE_CTL [CAPTURES]; keeps captures in the folder CAPTURES.
"""
import collections
import gzip
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import capture
import common
from common import check, equal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import fxt  # noqa: E402  # pylint: disable=wrong-import-position

CTL = sys.argv[1]
OUTPUT = pathlib.Path("/var/tmp/export-captures")
RESULTS = pathlib.Path("/var/tmp/exported")
BASE = "ptsim_main"
# One iteration, as in code.S: function, depth, instructions including callees, category.
TREE = [("ptsim_outer", 1, 33), ("ptsim_middle", 2, 30), ("ptsim_inner", 3, 27), ("ptsim_leaf", 4, 23),
        ("ptsim_indirect", 1, 10), ("ptsim_callee_a", 2, 2), ("ptsim_callee_b", 2, 3),
        ("ptsim_switch", 1, 19),
        ("ptsim_interrupted", 1, 13), ("ptsim_interrupt", 2, 9), ("ptsim_softirq", 3, 5)]
ITERATION = 33 + 10 + 19 + 13 + 7  # plus seven of ptsim_main itself
PSB = b"\x02\x82" * 8
# Cycles that the simulated CPU takes to wake up; reported by PSB+ only.
WAKE_CYCLES = 160
APART_NS = 50


def export(path, name, *args, status=0):
    result = subprocess.run([CTL, "export", path, "--force", "-o", RESULTS / name, *args], capture_output=True, text=True, check=False)
    equal(result.returncode, status, f"exit status of export {args} ({result.stderr[-500:]})")
    check(all(line.startswith("perf-poke-ctl: ") for line in result.stderr.splitlines()), f"it said: {result.stderr}")
    return result.stderr


def in_order(trace, track):
    """Slices of a track by begin; those that begin together stay in file order."""
    stack, slices = [], []
    for event in sorted((e for e in trace.events if trace.name_of(e.track) == track), key=lambda e: e.at):
        if event.type == fxt.BEGIN:
            stack.append(len(slices))
            slices.append([event.name, len(stack) - 1, event.at, None, event])
        elif event.type == fxt.END:
            index = stack.pop()
            slices[index][3] = event.at
            slices[index][4] = event
    return slices


def the_thread(tracks):
    """Without context switches there is one thread."""
    names = [name for name in tracks if not name.startswith("CPU ")]
    equal(len(names), 1, f"threads in {sorted(tracks)}")
    return names[0]


def check_cycles(counts, taken):
    """The simulated CPU takes one cycle an instruction; the last ones have no packet. Cycles in
    the first PSB+ precede the trace."""
    psbs = (taken.folder / "perf.data/data").read_bytes().count(PSB)
    check(psbs > 1, "no PSB+ within the trace")
    untold = counts["instructions"] + (psbs - 1) * WAKE_CYCLES - counts["cycles"]
    check(0 <= untold < 100, f"cycles of the whole, with {psbs} PSB+: {counts}")


def check_program(trace, tracks, taken, decoded):
    """Each call of every whole iteration is there, and nothing else."""
    slices = in_order(trace, the_thread(tracks))
    equal(slices[0][:2], [BASE, 0], "the first slice")
    calls = slices[1:]
    for i, (name, depth, _, _, end) in enumerate(calls):
        expected, expected_depth, insns = TREE[i % len(TREE)]
        equal((name, depth), (expected, expected_depth), f"call {i}")
        if "unfinished" not in end.args:
            equal(end.args["instructions"], insns, f"instructions of {name} at {end.at}")
        equal(end.category, "interrupt" if name == "ptsim_interrupt" else "kernel", f"category of {name}")
    kinds = [line.split()[0] for line in decoded]
    equal(len(calls), kinds.count("call") + kinds.count("hw"), "calls that perf shows")
    iterations = kinds.count("iret")
    main = slices[0][4]
    check(iterations * ITERATION <= main.args["instructions"] < (iterations + 2) * ITERATION,
          f"{main.args['instructions']} instructions in {iterations} iterations")
    check_cycles(main.args, taken)
    equal(len(tracks["CPU 1 interrupts"]), kinds.count("hw"), "interrupts")
    equal({piece.name for piece in tracks["CPU 1 interrupts off"]}, {"ptsim_interrupt"}, "who turned interrupts off")
    equal(tracks["CPU 1 functions"], tracks[the_thread(tracks)], "functions of the CPU")
    print(f"{len(calls)} calls, {main.args['instructions']} instructions")


def check_times(trace, tracks, decoded):
    """Calls begin at perf's time or a little later: from core cycles we know more of the time
    since the last TSC than perf does."""
    begins = [piece[2] for piece in in_order(trace, the_thread(tracks))[1:]]
    times = [int(line.split()[-1].rstrip(":").replace(".", "")) for line in decoded if line.split()[0] in ("call", "hw")]
    equal(len(begins), len(times), "calls")
    apart = [begin - time for begin, time in zip(begins, times)]
    check(min(apart) >= 0 and max(apart) <= APART_NS, f"calls begin {min(apart)} to {max(apart)} ns after perf's times")


def check_spike(trace, tracks, taken):
    spike = taken.json["spike"]["time_ns"] + taken.to_perf_ns
    expected = taken.json["spike"]["expected_ns"] + taken.to_perf_ns
    equal([tuple(piece[:4]) for piece in tracks["CPU 1 timer"]], [(expected, spike, 0, "timer is late")], "the late timer")
    flows = [(e.at, trace.name_of(e.track)) for e in trace.events if e.type == fxt.FLOW_END]
    equal(flows, [(spike, the_thread(tracks))], "where the arrow leads")


def decode(taken):
    """perf's own lines of `flags time:`."""
    out = subprocess.run(["perf", "script", "-i", taken.data, "--itrace=be", "--ns", "-F", "flags,time"], capture_output=True, text=True,
                         check=True).stdout
    lines = [line.split() for line in out.splitlines()]
    return [" ".join(words[1:] + words[:1]) for words in lines]


def check_variants(taken, whole):
    """Compressed, windowed and with other axes: the same slices."""
    export(taken.folder, "a.fxt.gz")
    equal(gzip.decompress((RESULTS / "a.fxt.gz").read_bytes()), (RESULTS / "a.fxt").read_bytes(), "what is compressed")
    export(taken.folder, "window.fxt", "--time", "-2ms,0")
    spike = taken.json["spike"]["time_ns"] + taken.to_perf_ns
    window = fxt.read(RESULTS / "window.fxt").check()
    thread = the_thread(whole)
    expected = [(max(s.begin, spike - 2000000), min(s.end, spike), s.depth, s.name) for s in whole[thread]
                if s.end >= spike - 2000000 and s.begin <= spike]
    equal(sorted(tuple(s[:4]) for s in window[thread]), sorted(expected), "slices in the window")
    # The time in a slice is valid for --time.
    span = next(s.args["time"] for s in whole[thread] if s.name == "ptsim_outer" and s.end > s.begin)
    export(taken.folder, "span.fxt", "--time", span)
    check("ptsim_outer" in [s.name for s in fxt.read(RESULTS / "span.fxt").check()[thread]], f"no ptsim_outer in {span}")
    export(taken.folder, "insns.fxt", "--axis", "instructions")
    for piece in fxt.read(RESULTS / "insns.fxt").check()[thread]:
        equal(piece.end - piece.begin, piece.args["instructions"], f"length of {piece}")


def check_switches(taken):
    """With context switches each task has a track, and the CPU's track is their sequence."""
    export(taken.folder, "tasks.fxt")
    trace = fxt.read(RESULTS / "tasks.fxt")
    tracks = trace.check()
    tasks = tracks["CPU 1 tasks"]
    equal(len(trace.switches), len(tasks) - 1, "context switches")
    check(len(tasks) > 1, "only one task")
    for before, after in zip(tasks, tasks[1:]):
        equal(before.end, after.begin, "end of a task's turn")
    check({piece.name for piece in tasks} <= set(tracks), f"tasks without a track: {sorted(tracks)}")
    spike = taken.json["spike"]
    expected = f"swapper/{spike['cpu']}" if spike["idle"] else str(spike["tid"])
    equal(tasks[-1].name.rsplit(" ", 1)[-1], expected, "the task of the spike")


def check_broken(taken):
    """A truncated file: one line of error."""
    broken = RESULTS / "broken"
    shutil.copytree(taken.folder, broken)
    data = broken / "perf.data/data"
    whole = data.read_bytes()
    for size in (0, 100, len(whole) // 2, len(whole) - 5000):
        data.write_bytes(whole[:size])
        result = subprocess.run([CTL, "export", broken, "-o", RESULTS / "broken.fxt"], capture_output=True, text=True, check=False)
        equal((result.returncode, len(result.stderr.splitlines())), (1, 1), f"{size} bytes: exit status and lines: {result.stderr}")
        equal([p.name for p in RESULTS.glob("broken.fxt*")], [], "what is left")
        print(f"{size} bytes: {result.stderr.strip()}")


def check_damaged(taken):
    """Damaged trace: errors are reported, and the rest stays in order."""
    damaged = RESULTS / "damaged"
    shutil.copytree(taken.folder, damaged)
    data = damaged / "perf.data/data"
    data.chmod(0o600)
    whole = data.read_bytes()
    # PERF_RECORD_AUXTRACE (71), which the trace follows
    record = whole.rindex(struct.pack("<IHH", 71, 0, 48))
    begin = record + 48
    size = struct.unpack_from("<Q", whole, record + 8)[0]
    middle = range(begin + size // 3, begin + size * 2 // 3)
    data.write_bytes(bytes(b ^ 0x55 if i in middle and i % 1499 < 3 else b for i, b in enumerate(whole)))
    said = export(damaged, "damaged.fxt")
    check(re.search(r"\d+ decoding errors?, first: CPU 1, offset ", said), f"no errors were told: {said}")
    check(re.search(r"\d+ gaps? in the trace", said), f"no gaps were told: {said}")
    trace = fxt.read(RESULTS / "damaged.fxt")
    tracks = trace.check()
    check("[lost]" in {piece.name for piece in tracks["CPU 1 trace"]}, f"nothing is lost: {sorted(tracks)}")
    calls = tracks[the_thread(tracks)]
    check(len(calls) > 100, f"only {len(calls)} calls are left")
    # Calls before the damage are intact.
    lost = min(piece.begin for piece in tracks["CPU 1 trace"] if piece.name == "[lost]")
    deep = collections.Counter(piece.depth for piece in calls if piece.name == "ptsim_leaf" and piece.end < lost)
    check(len(deep) == 1 and deep.total() > 20, f"ptsim_leaf is called {deep} deep")
    print(f"damaged: {said.strip()}")


class Overflow(capture.Late):
    """Makes the PMU lose a part of the trace just before the timer is late."""
    def run(self):
        while not self.stop.wait(self.every_s):
            common.set_parameter("inject_overflow", 1)
            self.stop.wait(0.02)
            capture.LATE.write_text(f"{common.CPU} {capture.INJECTED_US}\n")


def check_overflow():
    taken = capture.take(CTL, OUTPUT / "overflow", "--no-switch-events", late=Overflow())[0]
    said = export(taken.folder, "overflow.fxt")
    check(re.search(r"\d+ overflows? of the CPU", said), f"no overflow was told: {said}")
    check(re.search(r"\d+ gaps? in the trace", said), f"no gaps were told: {said}")
    tracks = fxt.read(RESULTS / "overflow.fxt").check()
    check("[lost]" in {piece.name for piece in tracks["CPU 1 trace"]}, "nothing is lost")
    # The function that runs all the time stays one slice.
    equal([piece.name for piece in tracks[the_thread(tracks)] if piece.depth == 0], [BASE], "what is below all")
    print(f"overflow: {said.strip()}")


capture.load()
for folder in (OUTPUT, RESULTS):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
alone = capture.take(CTL, OUTPUT / "alone", "--no-switch-events")[0]
switched = capture.take(CTL, OUTPUT / "switched")[0]
if len(sys.argv) > 2:
    shutil.copytree(OUTPUT, sys.argv[2], dirs_exist_ok=True)
shown = decode(alone)
export(alone.folder, "a.fxt")
exported = fxt.read(RESULTS / "a.fxt")
all_tracks = exported.check()
check_program(exported, all_tracks, alone, shown)
check_times(exported, all_tracks, shown)
check_spike(exported, all_tracks, alone)
check_variants(alone, all_tracks)
check_switches(switched)
check_broken(alone)
# In a ring: on 6.1 `auto` takes samples.
check_damaged(capture.take(CTL, OUTPUT / "signal", "--freeze", "signal", "--no-switch-events")[0])
sampled = capture.take(CTL, OUTPUT / "sampled", "--freeze", "sample", "--no-switch-events")[0]
export(sampled.folder, "sampled.fxt")
check("ptsim_outer" in {s.name for found in fxt.read(RESULTS / "sampled.fxt").check().values() for s in found}, "nothing sampled")
check_overflow()
