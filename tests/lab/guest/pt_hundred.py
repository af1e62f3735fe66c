# SPDX-License-Identifier: GPL-2.0-only
"""A hundred spikes in a row: a hundred captures that decode, none with a byte of an earlier one, from a controller that needs no
more memory for the last than for the tenth. The ring goes round in between."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

import capture
import common
from common import check, equal

CTL = sys.argv[1]
COUNT = 100
OUTPUT = "/tmp/pt_hundred"
RING = 32768
# The ring goes round several times in a second, and has many points to begin at.
RATE = 1000000
EVENT = "intel_pt/cyc,noretcomp,psb_period=0/k"
SETTLED = 10


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


def session():
    """The lines of the captures, and what was resident when each was told."""
    argv = [CTL, "start", "--json", "--cpu", str(common.CPU), "--threshold", f"{capture.THRESHOLD_US}us", "--count", str(COUNT),
            "--duration", "200s", "--recorder", "pt", "--buffer", str(RING), "-e", EVENT, "--output", OUTPUT]
    lines, resident = [], []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        equal(json.loads(process.stdout.readline())["type"], "armed", "first line")
        with capture.Late(every_s=0.1):
            for line in map(json.loads, process.stdout):
                if line["type"] != "capture":
                    continue
                lines.append(line)
                # The last capture is told while the session ends, which frees its buffers.
                if len(lines) < COUNT:
                    resident.append(resident_kb(process.pid))
        equal(process.wait(), 0, "exit status")
    return lines, resident


def check_memory(resident):
    settled, last = resident[SETTLED - 1], resident[-1]
    print(f"resident memory: {settled} KiB at capture {SETTLED}, {last} KiB at {len(resident)}, {max(resident)} KiB at most")
    check(abs(last - settled) * 10 <= settled, f"resident memory went from {settled} KiB to {last} KiB")


def decode(one):
    """Times of the branches, and lines that are none. One run for both: there are many captures."""
    out = subprocess.run(["perf", "script", "-i", one.data, "--itrace=be", "--ns", "-F", "time,flags,ip,addr"], capture_output=True,
                         text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), f"{one.folder}: perf script")
    times, errors = [], []
    for line in filter(str.strip, out.stdout.splitlines()):
        match = re.match(r" *(\d+)\.(\d{9}): +[a-z][a-z ]* +[0-9a-f]+ => +[0-9a-f]+\s*$", line)
        if match:
            times.append(int(match[1] + match[2]))
        else:
            errors.append(line)
    return times, errors


def check_decodes(captures):
    end_ns = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        decoded = list(pool.map(decode, captures))
    for number, (one, (times, errors)) in enumerate(zip(captures, decoded)):
        equal(one.line["sequence"], number + 1, "sequence")
        check(one.line["latency_ns"] >= capture.THRESHOLD_US * 1000, f"latency of capture {number}: {one.line}")
        equal(errors, [], f"errors of the decoder in capture {number}")
        check(len(times) > 1000, f"only {len(times)} branches in capture {number}")
        check(times[0] > end_ns, f"capture {number} begins at {times[0]}, before the last one's end, {end_ns}")
        end_ns = times[-1]


def check_wraps(before):
    rounds = (common.counter("bytes") - before) / RING
    print(f"the ring went round {rounds:.0f} times")
    check(rounds >= COUNT, f"the ring went round only {rounds:.1f} times")


capture.load()
common.set_parameter("bytes_per_sec", RATE)
common.set_parameter("max_burst", 65536)
traced = common.counter("bytes")
told, memory = session()
equal(len(told), COUNT, "captures")
check_wraps(traced)
check_memory(memory)
check_decodes([capture.Capture(line) for line in told])
