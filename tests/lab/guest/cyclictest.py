# SPDX-License-Identifier: GPL-2.0-only
"""Prints the latency that cyclictest measures, in nanoseconds, without perf-poke and with each of
its recorders. In a guest with --icount 0 they are instructions, whatever else the host does.

usage: cyclictest.py PERF_POKE_CTL [CYCLES]"""
import json
import re
import subprocess
import sys

import guest

CTL, CYCLES = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "2000"
FTRACE = ("--recorder", "ftrace", "--buffer", "4M", "-e")
RECORDERS = {
    "none": ("--recorder", "none"),
    "events": ("--recorder", "events"),
    "ftrace, nop": (*FTRACE, "nop"),
    "ftrace, function": (*FTRACE, "function"),
    "ftrace, function_graph": (*FTRACE, "function_graph"),
    "ftrace, function_graph, depth 3": (*FTRACE, "function_graph/max-depth=3/"),
}


def cyclictest():
    out = subprocess.run([
        "cyclictest", "-q", "-N", "-m", "-t1", f"-a{guest.CPU}", "-p95", "-i2000", "-l", CYCLES
    ], capture_output=True, text=True, check=True).stdout
    return map(int, re.search(r"Min:\s*(\d+).*Avg:\s*(\d+) Max:\s*(\d+)", out).groups())


def show(name):
    least, average, most = cyclictest()
    print(f"| {name} | {least:,} | {average:,} | {most:,} |", flush=True)


print("| | least | average | most |\n| --- | --- | --- | --- |")
show("no session")
for recorder, options in RECORDERS.items():
    with subprocess.Popen([
            CTL, "start", "--json", "--cpu",
            str(guest.CPU), "--threshold", "10s", "--workload", "none", "--trigger", "irq",
            "--output", "/tmp/cyclictest", *options
    ], stdout=subprocess.PIPE, text=True) as session:
        if json.loads(session.stdout.readline() or '{"type": "nothing"}')["type"] != "armed":
            print(f"| {recorder} | not on this kernel |")
            continue
        show(recorder)
        session.terminate()
