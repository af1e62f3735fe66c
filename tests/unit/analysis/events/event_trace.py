#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Event Trace packets, added to a recording of a real CPU, do not change the decoded code, and perf
and we report the same events.

usage: event_trace.py ITEMS REALPT"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench"))
import dense  # noqa: E402  # pylint: disable=wrong-import-position

ITEMS, REALPT = sys.argv[1:]
NAME = "drio-d36d"
# Its first instruction; a page fault there ends the trace
ENTRY = 0x401000
ADDRESS = 0x7ffe12345678
FUP, PGE, PGD = 0x1d, 0x11, 0x01
INTR, SMI, RSM = 1, 3, 4
PAGE_FAULT = 14
EVENT = 1 << 31


def ip_packet(kind, ip):
    return struct.pack("<BQ", kind | 6 << 5, ip)


def cfe(event, vector=0):
    return bytes((2, 0x13, event, vector))


def add_events(trace):
    """Adds the type of the page fault, and an SMI right after the program resumes."""
    added, begins, at = b"", 0, trace.find(dense.PSB)
    while at < len(trace):
        end = at + dense.length(trace, at)
        kind = trace[at] & 0x1f if trace[at] != 2 else 0
        if kind == FUP and begins == 1:
            added += struct.pack("<BBBQ", 2, 0x53, 0, ADDRESS) + cfe(INTR, PAGE_FAULT)
        added += trace[at:end]
        begins += kind == PGE
        if kind == PGE and begins == 2:
            added += cfe(SMI) + ip_packet(FUP, ENTRY) + bytes(
                (PGD, )) + cfe(RSM) + ip_packet(PGE, ENTRY)
        at = end
    return added


def set_term(path):
    """Sets `event` in the first attribute, which is Intel PT's"""
    data = bytearray(path.read_bytes())
    first, = struct.unpack_from("<Q", data, 24)
    config, = struct.unpack_from("<Q", data, first + 8)
    struct.pack_into("<Q", data, first + 8, config | EVENT)
    path.write_bytes(data)


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def items(data):
    return [
        line.split()[3:] for line in run(ITEMS, "items", data, f"{REALPT}/sym/{NAME}").splitlines()
    ]


def check(got, expected, what):
    if got != expected:
        sys.exit(f"FAILED: {what}: {got}, not {expected}")


if not os.path.isdir(REALPT) or not shutil.which("perf"):
    print("skipped: no recordings of real CPUs beside the checkout, or no perf")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    recorded, made = f"{REALPT}/perf.data/{NAME}.perf.data", f"{folder}/data"
    dense.rewrite(recorded, made, add_events)
    set_term(pathlib.Path(made))
    told = run("perf", "script", "-f", "-i", made, "--symfs", f"{REALPT}/sym/{NAME}", "--itrace=I",
               "-F", "event,synth")
    print(told)
    check(re.findall(r"cfe: (\w+)", told), ["INTR", "SMI", "RSM"], "events that perf tells")
    check(re.findall(r"vector: (\d+) PFA: (\w+)", told), [(str(PAGE_FAULT), hex(ADDRESS))],
          "the page fault that perf tells")
    before, after = items(recorded), items(made)
    smi = [item for item in after if item[-1] == "SMI"]
    check(smi, [["-", "async", "0", f"{ENTRY:x}", "0", "SMI"]], "the SMI that we tell")
    # An SMI ends the trace, which then begins again.
    at = after.index(smi[0])
    check(after[at + 1][:2], ["begin", f"{ENTRY:x}"], "what is behind it")
    check([item[:-1] for item in after[:at] + after[at + 2:]], [item[:-1] for item in before],
          "the code")
