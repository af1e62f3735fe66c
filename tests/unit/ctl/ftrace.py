#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the commands make of captures of ftrace equals golden/ftrace.txt, or is refused if the file
is damaged.

usage: ftrace.py PERF_POKE_CTL CALL.TAR.ZST

CALL.TAR.ZST and the other archive beside it have pages of trace.dat files that trace-cmd 3.1.6
extracted in guests of the lab, with the tracer function_graph, while late_timer made timers late:
by a function call of another CPU, and with preemption off. Of formats and functions they have those
in the pages. capture.json was written by hand. With PERF_POKE_UPDATE_GOLDEN set the golden file is
written instead.
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import golden

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import fxt  # noqa: E402
import pftrace  # noqa: E402

CTL = os.path.abspath(sys.argv[1])
ARCHIVES = pathlib.Path(sys.argv[2]).resolve().parent
COMMANDS = ("report call", "report call --json", "report preempt_off --top 3",
            "report preempt_off --top 3 --json", "report preempt_off --against call --top 3",
            "report preempt_off --normal --top 3", "causes call preempt_off --json",
            "list preempt_off --why", "script call", "script call --insns", "script call --axis",
            "export call -o call.fxt --time -8300us,-8us",
            "export call -o cycles.fxt --axis cycles", "archive preempt_off -q -o one.tar.zst",
            "open one.tar.zst -o opened")
DAMAGED = 60


def run(folder, *words, **environment):
    return subprocess.run([CTL, *words], cwd=folder, env={**golden.ENVIRONMENT, **environment},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=60)


def is_refused_damaged(folder):
    """A damaged file is refused, or read as far as it goes."""
    shutil.copytree(folder / "call", folder / "damaged")
    whole = (folder / "call/trace.dat").read_bytes()
    chance, refused, fine = random.Random(36), 0, True
    for number in range(DAMAGED):
        data = bytearray(whole)
        if number % 3:
            # Half of all in what precedes the pages
            for _ in range(1 + number % 7):
                data[chance.randrange(len(data) if number % 2 else 20000)] = chance.randrange(256)
        else:
            del data[chance.randrange(len(data)):]
        (folder / "damaged/trace.dat").write_bytes(data)
        result = run(folder, "report", "damaged", "--json")
        refused += result.returncode
        if result.returncode not in (0, 1) or bool(result.returncode) != bool(result.stderr):
            print(f"FAILED: damage {number}: {result.returncode} {result.stderr}")
            fine = False
    print(f"{refused} of {DAMAGED} damaged files were refused")
    return fine and refused > DAMAGED // 6


def is_shown_by_trace_cmd(folder):
    if not shutil.which("trace-cmd"):
        print("no trace-cmd here")
        return True
    result = run(folder, "script", "call", "--window", "200us", PATH=os.environ["PATH"])
    spike = json.loads((folder / "call/capture.json").read_text())["spike"]["time_ns"]
    # Since trace-cmd 3.2 the latency field, as `d..1.`, stands between the CPU and the time.
    times = [int(seconds + ns) for seconds, ns in
             re.findall(r" \[001\] (?: *\S+)? +(\d+)\.(\d{9}):", result.stdout)]
    fine = not result.returncode and times and spike - 200000 <= min(times) <= max(times) <= spike
    if not fine or "hrtimer_interrupt()" not in result.stdout:
        print(f"FAILED: script: {result}")
        return False
    return True


def has_arrow_from_sender(folder):
    """From the CPU that the report names to the interrupt, in Perfetto's format."""
    sentence = json.loads(run(folder, "report", "call", "--json").stdout)["sentence"]
    sender, = re.findall(r"sent by CPU (\d+)", sentence)
    run(folder, "export", "call", "-o", "call.pftrace")
    run(folder, "export", "call", "-o", "whole.fxt")
    trace = pftrace.read(folder / "call.pftrace")
    tracks = trace.check()
    late = max((one for one in tracks["CPU 1 interrupts"] if "call_function" in one.name),
               key=lambda one: one.end - one.begin)
    ends = [event for event in trace.events
            if event.type == fxt.FLOW_END and event.name == "sent interrupt"]
    flows = [event.flow for event in ends
             if event.at == late.begin and trace.name_of(event.track) == "CPU 1 interrupts"]
    begins = [event for event in trace.events
              if event.type == fxt.FLOW_BEGIN and event.flow in flows]
    wakeups = [event for event in trace.events if event.name == "wakeup"]
    print(f"{len(ends)} interrupts and {len(wakeups) // 2} wakeups have arrows")
    if [trace.name_of(event.track) for event in begins] != [f"CPU {sender} tasks"] or \
            begins[0].at > late.begin:
        print(f"FAILED: {late}: arrows {ends}, {begins}")
        return False
    # Where the CPUs' tracks have slices, they are those of .fxt.
    others = fxt.read(folder / "whole.fxt").check()
    return {name: found for name, found in tracks.items() if found} == {
        name: found for name, found in others.items() if found}


def main():
    with tempfile.TemporaryDirectory(prefix="perf-poke-ftrace-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        for archive in ARCHIVES.glob("*.tar.zst"):
            subprocess.run([CTL, "open", "-q", archive, "-o", folder / archive.name.split(".")[0]],
                           check=True)
        text = "".join(golden.transcript(folder, words) for words in COMMANDS)
        return not all(
            [golden.check("ftrace.txt", text),
             has_arrow_from_sender(folder),
             is_refused_damaged(folder),
             is_shown_by_trace_cmd(folder)])


if __name__ == "__main__":
    sys.exit(main())
