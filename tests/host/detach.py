#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A session in the background: the command ends once it is armed, later messages are in the log,
and a service manager is notified.
"""
import contextlib
import ctypes
import glob
import os
import re
import select
import shutil
import signal
import socket
import subprocess

import common

FAILED = 1
USAGE = 2
NO_SPIKE = 3
PR_SET_CHILD_SUBREAPER = 36
WITH_SYSTEMD = os.environ["PERF_POKE_SYSTEMD"] == "1"
UNIT = os.path.join(os.environ["PERF_POKE_SOURCE"], "src/ctl/perf-poke@.service.in")
LINE = re.compile(
    r"perf-poke-ctl: session (\S+), pid (\d+), log (\S+); see it with perf-poke-ctl status (\S+), "
    r"end it with perf-poke-ctl stop (\S+)\n")
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d{4} perf-poke-ctl\[%d\]: "


class DetachTest(common.HostTest):
    def setUp(self):
        super().setUp()
        # The session's parent has exited, so this process, a subreaper, gets the exit code.
        self.assertEqual(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        self.cpu = common.find_cpus(1)[0]
        self.pids = set()
        self.addCleanup(self.kill_left)

    def kill_left(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        # What closes the tracepoints of a session.
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)

    def start(self, *args, limits=common.NO_SPIKES, **options):
        return common.run_ctl("start", "--detach", "--cpu", str(self.cpu), "--output", self.output,
                              *limits, *args, **options)

    def started(self, result):
        """The PID and the log of a session, from the printed line."""
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        match = LINE.fullmatch(result.stderr)
        self.assertTrue(match, result.stderr)
        self.assertEqual({match[1], match[4], match[5]}, {match[1]})
        self.pids.add(int(match[2]))
        return int(match[2]), match[3]

    def end(self, pid, number=signal.SIGTERM):
        """Its exit code."""
        if number is not None:
            os.kill(pid, number)
        status = []

        def has_ended():
            status[:] = os.waitpid(pid, os.WNOHANG)
            return status[0]

        common.wait_for(has_ended, "the session has ended")
        self.pids.discard(pid)
        return os.waitstatus_to_exitcode(status[1])

    def has_line(self, pid, text, part):
        self.assertTrue(re.search("^" + STAMP % pid + part, text, re.M), text)


class Background(DetachTest):
    def test_captures(self):
        log = os.path.join(self.folder, "log")
        pid, where = self.started(self.start("--log", log, "--count", "100", limits=common.SPIKES))
        self.assertEqual(where, log)
        with common.late(self.cpu):
            common.wait_for(lambda: "capture 2:" in common.read(log), "two captures")
        self.assertEqual(self.end(pid), 0)
        text = common.read(log)
        self.has_line(pid, text, r"armed: session %d, CPU %d, " % (pid, self.cpu))
        folders = [name for name in self.folders() if not name.startswith(".")]
        for number, name in enumerate(folders, 1):
            path = os.path.join(self.output, name)
            self.has_line(pid, text, r"capture %d: .* %s$" % (number, re.escape(path)))
            self.samples(path)
        # The complete results.
        self.assertIn("\n  CPU     expiries", text)
        self.assertTrue(
            re.search(r"\ncaptures: %d complete, 0 failed, in \S+\n$" % len(folders), text), text)

    def test_json(self):
        log = os.path.join(self.folder, "log")
        result = self.start("--log", log, "--json", "--count", "1", limits=common.SPIKES)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        line, = common.parse_lines(result.stdout)
        self.pids.add(line["pid"])
        self.assertEqual((line["type"], line["log"]), ("detached", log))
        with common.late(self.cpu):
            self.assertEqual(self.end(line["pid"], None), 0)
        self.assertEqual([line["type"] for line in common.parse_lines(common.read(log))],
                         ["armed", "capture", "summary"])

    def test_log_among_captures(self):
        """A relative --log, as without a journal; its folder is created."""
        self.output = "captures"
        prefix = common.unshared("mount -t tmpfs tmpfs /run/systemd") if os.path.exists(
            "/run/systemd") else ()
        pid, where = self.started(self.start(cwd=self.folder, prefix=prefix))
        self.assertTrue(re.fullmatch(r"captures/\S+\.log", where), where)
        self.assertEqual(self.end(pid), NO_SPIKE)
        self.assertIn("captures: 0 complete", common.read(os.path.join(self.folder, where)))

    def test_nothing_of_the_caller(self):
        """The session keeps neither the terminal nor descriptors of the caller: readers of a pipe
        see its end.
        """
        reader, writer = os.pipe()
        with os.fdopen(reader) as pipe:
            os.set_inheritable(writer, True)
            start = [
                "start", "--detach", "--cpu",
                str(self.cpu), "--output", "captures", "--log", "log", *common.NO_SPIKES
            ]
            process = subprocess.Popen(
                ["sh", "-c", 'umask 027; exec "$@"', "sh", common.CTL, *start], cwd=self.folder,
                stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE, text=True,
                pass_fds=[writer])
            os.close(writer)
            callers = os.readlink("/proc/self/fd/%d" % reader)
            _, stderr = process.communicate(timeout=common.PATIENCE)
            pid, _ = self.started(subprocess.CompletedProcess([], process.returncode, "", stderr))
            self.assertTrue(
                select.select([pipe], [], [], common.PATIENCE)[0], "the pipe is held open")
            self.assertEqual(pipe.read(), "")
        descriptors = {os.readlink(path) for path in glob.glob("/proc/%d/fd/*" % pid)}
        self.assertEqual(
            [path for path in descriptors if path.startswith((callers, "/dev/pts", "/dev/tty"))],
            [])
        self.assertEqual([os.readlink("/proc/%d/fd/%d" % (pid, fd)) for fd in range(3)],
                         ["/dev/null"] * 3)
        self.assertEqual(os.getsid(pid), pid)
        self.assertEqual(os.readlink("/proc/%d/cwd" % pid), os.path.realpath(self.folder))
        self.assertEqual(os.stat(os.path.join(self.folder, "log")).st_mode & 0o777, 0o600)
        os.kill(pid, signal.SIGHUP)
        self.assertEqual(self.end(pid), NO_SPIKE)

    def test_terminal_is_closed(self):
        """Closing a terminal hangs up its processes."""
        master, slave = os.openpty()
        program = (
            "import fcntl, os, sys, termios\nos.setsid()\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
            "os.execv(sys.argv[1], sys.argv[1:])")
        log = os.path.join(self.folder, "log")
        process = subprocess.run([
            "python3", "-c", program, common.CTL, "start", "--detach", "--cpu",
            str(self.cpu), "--output", self.output, "--log", log, *common.NO_SPIKES
        ], stdin=slave, stdout=slave, stderr=subprocess.PIPE, text=True, timeout=common.PATIENCE)
        pid, _ = self.started(
            subprocess.CompletedProcess([], process.returncode, "", process.stderr))
        os.close(slave)
        os.close(master)
        self.assertEqual(self.end(pid), NO_SPIKE)
        self.assertIn("captures: 0 complete", common.read(log))

    def test_log_is_appended_to(self):
        log = os.path.join(self.folder, "log")
        with open(log, "w") as file:
            file.write("before\n")
        # The output that standard error gets in the foreground.
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output, "--log",
                                log, "--duration", "100ms", *common.NO_SPIKES)
        self.assertEqual((result.returncode, result.stderr), (NO_SPIKE, ""))
        self.assertIn("captures: 0 complete", result.stdout)
        text = common.read(log)
        self.assertTrue(
            re.fullmatch("before\n" + STAMP.replace("%d", r"\d+") + "armed: .*\n", text), text)


class Failures(DetachTest):
    """Failures before arming behave as in the foreground."""

    def test_before_armed(self):
        for prefix in ([], common.CHILDREN_IGNORED):
            self.assert_fails(self.start("--function", "no_such_symbol", prefix=prefix), USAGE,
                              "function", "'no_such_symbol'")
        self.assert_fails(self.start("--log", "/no/such/log"), USAGE, "--log", "'/no/such/log'",
                          "No such file")
        self.assertFalse(os.path.exists(self.output))
        with open(self.output, "w"):
            pass
        self.assert_fails(self.start(), FAILED, "output", "'%s'" % self.output)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_caller_is_killed(self):
        """If the command is killed before it has printed the session, the session ends too."""
        log = os.path.join(self.folder, "log")
        process = subprocess.Popen([
            common.CTL, "start", "--detach", "--cpu",
            str(self.cpu), "--output", self.output, "--log", log, *common.NO_SPIKES
        ], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children = "/proc/%d/task/%d/children" % (process.pid, process.pid)
        while not os.path.exists(log):
            self.assertIsNone(process.poll())
        pid = int(common.read(children))
        os.kill(pid, signal.SIGSTOP)  # Before it has loaded its programs.
        process.kill()
        self.assertEqual(process.wait(), -signal.SIGKILL)
        os.kill(pid, signal.SIGCONT)
        self.pids.add(pid)
        with open(log) as file:
            self.assertEqual(self.end(pid, None), FAILED)
            self.has_line(pid, file.read(), "--detach: the command exited before")


class Manager(DetachTest):
    def setUp(self):
        super().setUp()
        if not WITH_SYSTEMD:
            self.skipTest("this build is without libsystemd")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.settimeout(common.PATIENCE)
        path = os.path.join(self.folder, "notify")
        self.socket.bind(path)
        self.env = {**os.environ, "NOTIFY_SOCKET": path}

    def receive(self):
        return self.socket.recv(4096).decode().split("\n")

    def messages(self):
        """All messages up to the one that says it is stopping."""
        while True:
            message = self.receive()
            yield message
            if "STOPPING=1" in message:
                return

    def test_foreground(self):
        with common.Session([self.cpu], self.output, "--count", "2", *common.SPIKES,
                            env=self.env) as session:
            self.assertEqual(self.receive(), ["READY=1"])
            with common.late(self.cpu):
                self.assertEqual(session.finish(), 0)
        messages = list(self.messages())
        self.assertTrue(
            any(re.fullmatch(r"STATUS=.* spikes?  1/2 captures", m[0]) for m in messages), messages)
        self.socket.setblocking(False)
        self.assertRaises(BlockingIOError, self.receive)

    def test_detached(self):
        pid, _ = self.started(self.start(env=self.env, cwd=self.folder))
        self.assertEqual(self.receive(), ["READY=1"])
        self.assertEqual(self.receive(), ["MAINPID=%d" % pid])
        self.assertEqual(self.end(pid), NO_SPIKE)
        self.assertIn("STOPPING=1", list(self.messages())[-1])

    def test_not_armed(self):
        result = self.start("--function", "no_such_symbol", env=self.env)
        self.assertEqual(result.returncode, USAGE)
        self.socket.setblocking(False)
        self.assertRaises(BlockingIOError, self.receive)

    def test_unit_file(self):
        """The unit's restrictions still allow a session."""
        names = " ".join(re.findall(r"^CapabilityBoundingSet=(.*)", common.read(UNIT),
                                    re.M)).split()
        kept = ",".join("+" + name[4:].lower() for name in names)
        # systemd mounts bpffs.
        tracing = common.unshared(
            "test -d /sys/kernel/tracing/events || mount -t tracefs tracefs /sys/kernel/tracing")
        prefix = [*tracing, *common.setpriv("--no-new-privs", "--bounding-set", "-all," + kept)]
        with common.late(self.cpu):
            result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                    *common.SPIKES, prefix=prefix)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("real-time", result.stderr)
        path, = (os.path.join(self.output, name) for name in self.folders())
        self.assertIn("sched:sched_switch",
                      self.perf("script", "-i", os.path.join(path, "perf.data")))


class Journal(DetachTest):
    """A private journal."""

    def setUp(self):
        super().setUp()
        self.journald = shutil.which("systemd-journald", path="/usr/lib/systemd:/lib/systemd")
        if not WITH_SYSTEMD:
            self.skipTest("this build is without libsystemd")
        if not self.journald or not shutil.which("journalctl"):
            self.skipTest("needs systemd-journald and journalctl")

    @contextlib.contextmanager
    def journal(self):
        """Gives a prefix for programs that use it."""
        os.makedirs("/etc/systemd", exist_ok=True)
        # It must not change kernel auditing of the machine.
        argv = [
            *common.unshared(
                "mount -t tmpfs tmpfs /run\nmkdir -p /run/systemd/journal\nmount -t tmpfs tmpfs "
                "/etc/systemd\n"
                "printf '[Journal]\\nAudit=\\nReadKMsg=no\\nStorage=volatile\\n' "
                ">/etc/systemd/journald.conf\n"
                "echo"), self.journald
        ]
        with common.running(argv, ready=True) as process:
            prefix = ["nsenter", "-t", str(process.pid), "-m", "--wd=" + self.folder]
            common.wait_for(
                lambda: subprocess.run([*prefix, "test", "-S", "/run/systemd/journal/socket"]).
                returncode == 0, "a journal")
            yield prefix

    def entries(self, prefix, pid):
        result = subprocess.run([*prefix, "journalctl", "--sync"], stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 0, result.stderr)
        output = subprocess.run([*prefix, "journalctl", "-o", "json", "--all", "_PID=%d" % pid],
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        return common.parse_lines(output)

    def test_journal(self):
        with self.journal() as prefix:
            pid, where = self.started(self.start(prefix=prefix))
            self.assertEqual(where, "journal")
            self.assertEqual(self.end(pid), NO_SPIKE)
            entries = self.entries(prefix, pid)
            self.assertEqual({entry["SYSLOG_IDENTIFIER"] for entry in entries}, {"perf-poke-ctl"})
            self.assertTrue(entries[0]["MESSAGE"].startswith("armed: "), entries[0])
            self.assertEqual([entry["PRIORITY"] for entry in entries], ["6", "6"])
            # The results are a single entry.
            self.assertTrue(entries[-1]["MESSAGE"].startswith("  CPU     expiries"), entries[-1])
            self.assertIn("\ncaptures: 0 complete", entries[-1]["MESSAGE"])

    def run_logged(self, prefix, *args):
        """The exit code of a session in the foreground, and what it wrote to the journal."""
        process = subprocess.Popen([
            *prefix, common.CTL, "start", "--log", "journal", "--cpu",
            str(self.cpu), "--output", self.output, *common.NO_SPIKES, *args
        ], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.communicate(timeout=common.PATIENCE)[1], b"")
        return process.returncode, self.entries(prefix, process.pid)

    def test_priorities(self):
        weak = common.setpriv("--bounding-set", "-sys_nice")
        with self.journal() as prefix:
            code, entries = self.run_logged(prefix, "--function", "no_such_symbol")
            self.assertEqual((code, [entry["PRIORITY"] for entry in entries]), (USAGE, ["3"]))
            self.assertIn("'no_such_symbol'", entries[0]["MESSAGE"])
            code, entries = self.run_logged([*prefix, *weak], "-v", "--workload", "none",
                                            "--duration", "100ms")
            self.assertEqual(code, NO_SPIKE)
            for part, priority in (("no real-time priority", "4"), ("armed: ", "6"), ("libbpf: ",
                                                                                      "7")):
                self.assertEqual(
                    {entry["PRIORITY"] for entry in entries if entry["MESSAGE"].startswith(part)},
                    {priority})

    def test_no_journal(self):
        prefix = common.unshared("mount -t tmpfs tmpfs /run")
        self.assert_fails(self.start("--log", "journal", prefix=prefix), USAGE, "--log",
                          "'journal'", "use a file")


if __name__ == "__main__":
    common.main()
