#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""--trigger interruption: what takes a CPU from a thread, and how often."""
import os
import platform
import re
import shutil
import signal
import subprocess
import time
import unittest

import common

NEVER = "interruption=60s"
ARM64 = platform.machine() == "aarch64"
# Names of /proc/interrupts; on arm64 the timer has a handler as a device has.
LINES = {"reschedule": "IPI0"} if ARM64 else {"local_timer": "LOC", "reschedule": "RES"}
CALL = "call_function" if ARM64 else "call_function_single"
TIMER = ("irq", "arch_timer") if ARM64 else ("vector", "local_timer")


def counts(cpu):
    """Of each line of /proc/interrupts, the number on the CPU."""
    with open("/proc/interrupts") as file:
        column = file.readline().split().index("CPU%d" % cpu)
        return {
            name.strip(): int(fields.split()[column])
            for name, _, fields in (line.partition(":") for line in file)
            if len(fields.split()) > column and fields.split()[column].isdigit()
        }


def opened_events(pid):
    names = [os.readlink(fd.path) for fd in os.scandir("/proc/%d/fd" % pid)]
    return names.count("anon_inode:[perf_event]")


def counted_by_perf(text, name):
    return int(re.search(r"^(\d+),.*:%s_entry," % name, text, re.M)[1])


@unittest.skipUnless(platform.machine() in ("x86_64", "aarch64"),
                     "needs the tracepoints irq_vectors:* or ipi:ipi_entry")
class Interruption(common.HostTest):
    def start(self, trigger, *options):
        return common.run_ctl("start", "--json", "--cpu", str(self.cpu), "--output", self.output,
                              "--recorder", "none", "--workload", "none", "--trigger", trigger,
                              *options)

    def sources(self, summary, kind):
        return {one["name"]: one for one in summary["sources"] if one["kind"] == kind}

    def test_another_thread(self):
        """Two threads share a CPU: each takes it from the other."""
        with common.busy(self.cpu) as victim, common.busy(self.cpu) as rival:
            result = self.start("interruption=1ms", "--task", str(victim.pid), "--duration", "60s")
        self.assertEqual(result.returncode, 5, result.stderr)
        lines = common.parse_lines(result.stdout)
        capture = next(line for line in lines if line["type"] == "capture")
        spike = common.facts(capture["path"])["spike"]
        self.assertEqual((spike["trigger"], spike["thread"]["tid"]), ("interruption", victim.pid))
        self.assertRegex(spike["label"], r"^(thread .+:\d+|softirq|irq|vector|nmi)")
        self.assertGreaterEqual(spike["latency_ns"], 1000000)
        self.assertEqual(spike["latency_ns"], spike["actual_ns"] - spike["expected_ns"])
        threads = [one for one in lines[-1]["sources"] if one["kind"] == "thread"]
        self.assertIn(rival.pid, [one["number"] for one in threads])
        self.assertNotIn(victim.pid, [one["number"] for one in threads])
        sentence = common.run_ctl("report", capture["path"]).stdout
        self.assertIn("python3 %d lost CPU %d for" % (victim.pid, self.cpu), sentence)
        self.assertIn(spike["label"].split(":")[0], sentence)

    def test_counts_are_the_kernels(self):
        """Between those of /proc/interrupts before and after, and those while it was armed."""
        before = counts(self.cpu)
        with common.busy(self.cpu), common.Session([self.cpu], self.output, "--recorder", "none",
                                            "--workload", "none", "--trigger", NEVER) as session:
            armed = counts(self.cpu)
            time.sleep(1)
            ending = counts(self.cpu)
            session.finish(signal.SIGINT)
        after = counts(self.cpu)
        vectors = self.sources(session.summary, "vector")
        for name, line in LINES.items():
            counted = vectors[name]["count"] if name in vectors else 0
            self.assertGreaterEqual(counted, ending[line] - armed[line], name)
            self.assertLessEqual(counted, after[line] - before[line], name)
        timer = self.sources(session.summary, TIMER[0])[TIMER[1]]
        self.assertGreater(timer["count"], 0)
        self.assertGreater(timer["max_ns"], 0)

    @unittest.skipUnless(shutil.which("perf") and not ARM64, "no perf, or no vectors")
    def test_counts_are_perfs(self):
        """Between those of a perf stat that ends before the session, and of one around it."""
        command = [
            "perf", "stat", "-x,", "-C", str(self.cpu), "-e",
            ",".join("irq_vectors:%s_entry" % name for name in LINES)
        ]
        with common.busy(self.cpu), subprocess.Popen(command, stderr=subprocess.PIPE,
                                                     text=True) as around:
            common.wait_for(lambda: opened_events(around.pid) == len(LINES), "perf counts")
            with common.Session([self.cpu], self.output, "--recorder", "none", "--workload", "none",
                                "--trigger", NEVER) as session:
                inside = subprocess.run([*command, "sleep", "1"], stderr=subprocess.PIPE, text=True,
                                        check=True).stderr
                session.finish(signal.SIGINT)
            around.send_signal(signal.SIGINT)
            around = around.communicate()[1]
        vectors = self.sources(session.summary, "vector")
        for name in LINES:
            counted = vectors[name]["count"] if name in vectors else 0
            self.assertGreaterEqual(counted, counted_by_perf(inside, name), name)
            self.assertLessEqual(counted, counted_by_perf(around, name), name)

    def test_gate(self):
        """The exit code says whether the CPU was ever taken, if the time has passed."""
        result = self.start(NEVER, "--duration", "500ms")
        self.assertEqual(result.returncode, 0, result.stderr)
        with common.Session([self.cpu], self.output, "--recorder", "none", "--workload", "none",
                            "--trigger", NEVER, "--duration", "60s") as session:
            self.assertEqual(session.finish(signal.SIGINT), 3)

    def test_sender(self):
        """An interrupt of another CPU names who sent it."""
        with common.busy(self.cpu), common.late(self.cpu, 5000, 50):
            result = self.start("interruption=4ms", "--count", "3", "--duration", "60s")
        self.assertEqual(result.returncode, 5, result.stderr)
        summary = common.parse_lines(result.stdout)[-1]
        call = self.sources(summary, "vector")[CALL]
        self.assertGreater(call["max_ns"], 4000000)
        self.assertNotEqual(call["sender"]["cpu"], self.cpu)
        self.assertTrue(call["sender"]["stack"])

    def test_others_see_it(self):
        with common.Session([self.cpu], self.output, "--recorder", "none", "--workload", "none",
                            "--trigger", NEVER) as session:
            time.sleep(.2)
            line = common.parse_lines(
                common.run_ctl("status", "--json", session.name).stdout)[0]
            text = common.run_ctl("status", session.name).stdout
            session.finish(signal.SIGINT)
        self.assertTrue(line["sources"])
        self.assertTrue(re.search(r"^ *CPU taken by", text, re.M), text)


if __name__ == "__main__":
    common.main()
