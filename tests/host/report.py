#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl report of tracepoints: the interrupt that made a timer late, and what events cannot
show."""
import collections
import json
import os
import re
import shutil
import sys
import unittest

import common

sys.path.insert(0, os.path.join(common.HERE, ".."))
import fxt  # pylint: disable=wrong-import-position
import pftrace  # pylint: disable=wrong-import-position

FAILED = 1
USAGE = 2
# examples/late spins in an interrupt from another CPU.
CULPRIT = "call_function_single"


def report(*args, **kwargs):
    return common.run_ctl("report", *args, **kwargs)


def is_sample(trace, event):
    """As an instant of a CPU's functions."""
    return event.type == fxt.INSTANT and event.name and \
        "functions" in trace.threads[event.track[1]][0]


@unittest.skipUnless(shutil.which("perf"), "needs perf")
class Events(common.HostTest):
    """Tests on two captures of one CPU."""

    @classmethod
    def setUpClass(cls):
        cls.make_taker()
        cpu = common.find_cpus(1)[0]
        with common.busy(cpu):
            session = cls.taker.capture_spikes([cpu], 4, limits=common.DETAILED_SPIKES)
        # Other work makes timers late too.
        cls.paths = [capture["path"] for capture in session.captures if cls.has_culprit(capture)]
        cls.taker.assertTrue(cls.paths, session.captures)
        cls.path = cls.paths[0]
        cls.facts = common.facts(cls.path)

    @classmethod
    def times(cls, capture):
        """The times of the last event of each kind before the spike."""
        return {sample["event"]: sample["time_ns"] for sample in cls.taker.samples(capture["path"])
                if sample["cpu"] == capture["cpu"] and sample["time_ns"] <= capture["time_ns"]}

    @classmethod
    def has_culprit(cls, capture):
        times = cls.times(capture)
        entry, end = (times.get("irq_vectors:%s_%s" % (CULPRIT, what), 0)
                      for what in ("entry", "exit"))
        late = min(end, capture["actual_ns"]) - max(entry, capture["expected_ns"])
        return 2 * late >= capture["latency_ns"]

    def read(self, *args):
        result = report(*args, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_names_the_interrupt(self):
        found = self.read(self.path)
        spike, cause = found["spike"], found["cause"]
        self.assertEqual(found["source"], "events")
        for name in ("latency_ns", "expected_ns", "actual_ns", "time_ns", "cpu", "comm"):
            self.assertEqual(spike[name], self.facts["spike"][name])
        self.assertEqual((cause["kind"], cause["name"], cause["count"]), ("interrupt", CULPRIT, 1))
        self.assertGreaterEqual(2 * cause["time_ns"], spike["latency_ns"])
        self.assertLessEqual(cause["time_ns"], spike["latency_ns"])
        self.assertRegex(
            found["sentence"],
            r"^IRQ latency \S+: (either )?\S+ in interrupt %s(, most of it in .+, sent by CPU \d+, "
            r"task \d+ .+, from .+)?, interrupting .+$" % CULPRIT)
        entry = self.times({"path": self.path, **spike})["irq_vectors:%s_entry" % CULPRIT]
        self.assertEqual(CULPRIT in found["path"], entry <= spike["expected_ns"])

    def test_budget_is_what_perf_shows(self):
        """Each moment counts once; the interrupt's time is that from its entry to its exit."""
        found = self.read(self.path)
        window = found["window"]
        self.assertEqual(sum(row["time_ns"] for row in found["budget"]),
                         window["end_ns"] - window["begin_ns"])
        self.assertEqual(sum(row["late_ns"] for row in found["budget"]),
                         window["late_end_ns"] - window["late_begin_ns"])
        row = next(row for row in found["budget"] if row["name"] == CULPRIT)
        times = self.times({"path": self.path, **found["spike"]})
        entry, end = (times["irq_vectors:%s_%s" % (CULPRIT, what)] for what in ("entry", "exit"))
        # The last interrupt is entirely in the window, unless the window begins in it.
        self.assertEqual(row["longest_ns"], end - max(entry, window["begin_ns"]))

    def test_analysis_adds_up(self):
        """The parts add up to the latency; the delay ends where perf shows the timer's
        interrupt."""
        found = self.read(self.path)
        rows = {(row["term"], row["name"]): row["time_ns"] for row in found["analysis"]}
        self.assertEqual(
            sum(time_ns for (term, _), time_ns in rows.items()
                if term not in ("IRQ handler delay", "IRQ latency")), found["spike"]["latency_ns"])
        self.assertEqual(rows["IRQ latency", None], found["spike"]["latency_ns"])
        self.assertEqual(rows["Previous IRQ interference", CULPRIT], found["cause"]["time_ns"])
        entry = self.times({"path": self.path, **found["spike"]})["irq_vectors:local_timer_entry"]
        self.assertEqual(rows["IRQ handler delay", None], entry - found["spike"]["expected_ns"])

    def test_does_not_tell_what_events_do_not_show(self):
        found = self.read(self.path)
        self.assertIsNone(found["irqs_off"])
        self.assertIsNone(found["functions"])
        self.assertIn("functions only at the spike", report(self.path).stdout)

    def test_a_window_that_is_too_short(self):
        found = self.read(self.path, "--window", "10us")
        self.assertEqual(found["cause"]["kind"], "none")
        self.assertIn("does not reach back", found["sentence"])

    def test_page(self):
        page = os.path.join(self.folder, "page.html")
        result = common.run_ctl("export", self.path, "--html", page)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assert_one_line(result.stderr, page, "slices")
        with open(page) as file:
            text = file.read()
        inside = json.loads(text.split('id="report">')[1].split("</script>")[0])
        self.assertEqual(inside["sentence"], self.read(self.path)["sentence"])
        self.assertIn("</html>", text)
        self.assertNotRegex(text, r"(src|href)=|https?:|@JSON@")
        for time in ("0,1ms", "-1ms,-500us"):
            self.assert_fails(
                common.run_ctl("export", self.path, "--html", page, "--force", "--time", time),
                USAGE, "--time")
        self.assertEqual(os.listdir(self.folder), ["page.html"])

    def begun(self):
        """What begins on the CPU according to perf: (time, name) of interrupts and work items,
        (time, PID) of tasks."""
        interrupts, tasks = set(), set()
        for sample in self.samples(self.path):
            if sample["cpu"] != self.facts["spike"]["cpu"]:
                continue
            time_ns, event, trace = sample["time_ns"], sample["event"], sample["trace"]
            for pattern, name in ((r"irq_vectors:(.*)_entry ",
                                   "%s"), (r"irq:softirq_entry .*action=(\w+)",
                                           "%s"), (r"csd:csd_function_entry func=(\w+)", "%s"),
                                  (r"timer:hrtimer_expire_entry .*function=(\S+)",
                                   "%s"), (r"timer:timer_expire_entry .*function=(\S+)",
                                           "%s"), (r"irq:tasklet_entry .*function=(\S+)", "%s"),
                                  (r"workqueue:workqueue_execute_start .*: function (\S+)",
                                   "%s"), (r"workqueue:workqueue_execute_start .*: (function) ",
                                           "process_one_work%.0s"),
                                  (r"irq:irq_handler_entry irq=(\d+ )name=(.*)", "irq %s%s")):
                match = re.match(pattern, event + " " + trace)
                if match:
                    interrupts.add((time_ns, name % match.groups()))
            match = re.fullmatch(r"prev_comm=.* ==> next_comm=.* next_pid=(\d+) next_prio=\d+",
                                 trace)
            if match:
                tasks.add((time_ns, match[1] if match[1] != "0" else "swapper/%d" % sample["cpu"]))
        return interrupts, tasks

    def test_fxt(self):
        path = os.path.join(self.folder, "events.fxt.gz")
        result = common.run_ctl("export", self.path, "-o", path)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assert_one_line(result.stderr, path, "slices")
        spike = self.facts["spike"]
        tracks = {
            name: fxt.read(path).check()["CPU %d %s" % (spike["cpu"], name)]
            for name in ("interrupts", "tasks", "timer")
        }
        interrupts, tasks = self.begun()
        self.assertEqual({(each.begin, each.name) for each in tracks["interrupts"]}, interrupts)
        # The report has more: the task that already ran, and tasks without a recorded switch.
        self.assertLessEqual(tasks,
                             {(each.begin, each.name.split()[-1]) for each in tracks["tasks"]})
        self.assertEqual([(each.begin, each.end) for each in tracks["timer"]],
                         [(spike["expected_ns"], spike["time_ns"])])

    def test_perfetto(self):
        """Perfetto's format has the slices of .fxt, the machine, and the clock of the report."""
        paths = [os.path.join(self.folder, "events" + end) for end in (".fxt", ".pftrace.gz")]
        for path in paths:
            result = common.run_ctl("export", self.path, "-o", path)
            self.assertEqual((result.returncode, result.stdout), (0, ""))
        trace = pftrace.read(paths[1])
        self.assertEqual(trace.check(), fxt.read(paths[0]).check())
        self.assert_perfetto_stacks(trace, fxt.read(paths[0]))
        self.assert_perfetto_flows(trace)
        said = json.loads(report(self.path, "--json").stdout)["spike"]
        self.assertEqual(trace.clocks, [{"id": 3, "at": said["time_ns"]}])
        self.assertEqual(
            [each.args["latency ns"]
             for each in trace.check()["CPU %d timer" % said["cpu"]]], [said["latency_ns"]])
        here = os.uname()
        self.assertEqual((trace.machine, trace.release, trace.arch),
                         (here.nodename, here.release, here.machine))

    def assert_perfetto_stacks(self, trace, other):
        """Each sample has its stack, and is an instant in .fxt only."""
        self.assertFalse([each for each in trace.events if is_sample(trace, each)])
        instants = [each for each in other.events if is_sample(other, each)]
        self.assertEqual(len(instants), len(trace.samples))
        for event, sample in zip(sorted(instants, key=lambda each: each.at),
                                 sorted(trace.samples, key=lambda each: each.at)):
            self.assertEqual(event.at, sample.at)
            self.assertEqual(event.name.split(" < ")[0][:200], sample.frames[-1].function[:200])

    def assert_perfetto_flows(self, trace):
        """Each begins where it was caused: not later than it ends. Those of wakeups end where a
        task begins."""
        tasks = {(each.begin, track) for track, slices in trace.check().items()
                 if track.endswith(" tasks") for each in slices}
        ends = collections.defaultdict(dict)
        for event in trace.events:
            if event.type in (fxt.FLOW_BEGIN, fxt.FLOW_END):
                ends[event.flow][event.type] = event
        wakeups = [pair for pair in ends.values() if pair[fxt.FLOW_BEGIN].name == "wakeup"]
        self.assertGreater(len(wakeups), 0)
        for pair in ends.values():
            self.assertLessEqual(pair[fxt.FLOW_BEGIN].at, pair[fxt.FLOW_END].at)
        for pair in wakeups:
            end = pair[fxt.FLOW_END]
            self.assertIn((end.at, trace.threads[end.track[1]][0]), tasks)

    def test_broken(self):
        broken = os.path.join(self.folder, "broken")
        shutil.copytree(self.path, broken)
        data = os.path.join(broken, "perf.data", "data")
        os.truncate(data, os.path.getsize(data) // 2)
        self.assert_fails(report(broken), FAILED, broken, "truncated")
        os.unlink(data)
        self.assert_fails(report(broken), FAILED, broken, "No such file")
        self.assert_fails(report("/dev"), FAILED, "no capture in '/dev'")


if __name__ == "__main__":
    common.main()
