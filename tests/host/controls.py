#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Captures at random moments of latencies that are no spikes, beside those of spikes."""
import json
import os

import common

CONTROLS = 3


def facts_of(capture):
    with open(os.path.join(capture["path"], "capture.json")) as file:
        return json.load(file)


class Controls(common.HostTest):
    def setUp(self):
        super().setUp()
        self.cpu = common.find_cpus(1)[0]

    def take(self, *options, code=0):
        result = common.run_ctl("start", "--json", "--cpu", str(self.cpu), "--output", self.output, "--workload", "cyclic",
                                *common.EVENTS, "--controls", "%d,200ms" % CONTROLS, *options)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stderr)
        lines = common.parse_lines(result.stdout)
        captures = [line for line in lines if line["type"] == "capture"]
        self.assertEqual([line["error"] for line in captures], [None] * len(captures))
        return captures, lines[-1]

    def check_control(self, control, threshold_ns, kinds):
        facts = facts_of(control)
        self.assertIs(facts["control"], True)
        self.assertRegex(os.path.basename(control["path"]), r"-cpu%d-control-\d+us(-\d+)?$" % self.cpu)
        self.assertLess(control["latency_ns"], threshold_ns)
        self.assertIn(control["trigger"], kinds)
        self.assertEqual(control["cpu"], self.cpu)
        # Frozen in the kernel and read like a spike: its own events are the newest ones.
        self.assertGreater(control["events"], 0)
        self.assertTrue(facts["spike"]["stack"] or facts["spike"]["idle"])
        self.assertEqual(facts["statistics"]["cpu"], self.cpu)

    def test_beside_spikes(self):
        with common.late(self.cpu):
            captures, summary = self.take("--trigger", "irq=5ms", "--trigger", "thread=5ms", "--count", "2")
        controls = [c for c in captures if c.get("control")]
        spikes = [c for c in captures if "control" not in c]
        # Where a spike comes first each time, the session does not wait for ever.
        self.assertLessEqual(len(controls), CONTROLS)
        self.assertEqual((summary["captures"], summary["controls"]), (2, len(controls)))
        self.assertEqual(len(summary["kept"]), 2)
        self.assertEqual(len(spikes), 2)
        for spike in spikes:
            self.assertNotIn("control", facts_of(spike))
            self.assertNotIn("control", os.path.basename(spike["path"]))
            self.assertGreaterEqual(spike["latency_ns"], 5000000)
        for control in controls:
            self.check_control(control, 5000000, ("irq", "thread"))
        listed = common.parse_lines(common.run_ctl("list", "--json", self.output).stdout)
        self.assertEqual({line["path"]: line["control"] for line in listed}, {c["path"]: "control" in c for c in captures})

    def test_without_spikes(self):
        """Nothing else is counted, and the session has seen no spike."""
        captures, summary = self.take("--threshold", "1h", "--trigger", "irq", "--keep-worst", "1", "--duration", "4s", code=3)
        # On a busy machine fewer may be written in time.
        self.assertIn(len(captures), range(1, CONTROLS + 1))
        for control in captures:
            self.check_control(control, 3600 * 10**9, ("irq",))
        self.assertEqual((summary["captures"], summary["controls"], summary["kept"]), (0, len(captures), []))
        self.assertEqual((summary["all"]["spikes"], summary["all"]["unarmed"]), (0, 0))
        self.assertEqual(len(self.folders()), len(captures))
        causes = common.run_ctl("causes", "--json", self.output)
        self.assertEqual(causes.returncode, 3, causes.stderr)
        self.assertEqual(common.parse_lines(causes.stdout)[-1]["controls"], len(captures))

    def test_where_all_are_spikes(self):
        captures, summary = self.take("--threshold", "1ns", "--count", "1")
        self.assertTrue(all(facts_of(c).get("control") is None or c["latency_ns"] == 0 for c in captures))
        self.assertEqual(summary["captures"], 1)

    def test_of_an_event(self):
        """A hit of a tracepoint has no latency: the timers' are taken."""
        captures, _ = self.take("--trigger", "event=tp:sched:sched_process_exec", "--duration", "4s", "--count", "1000000", code=None)
        controls = [c for c in captures if c.get("control")]
        self.assertTrue(controls)
        for control in controls:
            self.check_control(control, 3600 * 10**9, ("irq",))

    def test_refuses_targets(self):
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output, "--controls", "1",
                                "--any-process", "--perf-pid", str(os.getpid()))
        self.assertEqual(result.returncode, 2)
        self.assertIn("controls 1: not with targets", result.stderr)


if __name__ == "__main__":
    common.main()
