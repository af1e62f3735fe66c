#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl script runs stock perf on a capture, and explains why something is not a
capture."""
import os
import re
import shutil
import shlex
import signal
import subprocess
import unittest

import common

USAGE = 2
LINE = re.compile(r".*\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+\w+:\w+:.*")
WINDOW_NS = 10000000  # without --window


def script(*args, **kwargs):
    return common.run_ctl("script", *args, **kwargs)


def environment(**variables):
    return {**os.environ, **variables}


@unittest.skipUnless(shutil.which("perf"), "needs perf")
class Events(common.HostTest):
    """Tests on a capture of two CPUs."""

    @classmethod
    def setUpClass(cls):
        cls.make_taker()
        cls.cpus = cpus = common.find_cpus(2)
        # The spike is on one CPU; both are busy.
        with common.busy(cpus[0]), common.busy(cpus[1]), common.late(cpus[1]):
            with common.Session(cpus, cls.taker.output, *common.DETAILED_SPIKES) as session:
                cls.taker.assertEqual(session.finish(), 0, session.__dict__)
        cls.path = session.captures[0]["path"]
        cls.spike = common.facts(cls.path)["spike"]

    def shown(self, *args):
        """CPUs and times, ns, of the lines that perf prints."""
        result = script(self.path, "--quiet", *args)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        # Not the stack at the spike.
        lines = [LINE.fullmatch(line) for line in result.stdout.splitlines()
                 if line.strip() and line[0] != "\t" and not line.rstrip().endswith(" spike:")]
        self.assertTrue(lines)
        self.assertTrue(all(lines), result.stdout)
        return [(int(line["cpu"]), int(line["s"] + line["ns"])) for line in lines]

    def expected(self, begin_ns, end_ns, cpus):
        times = ((sample["cpu"], sample["time_ns"]) for sample in self.samples(self.path))
        return [(cpu, time_ns) for cpu, time_ns in times
                if begin_ns <= time_ns <= end_ns and (cpus is None or cpu in cpus)]

    def test_shows_the_time_before_the_spike(self):
        cpu, end = self.spike["cpu"], self.spike["time_ns"]
        other = next(each for each in self.cpus if each != cpu)
        for args, begin, end, cpus in (
                ([], end - WINDOW_NS, end, [cpu]),
                (["--window", "1s"], end - 1000000000, end, [cpu]),
                (["--window", "500", "-a"], end - 500000, end, None),
                (["--all"], 0, 1 << 63, [cpu]),
                (["--all", "-C", str(other)], 0, 1 << 63, [other]),
                (["--all", "--all-cpus"], 0, 1 << 63, None)):
            with self.subTest(args=args):
                self.assertEqual(self.shown(*args), self.expected(begin, end, cpus))
        # They must differ, or nothing is tested.
        self.assertGreater(len(self.shown("--all")), len(self.shown("--window", "1s")))
        self.assertGreater(len(self.shown("--window", "1s")), len(self.shown()))
        self.assertGreater(len(self.shown("--all", "--all-cpus")), len(self.shown("--all")))

    def test_says_nothing_into_a_pipe(self):
        result = script(self.path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_passes_arguments_on(self):
        result = script(self.path, "--quiet", "--all", "--", "-F", "event")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual([line for line in result.stdout.splitlines()
                          if not re.fullmatch(r"\s*(\w+:\w+|spike):\s*", line)], [])
        refused = script(self.path, "--quiet", "--", "--no-such-option")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("no-such-option", refused.stderr)

    def test_dry_run_is_what_runs(self):
        strange = os.path.join(self.folder, "a 'strange' name")
        shutil.copytree(self.path, strange)
        printed = script(strange, "--dry-run", "--quiet", "--", "-F", "+pid")
        self.assertEqual((printed.returncode, printed.stderr), (0, ""))
        self.assertEqual(shlex.split(printed.stdout)[-2:], ["-F", "+pid"])
        by_shell = subprocess.run(["sh", "-c", printed.stdout], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True, check=True)
        self.assertTrue(by_shell.stdout)
        self.assertEqual(script(strange, "--", "-F", "+pid").stdout, by_shell.stdout)

    def test_status_is_that_of_perf(self):
        fake = self.program("perf",
                            "[ \"$1\" = --version ] && echo perf version 0 && exit; kill -TERM $$")
        result = script(self.path, env=environment(PERF_POKE_PERF=fake))
        self.assertEqual(result.returncode, -signal.SIGTERM)
        self.assertEqual(result.stderr, "")

    def test_no_instructions(self):
        self.assert_fails(script(self.path, "--insns"), USAGE, "--insns", self.path)

    def program(self, name, body):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + body + "\n")
        os.chmod(path, 0o755)
        return path


if __name__ == "__main__":
    common.main()
