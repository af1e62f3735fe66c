#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The trigger thread: which threads it watches, where they run, and that no latency is less than nothing."""
import os
import signal
import subprocess
import sys
import time

import common

HOUR_NS = 3600 * 10**9
# Its timers may be so much later than they were asked for, and are not: other timers on its CPU take them along.
SLACK = "import ctypes, time\nctypes.CDLL(None).prctl(29, ctypes.c_ulong(%d), 0, 0, 0)\nwhile True: time.sleep(0.002)"


class Threads(common.HostTest):
    def watch(self, cpus, *args, seconds=2, **popen):
        result = subprocess.run([common.CTL, "start", "--json", "--cpu", common.cpu_list(cpus), "--output", self.output, *common.NO_SPIKES,
                                 "--trigger", "thread", "--duration", "%ds" % seconds, *args], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True, timeout=common.PATIENCE, **popen)
        self.assertEqual(result.returncode, 3)
        return common.parse_lines(result.stdout)[-1]["triggers"]["thread"]["all"]

    def test_timers_with_slack(self):
        cpu = common.find_cpus(1)[0]
        with common.ticker(cpu, 1000), common.python_on(cpu, SLACK % 10**9):
            seen = self.watch([cpu], "--workload", "none")
        self.assertGreater(seen["count"], 1000)
        self.assertLess(seen["max_ns"], HOUR_NS)
        self.assertLess(seen["avg_ns"], HOUR_NS)

    def test_a_stopped_session_is_not_late(self):
        cpu = common.find_cpus(1)[0]
        with common.Session([cpu], self.output, *common.NO_SPIKES, "--trigger", "irq", "--trigger", "thread") as session:
            for _ in range(2):
                session.process.send_signal(signal.SIGSTOP)
                time.sleep(2)
                session.process.send_signal(signal.SIGCONT)
                time.sleep(0.2)
            self.assertEqual(session.finish(signal.SIGINT), 3)
        for seen in (session.summary["all"], session.summary["triggers"]["thread"]["all"]):
            self.assertGreater(seen["count"], 100)
            self.assertLess(seen["max_ns"], 10**9)


if __name__ == "__main__":
    common.main()
