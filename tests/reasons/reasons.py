#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes requests late for reasons that are known, captures them, and judges what the report says. A
verdict is right, not known or wrong; one wrong fails, and so do less than 90 % right.

In the environment: PERF_POKE_CTL, PERF_POKE_LATE_REQUEST, PERF_POKE_LATE (examples/late). With
--single, each capture is of a session of its own: none lacks the events that were lost while the
one before was copied. A guest is slow: there --take only captures, into a folder which --judge
judges on the host.
usage: reasons.py [--count N] [--single] [--short] [--rows NAME,...] [--results FILE] [--keep
FOLDER] [--take FOLDER | --judge FOLDER] [--cpu N] [--recorder events|pt|ftrace]
reasons.py --table | --matrix RESULTS..."""
import argparse
import collections
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge  # pylint: disable=wrong-import-position
import rows  # pylint: disable=wrong-import-position
import timehist  # pylint: disable=wrong-import-position

CTL = os.environ.get("PERF_POKE_CTL")
TAKEN = "taken.jsonl"
SKIP = 77
ROW_SECONDS = 60
# Not by events: on an emulated CPU a copy takes seconds, and the start minutes where a hog has a
# CPU.
LONG_ROW_SECONDS = 300
# Until there are as many captures without noise as wanted: so many sessions, or captures of a
# session each
SESSIONS_MAX = 3
RIGHT_PERCENT = 90
# What is emulated takes long, and the trace is to reach back.
OPTIONS = {"events": (), "pt": ("--buffer", "64M"), "ftrace": ("--buffer", "32M")}
# For scripts of rows: a cgroup of either version with a CPU quota.
PRELUDE = """
set_quota() {
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		echo +cpu >/sys/fs/cgroup/cgroup.subtree_control;
		mkdir -p $CGROUP2; echo "$1 $2" >$CGROUP2/cpu.max && echo $CGROUP2
	else
		mkdir -p $CGROUP1 && echo $2 >$CGROUP1/cpu.cfs_period_us &&
		echo $1 >$CGROUP1/cpu.cfs_quota_us && echo $CGROUP1
	fi
}
"""
CGROUPS = {
    "CGROUP1": "/sys/fs/cgroup/cpu/perf-poke-reasons", "CGROUP2": "/sys/fs/cgroup/perf-poke-reasons"
}


def has_quota():
    v2 = "/sys/fs/cgroup/cgroup.controllers"
    return os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") or os.path.exists(
        "/sys/fs/cgroup/cpu/tasks") or (os.path.exists(v2) and "cpu" in open(v2).read().split())


def has_disk():
    """Whether what is written to the temporary folder goes to a disk."""
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", tempfile.gettempdir()], capture_output=True, text=True,
        check=True).stdout.strip()
    return kind not in ("tmpfs", "ramfs", "overlayfs")


CONDITIONS = {"quota": has_quota, "disk": has_disk, "bpf": lambda: "PERF_POKE_LATE" in os.environ}


def missing(row):
    for need in row.needs:
        if not (CONDITIONS[need]() if need in CONDITIONS else shutil.which(need)):
            return "no " + need
    return None


def kill_session(leader, number):
    """All processes of a session: some have a group of their own."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.getsid(int(name)) == leader:
                os.kill(int(name), number)


@contextlib.contextmanager
def made(row, words):
    """Its scripts run in one session, because nice is among those of a session (autogroup), before
    the sessions of others."""
    script = PRELUDE + "[ ! -e /proc/$$/autogroup ] || echo -15 >/proc/$$/autogroup\n"
    for part in row.make:
        script += "(%s\n) &\n[ $# -gt 0 ] || set -- $!\nsleep .3\n" % re.sub(
            r"\{(\w+)\}", lambda m: words[m[1]], part)
    with subprocess.Popen(["sh", "-c", script + "wait"], start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env={**os.environ, **CGROUPS}) as process:
        time.sleep(0.3 * len(row.make))
        try:
            yield process
        finally:
            # Those that are stopped, too.
            for number in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
                kill_session(process.pid, number)
                time.sleep(0.05)
    for path in CGROUPS.values():
        for _ in range(50):
            with contextlib.suppress(OSError):
                os.rmdir(path)
            if not os.path.isdir(path):
                break
            time.sleep(0.05)


def take(row, words, output, count, recorder):
    """Captures of a session, and why there are less than wanted."""
    options = [re.sub(r"\{(\w+)\}", lambda m: words[m[1]], word) for word in row.trigger]
    # Others have each function, or no samples.
    if recorder != "events" and "-e" in options:
        del options[options.index("-e"):options.index("-e") + 2]
    options += OPTIONS[recorder]
    seconds = ROW_SECONDS if recorder == "events" else LONG_ROW_SECONDS
    workload = [] if "--workload" in options else ["--workload", "none"]
    argv = [
        CTL, "start", "--json", "--cpu", words["cpu"], "--recorder", recorder, "--output", output,
        "--count",
        str(count), "--duration",
        "%ds" % seconds, *workload, *options
    ]
    with made(row, words) as process:
        try:
            result = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                    timeout=2 * seconds, check=False)
        except subprocess.TimeoutExpired:
            return [], "the session did not end"
        ended = process.poll()
    captures = [
        line for line in map(json.loads, result.stdout.splitlines())
        if line["type"] == "capture" and line["error"] is None
    ]
    if len(captures) == count:
        return captures, None
    return captures, "%d of %d captures; %s%s" % (len(captures), count,
                                                  result.stderr.strip()[-300:],
                                                  "" if ended is None else " all ended: %d" % ended)


def noise(row, report, witness):
    """Whether perf says that something else than what was made took most of the time; if so,
    what."""
    spike, truth = report["spike"], row.truth
    late = report.get("thread") or spike
    if not report.get("thread") and any(
            word.startswith(("wakeup", "thread")) for word in row.trigger):
        # The spike's thread is the one that had the CPU.
        return None
    begin_ns, end_ns = spike["expected_ns"], spike["actual_ns"]
    sums = witness.sums(late["tid"], begin_ns, end_ns)
    part = "running" if truth.part == "irq" else truth.part
    # Without its switch-out in the recording, perf says nothing of a thread.
    if sums and 2 * sums[part] < end_ns - begin_ns and sum(
            sums.values()) * 10 > 9 * (end_ns - begin_ns):
        return "by perf: " + ", ".join("%s %.1f ms" % (state, ns / 1e6)
                                       for state, ns in sums.most_common())
    if part == "runnable" and truth.who not in (None, rows.NOBODY):
        rivals = witness.rivals(late["tid"], begin_ns, end_ns)
        made_ns = sum(ns for comm, ns in rivals.items() if re.search(truth.who, comm))
        if rivals and 2 * made_ns < sum(rivals.values()):
            return "by perf others ran: %s" % rivals.most_common(3)
    if part == "runnable" and truth.who not in (None, rows.NOBODY) and not witness.ran(
            truth.who, begin_ns, end_ns):
        return "by perf no such thread ran"
    # While a cgroup is throttled, others run as well.
    if truth.who == rows.NOBODY and "quota" not in (late.get("runnable_why") or ""):
        rivals = witness.rivals(late["tid"], begin_ns, end_ns)
        if 2 * (rivals.total() - rivals[timehist.IDLE]) > end_ns - begin_ns:
            return "by perf others ran for most of it"
    if truth.part == "irq":
        vectors = timehist.interrupts(witness, spike["cpu"], begin_ns, end_ns)
        other = next((name for name, ns in vectors.items()
                      if 2 * ns > end_ns - begin_ns and not re.search(truth.what, name)), None)
        if other:
            return "by perf %s took %.1f ms" % (other, vectors[other] / 1e6)
        made_ns = sum(ns for name, ns in vectors.items() if re.search(truth.what, name))
        if 2 * made_ns < end_ns - begin_ns:
            return "by perf the interrupts took %.1f ms" % (made_ns / 1e6)
    if truth.part == "running":
        vectors = timehist.interrupts(witness, spike["cpu"], begin_ns, end_ns)
        if 2 * vectors.total() > end_ns - begin_ns:
            return "by perf interrupts took %.1f ms" % (vectors.total() / 1e6)
    # To the scheduler a thread runs while the hypervisor runs something else.
    steal = (report.get("hardware") or {}).get("steal_ns") or 0
    ran = 2 * (late.get("running_ns") or 0) > end_ns - begin_ns
    if (part == "running" or ran) and 3 * steal > end_ns - begin_ns:
        return "steal %.1f ms" % (steal / 1e6)
    return None


def look_at(row, capture):
    """One capture: what was said of it, and what perf says."""
    out = subprocess.run([CTL, "report", "--json", capture["path"]], capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, check=True).stdout
    report = json.loads(out)
    witness = timehist.witness_of(capture["path"])
    said = judge.verdict(report)
    found = {
        "row": row.name, "path": capture["path"], "sentence": report["sentence"],
        "said": said._asdict(), "truth": row.truth._asdict(),
        "fingerprint": report["fingerprint"]["id"],
        "noise": noise(row, report, witness),
        "verdict": judge.WRONG
                   if judge.contradicts_scheduler(report) or judge.blames_recorder(report)
                   else judge.judge(said, row.truth)
    }
    if report.get("thread") and not report["events_lost"]:
        spike = report["spike"]
        found["differences"] = timehist.differences(witness, report["thread"], spike["expected_ns"],
                                                    spike["actual_ns"])
    return found


def run_row(row, options, folder):
    allowed = sorted(os.sched_getaffinity(0))
    cpu = options.cpu if options.cpu is not None else allowed[-1]
    words = {
        "cpu": str(cpu), "other": str(next(number for number in allowed if number != cpu)),
        "tmp": folder, "late": os.environ["PERF_POKE_LATE_REQUEST"],
        "ipi": os.environ.get("PERF_POKE_LATE", "")
    }
    output = os.path.join(folder, "captures")
    found = []
    number = 1 if options.single else options.count
    for _ in range(SESSIONS_MAX * options.count // number):
        captures, short = take(row, words, output, number, options.recorder)
        if options.take:
            found += captures
            enough = len(found) >= options.count
        else:
            found += [look_at(row, capture) for capture in captures]
            enough = sum(not one["noise"] for one in found) >= options.count
        if short or enough:
            break
    return found, short


def folder_of(parent, row, number):
    return os.path.join(parent, "%s-%d" % (re.sub(r"\W+", "-", row.name), number))


def keep(row, found, options):
    """Copies the captures that are not right."""
    for number, one in enumerate(found):
        if one["verdict"] != judge.RIGHT or one["noise"]:
            one["kept"] = folder_of(options.keep, row, number)
            shutil.copytree(one["path"], one["kept"], dirs_exist_ok=True)


def keep_taken(row, captures, short, options):
    """Copies all captures, and notes them for --judge. Those of a session have links to one copy of
    the kernel's code."""
    paths = [capture["path"] for capture in captures]
    if paths:
        subprocess.run(["cp", "-a", *paths, options.take], check=True)
    for number, path in enumerate(paths):
        copied = os.path.join(options.take, os.path.basename(path))
        path = folder_of(options.take, row, number)
        shutil.rmtree(path, ignore_errors=True)
        os.rename(copied, path)
        with open(os.path.join(options.take, TAKEN), "a") as file:
            print(json.dumps({"row": row.name, "kernel": os.uname().release, "path": path}),
                  file=file)
    print("%-22s took %2d%s" % (row.name, len(captures), "  (%s)" % short if short else ""),
          flush=True)


def taken(row, options):
    """The captures that --take took of a row."""
    with open(os.path.join(options.judge, TAKEN)) as file:
        notes = [note for note in map(json.loads, file) if note["row"] == row.name]
    return [{**look_at(row, note), "kernel": note["kernel"]} for note in notes]


def print_row(row, found, short):
    judged = [one for one in found if not one["noise"]]
    counts = {
        word: sum(one["verdict"] == word for one in judged)
        for word in (judge.RIGHT, judge.NOT_KNOWN, judge.WRONG)
    }
    differ = sum(bool(one.get("differences")) for one in found)
    print(
        "%-22s right %2d  not known %2d  wrong %2d  noise %2d  perf differs %2d%s" %
        (row.name, *counts.values(), len(found) - len(judged), differ,
         "  (%s)" % short if short else ""), flush=True)
    for one in found:
        if one["noise"]:
            print("    noise: %s: %s" % (one["noise"], one["sentence"]))
        elif one["verdict"] != judge.RIGHT:
            print("    %s: %s; said %s" % (one["verdict"], one["sentence"], one["said"]))
        for difference in one.get("differences", [])[:3]:
            print("    " + difference)
    return counts


def confused(results):
    """Pairs of rows with a fingerprint of both, although the truth of one is wrong for the other;
    and of how many captures the fingerprint is that which most of their row have."""
    rows_of, common = collections.defaultdict(dict), 0
    right = [one for one in results if one["verdict"] == judge.RIGHT and not one["noise"]]
    for one in right:
        rows_of[one["fingerprint"]].setdefault(one["row"], one)
    for name in {one["row"] for one in right}:
        ids = collections.Counter(one["fingerprint"] for one in right if one["row"] == name)
        common += ids.most_common(1)[0][1]
    pairs = [
        (mark, first["row"], second["row"]) for mark, rows_here in rows_of.items()
        for first, second in itertools.permutations(rows_here.values(), 2)
        if judge.judge(judge.Verdict(**first["said"]), rows.Truth(**second["truth"])) == judge.WRONG
    ]
    return pairs, common, len(right)


def print_table(paths):
    """The table of README.md, of results: right / not known / wrong on each kernel."""
    found = [json.loads(line) for path in paths for line in open(path)]
    kernels = sorted({one["kernel"] for one in found})
    print("| reason | truth | trigger | " + " | ".join(kernels) + " |\n|" + " --- |" *
          (3 + len(kernels)))
    for row in rows.ROWS:
        truth = ", ".join(str(word).replace("|", " or ") for word in row.truth if word)
        trigger = next(word for i, word in enumerate(row.trigger)
                       if i and row.trigger[i - 1] == "--trigger")
        cells = []
        for kernel in kernels:
            judged = [
                one["verdict"] for one in found
                if (one["row"], one["kernel"]) == (row.name, kernel) and not one["noise"]
            ]
            cells.append(" / ".join(
                str(judged.count(word))
                for word in (judge.RIGHT, judge.NOT_KNOWN, judge.WRONG)) if judged else "")
        print("| %s | %s | `%s` | %s |" % (row.name, truth, trigger, " | ".join(cells)))


def print_matrix(paths):
    """The fingerprints of each reason on each kernel: how many captures have each, and which other
    reasons have it too."""
    found = [json.loads(line) for path in paths for line in open(path)]
    right = [one for one in found if one["verdict"] == judge.RIGHT and not one["noise"]]
    rows_of = collections.defaultdict(set)
    for one in right:
        rows_of[one["fingerprint"]].add(one["row"])
    for row in rows.ROWS:
        ids = collections.defaultdict(collections.Counter)
        for one in right:
            if one["row"] == row.name:
                ids[one["fingerprint"]][one["kernel"].partition("-")[0]] += 1
        for mark, kernels in sorted(ids.items(), key=lambda pair: -pair[1].total()):
            print("%-24s %-36s %s%s" % (row.name, mark, ", ".join(
                "%s: %d" % pair
                for pair in sorted(kernels.items())), "".join("; also " + other
                                                              for other in sorted(rows_of[mark])
                                                              if other != row.name)))
    pairs, common, count = confused(found)
    print("%d of %d captures have the fingerprint of their reason; %d fingerprints of two reasons "
          "that differ" % (common, count, len(pairs)))


def main():
    # What a row has started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--rows", default="")
    parser.add_argument("--results")
    parser.add_argument("--keep")
    parser.add_argument("--take")
    parser.add_argument("--judge")
    parser.add_argument("--cpu", type=int)
    parser.add_argument("--recorder", default="events")
    parser.add_argument("--table", nargs="+")
    parser.add_argument("--matrix", nargs="+")
    options = parser.parse_args()
    if options.table:
        print_table(options.table)
        return
    if options.matrix:
        print_matrix(options.matrix)
        return
    names = [name for name in options.rows.split(",") if name]
    unknown = set(names) - {row.name for row in rows.ROWS}
    if unknown:
        sys.exit("no such rows: %s" % sorted(unknown))
    if os.geteuid() or not shutil.which("perf"):
        print("skipped: needs root and perf")
        sys.exit(SKIP)
    if options.take:
        os.makedirs(options.take, exist_ok=True)
    results, bad, judged_rows = [], [], 0
    total = {judge.RIGHT: 0, judge.NOT_KNOWN: 0, judge.WRONG: 0}
    for row in rows.ROWS:
        if (names and row.name not in names) or (options.short and not row.short):
            continue
        reason = None if options.judge else missing(row)
        if reason:
            print("%-22s skipped: %s" % (row.name, reason), flush=True)
            continue
        with tempfile.TemporaryDirectory(prefix="perf-poke-reasons-") as folder:
            found, short = (taken(row, options), None) if options.judge else run_row(
                row, options, folder)
            if options.take:
                keep_taken(row, found, short, options)
                continue
            if options.keep:
                keep(row, found, options)
        if options.judge and not found:
            continue
        results += found
        counts = print_row(row, found, short)
        judged_rows += 1
        for word, number in counts.items():
            total[word] += number
        if counts[judge.WRONG] or not sum(counts.values()) or any(
                one.get("differences") for one in found):
            bad.append(row.name)
        if options.results:
            with open(options.results, "a") as file:
                for one in found:
                    print(json.dumps({"kernel": os.uname().release, **one}), file=file)
    if options.take:
        return
    pairs, common, right = confused(results)
    print("%d of %d captures have the fingerprint of their reason" % (common, right))
    for pair in pairs:
        print("one fingerprint, %s, of two reasons: %s and %s" % pair)
    bad += ["fingerprints"] * bool(pairs)
    whole = sum(total.values())
    print("%d rows: right %d, not known %d, wrong %d; bad: %s" %
          (judged_rows, *total.values(), bad))
    if not judged_rows:
        sys.exit(SKIP)
    sys.exit(bool(bad) or 100 * total[judge.RIGHT] < RIGHT_PERCENT * whole)


if __name__ == "__main__":
    main()
