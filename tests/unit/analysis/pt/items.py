#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What we decode from recordings of real CPUs equals perf's: each branch, in order, at its time;
with any number of threads, and also if segments are not decoded separately.

usage: items.py ITEMS DENSE.PY REALPT [CAPTURE...]; captures are folders of recordings with their
code.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import branches
from branches import Failed, check

SKIP = 77
# By DynamoRIO; 8bcc and 0b3b by perf.
RECORDINGS = {
    "drio-926b": 146740, "drio-8bcc": 103749, "drio-0b3b": 91452, "drio-c2d9": 59234,
    "drio-8e84": 59225, "drio-d36d": 8, "drio-b54e": 6
}
THREADS = (2, 5)
LONG = 1 << 20
# A recording without code, and how far to look for perf's next place.
NO_CODE, NEAR = "perf.data.intel_pt-4.14", 3000


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


def without_time(lines):
    return [line.split()[:2] + line.split()[3:] for line in lines]


def without_branches(counts):
    return [word for word in counts.split(", ") if "branches" not in word]


def check_one(items, data, symfs, count):
    whole = run(items, "items", data, symfs)
    for threads in THREADS:
        check(
            run(items, "items", data, symfs, str(threads)) == whole,
            f"other items with {threads} threads")
    check(
        without_time(run(items, "whole", data, symfs)) == without_time(whole),
        "other items where segments are decoded as one")
    counts = run(items, "counts", data, symfs)[0]
    check(count is None or counts.startswith(f"{count} instructions"),
          f"{counts}; {count} were executed")
    check(" 0 errors" in counts, counts)
    runs = run(items, "runs", data, symfs)[0]
    check(without_branches(runs) == without_branches(counts), f"{runs} in runs")
    theirs = branches.by_perf(data, *(["--symfs", symfs] if symfs else []))
    count, late = branches.compare(theirs, branches.by_us(items, data, symfs))
    print(f"{data}: {counts}; {count} branches by perf, {late} of ours later")


def time_of(line):
    return int(line.split()[2])


def check_window(items, dense, recording, symfs, folder):
    """A window of a long recording, and some time before it: the stack must be known."""
    data = f"{folder}/dense"
    subprocess.run([dense, recording, str(LONG), data], check=True)
    whole = run(items, "items", data, symfs)
    first, last = time_of(whole[0]), time_of(whole[-1])
    begin, end = first + (last - first) // 2, first + (last - first) * 6 // 10
    wanted = [line for line in whole if begin <= time_of(line) <= end]
    check(wanted, "nothing is in the window")
    for threads in (1, *THREADS):
        got = run(items, "items", data, symfs, str(threads), str(begin), str(end))
        check(got[-len(wanted):] == wanted, f"other items in a window with {threads} threads")
        check(len(got) < len(whole) // 3, f"{len(got)} items of {len(whole)} for a tenth")
        run(items, "stopped", data, symfs, str(threads))
    print(
        f"{recording}, repeated: {len(got)} items for the {len(wanted)} of a window, of "
        f"{len(whole)}"
    )


def check_missing_code(items, data):
    """Without code we report each address and resume where perf does, except in transactions, of
    which perf reports more."""
    ours, missing, count = {}, 0, 0
    for words in (line.split() for line in run(items, "items", data)):
        if words[3] != "error":
            ours.setdefault(int(words[0]),
                            []).append(int(words[4 if words[3] == "begin" else 5], 16))
    at = dict.fromkeys(ours, 0)
    for line in run("perf", "script", "-f", "-i", data, "--itrace=b", "-F", "cpu,addr,event"):
        words = line.split()
        if "branches:" not in words or words[-1] == "0":
            continue
        cpu, to = int(words[0].strip("[]")), int(words[-1], 16)
        count += 1
        try:
            at[cpu] = ours[cpu].index(to, at[cpu], at[cpu] + NEAR) + 1
        except ValueError:
            missing += 1
    check(count > 600 and missing < count // 20,
          f"{missing} of {count} places where perf goes on are missing")
    print(f"{data}: {sum(map(len, ours.values()))} places, {count - missing} of perf's {count}")


def main():
    items, dense, realpt, *captures = sys.argv[1:]
    realpt = pathlib.Path(os.environ.get("PERF_POKE_REALPT") or realpt)
    if not realpt.is_dir() or not shutil.which("perf"):
        print("skipped: no recordings of real CPUs (PERF_POKE_REALPT), or no perf")
        return SKIP
    recordings = [(realpt / "perf.data" / f"{name}.perf.data", realpt / "sym" / name, count)
                  for name, count in RECORDINGS.items()]
    failed = 0
    for data, symfs, count in recordings + [(pathlib.Path(capture), "", None)
                                            for capture in captures]:
        try:
            check_one(items, str(data), str(symfs), count)
        except Failed as error:
            print(f"FAILED: {data}: {error}")
            failed = 1
    with tempfile.TemporaryDirectory() as folder:
        check_missing_code(items, str(realpt / "perf.data" / NO_CODE))
        check_window(items, dense, str(recordings[0][0]), str(recordings[0][1]), folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
