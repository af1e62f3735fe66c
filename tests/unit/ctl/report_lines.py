#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""report, the page and the timeline show lines and inlined functions of programs. Neither these nor
whether they are known changes a fingerprint.

usage: report_lines.py CTL [REALPT]; without, the program cannot read Intel PT
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
import fxt  # noqa: E402
import made  # noqa: E402

CTL = os.path.abspath(sys.argv[1])
REALPT = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
PROGRAM = """
static inline __attribute__((always_inline)) int parse_header(volatile int *p) {
    return p[0] + p[1];
}
__attribute__((noinline)) int handle_request(volatile int *p) {
    return parse_header(p) ^ 5;
}
int main(int argc, char **argv) {
    volatile int some[2] = { argc };
    return handle_request(some) + some[1];
}
"""
TRACED = """
#define INLINE static inline __attribute__((always_inline))
INLINE int third(volatile int *p) {
    return p[0] * p[1];
}
INLINE int second(volatile int *p) {
    int sum = third(p);
    sum += third(p + 2);
    return sum;
}
__attribute__((noinline)) int leaf(volatile int *p) {
    return p[3];
}
__attribute__((noinline)) int first(volatile int *p) {
    int sum = second(p);
    sum ^= leaf(p);
    return sum + third(p + 4);
}
volatile int some[8];
void _start(void) {
    for (;;)
        first(some);
}
"""


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def user_frame(path, name, moved, address=0x55550000, build_id=None):
    """In the middle of a function's inlined code: at its first instruction."""
    start = int(re.search(rf"^([0-9a-f]+) \w {name}$", run("nm", "whole"), re.M)[1], 16)
    return {
        "address": hex(address), "symbol": None, "file": path, "offset": start - moved,
        "user": True, "build_id": build_id
    }


def stacks(folder):
    """A spike in a program, whose debug information is there or not."""
    pathlib.Path("request.c").write_text(PROGRAM)
    run("gcc", "-O2", "-g", "-o", "whole", "request.c")
    run("strip", "--strip-debug", "-o", "bare", "whole")
    row = next(row.split() for row in run("readelf", "-lW", "whole").splitlines()
               if row.split()[:1] == ["LOAD"] and " E " in row)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", "whole"))[1]
    moved = int(row[2], 16) - int(row[1], 16)
    path = f"{folder}/program"
    stack = [user_frame(path, "handle_request", moved, build_id=build_id)]
    made.stack_capture(pathlib.Path("captures/one"), stack=stack, irqs_off=False)
    found = {}
    for name in ("bare", "whole"):
        shutil.copy(name, path)
        report = json.loads(run(CTL, "report", "--json", "captures/one"))
        found[name] = (report["stack"], report["fingerprint"], report["sentence"],
                       run(CTL, "report", "captures/one"))
    bare, whole = found["bare"], found["whole"]
    assert bare[0] == [{"name": "handle_request", "module": "program", "user": True,
                        "source": None, "inlined": []}], bare[0]
    assert whole[0] == [{"name": "handle_request", "module": "program", "user": True,
                         "source": "request.c:6",
                         "inlined": [{"name": "parse_header", "source": "request.c:3"}]}], whole[0]
    assert bare[1:3] == whole[1:3], "what the cause is does not depend on debug information"
    assert ("  parse_header [program], user, inlined, request.c:3\n"
            "  < handle_request [program], user, request.c:6\n") in whole[3], whole[3]
    assert "  handle_request [program], user\n" in bare[3], bare[3]
    shutil.move(path, f"{folder}/moved")
    os.makedirs(f"{folder}/root{folder}")
    shutil.move(f"{folder}/moved", f"{folder}/root{path}")
    assert "request.c:6" not in run(CTL, "report", "captures/one")
    assert "request.c:6" in run(CTL, "report", "--symfs", f"{folder}/root", "captures/one")


def recording(folder):
    """A recording of a real CPU: lines of the functions of its program."""
    name, cpu, at = "drio-926b", 3, 591282680226451
    data = pathlib.Path(folder, "recorded/perf.data")
    data.mkdir(parents=True)
    shutil.copy(REALPT / "perf.data" / f"{name}.perf.data", data / "data")
    spike = {
        "time_ns": at, "cpu": cpu, "latency_ns": 400000, "expected_ns": at - 400000,
        "actual_ns": at, "trigger": "thread", "pid": 1, "tid": 1, "comm": "late"
    }
    (data.parent / "capture.json").write_text(json.dumps({
        "schema": 1, "threshold_ns": 5000, "history_ns": 400000, "spike": spike,
        "recorder": {"kind": "pt", "clock": {"monotonic_ns": 5, "perf_ns": 5}}}))
    symfs = ("--symfs", REALPT / "sym" / name)
    report = json.loads(run(CTL, "report", "--json", "--top", "1000", *symfs, data.parent))
    lines = {row["name"]: row["source"] for row in report["functions"] if row["source"]}
    print(lines)
    assert lines.get("main", "").startswith("hello."), lines
    assert not any(row["source"] for row in report["functions"] if "@plt" in row["name"])
    assert f"  {lines['main']}\n" in run(CTL, "report", "--top", "1000", *symfs, data.parent)
    run(CTL, "export", *symfs, "-o", "hello.fxt", data.parent)
    trace = fxt.Trace(pathlib.Path("hello.fxt").read_bytes())
    shown = {event.name: event.args.get("source") for event in trace.events
             if event.args and event.args.get("source")}
    assert shown.get("main") == lines["main"], shown
    run(CTL, "export", "--html", "hello.html", *symfs, data.parent)
    page = pathlib.Path("hello.html").read_text()
    assert f'"source":"{lines["main"]}"' in page and f':"{lines["main"]}"' in page
    assert "http" not in re.sub(r'<script.*?</script>', "", page, flags=re.S).replace(
        "http-equiv", "")


def executed(name):
    """Instructions of a function in order, each with its functions, callers first. A function that
    is inlined is told by its name and the line that calls it."""
    rows = re.search(rf"<{name}>:\n(.*?)(\n\n|\Z)", run("objdump", "-d", "traced"), re.S)[1]
    found = []
    for row in rows.splitlines():
        address, text = row.split(":", 1)
        lines = iter(run("addr2line", "-i", "-f", "-e", "traced", address.strip()).splitlines())
        chain = [(function, next(lines).rsplit(":", 1)[1].split()[0]) for function in lines]
        path = [(chain[-1][0], None)]
        for (function, _), (_, line) in zip(chain[-2::-1], chain[:0:-1]):
            path.append((function, line))
        found.append(path)
        callee = re.search(r"\bcall\s+\w+ <(\w+)>", text)
        if callee:
            found += [path + inner for inner in executed(callee[1])]
        if re.search(r"\bret\b", text):
            break
    return found


def slices_of(paths):
    """Begin, end, depth and name of each slice, in instructions."""
    stack, found = [], []
    for at, path in enumerate([*paths, []]):
        same = 0
        while same < min(len(path), len(stack)) and path[same] == stack[same][0]:
            same += 1
        while len(stack) > same:
            (name, _), begin = stack.pop()
            found.append((begin, at, len(stack), name))
        stack += [(one, at) for one in path[same:]]
    return sorted(found)


def inlined_in_trace(folder):
    """A simulated trace of a program: what is inlined at each instruction is what addr2line says.
    """
    pathlib.Path("traced.c").write_text(TRACED)
    run("gcc", "-O2", "-g", "-static", "-nostdlib", "-no-pie", "-fcf-protection=none", "-o",
        "traced", "traced.c", "-Wl,--build-id=0x" + "11" * 20)
    row = next(row.split() for row in run("readelf", "-lW", "traced").splitlines()
               if row.split()[:1] == ["LOAD"] and " E " in row)
    offset, address = int(row[1], 16), int(row[2], 16)
    start = int(re.search(r"^(\w+) T _start$", run("nm", "traced"), re.M)[1], 16)
    about = {
        "schema": 1, "spike": {"time_ns": 2000004000, "cpu": 1, "latency_ns": 1000,
                               "expected_ns": 2000003000}, "history_ns": 4000,
        "recorder": {"kind": "pt", "clock": {"monotonic_ns": 5, "perf_ns": 5}}
    }
    one = made.Recording(clock=made.CLOCK)
    one.event(one.COMM, struct.pack("<II", 77, 77) + b"traced\0", 0x2000, 1999999980)
    one.mapped(77, address, 0x1000, f"{folder}/traced".encode(), time=1999999990, pgoff=offset,
               build_id=b"\x11" * 20)
    one.event(one.ITRACE_START, struct.pack("<II", 77, 77), time=1999999995, cpu=1, task=(77, 77))
    one.trace(b"".join(made.segment(2000000000 + i * 1000, 10, start) for i in range(4)), cpu=1,
              reference=2000000000)
    pathlib.Path("simulated/perf.data").mkdir(parents=True)
    pathlib.Path("simulated/perf.data/data").write_bytes(one.whole())
    pathlib.Path("simulated/capture.json").write_text(json.dumps(about))
    run(CTL, "export", "--axis", "instructions", "-o", "traced.fxt", "simulated")
    wanted = slices_of(executed("first"))
    assert sum(name == "third" for *_, name in wanted) >= 3, wanted
    trace = fxt.Trace(pathlib.Path("traced.fxt").read_bytes())
    calls = cut = 0
    for track, slices in trace.check().items():
        for first in [one for one in slices if one.name == "first"]:
            # Each segment of the trace ends in the middle of one.
            if first.end - first.begin != max(end for _, end, *_ in wanted):
                cut += 1
                continue
            inside = sorted((one.begin - first.begin, one.end - first.begin,
                             one.depth - first.depth, one.name) for one in slices
                            if first.begin <= one.begin and one.end <= first.end and
                            one.depth >= first.depth and one.end > one.begin)
            assert inside == wanted, (track, inside, wanted)
            calls += 1
    print(f"{calls} calls with {len(wanted)} slices each")
    assert calls > 100 and cut <= 10, (calls, cut)
    run(CTL, "export", "-o", "timed.fxt", "simulated")
    timed = fxt.Trace(pathlib.Path("timed.fxt").read_bytes()).check()
    assert {track: sum(one.name == "third" for one in slices) for track, slices in timed.items()
            } == {track: sum(one.name == "third" for one in slices)
                  for track, slices in trace.check().items()}
    # What a report says does not depend on it.
    names = {row["name"] for row in json.loads(run(CTL, "report", "--json", "simulated"))[
        "functions"]}
    assert names == {"_start", "first", "leaf"}, names


def main():
    os.environ.pop("DEBUGINFOD_URLS", None)
    if not shutil.which("gcc") or not shutil.which("strip"):
        print("there is no gcc, or no strip")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        stacks(folder)
        if REALPT:
            inlined_in_trace(folder)
        if REALPT and REALPT.is_dir():
            recording(folder)
        os.chdir("/")
    return 0


sys.exit(main())
