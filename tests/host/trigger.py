#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The trigger measures the latency of the timers it is asked for, and no others."""
import os
import signal
import unittest

import common

HRTIMER_WAKEUP = ("--function", "hrtimer_wakeup")


class Spikes(common.HostTest):
    def check_spike(self, capture, cpu, before_ns, after_ns):
        self.assertEqual(capture["cpu"], cpu)
        self.assertGreaterEqual(capture["latency_ns"], common.THRESHOLD_NS)
        self.assertEqual(capture["actual_ns"] - capture["expected_ns"], capture["latency_ns"])
        self.assertLess(before_ns, capture["expected_ns"])
        # The interrupt reads the clock before the trigger does.
        self.assertLessEqual(capture["actual_ns"], capture["time_ns"])
        self.assertLess(capture["time_ns"], after_ns)
        self.assertFalse(capture["poked"])
        self.assertEqual(capture["idle"], capture["tid"] == 0)
        self.assertTrue(capture["comm"])

    def test_injected_latency(self):
        cpu = common.find_cpus(1)[0]
        before_ns = common.now_ns()
        session = self.capture_spikes([cpu], 4, *HRTIMER_WAKEUP)
        after_ns = common.now_ns()
        for capture in session.captures:
            self.check_spike(capture, cpu, before_ns, after_ns)
            self.check_json(capture)
            self.assertEqual(capture["function_name"], "hrtimer_wakeup")
            self.assertEqual(int(capture["function"], 16),
                             int(common.symbol_address("hrtimer_wakeup"), 16))
        # A timer of each millisecond is delayed by nearly all of the time with interrupts off.
        self.assertGreater(session.summary["all"]["max_ns"], common.SPIN_US * 800)
        self.assertLess(min(c["latency_ns"] for c in session.captures), common.SPIN_US * 1500)

    def check_json(self, capture):
        spike = common.facts(capture["path"])["spike"]
        for key in ("sequence", "cpu", "time_ns", "latency_ns", "expected_ns", "actual_ns", "pid",
                    "tid", "comm", "idle", "poked"):
            self.assertEqual(spike[key], capture[key], key)
        self.assertEqual(spike["function"], capture["function_name"])
        self.assertEqual(spike["function_address"], capture["function"])
        self.assertEqual(spike["timer_address"], capture["timer"])

    def test_interrupted_task(self):
        """On a machine that runs other tasks, another one may be interrupted first."""
        cpu = common.find_cpus(1)[0]
        with common.busy(cpu) as task, common.late(cpu), \
                common.Session([cpu], self.output, *common.SPIKES, "--count", "100000") as session:
            capture = next(each for each in iter(session.read_capture, None)
                           if each["tid"] == task.pid)
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
        self.assertEqual(capture["pid"], task.pid)
        self.assertTrue(capture["comm"].startswith("python"), capture["comm"])
        self.assertFalse(capture["idle"])

    def test_realtime_clock(self):
        """Times of a timer of another clock are those of CLOCK_MONOTONIC too."""
        cpu = common.find_cpus(1)[0]
        before_ns = common.now_ns()
        with common.ticker(cpu, 500, "realtime"):
            session = self.capture_spikes([cpu], 4, "--workload", "none", *HRTIMER_WAKEUP)
        for capture in session.captures:
            self.check_spike(capture, cpu, before_ns, common.now_ns())


class Watching(common.HostTest):
    def watch(self, cpus, *args):
        """A session without a spike. Returns its summary."""
        result = common.run_ctl("start", "--json", "--cpu", common.cpu_list(cpus), "--output",
                                self.output, *common.NO_SPIKES, "--duration", "500ms", *args)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertFalse(os.path.exists(self.output))
        return common.of_type(common.parse_lines(result.stdout), "summary")[0]


class OtherCpus(common.HostTest):
    def session(self, watched, *limits):
        return common.Session(watched, self.output, *common.SPIKES, "--workload", "none", "--count",
                              "100000", *limits)

    def test_they_are_not_watched(self):
        watched, other = common.find_cpus(2)
        with common.ticker(watched, 1000), common.ticker(other, 1000), common.late(other):
            with self.session([watched], "--duration", "1s") as session:
                session.finish()
            self.assertLessEqual({capture["cpu"] for capture in session.captures}, {watched})
            with self.session([watched, other]) as session:
                while session.read_capture()["cpu"] != other:
                    pass
                self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)


class Statistics(Watching):
    def check_row(self, row):
        self.assertEqual(sum(count for _, _, count in row["histogram"]), row["count"])
        self.assertLessEqual(row["min_ns"], row["avg_ns"])
        self.assertLessEqual(row["avg_ns"], row["max_ns"])
        self.assertLessEqual(row["p50_ns"], row["p99_ns"])
        self.assertLessEqual(row["p99_ns"], row["p99_9_ns"])
        self.assertLessEqual(row["p99_9_ns"], row["max_ns"])
        low, high, _ = row["histogram"][0]
        self.assertTrue(low <= row["min_ns"] < high, row)
        low, high, _ = row["histogram"][-1]
        self.assertTrue(low <= row["max_ns"] and (high is None or row["max_ns"] < high), row)
        for low, high, count in row["histogram"]:
            self.assertGreater(count, 0)
            if high is not None and 100 <= low < 1000000000:
                self.assertLessEqual(high - low, 0.03 * low + 1)

    def test_expiries_are_counted(self):
        cpus = common.find_cpus(min(2, len(os.sched_getaffinity(0))))
        summary = self.watch(cpus, *HRTIMER_WAKEUP)
        self.assertEqual([row["cpu"] for row in summary["cpus"]], cpus)
        for row in summary["cpus"]:
            self.check_row(row)
            # One each millisecond, and other sleepers. A busy machine misses some.
            self.assertGreater(row["count"], 250)
            self.assertEqual(row["spikes"], 0)
        self.check_row(summary["all"])
        self.assertEqual(summary["all"]["count"], sum(row["count"] for row in summary["cpus"]))
        self.assertEqual(summary["all"]["max_ns"], max(row["max_ns"] for row in summary["cpus"]))
        self.assertEqual(summary["all"]["min_ns"], min(row["min_ns"] for row in summary["cpus"]))

    def test_period(self):
        cpus = common.find_cpus(1)
        slow = self.watch(cpus, *HRTIMER_WAKEUP, "--period", "100ms")["all"]["count"]
        fast = self.watch(cpus, *HRTIMER_WAKEUP, "--period", "500us")["all"]["count"]
        self.assertGreater(fast, 500)
        self.assertGreater(fast, 2 * slow)


class Functions(Watching):
    def test_address(self):
        address = common.symbol_address("hrtimer_wakeup")
        summary = self.watch(common.find_cpus(1), "--function", address)
        self.assertGreater(summary["all"]["count"], 100)

    def test_those_that_never_fire(self):
        """A kernel function that is no timer's callback, and the address behind one."""
        for function in ("schedule", hex(int(common.symbol_address("hrtimer_wakeup"), 16) + 1)):
            found = self.watch(common.find_cpus(1), "--function", function)["all"]
            self.assertEqual((found["count"], found["histogram"], found["max_ns"]), (0, [], 0),
                             function)

    @unittest.skipIf(common.EMULATED, "this machine is emulated")
    def test_any_sees_more_than_one_function(self):
        """The scheduler's tick has another callback than the ticker; a busy CPU has ticks."""
        cpu = common.find_cpus(1)[0]
        names = set()
        with common.busy(cpu), common.ticker(cpu, 1000):
            for _ in range(5):
                session = common.run_ctl("start", "--json", "--cpu", str(cpu), "--output",
                                         self.output, "--threshold", "1ns", *common.EVENTS,
                                         "--workload", "none", "--function", "any", "--count", "20")
                self.assertEqual(session.returncode, 0, session.stderr)
                captures = common.of_type(common.parse_lines(session.stdout), "capture")
                names |= {capture["function_name"] for capture in captures}
                if len(names) > 1:
                    break
        self.assertIn("hrtimer_wakeup", names)
        self.assertGreater(len(names), 1, names)


if __name__ == "__main__":
    common.main()
