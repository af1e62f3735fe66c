#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A text written to trace_marker is a spike: by unmodified tools of rt-tests, and by any
program."""
import functools
import os
import re
import shutil
import signal
import subprocess

import common

MARKER = "/sys/kernel/tracing/trace_marker"
TRACING_ON = "/sys/kernel/tracing/tracing_on"
LIMIT_US = 3000


# Set by the library that the build makes for it: the kernel is as one without trampolines.
NO_TRAMPOLINE = {
    "PERF_POKE_BROKEN": "trampoline", "LD_PRELOAD": os.environ.get("PERF_POKE_BROKEN_LIBRARY", "")
}


@functools.cache
def marker_row(way):
    rows = common.parse_lines(
        common.run_ctl("check", "--json", env={**os.environ, **dict(way)}).stdout)
    return next(row for row in rows if row["name"] == "marker")


class MarkerTest(common.HostTest):
    way = {}

    def setUp(self):
        super().setUp()
        if not os.path.exists(MARKER):
            self.skipTest("needs tracefs at /sys/kernel/tracing")
        row = marker_row(tuple(self.way.items()))
        if not row["have"]:
            self.skipTest("trigger marker: " + row["detail"])
        self.cpu = common.find_cpus(1)[0]
        # The tools stop ftrace after their mark.
        on = common.read(TRACING_ON)
        self.addCleanup(lambda: self.write_file(TRACING_ON, on))

    def write_file(self, path, text):
        with open(path, "w") as file:
            file.write(text)

    def session(self, text, *args, recorder=("--recorder", "none")):
        return common.Session([self.cpu], self.output, "--trigger", "marker=" + text, "--workload",
                              "auto", *recorder, *args, env={**os.environ, **self.way})

    def spike(self, path):
        return common.facts(path)["spike"]


class Writes(MarkerTest):
    def write(self, text, cpu=None):
        code = "import os, sys\nos.sched_setaffinity(0, [%d])\n" \
               "os.write(os.open(sys.argv[1], os.O_WRONLY), sys.argv[2].encode())"
        subprocess.run(["python3", "-c", code % (self.cpu if cpu is None else cpu), MARKER, text],
                       check=True)

    def test_what_has_the_text(self):
        others = os.sched_getaffinity(0) - {self.cpu}
        with self.session("overran", "--count", "2") as session:
            self.write("cycle 7 is fine, 12 us")
            self.write("x" * 128 + "overran")
            for cpu in list(others)[:1]:
                self.write("cycle 7 overran: 12 us", cpu)
            self.write("cycle 8 overran: 83 us")
            capture = session.read_capture()
            self.write("cycle 9 overran by far " + "y" * 4000)
            self.assertEqual(session.finish(), 0)
        self.assertEqual((capture["trigger"], capture["latency_ns"], capture["cpu"]),
                         ("marker", 83000, self.cpu))
        self.assertEqual(capture["label"], "cycle 8 overran: 83 us")
        self.assertEqual(capture["actual_ns"] - capture["expected_ns"], 83000)
        self.assertTrue(capture["comm"].startswith("python"), capture["comm"])
        last = session.captures[1]
        self.assertEqual((last["latency_ns"], last["label"]),
                         (0, ("cycle 9 overran by far " + "y" * 63)[:63]))
        self.assertEqual(session.summary["triggers"]["marker"]["all"]["count"], 2)
        self.assertTrue(
            common.run_ctl("report",
                           capture["path"]).stdout.startswith("cycle 8 overran: 83 us 83us late"))


class WritesToKprobe(Writes):
    way = NO_TRAMPOLINE

    def setUp(self):
        if not self.way["LD_PRELOAD"]:
            self.skipTest("sanitizers must be loaded first")
        super().setUp()


class RtTests(MarkerTest):
    """Interrupts are off, which the tool itself measures; the capture has the tool's number."""

    def run_tool(self, text, *argv):
        if not shutil.which(argv[0]):
            self.skipTest("needs %s (rt-tests)" % argv[0])
        with self.session(text, "--count", "1",
                          recorder=common.EVENTS) as session, common.late(self.cpu):
            with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) as tool:
                capture = session.read_capture()
                tool.send_signal(signal.SIGINT)
                tool.communicate(timeout=common.PATIENCE)
            self.assertEqual(session.finish(), 0)
        return capture

    def check(self, capture, latency_us, comm):
        self.assertEqual((capture["trigger"], capture["cpu"]), ("marker", self.cpu))
        self.assertEqual(capture["latency_ns"], latency_us * 1000)
        self.assertGreaterEqual(latency_us, LIMIT_US)
        self.assertEqual(capture["comm"], comm)
        self.assertEqual(self.spike(capture["path"])["label"], capture["label"])

    def test_cyclictest(self):
        capture = self.run_tool("hit latency threshold", "cyclictest", "-q", "-t1",
                                "-a%d" % self.cpu, "-p80", "-i1000", "-D60", "-b%d" % LIMIT_US,
                                "--tracemark")
        match = re.fullmatch(r"hit latency threshold \((\d+) > %d\)" % LIMIT_US, capture["label"])
        self.assertTrue(match, capture["label"])
        self.check(capture, int(match[1]), "cyclictest")
        # Stock perf shows the culprit before the mark.
        self.assertTrue(self.samples(capture["path"]))

    def test_oslat(self):
        capture = self.run_tool("Trace threshold", "oslat", "-c%d" % self.cpu, "-D60",
                                "-T%d" % LIMIT_US)
        # 63 bytes of the text are kept.
        match = re.match(
            r"oslat: Trace threshold \(%d us\) triggered on cpu %d with (\d+)" %
            (LIMIT_US, self.cpu), capture["label"])
        self.assertTrue(match, capture["label"])
        self.check(capture, int(match[1]), "oslat")


if __name__ == "__main__":
    common.main()
