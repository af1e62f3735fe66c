#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A perf record started by the session: armed once perf is ready, poked at each spike, placed on
CPUs, ended in order; and each failure on the way. Stock perf records the event cpu-clock; its data
does not matter.
"""
import concurrent.futures
import contextlib
import os
import re
import shutil
import signal
import time

import common
import poked

FAILED, NO_SPIKE = 1, 3
PRIORITY = 10  # perf's default


def is_alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def poke_of(capture):
    """The entry of the only target in capture.json."""
    poke = common.facts(capture["path"])["poke"]
    assert len(poke["targets"]) == 1, poke
    return poke["targets"][0]


class ChildTest(common.HostTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("perf"):
            self.skipTest("needs perf")
        self.cpu = common.find_cpus(2)[-1]
        self.data = os.path.join(self.folder, "perf.data")

    def command(self, *more, perf="perf", data=None):
        """A command that records on the clock of the spikes."""
        return [
            "--", perf, "record", "-e", "cpu-clock", "-k", "CLOCK_MONOTONIC", "-C",
            str(self.cpu), "--switch-output=signal", "-o", data or self.data, *more
        ]

    @contextlib.contextmanager
    def session(self, *options, command=None, count=100000, limits=poked.THRESHOLD):
        with common.Session([self.cpu], self.output, *limits, "--count", str(count), *options,
                            *(command or self.command())) as session:
            self.perf_pid = session.lines[0]["targets"][-1]
            yield session

    def fails(self, code, *parts, options=(), command=None, prefix=()):
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output",
                                self.output, "--threshold", "1h", *options,
                                *(command or self.command()), prefix=prefix)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        ours = [line for line in result.stderr.splitlines() if line.startswith("perf-poke-ctl: ")]
        self.assertEqual(len(ours), 1, result.stderr)
        for part in parts:
            self.assertIn(part, ours[0])

    def times_ns(self, path):
        """The times of the samples in a file."""
        text = self.perf("script", "--ns", "-F", "time", "-i", path)
        return [int(time.rstrip(":").replace(".", "")) for time in text.split()]

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path


class Poked(ChildTest):
    def test_one_file_per_spike(self):
        """Data up to a spike is in one file, later data in the next."""
        captures = []
        with common.busy(self.cpu), self.session(count=3) as session:
            for number in range(1, 4):
                captures.append(poked.spike(session, self.cpu))
                if number < 3:
                    common.wait_for(lambda: len(poked.dumps(self.data)) >= number,
                                    "file of spike %d" % number)
            self.assertEqual(session.finish(), 0, session.__dict__)
        perf = session.summary["perf"]
        self.assertEqual((perf["pid"], perf["status"]), (self.perf_pid, 0))
        self.assertEqual(perf["command"][:2], ["perf", "record"])
        self.assertEqual(perf["command"][-len(self.command()) + 3:], self.command()[3:])
        files = poked.dumps(self.data)
        self.assertEqual(len(files), 4, session.stderr)
        self.assertEqual(perf["data"], files)
        times = [self.times_ns(path) for path in files]
        for number, capture in enumerate(captures):
            self.assertTrue(times[number] and times[number + 1], (number, times))
            self.assertLess(times[number][0], capture["time_ns"])
            self.assertLess(capture["time_ns"], times[number + 1][0])

    def test_json(self):
        """The JSON lines, and the poke in capture.json."""
        with self.session(count=2) as session:
            armed = session.lines[0]
            self.assertEqual((armed["recorder"], armed["targets"]), ("perf", [self.perf_pid]))
            first = poked.spike(session, self.cpu)
            common.wait_for(lambda: poked.dumps(self.data), "a file")
            seen = poked.status(session)
            self.assertEqual((seen["recorder"], seen["targets"], seen["delivery"]),
                             ("perf", [self.perf_pid], armed["delivery"]))
            self.assertEqual(seen["pokes"], 1)
            poked.spike(session, self.cpu)
            self.assertEqual(session.finish(), 0, session.__dict__)
        target = poke_of(first)
        self.assertEqual((target["pid"], target["tid"], target["comm"], target["signal"]),
                         (self.perf_pid, self.perf_pid, "perf", signal.SIGUSR2))
        self.assertEqual(target["sent"], {target["delivery"]: 1})
        self.assertEqual((first["recorder"], first["trace_bytes"] if "trace_bytes" in first else 0),
                         ("perf", 0))
        kinds = [line["type"] for line in session.lines]
        self.assertEqual(kinds, ["armed", "capture", "capture", "summary"])

    def test_human(self):
        """The command to read the data with is in the report."""
        late = common.late(self.cpu, poked.SPIN_US, 300)
        with late:
            result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                    *poked.THRESHOLD, *self.command())
        self.assertEqual(result.returncode, 0, result.stderr)
        files = poked.dumps(self.data)
        self.assertEqual(re.findall(r"perf script -i (\S+)", result.stdout), files, result.stdout)

    def test_accounts_for_all(self):
        """Spikes so dense that perf, still writing, ignores signals. None is lost before it reaches
        perf."""
        home = min(os.sched_getaffinity(0) - {self.cpu})
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(common.busy(home))
            session = stack.enter_context(self.session("--housekeeping", str(home),
                                                       limits=["--threshold", "3ms"]))
            with common.late(self.cpu, 5000, 10):
                for _ in range(10):
                    session.read_capture()

            merged = poked.wait_accounted(session)["merged"]
            self.assertEqual(session.finish(signal.SIGINT, timeout=5 * common.PATIENCE), 0,
                             session.__dict__)
        spikes = len(session.captures)
        self.assertEqual([capture["sequence"] for capture in session.captures],
                         list(range(1, spikes + 1)))
        last = poke_of(session.captures[-1])
        # A lost signal was sent again; in idle the session may have stopped trying.
        sent = sum(last["sent"].values())
        self.assertLessEqual(sent - last["refused"].get("fasync", 0), spikes, last)
        snapshots = len(poked.dumps(self.data)) - 1
        self.assertGreaterEqual(snapshots, 1)
        self.assertLessEqual(snapshots, spikes - merged)
        print("%d spikes: %d merged, %d snapshots, %d dropped by perf; %s" %
              (spikes, merged, snapshots, spikes - merged - snapshots, last))

    def test_stopped_perf(self):
        """A stopped perf loses nothing: the signal stays pending, and a second one merges with
        it."""
        for spikes in (1, 2):
            with self.subTest(spikes=spikes), self.session(count=spikes) as session:
                os.kill(self.perf_pid, signal.SIGSTOP)
                try:
                    for _ in range(spikes):
                        poked.spike(session, self.cpu)
                    self.assertEqual(poked.dumps(self.data), [])
                    common.wait_for(
                        lambda: common.run_ctl("status", session.name).returncode == FAILED,
                        "the end of the session")
                finally:
                    os.kill(self.perf_pid, signal.SIGCONT)
                self.assertEqual(session.finish(), 0, session.__dict__)
                self.assertEqual(len(session.captures), spikes)
                files = session.summary["perf"]["data"]
                self.assertEqual(len(files), 2)
                for path in files:
                    os.remove(path)


class Placed(ChildTest):
    def test_placed(self):
        others = os.sched_getaffinity(0) - {self.cpu}
        home = min(others)
        for options, cpus in (([], others), (["--housekeeping", str(home)], {home})):
            with self.subTest(options=options), self.session(*options, limits=["--threshold",
                                                                               "1h"]) as session:
                for name in os.listdir("/proc/%d/task" % self.perf_pid):
                    self.assertEqual(os.sched_getaffinity(int(name)), cpus)
                    self.assertEqual((os.sched_getscheduler(int(name)), os.sched_getparam(
                        int(name)).sched_priority), (os.SCHED_FIFO, PRIORITY))
                self.assertEqual(session.finish(signal.SIGINT), NO_SPIKE)


class Ends(ChildTest):
    def assert_readable(self, path):
        self.assertIn("cpu-clock", self.perf("evlist", "-i", path))

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                with self.session() as session:
                    poked.spike(session, self.cpu)
                    common.wait_for(lambda: poked.dumps(self.data), "a file")
                    self.assertEqual(session.finish(number), 0, session.__dict__)
                self.assertFalse(is_alive(self.perf_pid))
                perf = session.summary["perf"]
                self.assertEqual(perf["status"], 0)
                for path in perf["data"]:
                    self.assert_readable(path)
                    os.remove(path)
                self.assertGreaterEqual(len(perf["data"]), 2)

    def test_stop(self):
        with self.session() as session:
            self.assertEqual(common.run_ctl("stop", session.name).returncode, 0)
            self.assertEqual(session.finish(), NO_SPIKE, session.__dict__)
        self.assertFalse(is_alive(self.perf_pid))
        for path in poked.dumps(self.data):
            self.assert_readable(path)

    def test_duration(self):
        with self.session("--duration", "300ms", limits=["--threshold", "1h"]) as session:
            self.assertEqual(session.finish(), NO_SPIKE, session.__dict__)
        self.assertEqual(session.summary["perf"]["status"], 0)

    def test_killed_controller(self):
        """perf does not outlive the controller, and has written its data."""
        with self.session() as session:
            poked.spike(session, self.cpu)
            common.wait_for(lambda: poked.dumps(self.data), "a file")
            # The second file is written when perf ends. Files are named by hundredths of a second,
            # so names may collide.
            time.sleep(0.05)
            session.process.kill()
            session.process.wait()
            common.wait_for(lambda: not is_alive(self.perf_pid), "perf has ended")
            files = poked.dumps(self.data)
            said = session.process.stderr.read()
        self.assertEqual(len(files), 2, said)
        for path in files:
            self.assert_readable(path)

    def test_killed_perf(self):
        with self.session() as session:
            os.kill(self.perf_pid, signal.SIGKILL)
            self.assertEqual(session.finish(), FAILED, session.__dict__)
        errors = session.of_type("error")
        self.assertEqual(len(errors), 1, session.lines)
        self.assertIn("perf (%d) exited: signal 9" % self.perf_pid, errors[0]["message"])
        self.assertEqual(session.summary["perf"]["status"], 128 + signal.SIGKILL)

    def test_workload_of_perf_ends(self):
        """perf record COMMAND ends with it, and the session with perf."""
        with self.session(command=self.command("sleep", "0.5"), limits=["--threshold",
                                                                        "1h"]) as session:
            self.assertEqual(session.finish(), NO_SPIKE, session.__dict__)
        self.assertEqual(session.summary["perf"]["status"], 0)


class Refused(ChildTest):
    def test_dies_at_once(self):
        for prefix in ([], common.CHILDREN_IGNORED):
            self.fails(FAILED, "perf exited before it was ready", "exit status 129",
                       command=self.command("--no-such-option"), prefix=prefix)

    def test_no_such_program(self):
        self.fails(FAILED, "'perf-none'", "No such file", command=self.command(perf="perf-none"))

    def test_waits_in_vain(self):
        """Time limits: for an answer on --control, and for a process to catch the signal."""
        perf = self.script("perf-mute", "exec sleep 100\n")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = [
                pool.submit(self.fails, FAILED, "perf-mute", "did not answer on --control",
                            command=self.command(perf=perf)),
                pool.submit(self.fails, FAILED, "installed no handler of the signal",
                            options=["--any-process"], command=["--", "sleep", "100"])
            ]
            for run in runs:
                run.result()

    def test_any_command(self):
        """With --any-process, the session waits until it catches the signal."""
        with self.session(
                "--any-process",
                command=["--", "python3", "-c", poked.COUNTER,
                         str(int(signal.SIGUSR2)), "600"]) as session:
            poked.spike(session, self.cpu)
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
        # It prints its thread and the signal, to standard error.
        self.assertIn("\n%d\n" % signal.SIGUSR2, session.stderr)


if __name__ == "__main__":
    common.main()
