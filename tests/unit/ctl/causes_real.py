#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of one program on four real CPUs, cut into windows as if a thread had been late then:
the causes are the same on all.

usage: causes_real.py CTL REALPT
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zlib

CTL, REALPT = sys.argv[1], pathlib.Path(sys.argv[2])
# The CPU and the end of each, and times before it
RECORDINGS = {
    "drio-926b": (3, 591282680226451), "drio-8bcc": (3, 8739321983053),
    "drio-0b3b": (20, 11609602478865815), "drio-c2d9": (0, 98874738055861)
}
WINDOWS = range(0, 260000, 13000)
LATENCY_NS = 8000
SEEN = {
    f"{name}:{zlib.crc32(text):08x}"
    for name, text in (("thread/hello", b"v5 thread task:hello"), ("untraced", b"v5 untraced"),
                       ("unknown", b"v5 unknown"))
}


def fingerprint(folder, name, cpu, at):
    """Only user code was traced: else it is some other code, of which nothing is known."""
    spike = {
        "time_ns": at, "cpu": cpu, "latency_ns": LATENCY_NS, "expected_ns": at - LATENCY_NS,
        "actual_ns": at, "trigger": "thread", "pid": 1, "tid": 1, "comm": "late"
    }
    (folder / "capture.json").write_text(json.dumps({
        "schema": 1, "threshold_ns": 5000, "history_ns": 400000, "spike": spike,
        "recorder": {"kind": "pt", "clock": {"monotonic_ns": 5, "perf_ns": 5}}}))
    out = subprocess.run([CTL, "report", "--json", "--symfs", REALPT / "sym" / name, folder],
                         capture_output=True, text=True, check=True)
    return json.loads(out.stdout)["fingerprint"]["id"]


def main():
    if not REALPT.is_dir():
        print(f"no recordings of real CPUs: {REALPT}")
        return 77
    for name, (cpu, end) in RECORDINGS.items():
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder, "capture/perf.data")
            data.mkdir(parents=True)
            shutil.copy(REALPT / "perf.data" / f"{name}.perf.data", data / "data")
            found = [fingerprint(data.parent, name, cpu, end - back) for back in WINDOWS]
            print(name, {one: found.count(one) for one in found})
            assert set(found) <= SEEN, found
            assert sum(one.startswith("thread/hello:") for one in found) > 2, found
    return 0


sys.exit(main())
