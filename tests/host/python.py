#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The Python binding as users see it: a loop over captures, the example, and the pytest fixture."""
import json
import os
import re
import subprocess
import sys

import common

SOURCE = os.environ["PERF_POKE_SOURCE"]
BINDING = os.path.join(SOURCE, "src", "python")
EXAMPLE = os.path.join(SOURCE, "examples", "loop.py")
ENV = {
    **os.environ, "PYTHONPATH": BINDING, "PYTHONDONTWRITEBYTECODE": "1",
    "PERF_POKE_LIBRARY_PATH": os.path.join(os.environ["PERF_POKE_BUILD"], "src", "lib",
                                           "libperfpoke.so.0")
}

CAPTURES = """
import json, sys, perf_poke
for capture in perf_poke.Session(cpus=sys.argv[1], threshold="5ms", recorder="events", count=2):
    print(json.dumps([capture.path, capture.spike.latency_ns, capture.spike.cpu,
                      perf_poke.read(capture.path).spike.sequence]))
print(json.dumps([c.path for c in perf_poke.captures()]))
print(len([*perf_poke.Session(sys.argv[1], threshold="5ms", recorder="none", output="one")]))
"""
# pytest itself runs nothing that is defined in a test.
TESTS = """
import os, subprocess, threading, time
pytest_plugins = ["perf_poke.fixture"]

def run(watched, late_at):
    for cycle in range(50):
        expected_ns = time.monotonic_ns() + 1000000
        time.sleep(0.06 if cycle == late_at else 0.001)
        watched.report(expected_ns, label="loop", cpu=CPU)

def test_in_time(overruns):
    run(overruns(cpus=str(CPU), threshold="10s", recorder="events"), -1)

def test_late(overruns):
    run(overruns(cpus=str(CPU), threshold="50ms", recorder="events"), 20)

def test_unwatched(overruns):
    overruns(cpus=str(CPU), threshold="10s", recorder="none", session="unwatched")
    with subprocess.Popen([os.environ["PERF_POKE_CTL"], "stop", "unwatched"]) as stop:
        while threading.active_count() > 1:
            time.sleep(0.01)
        stop.kill()
"""


def pytest_of():
    """A Python that has pytest: the distribution's may have it if this one does not."""
    for python in (sys.executable, "/usr/bin/python3"):
        if not subprocess.run([python, "-c", "import pytest"],
                              stderr=subprocess.DEVNULL).returncode:
            return python
    return None


class Python(common.HostTest):
    def run_python(self, *argv, python=sys.executable, **more):
        return subprocess.run([python, *argv], cwd=self.folder, env=ENV, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=common.PATIENCE, **more)

    def test_captures(self):
        cpu = common.find_cpus(1)[0]
        with common.late(cpu):
            result = self.run_python("-c", CAPTURES, str(cpu))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        *captures, folder, by_default = map(json.loads, result.stdout.splitlines())
        self.assertEqual(by_default, 1)
        self.assertEqual(len(captures), 2)
        for path, latency_ns, on, sequence in captures:
            self.assertGreaterEqual(latency_ns, 5000000)
            self.assertEqual(on, cpu)
            self.assertGreater(sequence, 0)
            self.samples(os.path.join(self.folder, path))
        self.assertEqual(sorted(path for path, *_ in captures), folder)

    def test_example(self):
        cpu = common.find_cpus(1)[0]
        with common.late(cpu):
            result = self.run_python(EXAMPLE, str(cpu))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        match = re.fullmatch(
            r"control loop: (\d+) ns late on CPU (\d+): (\S+)\n(\d+) cycles, the longest took "
            r"(\d+) ns\n",
            result.stdout)
        self.assertTrue(match, result.stdout)
        self.assertGreaterEqual(int(match[1]), 500000)
        self.assertGreaterEqual(int(match[5]), int(match[1]))
        self.assertEqual(int(match[2]), cpu)
        self.assertTrue(os.path.exists(os.path.join(self.folder, match[3], "capture.json")))

    def test_fixture(self):
        python = pytest_of()
        if not python:
            self.skipTest("needs pytest (Debian: python3-pytest)")
        cpu = common.find_cpus(1)[0]
        with open(os.path.join(self.folder, "test_loop.py"), "w") as file:
            file.write(f"CPU = {cpu}\n{TESTS}")
        result = self.run_python("-m", "pytest", "-q", "-p", "no:cacheprovider",
                                 "--junit-xml=all.xml", "--basetemp=kept", "test_loop.py",
                                 python=python)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("2 failed, 1 passed", result.stdout)
        self.assertRegex(result.stdout, "test_unwatched.*perf_poke.Error")
        path = re.search(r"\d+ overruns?, the longest \d+(?:\.\d+)? us: (\S+)", result.stdout)
        self.assertTrue(path, result.stdout)
        self.assertTrue(os.path.exists(os.path.join(path[1], "capture.json")))
        self.assertIn("perf-poke", result.stdout)
        with open(os.path.join(self.folder, "all.xml")) as file:
            self.assertIn(f'name="perf-poke-capture" value="{path[1]}"', file.read())


if __name__ == "__main__":
    common.main()
