#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What we decode of the emulated Intel PT is what the plugin saw, instruction by instruction; perf
decodes the same branches; and export shows the calls of a program.

usage: ptemu_flow.py [--windows LIST] KERNEL[,KERNEL...] SECONDS PERF_POKE_CTL ITEMS USER_CALLS

Runs guest/ptemu_windows.py in a guest of each kernel and decodes here what it recorded: the windows
of LIST, without one ten of the kernel and ten of kernel and user space. $PTEMU_INSTRUCTIONS is how
many instructions each is to have at least, $PTEMU_KEEP a folder for the windows that fail."""
import argparse
import array
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import ptemu_contents
import recording

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "unit/analysis/pt"), str(HERE.parent)]
import branches  # noqa: E402  # pylint: disable=wrong-import-position
import fxt  # noqa: E402  # pylint: disable=wrong-import-position

ALL = " ".join(f"{kind}{number}" for kind in ("kernel", "user") for number in range(1, 11))
INSTRUCTIONS = os.environ.get("PTEMU_INSTRUCTIONS", "2000000")
KEEP = os.environ.get("PTEMU_KEEP")
# Of the instructions in a window that is a ring, and of those lost by an overflow
RING_MIN, LOST_MAX = 100000, 300
# What is behind an item that ends so is not what comes next.
GAPS = ("overflow", "lost")

failed = []


def check(condition, message):
    if not condition:
        print(f"FAILED: {message}", flush=True)
        failed.append(message)


def words(path):
    found = array.array("Q")
    found.frombytes(path.read_bytes())
    return found


def executed(path):
    """The log without the times."""
    log = words(path)
    ips, i = array.array("Q"), 0
    while i < len(log):
        try:
            end = log.index(0, i)
        except ValueError:
            end = len(log)
        ips += log[i:end]
        i = end + 2
    return ips


class Decoded:
    """Of a CPU: blocks without a gap between them, as addresses of the first and the last
    instruction, and how many; and sums"""

    def __init__(self, data, cpu, env):
        self.runs, self.errors, self.overflows, self.cycles = [], [], 0, 0
        open_run = False
        for line in branches.lines_of([args.items, "items", data], env=env):
            where, _, _, *words = line.split()
            if int(where) != cpu:
                continue
            if words[0] == "error":
                self.errors.append(line.strip())
                open_run = False
                continue
            if words[0] not in ("begin", "-"):
                if not open_run:
                    self.runs.append((array.array("Q"), array.array("Q"), array.array("I")))
                for column, value in zip(self.runs[-1],
                                         (int(words[0], 16), int(words[1], 16), int(words[2]))):
                    column.append(value)
                open_run = True
            self.cycles += int(words[-1])
            self.overflows += words[-4] == "overflow"
            open_run = open_run and words[-4] not in GAPS

    @property
    def instructions(self):
        return sum(sum(run[2]) for run in self.runs)


def end_of(run, log, at):
    """Where in the log the run ends that begins there; None if it is not what was executed."""
    for first, last, count in zip(*run):
        if at + count > len(log) or log[at] != first or log[at + count - 1] != last:
            return None
        at += count
    return at


def place(run, log, at):
    """Where it begins, from there on, and where it ends."""
    while True:
        try:
            at = log.index(run[0][0], at)
        except ValueError:
            return None
        end = end_of(run, log, at)
        if end is not None:
            return at, end
        at += 1


def places(name, runs, log):
    found, at = [], 0
    for i, run in enumerate(runs):
        where = place(run, log, at)
        check(
            where,
            f"{name}: run {i} of {len(runs)}, of {sum(run[2])} instructions, is not what was "
            f"executed"
        )
        if where:
            found.append(where)
            at = where[1]
    return found


def check_log(name, decoded, log, counted):
    found = places(name, decoded.runs, log)
    equal = [(0, len(log))] if name.kind not in ("overflow", "ring") else None
    if equal:
        check(found == equal, f"{name}: executed was {equal}, decoded {found}")
        check(decoded.cycles == counted["cycles"],
              f"{name}: {decoded.cycles} cycles of {counted['cycles']}")
    elif name.kind == "ring":
        check(len(found) == 1 and decoded.instructions > RING_MIN, f"{name}: decoded is {found}")
    else:
        lost = [begin - end for (_, end), (begin, _) in zip(found, found[1:])]
        check(
            len(lost) == counted["overflows"] and all(0 < n < LOST_MAX for n in lost),
            f"{name}: lost are {lost}")
        check(found and (found[0][0], found[-1][1]) == (0, len(log)),
              f"{name}: decoded is {found} of {len(log)}")


def check_perf(name, data, cpu, overflows, env):
    errors = []
    theirs = branches.by_perf(data, "-C", str(cpu),
                              perf=("perf", "--buildid-dir", env["BUILDID_DIR"]), errors=errors)
    try:
        # Behind an overflow perf switches tasks before the kernel does; we do in __switch_to().
        count, late = branches.compare(theirs, branches.by_us(args.items, data, cpu=cpu, env=env),
                                       tasks=not overflows)
    except branches.Failed as why:
        check(False, f"{name}, CPU {cpu}: {why}")
        return
    check(
        len(errors) == overflows,
        f"{name}: {len(errors)} errors of perf, {overflows} overflows: {errors[:5]}")
    print(
        f"{name}, CPU {cpu}: {count} branches as perf has them, {late} of them at the next "
        f"packet's time",
        flush=True)


def symbols(program):
    """Address and size by name"""
    lines = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return {
        words[3]: (int(words[0], 16), int(words[1], 16)) for words in map(str.split, lines)
        if len(words) == 4
    }


def check_calls(name, folder, log):
    """In user space: each call of a function, from its first instruction to one of its own, with as
    many as there are between."""
    path = folder / "calls.fxt"
    subprocess.run([
        args.ctl, "export",
        recording.as_capture(folder / "data", folder.parent / "debug"), "-o", path, "--axis",
        "instructions", "--quiet"
    ], check=True)
    slices = [
        piece for name, track in fxt.read(path).check().items() if not name.startswith("CPU ")
        for piece in track
    ]
    places = symbols(args.user_calls)
    for function in ("user_tree", "user_leaf", "user_compare"):
        start, size = places[function]
        found = sorted((piece for piece in slices if piece.name == function),
                       key=lambda piece: piece.begin)
        called = [i for i, ip in enumerate(log) if ip == start]
        check(called and len(found) == len(called),
              f"{name}: {len(found)} calls of {function}, not {len(called)}")
        # An interrupt or a page fault may come before the first instruction.
        late = [(piece.begin, at) for piece, at in zip(found, called) if piece.begin != at and
                not (piece.begin < at and min(log[piece.begin:at]) >> 63)]
        check(not late, f"{name}: {function} does not begin where it was called: {late[:3]}")
        odd = [
            piece for piece in found
            if not start <= log[piece.end - 1] < start + size or max(log[piece.begin:piece.end]) >>
            63 == 0 and piece.args["instructions"] != piece.end - piece.begin
        ]
        check(not odd, f"{name}: {function} does not end so: {odd[:3]}")
        print(f"{name}: {len(found)} calls of {function} in user space", flush=True)


def check_cpu(name, folder, cpu, counted, log):
    data, env = str(folder / "data"), {**os.environ, "BUILDID_DIR": str(folder.parent / "debug")}
    decoded = Decoded(data, int(cpu), env)
    print(
        f"{name}, CPU {cpu}: {decoded.instructions} of {len(log)} instructions, {decoded.cycles} "
        f"of {counted['cycles']} cycles, "
        f"{decoded.overflows} overflows, {8 * counted['bytes'] / max(len(log), 1):.2f} bits each",
        flush=True)
    check(not decoded.errors, f"{name}: {len(decoded.errors)} errors: {decoded.errors[:5]}")
    check(decoded.overflows == counted["overflows"],
          f"{name}: {decoded.overflows} overflows of {counted['overflows']}")
    check_log(name, decoded, log, counted)
    check_perf(name, data, int(cpu), counted["overflows"], env)
    check(
        len(log) >= (100 if name.kind == "ranges" else int(INSTRUCTIONS)),
        f"{name}: only {len(log)} instructions")
    check(counted["instructions"] == len(log),
          f"{name}: {counted['instructions']} instructions counted, {len(log)} logged")
    check(counted["unexplained"] == 0,
          f"{name}: {counted['unexplained']} steps that no packet tells")
    check(counted["truncated"] == 0, f"{name}: the AUX area was full")


def check_window(name, folder, contents):
    facts = json.loads((folder / "facts.json").read_text())
    recording.dense.join(folder / "data/data")
    overflows = sum(f["overflows"] for f in facts["cpus"].values())
    check(bool(overflows) == (name.kind == "overflow"), f"{name}: {overflows} overflows")
    for cpu, counted in facts["cpus"].items():
        log = executed(folder / f"vcpu{cpu}")
        check_cpu(name, folder, cpu, counted, log)
        if name.kind == "user":
            check_calls(name, folder, log)
        if name.kind in ("kernel", "user", "two"):
            recorded = recording.Recording(folder / "data")
            contents[f"{name}, CPU {cpu}"] = ptemu_contents.count(log, recorded)


def check_contents(kernel, contents):
    kinds = ptemu_contents.KINDS
    print(f"in windows of {kernel}: {', '.join(kinds)}")
    for where, found in contents.items():
        print(f"  {where}: {', '.join(str(found[kind]) for kind in kinds)}")
    for kind in kinds:
        check(any(found[kind] for found in contents.values()), f"{kernel}: no {kind} in any window")


class Name(str):
    @property
    def kind(self):
        return self.rstrip("0123456789")


def check_kernel(kernel):
    contents = {}
    options = "--pt emulated --cpus 3 --accel tcg-single --mem 2G"
    with tempfile.TemporaryDirectory(prefix="perf-poke-flow-") as scratch:
        scratch = pathlib.Path(scratch)
        guest = subprocess.Popen([
            HERE / "run-test", kernel, args.seconds, "python3", HERE / "guest/ptemu_windows.py",
            args.ctl, args.user_calls, INSTRUCTIONS, *args.windows.split()
        ], env={**os.environ, "LAB_OPTIONS": f"{options} --scratch {scratch}"})
        for window in args.windows.split():
            while not (scratch / window).exists() and guest.poll() is None:
                time.sleep(0.1)
            if (scratch / window).exists():
                before = len(failed)
                check_window(Name(window), scratch / window, contents)
                if KEEP and len(failed) > before:
                    shutil.copytree(scratch / window, pathlib.Path(KEEP, f"{kernel}-{window}"))
                shutil.rmtree(scratch / window)
        if guest.wait():
            return guest.returncode
    if contents:
        check_contents(kernel, contents)
    return 1 if failed else 0


def main():
    return max(check_kernel(kernel) for kernel in args.kernels.split(","))


parser = argparse.ArgumentParser()
parser.add_argument("--windows", default=ALL)
for argument in ("kernels", "seconds", "ctl", "items", "user_calls"):
    parser.add_argument(argument)
args = parser.parse_args()
sys.exit(main())
