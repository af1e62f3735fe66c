# SPDX-License-Identifier: GPL-2.0-only
"""The older design, for comparison: a process pokes `perf record -S`; see relay.c."""
import subprocess

import capture
import common
from common import check, equal


class Relay:
    """perf, and the process that pokes it."""

    def __init__(self, program, perf):
        argv = [program, str(common.CPU), str(capture.THRESHOLD_US * 1000), str(perf.pid)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        equal(self.process.stdout.readline(), "ready\n", "first line of the relay")

    def spike_ns(self):
        """Time of the next spike."""
        starts = common.counter("start")
        self.process.stdin.write("arm\n")
        self.process.stdin.flush()
        with capture.Late():
            time_ns, latency_ns = map(int, self.process.stdout.readline().split())
        check(latency_ns >= capture.THRESHOLD_US * 1000, f"latency {latency_ns}")
        common.wait_for(lambda: common.counter("start") > starts, "snapshot")
        return time_ns

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        equal(self.process.wait(30), 0, "exit status of the relay")
