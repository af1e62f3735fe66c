#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A program reports that something was late: a thread of the session's process, a user's loop, and
a script."""
import errno
import glob
import json
import os
import re
import signal
import subprocess

import common

SPIKE_NS = 2000000
REPORTS = ["--trigger", "report=1ms", "--recorder", "none", "--workload", "none", "--count", "100"]


class ReportTest(common.HostTest):
    def spikes(self, output):
        """The captures by label."""
        spikes = []
        for path in glob.glob(os.path.join(output, "*-report-*", "capture.json")):
            with open(path) as file:
                spikes.append({**json.load(file)["spike"], "path": os.path.dirname(path)})
        return {spike["label"]: spike for spike in spikes}


class Library(ReportTest):
    def test_any_thread(self):
        cpu, other = common.find_cpus(2)
        result = subprocess.run(
            [common.REPORTER, str(cpu), str(other), self.output], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=common.PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        seen = json.loads(result.stdout)
        self.assertEqual((seen["before"], seen["after"]), (-errno.ENOTCONN, -errno.ENOTCONN))
        self.assertEqual((seen["below"], seen["errno_kept"]), (0, 1))
        self.assertEqual(seen["below_by_name"], 0)
        self.assertEqual((seen["unwatched"], seen["unwatched_by_name"]),
                         (-errno.ENXIO, -errno.ENXIO))
        self.assertEqual(seen["disarmed"], 0)
        for name in ("spike", "handler", "long_label", "remote", "by_name", "armed"):
            self.assertEqual(seen[name], 1, name)
        self.check_counts(seen)
        self.check_disarmed(seen)
        self.check_spikes(cpu)

    def check_counts(self, seen):
        counts, rearmed, every = seen["counts"], seen["rearmed_counts"], seen["all"]
        self.assertEqual(counts["ret"], 0)
        self.assertEqual(counts["spikes"] - counts["unarmed"], 6)
        self.assertEqual(counts["count"], 2000 + counts["spikes"])
        # No report of concurrent threads is lost.
        self.assertGreater(seen["storm_reports"], 100)
        self.assertEqual(every["count"] - rearmed["count"], seen["storm_reports"])
        self.assertEqual(every["spikes"] - every["unarmed"], seen["captures"])

    def check_disarmed(self, seen):
        """Counted the same with and without a system call."""
        before = seen["late"]
        for name, reports in (("own", 50000), ("program", 50000), ("all", 200000)):
            after = seen["late_" + name]
            for count in ("count", "spikes", "unarmed"):
                self.assertEqual(after[count] - before[count], reports, (name, count))
            before = after
        self.assertEqual(seen["rearmed"], 1)

    def check_spikes(self, cpu):
        spikes = self.spikes(self.output)
        labels = {
            "a label", "from a handler",
            "a label that is longer than the 63 bytes that are kept of it, to the end"[:63],
            "from elsewhere", "by name", "armed", "rearmed"
        }
        self.assertLessEqual(labels, set(spikes))
        self.assertLessEqual(set(spikes), labels | {"storm"})
        for label in labels:
            spike = spikes[label]
            self.assertEqual((spike["trigger"], spike["cpu"], spike["latency_ns"]),
                             ("report", cpu, SPIKE_NS))
            self.assertEqual(spike["actual_ns"] - spike["expected_ns"], SPIKE_NS)
        # The capture names the reporting thread and its CPU.
        spike = spikes["a label"]
        self.assertEqual(spike["comm"], "reporter")
        self.assertEqual(spike["stack_tid"], spike["tid"])
        # The library keeps frame pointers: who called it is on the stack.
        stack = json.loads(common.run_ctl("report", "--json", spike["path"]).stdout)["stack"]
        self.assertIn("report_all", [frame["name"] for frame in stack])


class Loop(ReportTest):
    def test_as_a_user(self):
        cpu = common.find_cpus(1)[0]
        with common.late(cpu):
            result = subprocess.run([common.LOOP, str(cpu)], cwd=self.folder,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, timeout=common.PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        match = re.fullmatch(
            r"control loop: (\d+) ns late on CPU (\d+): (perf-poke\.data/\S+-report-\d+us)\n"
            r"(\d+) cycles, the longest took (\d+) ns\n", result.stdout)
        self.assertTrue(match, result.stdout)
        self.assertGreaterEqual(int(match[1]), 500000)
        self.assertGreaterEqual(int(match[5]), int(match[1]))
        self.assertEqual(int(match[2]), cpu)
        spike = self.spikes(os.path.join(self.folder, "perf-poke.data"))["control loop"]
        self.assertEqual((spike["comm"], spike["policy"], spike["priority"]), ("loop", "fifo", 80))
        text = common.run_ctl("report", os.path.join(self.folder, match[3])).stdout
        self.assertTrue(text.startswith("control loop "), text)
        self.assertIn("where it was reported", text)


class Script(ReportTest):
    def report(self, *args):
        return common.run_ctl("report-late", *args)

    def test_from_a_script(self):
        cpu, other = common.find_cpus(2)
        with common.Session([cpu], self.output, *REPORTS) as session:
            self.assertEqual(self.report(session.name, "--latency", "900us").returncode, 3)
            result = self.report("--latency", "2ms", "--label", "GET /", "--tid", str(os.getpid()))
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            capture = session.read_capture()
            self.assertEqual(
                (capture["label"], capture["trigger"], capture["latency_ns"], capture["cpu"]),
                ("GET /", "report", SPIKE_NS, cpu))
            self.assertEqual((capture["pid"], capture["tid"]), (os.getpid(), os.getpid()))
            self.assertEqual(capture["comm"], common.read("/proc/self/comm").strip())
            self.assert_fails(self.report("--latency", "2ms", "--cpu", str(other)), 1, session.name,
                              "CPU %d" % other)
            self.assertEqual(session.finish(signal.SIGINT), 0)
            self.assertEqual(session.summary["triggers"]["report"]["all"]["count"], 2)
        self.assertEqual(self.spikes(self.output)["GET /"]["label"], "GET /")
        self.assert_fails(self.report(session.name, "--latency", "2ms"), 1, session.name)

    def test_several_cpus(self):
        cpus = common.find_cpus(2)
        with common.Session(cpus, self.output, *REPORTS) as session:
            self.assert_fails(self.report("--latency", "2ms"), 2, session.name, "--cpu")
            self.assertEqual(self.report("--latency", "2ms", "--cpu", str(cpus[0])).returncode, 0)

    def test_not_watched(self):
        cpu = common.find_cpus(1)[0]
        with common.Session([cpu], self.output, *common.NO_SPIKES) as session:
            self.assert_fails(self.report("--latency", "2ms"), 1, session.name,
                              "--trigger report=TIME")


if __name__ == "__main__":
    common.main()
