#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A loop of 1 kHz that reports its own overruns: the trace of its CPU up to the first one is in
perf-poke.data.

usage: sudo ./loop.py [CPU]
"""
import os
import sys
import threading
import time

import perf_poke

PERIOD_NS = 1_000_000
LATE = "500us"


def control() -> None:
    """Reads the sensors, moves the actuators."""


def loop(session: perf_poke.Session, cpu: int, ended: threading.Event) -> None:
    """The whole cycle is reported: from when it should have begun until it has ended."""
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(80))
    expected_ns = time.monotonic_ns()
    while not ended.is_set():
        expected_ns += PERIOD_NS
        time.sleep(max(0, expected_ns - time.monotonic_ns()) / 1e9)
        control()
        session.report(expected_ns, label="control loop")


def main() -> int:
    cpu = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    session = perf_poke.Session(cpus=str(cpu), trigger=f"report={LATE}")
    ended = threading.Event()
    with session:
        thread = threading.Thread(target=loop, args=(session, cpu, ended))
        thread.start()
        try:
            for capture in session:
                spike = capture.spike
                print(
                    f"{spike.label}: {spike.latency_ns} ns late on CPU {spike.cpu}: {capture.path}")
        except KeyboardInterrupt:
            pass
        finally:
            ended.set()
            thread.join()
    stats = session.stats("report")
    print(f"{stats.count} cycles, the longest took {stats.max_ns} ns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
