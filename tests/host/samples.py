#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stock perf shows the same of a capture as of its own recording of the same time: perf sched,
kwork, timechart, report."""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import common
import poked

sys.path.insert(0, os.path.join(common.HERE, ".."))
import fxt  # pylint: disable=wrong-import-position

SCHED = [
    "sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_stat_runtime", "sched_migrate_task",
    "sched_process_fork"
]
KWORK = [
    "irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_raise", "irq:softirq_entry",
    "irq:softirq_exit", "workqueue:workqueue_activate_work", "workqueue:workqueue_execute_start",
    "workqueue:workqueue_execute_end"
]
# On command, it sleeps and reads random numbers in turns, and says when it began and ended. It
# takes its name then: perf knows names that are set on the traced CPU. It does not exit: perf 6.12
# forgets ended tasks.
LOAD = """
import ctypes, os, sys, time
print(flush=True)
sys.stdin.readline()
os.sched_setaffinity(0, [int(sys.argv[1])])
ctypes.CDLL(None).prctl(15, b"pp-load", 0, 0, 0)
random = os.open("/dev/urandom", os.O_RDONLY)
begin = time.monotonic()
for _ in range(40):
    time.sleep(0.002)
    for _ in range(40): os.read(random, 65536)
print(begin, time.monotonic(), flush=True)
sys.stdin.read()
"""
TICK_NS = 10000000  # of /proc/stat
US = {"s": 1e6, "ms": 1e3, "us": 1, "ns": 1e-3}
SAMPLES = ["-g", "-e", "cpu-clock/freq=2000/"]
EDGE = 4  # events that may be in one of two windows only


@contextlib.contextmanager
def perf_record(path, cpu, *args):
    process = subprocess.Popen([
        "perf", "record", "-q", "-r", "50", "-o", path, "-k", "mono", "-m", "16M", "-C",
        str(cpu), *args
    ], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        common.wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 0, "perf records")
        # perf creates the file before it enables events.
        time.sleep(1)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(common.PATIENCE)


@contextlib.contextmanager
def started(load):
    """Python starts on any CPU, so it must have done so before perf records."""
    load.stdout.readline()
    yield


@unittest.skipUnless(shutil.which("perf"), "needs perf")
class SameMoment(common.HostTest):
    @classmethod
    def setUpClass(cls):
        cls.make_taker()
        cpu = common.find_cpus(2)[1]
        own = os.path.join(cls.taker.folder, "own.data")
        events = [*("sched:" + name for name in SCHED), *KWORK]
        named = [word for name in [*events, "power:*", "irq_vectors:*"] for word in ("-e", name)]
        # The CPU does not idle, where samples may be dropped. Both recordings must contain all of
        # the load.
        recorded = [*(word for name in events for word in ("-e", name)), "-e", "cpu-clock", "-g"]
        with subprocess.Popen([sys.executable, "-c", LOAD, str(cpu)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as load, \
                started(load), common.busy(cpu), perf_record(own, cpu, *recorded), \
                common.Session([cpu], cls.taker.output, "--threshold", "1h", *common.ALL_EVENTS,
                               "--buffer", "64M", "--count", "1", *named, *SAMPLES) as session:
            cls.pid = str(load.pid)
            print(file=load.stdin, flush=True)
            cls.begin, cls.end = load.stdout.readline().split()
            common.run_ctl("poke", session.name)
            cls.path = session.read_capture()["path"]
        cls.files = [os.path.join(cls.path, "perf.data"), own]

    def both(self, *args):
        """What perf shows of the load: in the capture, and in its own recording."""
        return [self.perf(*args, "-i", file) for file in self.files]

    def window(self):
        return ["--time", "%s,%s" % (self.begin, self.end)]

    def rows(self, text, pattern):
        found = [
            match.groups() for match in map(re.compile(pattern).match, text.splitlines()) if match
        ]
        self.assertTrue(found, text[-1000:])
        return found

    def needs(self, command):
        if subprocess.run(["perf", command, "-h"], capture_output=True).returncode != 129:
            self.skipTest("this perf has no `perf %s`" % command)

    def assert_same(self, ours, own):
        """Not always in the same order: clocks are read more often than they advance."""
        self.assertGreater(len(own), 100)
        ours, own = collections.Counter(ours), collections.Counter(own)
        for more in (ours - own, own - ours):
            self.assertLessEqual(sum(more.values()), EDGE, more.most_common(10))

    def test_tracepoints(self):
        """Exactly those that perf has."""
        ours, own = ([
            line.strip() for line in text.splitlines() if "sched:" in line
        ] for text in self.both("script", "--no-inline", *self.window(), "-F", "trace:event,trace"))
        wanted = {"sched:%s:" % name for name in SCHED}
        self.assert_same([line for line in ours if line.split()[0] in wanted], own)

    def test_sched_latency(self):
        # perf 7.3 has several units, and no `avg:`.
        pattern = r"\s*pp-load:\d+\s*\|\s*([\d.]+) ([mun]?s) \|" \
            r"\s*(\d+) \|(?: avg:)?\s*([\d.]+) ([mun]?s)"
        (ours,), (own,) = (self.rows(text, pattern) for text in self.both("sched", "latency"))
        # perf's own recording ends later, so it may have one more switch of the load.
        self.assertAlmostEqual(int(ours[2]), int(own[2]), delta=2)
        for value, unit, delta in ((0, 1, 2000), (3, 4, 50)):
            self.assertAlmostEqual(*(float(row[value]) * US[row[unit]] for row in (ours, own)),
                                   delta=delta)

    def test_sched_latency_of_all(self):
        """Each task whose longest wait was while the load ran."""
        ours, own = (self.rows(
            text, r"\s*\S.*:(\d+)\s*\|.*\| max start: +([\d.]+) s \| max end: +([\d.]+) s")
                     for text in self.both("sched", "latency", "-p"))
        wanted = {
            tid for tid, start, end in own
            if float(self.begin) < float(start) and float(end) < float(self.end)
        }
        self.assertTrue(wanted, own)
        self.assertLessEqual(wanted, {tid for tid, _, _ in ours})

    def test_sched_timehist(self):
        (ours, ), (own, ) = (
            self.rows(text, r"\s*pp-load\[\d+\]\s+-?\d+\s+(\d+)\s+([\d.]+)")
            for text in self.both("sched", "timehist", "-s", "--no-call-graph", *self.window()))
        self.assertEqual(ours[0], own[0])
        self.assertAlmostEqual(float(ours[1]), float(own[1]), delta=0.05 * float(own[1]))

    def test_sched_timehist_of_all(self):
        """Which task ran on which CPU, and where the load called the scheduler."""
        # perf 6.1 shows tasks without a name as `:TID`.
        row = r"\s*[\d.]+ \[(\d+)\]  (?:.*\[|:)(\d+)(?:/-?\d+)?\]?\s+-?[\d.]+" \
            r"\s+[\d.]+\s+[\d.]+\s*(.*)"
        ours, own = (self.rows(text, row)
                     for text in self.both("sched", "timehist", *self.window()))
        self.assert_same(*([found for found in rows if found[1] == self.pid]
                           for rows in (ours, own)))
        missing = collections.Counter(found[:2]
                                      for found in own) - collections.Counter(found[:2]
                                                                              for found in ours)
        self.assertLessEqual(sum(missing.values()), EDGE, missing)

    def test_sched_map(self):
        """perf names tasks by a letter and a digit, and those of others again when it has none
        left."""
        runs, end = [], float(self.end)
        for text in self.both("sched", "map"):
            found = self.rows(text, r".*\*(\w\w).*?([\d.]+) secs(?: \w\w => .*:(\d+))?")
            name = next(name for name, _, tid in found if tid == self.pid)
            first = next(index for index, row in enumerate(found) if row[2] == self.pid)
            end = min([
                end, *(float(at) for named, at, tid in found[first:]
                       if named == name and tid not in (None, self.pid))
            ])
            runs.append([float(at) for named, at, _ in found[first:] if named == name])
        ours, own = (sum(float(self.begin) < at < end for at in times) for times in runs)
        self.assertGreater(own, 0)
        self.assertAlmostEqual(ours, own, delta=EDGE)

    def test_timechart(self):
        """How often the load had the CPU, and where it gave it up."""
        self.needs("timechart")
        runs = []
        for file in self.files:
            chart = os.path.join(self.folder, "chart.svg")
            self.perf("timechart", "-p", self.pid, "-i", file, "-o", chart)
            runs.append(
                re.findall(r"<title>%s \S.* running [^<]*</title>\s*<desc>([^<]*)" % self.pid,
                           common.read(chart)))
        self.assert_same(*runs)

    def test_kwork(self):
        self.needs("kwork")
        for kind in ("report", "latency"):
            ours, own = (collections.Counter({
                row[0]: int(row[1])
                for row in self.rows(text, r"\s*(\S+)\s*\| \d+ \|[^|]*\|\s*(\d+) \|")
            }) for text in self.both("kwork", kind, *self.window()))
            for name in ours | own:
                self.assertAlmostEqual(ours[name], own[name], delta=1, msg=(kind, name))

    def test_report_with_callers(self):
        """Two samplers of one load agree on the most frequent stack."""
        shown = self.both("report", "--stdio", "-g", "folded,0,callee,function,percent",
                          "--no-children", "--no-inline", "--comm", "pp-load", "--sort", "comm,sym",
                          *self.window())
        tops = []
        for text in shown:
            stacks = self.rows(text[text.index("cpu-clock"):], r"([\d.]+)% (\S.*)")
            # If the load is often preempted, the end of a switch may be as frequent as its work.
            tops.append({
                stack: float(percent) for percent, stack in stacks[:12] if "schedule" not in stack
            })
        for ours, own in (tops, reversed(tops)):
            first = next(iter(ours))
            self.assertRegex(first, r";(ksys_read|vfs_read|urandom_read)")
            self.assertIn(first, own, shown)
            self.assertAlmostEqual(ours[first], own[first], delta=20)

    def test_exports(self):
        """Each sample is an instant with its callers, and a stack in the page."""
        path, page = (os.path.join(self.taker.folder, name)
                      for name in ("samples.fxt", "page.html"))
        for args in (["-o", path], ["--html", page, "--time", "-50ms,0us"]):
            result = common.run_ctl("export", self.path, *args)
            self.assertEqual(result.returncode, 0, result.stderr)
        of_perf = self.perf("script", "-i", self.files[0], "-F", "event,time").count("cpu-clock")
        trace = fxt.read(path)
        instants = [
            event for event in trace.events if trace.name_of(event.track).endswith(" functions")
        ]
        self.assertTrue(all(event.type == fxt.INSTANT for event in instants))
        self.assertGreater(len(instants), 0.9 * of_perf)
        self.assertLessEqual(len(instants), of_perf)
        self.assertTrue([
            event for event in instants
            if re.search(r"< (ksys_read|vfs_read|urandom_read)", event.name)
        ])
        with open(page) as file:
            chart = json.loads(file.read().split('id="chart-data">')[1].split("</script>")[0])
        self.assertGreater({lane["title"]: lane["spans"] for lane in chart["lanes"]}["samples"], 0)


@unittest.skipUnless(shutil.which("perf"), "needs perf")
class Probes(common.HostTest):
    def test_uprobe(self):
        """An event of perf probe is recorded like any tracepoint, and perf reads it without a
        warning."""
        with open("/proc/self/maps") as file:
            libc = next(line.split()[-1] for line in file if "/libc.so" in line or "/libc-" in line)
        # perf knows files by name, and programs in containers may have another libc. It takes files
        # whose names begin with /tmp/perf- for symbol maps of compilers.
        folder = tempfile.mkdtemp(prefix="pp-libc-")
        self.addCleanup(shutil.rmtree, folder)
        libc = shutil.copy(libc, folder)
        probe = subprocess.run(["perf", "probe", "-q", "-x", libc, "pp_test=getppid"],
                               capture_output=True, text=True)
        if probe.returncode:
            self.skipTest("no dynamic probes here: " + probe.stderr.strip()[-80:])
        self.addCleanup(subprocess.run, ["perf", "probe", "-q", "-d", "probe_libc:pp_test"],
                        check=True)
        cpu = common.find_cpus(1)[0]
        env = {**os.environ, "LD_LIBRARY_PATH": folder}
        with common.python_on(cpu, "while True: os.getppid()", env=env), \
                common.Session([cpu], self.output, "--threshold", "1h", "-e", "probe_libc:pp_test",
                               "-g", "--count", "1") as session:
            time.sleep(0.2)
            common.run_ctl("poke", session.name)
            path = session.read_capture()["path"]
        samples = self.samples_of(path)
        self.assertGreater(len(samples), 100)
        self.assertTrue(all("getppid" in sample for sample in samples), samples[0])

    def samples_of(self, path):
        text = self.perf("script", "-i", os.path.join(path, "perf.data"), "-F", "event,ip,sym")
        return [sample for sample in text.split("\n\n") if "probe_libc:pp_test" in sample]


@unittest.skipUnless(shutil.which("perf"), "needs perf")
class Names(common.HostTest):
    def test_many_short_programs(self):
        """Their mappings, which stacks need, displace no name."""
        cpu = common.find_cpus(1)[0]
        program = os.path.join(self.folder, "pp-short")
        os.symlink(shutil.which("true"), program)
        runs = "for _ in range(100): os.waitpid(os.posix_spawn(%r, ['pp-short'], {}), 0)" % program
        with common.Session([cpu], self.output, *common.NO_SPIKES, "-g", "--count", "1") as session:
            subprocess.run([
                sys.executable, "-c",
                "import os\nos.sched_setaffinity(0, [%d])\n%s" % (cpu, runs)
            ], check=True)
            common.run_ctl("poke", session.name)
            path = session.read_capture()["path"]
        shown = self.perf("script", "--show-task-events", "-i", os.path.join(path, "perf.data"))
        self.assertEqual(shown.count("PERF_RECORD_COMM exec: pp-short:"), 100)


class Hardware(common.HostTest):
    def test_steal(self):
        """Between what /proc/stat counts, in hundredths of a second, for less than the session and
        for more."""
        cpu = common.find_cpus(2)[1]
        outer = self.steal_ns(cpu)
        with common.busy(cpu), common.Session([cpu], self.output, *poked.THRESHOLD, *common.EVENTS,
                                              "--count", "1") as session:
            inner = self.steal_ns(cpu)
            time.sleep(2)
            least = self.steal_ns(cpu) - inner
            path = poked.spike(session, cpu)["path"]
        most = self.steal_ns(cpu) - outer
        hardware = common.facts(path)["hardware"]
        if hardware["steal_ns"] is None:
            self.skipTest("this kernel does not account for steal time")
        self.assertGreater(hardware["since_ns"], 0)
        self.assertGreaterEqual(hardware["steal_ns"], least - TICK_NS)
        self.assertLessEqual(hardware["steal_ns"], most + TICK_NS)

    def steal_ns(self, cpu):
        with open("/proc/stat") as file:
            return next(int(line.split()[8])
                        for line in file if line.startswith("cpu%d " % cpu)) * TICK_NS


class Refused(common.HostTest):
    def test_events_that_nothing_samples(self):
        cpu = str(common.find_cpus(1)[0])
        for event, why in {
                "nothing/x/": "there is no PMU 'nothing'", "cpu-clock:z": "not of ukhGHpPID",
                "cpu-clock/freq=0/": "must be 1 to", "software/x/": "term 'x' is unknown"
        }.items():
            result = common.run_ctl("start", "--cpu", cpu, "--output", self.output, "-e", event)
            self.assert_fails(result, 2, event, why)


if __name__ == "__main__":
    common.main()
