#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Slices are what a guest's CPU truly executed: export of Intel PT against the calls in the
emulator's own log, each by name, begin, end, depth and instructions; and what export says of a late
timer.

usage: ptemu_export.py KERNEL SECONDS PERF_POKE_CTL CALL_TREE. Runs guest/ptemu_take.py in a guest;
what that recorded is exported here. $PTEMU_ROUNDS is for how long it works, more than 5 million
instructions each."""
import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

KERNEL, SECONDS, CTL, CALL_TREE = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import recording  # noqa: E402  # pylint: disable=wrong-import-position
import fxt  # noqa: E402  # pylint: disable=wrong-import-position

ROUNDS = int(os.environ.get("PTEMU_ROUNDS", "1"))
INSTRUCTIONS = 5000000
# What is compared by time and by cycles too
TIMED_PART = 4
# Each with several numbers of threads
VARIANTS = {("a.fxt", ): (2, 3, 4), ("a.fxt.gz", "--axis", "cycles"): (4, ),
            ("a.fxt", "--time", "-40ms,100us"): (3, )}
LATE_NS = 27000000  # of 30 ms, by a clock that is emulated
SWITCH = re.compile(r".* (-?\d+) \[001\] +(\d+)\.(\d{9}): PERF_RECORD_SWITCH_CPU_WIDE (OUT|IN) .*")
# Each of them is called by the next one.
CULPRIT = ["late_timer_irqs_off", "work_for_cpu_fn", "process_one_work", "worker_thread"]
SPIKE = [
    "hrtimer_interrupt", "__sysvec_apic_timer_interrupt", "sysvec_apic_timer_interrupt",
    "asm_sysvec_apic_timer_interrupt"
]

# One line of call_tree: a run of a function. `tsc` and `cycles` are bounds, of the begin and of the
# end.
Run = collections.namedtuple("Run", "begin end depth instructions category names tsc cycles")


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def equal(got, expected, message):
    check(got == expected, f"{message}: {got}, not {expected}")


# -- The window and its log ------------------------------------------------------------------------

def first_tsc(log):
    """It begins with what packets told when the trace began."""
    with open(log, "rb") as file:
        zero, mark = struct.unpack("<QQ", file.read(16))
    check(not zero and mark, f"the log begins with {zero:#x} {mark:#x}")
    return mark & (1 << 56) - 1


def switches_of(data, since_ns):
    """What the CPU switched to, from the one on that runs at that time: thread, time."""
    out = subprocess.run(
        ["perf", "script", "-i", data, "--no-itrace", "--show-switch-events", "--ns", "-C", "1"],
        capture_output=True, text=True, check=True).stdout
    found = [(int(tid), int(s + ns), how) for tid, s, ns, how in SWITCH.findall(out)]
    found = [switch for switch in found if switch[1] >= since_ns]
    check(found and found[0][2] == "OUT", f"switches: {found[:3]}")
    return [(tid, time) for i, (tid, time, how) in enumerate(found) if how == "IN" or not i]


def tree_of(folder, switches):
    """Runs by thread, and counts, of the log."""
    tasks = folder / "tasks"
    tasks.write_text("".join(f"{tid}\n" for tid, _ in switches))
    kcore = folder / "window/kcore_dir"
    out = subprocess.run([CALL_TREE, folder / "log", kcore / "kcore", kcore / "kallsyms", tasks],
                         capture_output=True, text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), "result of call_tree")
    runs, counts = collections.defaultdict(list), {}
    for line in out.stdout.splitlines():
        words = line.split()
        if len(words) == 1:
            name, count = line.split("=")
            counts[name] = int(count)
            continue
        tid, begin, end, depth, insns = map(int, words[:5])
        times = tuple(map(int, words[7:]))
        runs[tid].append(
            Run(begin, end, depth, insns, {"call": "kernel"}.get(words[5], words[5]),
                without_tags(words[6]).split("|"), (times[0:2], times[4:6]),
                (times[2:4], times[6:8])))
    return runs, counts


def without_tags(name):
    """Perf and the kernel do not agree on those of BPF programs."""
    return re.sub("bpf_prog_[0-9a-f]{16}_", "bpf_prog_", name)


def exported(folder, capture, axis, *options):
    """Slices by thread."""
    path = folder / f"{axis}.fxt"
    out = subprocess.run([CTL, "export", capture, "-o", path, "--axis", axis, "--quiet", *options],
                         capture_output=True, text=True, check=False)
    equal((out.returncode, out.stdout, out.stderr), (0, "", ""), f"result of export by {axis}")
    tracks = fxt.read(path).check()
    path.unlink()
    return {
        0 if name == "swapper/1" else int(name.rpartition(" ")[2]): slices
        for name, slices in tracks.items() if not name.startswith("CPU ")
    }


def check_slices(runs, slices):
    """All that is executed, to the instruction"""
    equal(sorted(slices), sorted(runs), "threads")
    for tid, pieces in slices.items():
        for run, piece in zip(runs[tid], pieces):
            got = (piece.begin, piece.end, piece.depth, piece.args["instructions"], piece.category)
            check(got == run[:5] and without_tags(piece.name) in run.names,
                  f"thread {tid}: {piece}, not {run}")
        equal(len(pieces), len(runs[tid]), f"slices of thread {tid}")


def finished(runs, pieces):
    """With what was executed, as far as it did not end with the part that was exported."""
    for run, piece in zip(runs, pieces):
        if {"unfinished", "continued"} & piece.args.keys():
            return
        check(without_tags(piece.name) in run.names, f"{piece}, not {run}")
        yield run, piece


def check_times(runs, slices, clock):
    """Perf knows times of packets: what is between two of them, it says to be between those.
    Returns how many."""
    count = 0
    for tid, pieces in slices.items():
        for run, piece in finished(runs[tid], pieces):
            for (before, after), at in zip(run.tsc, (piece.begin, piece.end)):
                check(
                    clock(before) <= at <= clock(after),
                    f"thread {tid}: {piece} at {at}, not from {clock(before)} to {clock(after)}")
                count += 1
    return count


def check_cycles(runs, slices):
    """Positions are the model's cycles, less those of before the first sample, to what packets
    tell."""
    least, most, count = 0, None, 0
    for tid, pieces in slices.items():
        for run, piece in finished(runs[tid], pieces):
            # All of it is the thread's own, and not other threads'.
            if run.instructions == run.end - run.begin:
                equal(piece.args.get("cycles", 0), piece.end - piece.begin, f"cycles of {piece}")
            for (before, after), at in zip(run.cycles, (piece.begin, piece.end)):
                least = max(least, before - at)
                most = after - at if most is None else min(most, after - at)
                count += 1
    check(least <= most, f"cycles differ from the model's by {least} and by {most}")
    return count


def check_window(folder):
    data, clock = folder / "window", recording.Recording(folder / "window").ns
    capture = recording.as_capture(data, folder / "no")
    switches = switches_of(data, clock(first_tsc(folder / "log")))
    runs, counts = tree_of(folder, switches)
    print(f"executed: {counts}", flush=True)
    check(counts["instructions"] >= INSTRUCTIONS, "that is too little")
    equal((counts["odd_returns"], counts["odd_switches"]), (0, 0),
          "what the log itself does not explain")
    for name in ("switches", "interrupts", "tail_calls", "uncovered", "leaves"):
        check(counts[name] > 10, f"too few {name}")
    check_slices(runs, exported(folder, capture, "instructions"))
    until = switches[len(switches) // TIMED_PART][1]
    part = ["--time", f",{until // 10**9}.{until % 10**9:09}"]
    timed = check_times(runs, exported(folder, capture, "time", *part), clock)
    counted = check_cycles(runs, exported(folder, capture, "cycles", *part))
    check(min(timed, counted) > 10000, f"only {timed} times and {counted} positions in cycles")
    print(
        f"{sum(map(len, runs.values()))} slices equal, {timed} times and {counted} positions in "
        f"cycles are as packets tell"
    )


# -- The capture -----------------------------------------------------------------------------------

def outside(slices, piece):
    """The names of those around a slice, inner ones first."""
    around = [
        s for s in slices if s.begin <= piece.begin and s.end >= piece.end and s.depth < piece.depth
    ]
    return [s.name for s in sorted(around, key=lambda s: -s.depth)]


def check_capture(folder):
    result = subprocess.run([CTL, "export", folder / "capture", "-o", folder / "a.fxt"],
                            capture_output=True, text=True, check=False)
    equal((result.returncode, len(result.stderr.splitlines())), (0, 1),
          f"exit status, and lines of {result.stderr}")
    trace = fxt.read(folder / "a.fxt")
    tracks = trace.check()
    threads = {name: slices for name, slices in tracks.items() if not name.startswith("CPU ")}
    # On the track of the CPU too. A task's turn begins there a nanosecond after the last one's end.
    on_cpu = {(s.begin, s.name) for s in tracks["CPU 1 functions"]}
    missing = [
        s for slices in threads.values() for s in slices
        if not {(s.begin, s.name), (s.begin + 1, s.name)}
        & on_cpu and "began before the trace" not in s.args
    ]
    equal(missing, [], "slices that are not on the track of the CPU")

    # One task's turn after the other's
    tasks = tracks["CPU 1 tasks"]
    equal((len(tasks), [task.end for task in tasks[:-1]]),
          (len(trace.switches) + 1, [task.begin for task in tasks[1:]]), "turns of tasks")
    check({task.name for task in tasks} <= set(threads), f"tasks without a track: {sorted(tracks)}")

    late = max((s for s in tracks["CPU 1 interrupts off"]), key=lambda s: s.end - s.begin)
    equal(late.name, CULPRIT[0], "who held interrupts off for longest")
    check(late.end - late.begin > LATE_NS, f"interrupts were off for {late.end - late.begin} ns")
    worker, slices = next(
        (name, s) for name, s in threads.items() if any(piece.name == CULPRIT[0] for piece in s))
    culprit = next(s for s in slices if s.name == CULPRIT[0])
    equal(outside(slices, culprit), CULPRIT[1:], "who called it")
    # All that has been there from before the trace on is one slice each, however deep.
    check(
        any(s.name == "cpu_startup_entry" and s.depth == 0 and "began before the trace" in s.args
            for s in threads["swapper/1"]), "the idle task's outermost function")
    about = json.loads((folder / "capture/capture.json").read_text())
    to_perf = about["recorder"]["clock"]["perf_ns"] - about["recorder"]["clock"]["monotonic_ns"]
    expected, spike = (about["spike"][name] + to_perf for name in ("expected_ns", "time_ns"))
    equal([piece[:4] for piece in tracks["CPU 1 timer"]], [(expected, spike, 0, "timer is late")],
          "the late timer")
    flow, = (e for e in trace.events if e.type == fxt.FLOW_END)
    equal(flow.at, spike, "when the arrow ends")
    equal(trace.name_of(flow.track), worker, "whom the arrow leads to")
    at_spike = sorted((s for s in slices if s.begin <= flow.at <= s.end), key=lambda s: -s.depth)
    names = [s.name for s in at_spike]
    check([name for name in names if name in SPIKE] == SPIKE, f"what ran at the spike: {names}")
    equal(names[-4:], CULPRIT, "what the timer interrupted")
    print(
        f"{len(slices)} slices of {worker}, interrupts off for {late.end - late.begin} ns in "
        f"{late.name}"
    )


def export(folder, capture, name, jobs, *args):
    """The files of it, by name, and what was said."""
    results = folder / "results"
    results.mkdir()
    result = subprocess.run(
        [CTL, "export", capture, "--force", "-o", results / name, "--jobs",
         str(jobs), *args], capture_output=True, text=True, check=False)
    equal(result.returncode, 0, f"exit status of {jobs} jobs: {result.stderr}")
    files = {path.name: path.read_bytes() for path in results.iterdir()}
    shutil.rmtree(results)
    return files, result.stderr


def check_jobs(folder, capture):
    """By several threads: to the byte what one makes."""
    for (name, *args), numbers in VARIANTS.items():
        alone, said = export(folder, capture, name, 1, *args)
        for jobs in numbers:
            files, said_of_many = export(folder, capture, name, jobs, *args)
            equal((sorted(files), said_of_many), (sorted(alone), said),
                  f"files, and what was said, of {jobs} jobs {args}")
            equal([file for file in files if files[file] != alone[file]], [],
                  f"files of {jobs} jobs {args} that differ")
            print(f"{len(files)} files {' '.join(args)} by {jobs} jobs: the same as by one")


def damage(folder, capture):
    """A copy in which a part of the trace is damaged."""
    damaged = folder / "damaged"
    shutil.copytree(capture, damaged)
    data = damaged / "perf.data/data"
    data.chmod(0o600)
    whole = bytearray(data.read_bytes())
    # The trace follows its record.
    record = whole.rindex(struct.pack("<IHH", recording.AUXTRACE, 0, 48))
    size = struct.unpack_from("<Q", whole, record + 8)[0]
    for i in range(record + 48 + size // 4, record + 48 + size * 3 // 4, 99991):
        whole[i:i + 3] = bytes(b ^ 0x55 for b in whole[i:i + 3])
    data.write_bytes(whole)
    return damaged


def check_damaged(folder, capture):
    """With errors and gaps too."""
    damaged = damage(folder, capture)
    alone, said = export(folder, damaged, "a.fxt", 1)
    check("decoding error" in said and "in the trace" in said, f"no errors, or no gaps: {said}")
    files, said_of_many = export(folder, damaged, "a.fxt", 4)
    (folder / "damaged.fxt").write_bytes(files["a.fxt"])
    check(
        "[lost]"
        in {piece.name for piece in fxt.read(folder / "damaged.fxt").check()["CPU 1 trace"]},
        "nothing is lost")
    equal((files["a.fxt"] == alone["a.fxt"], said_of_many), (True, said), "damaged: the same")
    print(f"damaged: {said_of_many.strip()}")


with tempfile.TemporaryDirectory() as scratch:
    ran = subprocess.run([
        HERE / "run-test", KERNEL, SECONDS, "python3", HERE / "guest/ptemu_take.py", CTL, scratch,
        str(ROUNDS)
    ], check=False, env={**os.environ, "LAB_OPTIONS": f"--pt emulated --scratch {scratch}"})
    if ran.returncode:
        sys.exit(ran.returncode)
    check_window(pathlib.Path(scratch))
    check_capture(pathlib.Path(scratch))
    check_jobs(pathlib.Path(scratch), pathlib.Path(scratch) / "capture")
    check_damaged(pathlib.Path(scratch), pathlib.Path(scratch) / "capture")
