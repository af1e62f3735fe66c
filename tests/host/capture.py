#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stock perf reads captures, and they contain what the machine did."""
import json
import os
import platform
import re
import signal
import unittest

import common

NUMBER = int
SCHEMA = {
    "schema": NUMBER, "version": str, "threshold_ns": NUMBER, "skid_ns": NUMBER, "blind_ns": NUMBER,
    "history_ns": NUMBER, "events": NUMBER, "lost": NUMBER, "command_line": list, "spike": {
        "sequence": NUMBER, "cpu": NUMBER, "latency_ns": NUMBER, "time_ns": NUMBER,
        "expected_ns": NUMBER, "actual_ns": NUMBER, "wall_time": str, "function": str,
        "function_address": str, "timer_address": str, "pid": NUMBER, "tid": NUMBER, "comm": str,
        "idle": bool, "poked": bool, "trigger": str, "irq_ns": NUMBER, "thread_ns": type(None),
        "user_ns": type(None), "noise": type(None),
    }, "trigger": {
        "kind": str, "threshold_ns": NUMBER, "function": str, "cpus": list, "thresholds_ns": dict
    }, "workload": {"kind": str, "period_ns": NUMBER, "priority": NUMBER},
    "recorder": {"kind": str, "buffer_size": NUMBER,
                 "events": list}, "kernel": {"release": str, "version": str},
    "machine": {"hostname": str, "arch": str, "cpus_online": NUMBER},
}
# A clock may be corrected between taking a record's time and storing the record.
CLOCK_SLACK_NS = 10000
# Who requested work on the CPU, and who was moved. These events have rings of their own.
SENDERS = ("ipi:ipi_send_cpu", "ipi:ipi_send_cpumask", "csd:csd_queue_cpu",
           "workqueue:workqueue_queue_work", "sched:sched_waking", "sched:sched_migrate_task")
# For samples of a task: the timer of the cyclic thread interrupts it each millisecond.
RUN_NS = 30000000
TASK_RECORD = re.compile(r".*\[(\d+)\]\s+(\d+)\.(\d{9}): PERF_RECORD_(?:COMM|FORK|EXIT)\b.*")


class CaptureTest(common.HostTest):
    def take(self, cpus, *args):
        """Returns one capture and its capture.json."""
        capture = self.capture_spikes(cpus, 1, *args, limits=common.DETAILED_SPIKES).captures[0]
        return capture, common.facts(capture["path"])


class OneCapture(CaptureTest):
    """One capture of a CPU that is never idle."""

    @classmethod
    def setUpClass(cls):
        taker = cls("take")
        taker.setUp()
        cls.addClassCleanup(taker.doCleanups)
        with common.busy(taker.cpu):
            cls.capture, cls.facts = taker.take([taker.cpu], "--function", "hrtimer_wakeup")
        cls.data = os.path.join(cls.capture["path"], "perf.data")
        cls.recorded = taker.samples(cls.capture["path"])
        cls.of_it = [
            sample for sample in cls.recorded
            if sample["cpu"] == taker.cpu and sample["event"] not in SENDERS
        ]

    def test_reads_without_a_warning(self):
        self.assertEqual(len(self.recorded), self.capture["events"])
        self.check_header(self.perf("report", "--header-only", "-i", self.data))
        self.check_evlist(self.perf("evlist", "-v", "-i", self.data))
        self.perf("report", "--stdio", "-i", self.data)

        converted = os.path.join(self.folder, "converted.json")
        self.perf("data", "convert", "--to-json", converted, "-i", self.data)
        with open(converted) as file:
            samples = json.load(file)["samples"]
        # The stack at the spike is one more.
        self.assertEqual(len(samples), self.capture["events"] + 1)

    def check_header(self, header):
        self.assertRegex(header, r"hostname : %s\n" % re.escape(platform.node()))
        self.assertRegex(header, r"os release : %s\n" % re.escape(platform.release()))
        self.assertRegex(header, r"arch : %s\n" % platform.machine())
        self.assertRegex(header, r"nrcpus online : %d\n" % os.sysconf("SC_NPROCESSORS_ONLN"))
        self.assertIn("cmdline : " + " ".join(self.facts["command_line"]), header)
        self.assertIn("clockid: monotonic (1)", header)
        for event in self.facts["recorder"]["events"]:
            self.assertIn("event : name = %s," % event["name"], header)

    def check_evlist(self, evlist):
        # Perf adds hints as comments.
        listed = {line.split(": ")[0] for line in evlist.splitlines() if not line.startswith("#")}
        self.assertEqual(listed - {"dummy:HG", "spike"},
                         {event["name"] for event in self.facts["recorder"]["events"]})
        self.assertIn("clockid: 1", evlist)

    def test_fields_are_decoded(self):
        traces = {}
        for sample in self.of_it:
            traces.setdefault(sample["event"], []).append(sample["trace"])
        for trace in traces["sched:sched_switch"]:
            self.assertRegex(trace, r"prev_comm=.+ prev_pid=\d+ prev_prio=-?\d+ prev_state=\S+ ==> "
                             r"next_comm=.+ next_pid=\d+ next_prio=-?\d+")
        for trace in traces["timer:hrtimer_start"]:
            self.assertRegex(trace, r"hrtimer=(0x)?[0-9a-f]+ function=[a-z_]\w+")
        self.assertTrue(
            [t for t in traces["timer:hrtimer_start"] if "function=hrtimer_wakeup" in t])
        for trace in traces["timer:hrtimer_expire_entry"]:
            self.assertRegex(trace, r"function=[a-z_]\w+ now=\d+")

    def test_times_line_up_with_the_spike(self):
        spike_ns = self.capture["time_ns"]
        times = [sample["time_ns"] for sample in self.of_it]
        self.assertEqual(times, sorted(times))
        self.assertLess(times[0], self.capture["expected_ns"])
        # Nothing is recorded while interrupts are off; the late timer comes first.
        self.assertTrue([t for t in times if abs(t - spike_ns) < 1000000], (times[-1], spike_ns))
        self.assertLessEqual(times[-1], spike_ns + self.capture["skid_ns"] + CLOCK_SLACK_NS)

    def test_expiry_of_the_spike_is_there(self):
        """The trace contains the event that the trigger measured, with the same time and timer."""
        timer = self.capture["timer"][2:]
        expiries = [s for s in self.of_it
                    if s["event"] == "timer:hrtimer_expire_entry" and timer in s["trace"]
                    and "now=%d" % self.capture["actual_ns"] in s["trace"]]
        if not expiries and self.capture["idle"]:
            self.skipTest("the idle task was interrupted, of which some machines give no samples")
        self.assertEqual(len(expiries), 1)
        self.assertIn("function=hrtimer_wakeup", expiries[0]["trace"])

    def test_history(self):
        """history_ns goes back to the oldest record of the spike's CPU."""
        times = [sample["time_ns"] for sample in self.of_it]
        for line in self.perf("script", "--ns", "--show-task-events", "-i", self.data).splitlines():
            match = TASK_RECORD.fullmatch(line)
            # Records of time 0 describe the tasks that existed when the capture was written.
            if match and int(match[2]) and int(match[1]) == self.cpu:
                times.append(int(match[2]) * 1000000000 + int(match[3]))
        self.assertEqual(self.capture["time_ns"] - min(times), self.capture["history_ns"])


class Contents(CaptureTest):
    def test_capture_json(self):
        capture, facts = self.take([self.cpu], "--workload", "cyclic", "--period", "2ms", "--prio",
                                   "f:40", "--buffer", "1M")
        self.check_schema(facts, SCHEMA, "")
        self.assertEqual(facts["schema"], 1)
        self.assertEqual(facts["threshold_ns"], common.THRESHOLD_NS)
        self.assertEqual(facts["trigger"], {"kind": "irq", "threshold_ns": common.THRESHOLD_NS,
                                            "function": "any", "cpus": [self.cpu],
                                            "thresholds_ns": {"irq": common.THRESHOLD_NS}})
        self.assertEqual(facts["workload"],
                         {"kind": "cyclic", "period_ns": 2000000, "priority": 40})
        self.assertEqual(facts["recorder"]["buffer_size"], 1 << 20)
        self.assertEqual(facts["kernel"]["release"], platform.release())
        self.assertEqual(facts["machine"]["hostname"], platform.node())
        self.assertEqual(facts["machine"]["arch"], platform.machine())
        self.assertEqual(facts["command_line"][0], common.CTL)
        self.assertEqual(facts["command_line"][-2:], ["--buffer", "1M"])
        for key in ("skid_ns", "history_ns", "events", "lost"):
            self.assertEqual(facts[key], capture[key], key)
        self.assertLess(0, facts["skid_ns"])
        self.assertLessEqual(facts["skid_ns"], facts["blind_ns"])

    def check_schema(self, value, schema, path):
        for key, kind in schema.items():
            where = "%s.%s" % (path, key)
            self.assertIn(key, value, where)
            if isinstance(kind, dict):
                self.check_schema(value[key], kind, where)
            else:
                self.assertIs(type(value[key]), kind, where)

    def test_trace_stands_still(self):
        """Events of the spike's CPU while its ring is copied are not in the capture, and those of
        the other CPUs are."""
        cpus = common.find_cpus(2)
        with common.switching(cpus[0]), common.switching(cpus[1]):
            with common.Session(cpus, self.output, *common.DETAILED_SPIKES, "--buffer", "4M", "-e",
                                "sched:*") as session:
                ready_ns = common.now_ns() + 1000000000
                common.wait_for(lambda: common.now_ns() > ready_ns, "time to fill the rings")
                with common.late(cpus[0]):
                    self.assertEqual(session.finish(), 0, session.__dict__)
        capture = session.captures[0]
        still_ns = capture["time_ns"] + capture["skid_ns"]
        samples = self.samples(capture["path"])
        last = [one for one in samples if int(one["cpu"]) == capture["cpu"]][-1]
        self.assertLessEqual(last["time_ns"], still_ns + CLOCK_SLACK_NS, (last, capture))
        self.assertEqual({int(one["cpu"]) for one in samples}, set(cpus))

    @unittest.skipIf(common.EMULATED, "this machine is emulated")
    def test_small_ring_holds_less(self):
        """A full ring begins with a complete record, and covers less time than has passed."""
        with common.busy(self.cpu), common.ticker(self.cpu, 100):
            with common.Session([self.cpu], self.output, *common.SPIKES, "--buffer",
                                "16K") as session:
                armed_ns = common.now_ns()
                common.wait_for(lambda: common.now_ns() > armed_ns + 1000000000, "a second later")
                with common.late(self.cpu):
                    self.assertEqual(session.finish(), 0, session.__dict__)
        capture = session.captures[0]
        samples = self.samples(capture["path"])
        self.assertGreater(len(samples), 20)
        self.assertLess(capture["size_bytes"], 200000)
        self.assertLess(capture["history_ns"], capture["time_ns"] - armed_ns)

    def samples_with(self, task):
        """Samples of a capture taken after the task has run. On a busy CPU it may run late."""
        with common.Session([self.cpu], self.output, *common.NO_SPIKES, "--buffer", "16M",
                            "--count", "1") as session:
            enough_ns = common.cpu_time_ns(task.pid) + RUN_NS
            common.wait_for(lambda: common.cpu_time_ns(task.pid) >= enough_ns, "the task's turn")
            self.assertEqual(common.run_ctl("poke", session.name).returncode, 0)
            session.read_capture()
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
        return self.samples(session.captures[0]["path"])

    def test_tasks_are_named(self):
        with common.busy(self.cpu) as task:
            samples = self.samples_with(task)
        for sample in samples:
            # For an ended task the kernel may give no ID, and /proc no name.
            if os.path.exists("/proc/%d" % sample["tid"]):
                self.assertNotRegex(sample["comm"], r"^(:-?\d+|<.*>)$")
        named = {sample["tid"]: sample["comm"] for sample in samples}
        self.assertTrue(named[task.pid].startswith("python"), named)
        self.assertIn("pp-cyclic/%d" % self.cpu, named.values())

    def test_several_cpus(self):
        cpus = common.find_cpus(2)
        with common.busy(cpus[0]), common.busy(cpus[1]):
            capture, facts = self.take(cpus)
        self.assertEqual(facts["trigger"]["cpus"], cpus)
        self.assertEqual({sample["cpu"] for sample in self.samples(capture["path"])}, set(cpus))


class Choice(CaptureTest):
    def samples_of(self, *args):
        """Samples of the second capture: before the first, the workload may not have run."""
        with common.busy(self.cpu):
            capture = self.capture_spikes([self.cpu], 2, *args,
                                          limits=common.DETAILED_SPIKES).captures[-1]
        return self.samples(capture["path"]), common.facts(capture["path"])["recorder"]["events"]

    def test_event(self):
        samples, recorded = self.samples_of("-e", "sched:sched_switch")
        self.assertEqual(recorded, [{"name": "sched:sched_switch"}])
        self.assertEqual({sample["event"] for sample in samples}, {"sched:sched_switch"})

    def test_list_and_glob(self):
        samples, recorded = self.samples_of("-e", "sched:sched_switch,timer:hrtimer_s*")
        names = {event["name"] for event in recorded}
        self.assertLessEqual({"sched:sched_switch", "timer:hrtimer_start"}, names)
        self.assertFalse(
            [n for n in names if not n.startswith(("sched:sched_switch", "timer:hrtimer_s"))])
        self.assertLessEqual({"sched:sched_switch", "timer:hrtimer_start"},
                             {sample["event"] for sample in samples})

    def test_filter(self):
        """One event has a filter: only switches to the cyclic thread, by its priority."""
        samples, recorded = self.samples_of("-e", "sched:sched_switch", "--filter", "next_prio==4",
                                            "-e", "timer:hrtimer_start")
        self.assertEqual(recorded, [{"name": "sched:sched_switch", "filter": "next_prio==4"},
                                    {"name": "timer:hrtimer_start"}])
        switches = [s for s in samples if s["event"] == "sched:sched_switch"]
        self.assertTrue(switches)
        for sample in switches:
            self.assertTrue(sample["trace"].endswith("next_prio=4"), sample)
        self.assertLess(len(switches), len(samples))

    def test_other_filters(self):
        """A filter that nothing passes, and one with a glob."""
        samples, recorded = self.samples_of("-e", "sched:sched_switch", "--filter", "prev_pid==-5",
                                            "-e", "timer:hrtimer_expire_*", "--filter",
                                            "common_pid>0")
        self.assertEqual({event["filter"] for event in recorded[1:]}, {"common_pid>0"})
        self.assertLessEqual({sample["event"] for sample in samples},
                             {"timer:hrtimer_expire_entry", "timer:hrtimer_expire_exit"})
        self.assertTrue(samples)
        self.assertNotIn(0, {sample["tid"] for sample in samples})


if __name__ == "__main__":
    common.main()
