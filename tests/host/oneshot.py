#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One spike per arming, however many CPUs hit together; --count N makes N captures."""
import contextlib
import os
import unittest

import common


class CaptureChecks(common.HostTest):
    def check_captures(self, session, count):
        """As many complete captures as requested, each once, and nothing else in the folder."""
        captures = session.captures
        self.assertEqual(len(captures), count)
        self.assertEqual(session.summary["captures"], count)
        self.assertEqual(session.summary["failed"], 0)
        self.assertEqual(len({capture["path"] for capture in captures}), count)
        times = [capture["time_ns"] for capture in captures]
        self.assertEqual(times, sorted(set(times)))
        for capture in captures:
            self.assertEqual(
                common.facts(capture["path"])["spike"]["sequence"], capture["sequence"])
            self.assertTrue(os.path.getsize(os.path.join(capture["path"], "perf.data", "data")))

    def check_folder(self, count):
        self.assertEqual(len(self.folders()), count)
        self.assertEqual(self.partial(), [])

    def check_armings(self, session, count):
        """Each spike taken has a capture: a second spike of one arming would change the counts or
        the sequence."""
        self.assertEqual([c["sequence"] for c in session.captures], list(range(1, count + 1)))
        row = session.summary["all"]
        self.assertEqual(row["spikes"] - row["unarmed"], count)


class OneShot(CaptureChecks):
    def test_count(self):
        cpus = common.find_cpus(2)
        session = self.capture_spikes(cpus, 10)
        self.check_captures(session, 10)
        self.check_folder(10)
        self.check_armings(session, 10)

    @unittest.skipIf(common.EMULATED, "this machine is emulated")
    def test_cpus_that_hit_together(self):
        """Tickers wake all CPUs at the same instant, and each wakeup is a spike."""
        # If there are enough CPUs, one is left to the controller.
        cpus = common.find_cpus(max(2, min(4, len(os.sched_getaffinity(0)) - 1)))
        with contextlib.ExitStack() as stack:
            for cpu in cpus:
                stack.enter_context(common.ticker(cpu, 1000))
            session = stack.enter_context(
                common.Session(
                    cpus, self.output, "--threshold", "1ns", "--workload", "none",
                    # CPUs compete within nanoseconds in few armings, and in fewer on a busy
                    # machine.
                    "--function", "hrtimer_wakeup", "--count", "100", "--duration", "10s",
                    *common.EVENTS))
            self.assertEqual(session.finish(), 0, session.__dict__)
        count = len(session.captures)
        self.check_captures(session, count)
        self.check_folder(count)
        self.check_armings(session, count)
        # CPUs did compete.
        self.assertGreater(session.summary["all"]["unarmed"], count)
        self.assertGreater(len({capture["cpu"] for capture in session.captures}), 1)


class Together(CaptureChecks):
    def run_two(self, outputs):
        cpu = common.find_cpus(1)[0]
        with contextlib.ExitStack() as stack:
            sessions = [
                stack.enter_context(common.Session([cpu], output, *common.SPIKES, "--count", "3"))
                for output in outputs
            ]
            stack.enter_context(common.late(cpu))
            for session in sessions:
                self.assertEqual(session.finish(), 0, session.__dict__)
        for session in sessions:
            self.check_captures(session, 3)
            self.check_armings(session, 3)
        return [capture["path"] for session in sessions for capture in session.captures]

    def test_sessions_on_the_same_cpu(self):
        other = os.path.join(self.folder, "other")
        self.run_two([self.output, other])
        self.check_folder(3)
        self.assertEqual(len(os.listdir(other)), 3)

    def test_sessions_with_the_same_output(self):
        self.assertEqual(len(set(self.run_two([self.output, self.output]))), 6)
        self.check_folder(6)


if __name__ == "__main__":
    common.main()
