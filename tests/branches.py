# SPDX-License-Identifier: GPL-2.0-only
"""What two decoders say of the same trace: branch by branch, stock perf's beside ours."""
import collections
import re
import subprocess

PERF_LINE = re.compile(r"\s*(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(.*?)\s+([0-9a-f]+) =>\s+([0-9a-f]+)")
ERROR = re.compile(r".*instruction trace error")

Branch = collections.namedtuple("Branch", "start to time tid flags")


def run(argv, **options):
    out = subprocess.run([str(word) for word in argv], capture_output=True, text=True, errors="replace", check=False,
                         stdin=subprocess.DEVNULL, **options)
    if out.returncode:
        raise AssertionError(f"{argv}: status {out.returncode}: {out.stderr[-500:]}")
    return out.stdout


def of_perf(data, *options, perf="perf", script=()):
    """By CPU, and the lines of errors. options: of perf itself; script: of its script"""
    found, errors = collections.defaultdict(list), []
    for line in run([perf, *options, "script", "-i", data, *script, "--itrace=be", "--ns", "-F", "cpu,tid,time,ip,addr,flags"]).splitlines():
        match = PERF_LINE.match(line)
        if match:
            tid, cpu, seconds, ns, flags, start, to = match.groups()
            found[int(cpu)].append(Branch(int(start, 16), int(to, 16), int(seconds) * 10**9 + int(ns), int(tid), flags))
        elif ERROR.match(line):
            errors.append(line)
        elif line.strip():
            raise AssertionError(f"perf script says: {line}")
    return found, errors


def of_ours(items, data, *options):
    """By CPU. items: tests/unit/decode/items.c"""
    found = collections.defaultdict(list)
    for line in run([items, "branches", data, *options]).splitlines():
        start, to, time, tid, cpu = line.split()
        found[int(cpu)].append(Branch(int(start, 16), int(to, 16), int(time), int(tid), ""))
    return found


def counts_of(items, data, *options):
    return {key: int(value) for key, value in
            (word.split("=") for word in run([items, "counts", data, *options]).split())}


def difference(theirs, ours):
    """The index of the first branch that differs; None: there is none"""
    same = ((a.start, a.to) == (b.start, b.to) for a, b in zip(theirs, ours))
    at = next((i for i, equal in enumerate(same) if not equal), min(len(theirs), len(ours)))
    return None if at == len(theirs) == len(ours) else at


def around(branches, at, nr=4):
    return "".join(f"\n    {i} {b.start:x} => {b.to:x} {b.time} {b.tid} {b.flags}" for i, b in
                   list(enumerate(branches))[max(at - nr, 0):at + nr])


def describe(theirs, ours):
    """Of the first difference, for people"""
    at = difference(theirs, ours)
    return at is not None and f"branch {at} of {len(theirs)} and {len(ours)}:\n  perf:{around(theirs, at)}\n  ours:{around(ours, at)}"


def apart(theirs, ours):
    """How far the times are apart: earliest and latest of ours, less perf's; of the same branches"""
    return min(b.time - a.time for a, b in zip(theirs, ours)), max(b.time - a.time for a, b in zip(theirs, ours))
