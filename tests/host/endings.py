#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""However a session ends, complete captures stay, incomplete ones go, and nothing else is left
behind."""
import fcntl
import glob
import json
import os
import pty
import shutil
import signal
import subprocess
import termios

import common

NO_SPIKE = 3


class EndingTest(common.HostTest):
    def quiet_session(self, *args, **popen):
        return common.Session([self.cpu], self.output, *common.NO_SPIKES, *args, **popen)


class Signals(EndingTest):
    def check_without_spike(self, number):
        with self.quiet_session() as session:
            self.assertEqual(session.finish(number), NO_SPIKE)
        self.assertEqual(session.stderr, "")
        self.assertEqual([line["type"] for line in session.lines], ["armed", "summary"])
        self.assertFalse(os.path.exists(self.output))

    def check_with_spike(self, number):
        with common.Session([self.cpu], self.output, *common.SPIKES, "--count",
                            "100000") as session:
            with common.late(self.cpu):
                session.read_capture()
                session.read_capture()
                self.assertEqual(session.finish(number), 0)
        self.assertEqual(session.stderr, "")
        self.assertEqual(session.summary["captures"], len(session.captures))
        self.assertEqual(self.folders(),
                         sorted(os.path.basename(c["path"]) for c in session.captures))
        for capture in session.captures:
            self.assertEqual(len(self.samples(capture["path"])), capture["events"])

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                self.check_without_spike(number)
                self.check_with_spike(number)
                shutil.rmtree(self.output)

    def test_closing(self):
        """The kernel takes long to close tracepoints. The process that does it has nothing else:
        the name of the session is free."""
        for _ in range(3):
            with common.Session([self.cpu], self.output, "--threshold", "1h", *common.ALL_EVENTS,
                                "--workload", "none", "--session", "again") as session:
                self.assertEqual(session.finish(signal.SIGINT), NO_SPIKE)
        common.wait_for(lambda: not common.is_closing(), "tracepoints are closed")

    def test_human_summary(self):
        with common.late(self.cpu):
            result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                    *common.SPIKES)
        self.assertEqual(result.returncode, 0, result.stderr)
        folder = os.path.join(self.output, self.folders()[0])
        self.assertIn(folder, result.stdout)
        self.assertIn("perf script", result.stdout)
        self.assertIn("captures: 1 complete, 0 failed", result.stdout)
        self.assertNotIn("\r", result.stderr)
        self.assertIn("armed", result.stderr)

    def test_duration(self):
        before_ns = common.now_ns()
        with self.quiet_session("--duration", "1500ms") as session:
            self.assertEqual(session.finish(), NO_SPIKE)
        self.assertGreaterEqual(common.now_ns() - before_ns, 1500000000)
        self.assertGreaterEqual(session.summary["elapsed_ns"], 1500000000)


def members(session_id):
    """Processes of a session (setsid)."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session_id:
            found.append(path)
    return found


def threads_named(name):
    found = []
    for path in glob.glob("/proc/[0-9]*/task/[0-9]*/comm"):
        try:
            with open(path) as file:
                if file.read().strip() == name:
                    found.append(int(path.split("/")[2]))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def our_mounts():
    with open("/proc/self/mountinfo") as file:
        return [line for line in file if " - tracefs " in line or " - bpf " in line]


class Traces(EndingTest):
    """What a session has in the kernel."""

    def check_nothing_left(self, end):
        mounts, pins = our_mounts(), sorted(glob.glob("/sys/fs/bpf/**", recursive=True))
        thread = "pp-cyclic/%d" % self.cpu
        with common.Session([self.cpu], self.output, *common.SPIKES, "--count", "100000",
                            start_new_session=True) as session:
            with common.late(self.cpu):
                session.read_capture()
                objects = common.bpf_objects(session.pid)
                # They must be visible now, so that their absence later means something.
                self.assertEqual({kind for kind, _ in objects}, {"prog", "map", "link"})
                self.assertTrue(all(common.bpf_exists(*each) for each in objects))
                self.assertIn(session.pid, threads_named(thread))
                self.assertTrue(members(session.pid))
                self.assertEqual(our_mounts(), mounts)
                end(session)
        common.wait_for(lambda: not [each for each in objects if common.bpf_exists(*each)],
                        "its BPF programs, maps and links are gone")
        self.assertNotIn(session.pid, threads_named(thread))
        self.assertEqual(members(session.pid), [])
        self.assertEqual(our_mounts(), mounts)
        self.assertEqual(sorted(glob.glob("/sys/fs/bpf/**", recursive=True)), pins)

    def test_kill(self):
        def kill(session):
            session.process.kill()
            self.assertEqual(session.process.wait(timeout=common.PATIENCE), -signal.SIGKILL)
            # Its pins remain until the next start or stop: see sessions.py.
            self.assertEqual(common.run_ctl("stop", session.name).returncode, 0)

        self.check_nothing_left(kill)
        # A capture under its final name is complete.
        for name in set(self.folders()) - set(self.partial()):
            self.assertTrue(self.samples(os.path.join(self.output, name)))
            self.assertTrue(os.path.exists(os.path.join(self.output, name, "capture.json")))

    def test_interrupt(self):
        self.check_nothing_left(lambda session: self.assertEqual(session.finish(signal.SIGINT), 0))


class Sweep(EndingTest):
    """Half-written captures of a killed session are removed when the next one starts."""

    def make_partial(self):
        folder = os.path.join(self.output, ".session-1-1")
        self.write_half(folder)
        self.mark(folder)
        return folder

    def mark(self, folder):
        """As a session does that made the folder."""
        os.chmod(folder, 0o700)
        stat = os.stat(folder)
        with open(os.path.join(folder, ".perf-poke"), "w") as marker:
            marker.write("A folder of perf-poke, device %d, inode %d\n" %
                         (stat.st_dev, stat.st_ino))

    def write_half(self, folder):
        os.makedirs(os.path.join(folder, "1", "perf.data", "kcore_dir"))
        with open(os.path.join(folder, "1", "perf.data", "data"), "w") as file:
            file.write("half")

    def run_quietly(self):
        with self.quiet_session() as session:
            self.assertEqual(session.finish(signal.SIGINT), NO_SPIKE)

    def test_what_is_nobodys(self):
        os.mkdir(self.output)
        bystander = os.path.join(self.output, "20260101-000000.000-cpu0-1us")
        os.mkdir(bystander)
        self.make_partial()
        self.run_quietly()
        self.assertEqual(self.folders(), [os.path.basename(bystander)])

    def test_what_has_no_marker(self):
        """A name alone does not prove that perf-poke made it."""
        self.write_half(os.path.join(self.output, ".session-1-1"))
        self.run_quietly()
        self.assertEqual(self.folders(), [".session-1-1"])

    def test_what_a_living_session_writes(self):
        with self.quiet_session() as living:
            name, = self.partial()
            self.write_half(os.path.join(self.output, name))
            self.run_quietly()
            self.assertTrue(
                os.path.exists(os.path.join(self.output, name, "1", "perf.data", "data")))
            self.assertEqual(living.finish(signal.SIGINT), NO_SPIKE)
        self.assertFalse(os.path.exists(self.output))


class Streams(EndingTest):
    def test_stdin_closed(self):
        """The session then opens a file of its own as descriptor 0."""
        with common.late(self.cpu):
            result = subprocess.run([
                "sh", "-c", 'exec "$@" <&-', "sh", common.CTL, "start", "--json", "--cpu",
                str(self.cpu), "--output", self.output, *common.SPIKES, "--count", "2"
            ], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=common.PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        captures = common.of_type(common.parse_lines(result.stdout), "capture")
        self.assertEqual([capture["error"] for capture in captures], [None, None])
        for capture in captures:
            self.assertEqual(len(self.samples(capture["path"])), capture["events"])

    def test_nobody_reads(self):
        """With --json and no reader, the session ends at its first line."""
        reader, writer = os.pipe()
        os.close(reader)
        # A closed pipe ends it as it ends others.
        for out, code in ((writer, -signal.SIGPIPE), (os.open("/dev/full", os.O_WRONLY), 1)):
            self.addCleanup(os.close, out)
            result = subprocess.run([
                common.CTL, "start", "--json", "--cpu",
                str(self.cpu), "--output", self.output, *common.NO_SPIKES
            ], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
                                    timeout=common.PATIENCE)
            self.assertEqual(result.returncode, code)
            if code == 1:
                self.assert_one_line(result.stderr, "standard output")
            else:
                self.assertEqual(result.stderr, "")


class Run(EndingTest):
    """`run`: a session around a program."""

    def run_program(self, *words, spikes=common.NO_SPIKES):
        return common.run_ctl("run", "--cpu", str(self.cpu), "--output", self.output, *spikes,
                              "--json", "--", *words)

    def test_exit_code(self):
        for script, code in (("exit 0", NO_SPIKE), ("exit 7", 7), ("kill -9 $$", 128 + 9)):
            result = self.run_program("sh", "-c", script)
            self.assertEqual((result.returncode, result.stderr), (code, ""))
            summary = common.parse_lines(result.stdout)[-1]
            self.assertEqual(summary["program_exit_code"], code if code != NO_SPIKE else 0)
        result = self.run_program("/nonexistent/program")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'/nonexistent/program': No such file", result.stderr)

    def test_program_is_not_disturbed(self):
        """It has all CPUs, no priority, no signal blocked or ignored, and our streams."""
        result = self.run_program(
            "sh", "-c", "grep -h '^Sig[BI]\\|^Cpus_allowed:' /proc/self/status; chrt -p $$")
        alone = subprocess.run(
            ["sh", "-c", "grep -h '^Sig[BI]\\|^Cpus_allowed:' /proc/self/status"],
            capture_output=True, text=True, check=True).stdout
        for line in alone.splitlines():
            self.assertIn(line, result.stdout)
        self.assertIn("SCHED_OTHER", result.stdout)

    def test_worst_is_kept(self):
        with common.busy(self.cpu), common.late(self.cpu):
            result = self.run_program("sleep", "2", spikes=common.SPIKES)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = common.parse_lines(result.stdout)
        taken = common.of_type(lines, "capture")
        self.assertGreater(len(taken), 0)
        worst = max(capture["latency_ns"] for capture in taken)
        self.assertEqual([kept["latency_ns"] for kept in lines[-1]["kept"]], [worst])

    @staticmethod
    def children(pid):
        return [int(word) for word in common.read(f"/proc/{pid}/task/{pid}/children").split()]

    def test_start_that_hangs(self):
        """As if its file system did not answer: captures are taken all the same."""
        with subprocess.Popen([
                common.CTL, "run", "--cpu",
                str(self.cpu), "--output", self.output, *common.ANY_TIMER, "--count", "3",
                "--no-why", "--json", "--", "true"
        ], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as session:
            common.wait_for(lambda: self.children(session.pid), "the program's process")
            program = self.children(session.pid)[0]
            os.kill(program, signal.SIGSTOP)
            taken = [json.loads(session.stdout.readline())["type"] for _ in range(4)]
            os.kill(program, signal.SIGCONT)
            out, err = session.communicate(timeout=common.PATIENCE)
            self.assertEqual((session.returncode, err), (0, ""))
        self.assertEqual(taken, ["armed", "capture", "capture", "capture"])
        self.assertEqual(json.loads(out)["program_exit_code"], 0)

    def test_signals_that_are_ignored(self):
        """The second one kills."""
        with subprocess.Popen([
                common.CTL, "run", "--cpu",
                str(self.cpu), "--output", self.output, *common.NO_SPIKES, "--", "sh", "-c",
                "trap '' TERM; echo ignored; read line"
        ], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as session:
            self.assertEqual(session.stdout.readline(), "ignored\n")
            program = self.children(session.pid)[0]
            session.send_signal(signal.SIGTERM)
            common.wait_for(lambda: "no sessions" in common.run_ctl("status").stdout, "the end")
            self.assertIsNone(session.poll())
            session.send_signal(signal.SIGTERM)
            self.assertEqual(session.wait(timeout=common.PATIENCE), 128 + signal.SIGKILL)
            self.assertFalse(os.path.exists(f"/proc/{program}"))

    def test_interrupted_by_the_terminal(self):
        """The program has got the signal, and ends as it likes."""
        master, slave = pty.openpty()
        with subprocess.Popen([
                common.CTL, "run", "--cpu",
                str(self.cpu), "--output", self.output, *common.NO_SPIKES, "--", "sh", "-c",
                "trap 'sleep 1.5; exit 7' INT; echo ready; while :; do sleep 0.1; done"
        ], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              start_new_session=True,
                              preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) as session:
            self.assertEqual(session.stdout.readline(), "ready\n")
            os.write(master, b"\3")
            self.assertEqual(session.wait(timeout=common.PATIENCE), 7)
        os.close(master)
        os.close(slave)

    def test_ends_with_us(self):
        with subprocess.Popen([
                common.CTL, "run", "--cpu",
                str(self.cpu), "--output", self.output, *common.NO_SPIKES, "--", "sleep", "60"
        ], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as session:
            self.assertIn("armed", session.stderr.readline())
            session.send_signal(signal.SIGTERM)
            session.communicate(timeout=common.PATIENCE)
            self.assertEqual(session.returncode, 128 + signal.SIGTERM)


class Sentence(EndingTest):
    def test_of_each_capture(self):
        """Below its line, the one of report."""
        with common.late(self.cpu):
            result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                    *common.SPIKES, "--count", "2")
        self.assertEqual(result.returncode, 0)
        for number, name in enumerate(self.folders(), 1):
            report = common.run_ctl("report", "--json", os.path.join(self.output, name))
            sentence = json.loads(report.stdout)["sentence"]
            self.assertIn(f"perf-poke-ctl: capture {number}: {sentence}\n", result.stderr)

    def test_not_asked_for(self):
        with common.late(self.cpu):
            result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                    *common.SPIKES, "--no-why")
        self.assertEqual((result.returncode, result.stderr.count("capture 1: ")), (0, 1))


if __name__ == "__main__":
    common.main()
