#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The trigger thread: which threads it watches, where they run, and that no latency is negative."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import common
import poked

HOUR_NS = 3600 * 10**9
# Above the latencies of a busy machine: during another capture the session would miss the thread.
THRESHOLD_MS = 150
HOG_S = 0.6
# Keeps threads of lower priority off its CPU for this long.
HOG = """
import os, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print(flush=True)
end = time.monotonic() + %g
while time.monotonic() < end: pass
""" % HOG_S
SLEEPER = "import time\nwhile True: time.sleep(0.02)"
# Its timer slack, which other timers on its CPU make it not use.
SLACK = "import ctypes, time\n" \
        "ctypes.CDLL(None).prctl(29, ctypes.c_ulong(%d), 0, 0, 0)\n" \
        "while True: time.sleep(0.002)"


class Migrated(common.HostTest):
    """A thread whose timer expired on one CPU runs on another, because its own was busy."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        self.timer_cpu, self.other = common.find_cpus(2)
        # Not on the CPU of the other task.
        os.sched_setaffinity(0, [self.other])

    def migrate(self, task):
        """Its timer expires while another task has its CPU; then it may run elsewhere."""
        with subprocess.Popen(
            [sys.executable, "-c", HOG, str(self.timer_cpu)], stdout=subprocess.PIPE) as hog:
            hog.stdout.readline()
            time.sleep(HOG_S / 3)
            os.sched_setaffinity(task.pid, [self.other])
        os.sched_setaffinity(task.pid, [self.timer_cpu])

    def spike(self, session, task, wanted=lambda facts: True):
        """The line and the capture.json of the first migrated thread. On a busy machine others are
        late too."""
        for _ in range(40):
            self.migrate(task)
            line = session.read_capture()
            facts = common.facts(line["path"])
            if line["ran_cpu"] == self.other and line["cpu"] == self.timer_cpu and wanted(facts):
                return line, facts
        self.fail("no thread was seen to run elsewhere: %s" % session.captures)

    def session(self, cpus, *args, trigger="thread"):
        return common.Session(cpus, self.output, "--workload", "none", *common.EVENTS, "--buffer",
                              "256K", "--count", "1000", "--trigger",
                              "%s=%dms" % (trigger, THRESHOLD_MS), *args)

    def check(self, line, facts, watched):
        self.assertGreaterEqual(line["latency_ns"], THRESHOLD_MS * 10**6)
        self.assertEqual(line["ran_watched"], watched)
        self.assertEqual((facts["spike"]["cpu"], facts["spike"]["ran_cpu"]),
                         (self.timer_cpu, self.other))
        self.assertEqual(facts["spike"]["ran_watched"], watched)
        self.assertIn("-cpu%d-" % self.timer_cpu, line["path"])

    def test_both_cpus_are_in_the_capture(self):
        with common.python_on(self.timer_cpu, SLEEPER) as task, common.busy(self.other):
            with self.session([self.timer_cpu, self.other]) as session:
                line, facts = self.spike(session, task)
                session.finish(signal.SIGINT)
        self.check(line, facts, watched=True)
        cpus = {sample["cpu"] for sample in self.samples(line["path"])}
        self.assertEqual(cpus, {self.timer_cpu, self.other})

    def test_where_it_ran_is_not_watched(self):
        with common.python_on(self.timer_cpu, SLEEPER) as task, common.busy(self.other):
            with self.session([self.timer_cpu]) as session:
                line, facts = self.spike(session, task)
                session.finish(signal.SIGINT)
        self.check(line, facts, watched=False)
        samples = self.samples(line["path"])
        of_all_cpus = ("sched:sched_waking", "sched:sched_migrate_task")
        self.assertEqual(
            {sample["cpu"] for sample in samples if sample["event"] not in of_all_cpus},
            {self.timer_cpu})

    def test_fasync_reaches_the_target(self):
        """The trigger signals, not the controller, which resends lost signals: here the kernel may
        drop one in idle."""
        def is_told(facts):
            return facts["poke"]["targets"][0]["delivery"]

        for watched in ([self.timer_cpu], [self.timer_cpu, self.other]):
            with self.subTest(watched=watched), poked.Counter() as target, common.busy(self.other):
                with common.python_on(self.timer_cpu, SLEEPER) as task:
                    with self.session(watched, "--perf-pid", str(target.pid), "--any-process",
                                      "--delivery", "fasync") as session:
                        for _ in range(5):
                            _, facts = self.spike(session, task, is_told)
                            if is_told(facts) == "fasync":
                                break
                        session.finish(signal.SIGINT)
                self.assertEqual(facts["poke"]["targets"][0]["delivery"], "fasync", facts["poke"])

    def test_wakeup(self):
        """A wakeup belongs to the CPU on which the thread was woken."""
        with common.python_on(self.timer_cpu, SLEEPER) as task, common.busy(self.other):
            with self.session([self.timer_cpu], "--task", str(task.pid),
                              trigger="wakeup") as session:
                line, facts = self.spike(session, task)
                session.finish(signal.SIGINT)
        self.check(line, facts, watched=False)
        # The stack of the task that ran before the thread.
        spike = facts["spike"]
        self.assertEqual((spike["stack_pid"], spike["stack_tid"]), (spike["pid"], spike["tid"]))
        self.assertNotEqual(spike["stack_tid"], task.pid)
        kernel = [frame["symbol"] for frame in spike["stack"] if not frame["user"]]
        # There is none if an interrupt preempted it in user space: then the stack is the
        # interrupted one.
        self.assertTrue(spike["stack"])
        self.assertTrue(not kernel or [name for name in kernel if name and "schedule" in name],
                        spike["stack"])


# HOG, started on command; then it sleeps.
TOLD = """
import os, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print(flush=True)
sys.stdin.readline()
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end: pass
time.sleep(30)
"""


class Holder(common.HostTest):
    def told(self, cpu, seconds):
        process = subprocess.Popen([sys.executable, "-c", TOLD,
                                    str(cpu), str(seconds)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        process.stdout.readline()
        return process

    @staticmethod
    def tell(process):
        process.stdin.write("\n")
        process.stdin.flush()

    def capture_behind(self, cpu):
        """A thread waits for two others: the process of the first one, and the capture."""
        with common.python_on(cpu,
                              SLEEPER), common.Session([cpu], self.output, "--workload", "none",
                                                       "--recorder", "events", "--count", "1000",
                                                       "--trigger",
                                                       "thread=%dms" % THRESHOLD_MS) as session:
            first, second = self.told(cpu, HOG_S), self.told(cpu, HOG_S / 10)
            self.tell(first)
            time.sleep(HOG_S / 3)
            self.tell(second)
            for line in iter(session.read_capture, None):
                spike = common.facts(line["path"])["spike"]
                if line["latency_ns"] > HOG_S * 0.8e9:
                    return first.pid, line["path"], spike

    def capture_with_holder(self, wanted):
        cpu = common.find_cpus(1)[0]
        os.sched_setaffinity(0, os.sched_getaffinity(0) - {cpu})
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0) | {cpu})
        # If the interrupt hits the idle task just before, there is no holder.
        return next(found for found in iter(lambda: self.capture_behind(cpu), None)
                    if found[2]["holder"] and wanted(found[2]["holder"]))

    def test_another_one_ran_last(self):
        """The report names the thread that had the CPU for most of the time, and what is known of
        it."""
        pid, path, spike = self.capture_with_holder(lambda holder: True)
        self.assertNotEqual(spike["stack_tid"], pid)
        self.assertEqual(spike["holder"]["tid"], pid, spike["holder"])
        found = json.loads(common.run_ctl("report", "--json", path).stdout)
        # Other threads may preempt the thread in user space.
        self.assertRegex(
            found["sentence"],
            r" %d ran for .* (until it was switched out in |the timer's interrupt hit )" % pid)
        self.assertEqual(found["holder"]["tid"], pid)

    def test_the_interrupt_hit_user_space(self):
        """Of the frames only that one is known if it was in time. Its file is that of the
        process."""
        pid, path, spike = self.capture_with_holder(
            lambda holder: holder["interrupted"] and len(holder["stack"]) == 1)
        [frame] = spike["holder"]["stack"]
        self.assertTrue(frame["user"])
        with open("/proc/self/maps") as maps:
            self.assertIn(os.path.basename(frame["file"]), maps.read())
        found = json.loads(common.run_ctl("report", "--json", path).stdout)
        self.assertRegex(
            found["sentence"], r" %d ran for .*; the timer's interrupt hit user space, in .*%s" %
            (pid, re.escape(os.path.basename(frame["file"]))))


class Threads(common.HostTest):
    def watch(self, cpus, *args, seconds=2, **popen):
        result = subprocess.run([
            common.CTL, "start", "--json", "--cpu",
            common.cpu_list(cpus), "--output", self.output, *common.NO_SPIKES, "--trigger",
            "thread", "--duration",
            "%ds" % seconds, *args
        ], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=common.PATIENCE,
                                **popen)
        self.assertEqual(result.returncode, 3)
        return common.parse_lines(result.stdout)[-1]["triggers"]["thread"]["all"]

    def test_timers_with_slack(self):
        cpu = common.find_cpus(1)[0]
        with common.ticker(cpu, 1000), common.python_on(cpu, SLACK % 10**9):
            seen = self.watch([cpu], "--workload", "none")
        # One each millisecond; a busy machine misses some.
        self.assertGreater(seen["count"], 250)
        self.assertLess(seen["max_ns"], HOUR_NS)
        self.assertLess(seen["avg_ns"], HOUR_NS)

    def test_a_stopped_session_is_not_late(self):
        cpu = common.find_cpus(1)[0]
        with common.Session([cpu], self.output, *common.NO_SPIKES, "--trigger", "irq", "--trigger",
                            "thread") as session:
            for _ in range(2):
                session.process.send_signal(signal.SIGSTOP)
                time.sleep(2)
                session.process.send_signal(signal.SIGCONT)
                time.sleep(0.2)
            self.assertEqual(session.finish(signal.SIGINT), 3)
        for seen in (session.summary["all"], session.summary["triggers"]["thread"]["all"]):
            self.assertGreater(seen["count"], 100)
            self.assertLess(seen["max_ns"], 10**9)


class Overrun(common.HostTest):
    """A thread that a real-time thread keeps from its CPU, while it still waits."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        self.cpu, other = common.find_cpus(2)
        os.sched_setaffinity(0, [other])

    def starve(self, *trigger):
        """A capture while it waits, and who has the CPU."""
        with common.python_on(self.cpu, SLEEPER) as task:
            names = [str(task.pid) if word == "TASK" else word for word in trigger]
            hogs = set()
            with common.Session([self.cpu], self.output, "--recorder", "events", "--workload",
                                "none", "--trigger", *names, "--count", "100000") as session:
                for _ in range(4):
                    with subprocess.Popen(
                        [sys.executable, "-c", HOG, str(self.cpu)],
                            stdout=subprocess.DEVNULL) as hog:
                        hogs.add(hog.pid)
                    time.sleep(0.2)
                self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
        spikes = [(line, common.facts(line["path"])["spike"]) for line in session.captures]
        line, spike = next((line, spike) for line, spike in spikes
                           if spike["thread"]["tid"] == task.pid and spike["pid"] in hogs)
        self.assertTrue(spike["overrun"])
        self.assertGreaterEqual(spike["latency_ns"], THRESHOLD_MS * 1000000)
        self.assertLess(spike["latency_ns"], HOG_S * 900000000)
        self.assertEqual(spike["actual_ns"], spike["time_ns"])
        # One wait is one spike, and is counted with its whole length.
        self.assertEqual([each["expected_ns"] for _, each in spikes].count(spike["expected_ns"]), 1)
        self.assertGreater(session.summary["triggers"][line["trigger"]]["all"]["max_ns"],
                           HOG_S * 900000000)
        return line["path"], spike

    def test_wakeup(self):
        path, spike = self.starve("wakeup=%dms,overrun" % THRESHOLD_MS, "--task", "TASK")
        self.assertEqual((spike["thread"]["pid"], spike["thread"]["policy"]),
                         (spike["thread"]["tid"], "other"))
        switches = [
            sample for sample in self.samples(path) if sample["event"] == "sched:sched_switch"
        ]
        self.assertIn("next_pid=%d " % spike["tid"], switches[-1]["trace"])

    def test_thread(self):
        self.starve("thread=%dms,overrun" % THRESHOLD_MS)


if __name__ == "__main__":
    common.main()
