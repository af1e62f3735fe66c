#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Nobody else stops a session, feeds it or makes it wait: other users, readers that do not read."""
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import common

# Every timer is late, and nothing is recorded.
ANY = ["--threshold", "1us", "--recorder", "none", "--workload", "cyclic"]


class Others(common.HostTest):
    def start(self, *args, **popen):
        command = [
            common.CTL, "start", "--cpu",
            str(self.cpu), "--output", self.output, *ANY, *args
        ]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **popen)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def test_a_lock_on_the_folder_of_metrics(self):
        """As nobody, who may read it."""
        folder = os.path.join(self.folder, "metrics")
        os.mkdir(folder, 0o755)
        os.chmod(self.folder, 0o755)
        code = "import os, fcntl, time; fcntl.flock(os.open(%r, 0), fcntl.LOCK_EX); " \
               "print(flush=True); time.sleep(60)" % folder
        with common.running(
            [*common.setpriv("--reuid=65534", "--clear-groups"), "/usr/bin/python3", "-c", code],
                ready=True):
            with common.Session([self.cpu], self.output, *ANY, "--count", "10", "--cooldown",
                                "10ms", "--metrics", os.path.join(folder, "m.prom")) as session:
                self.assertEqual(session.finish(), 0)
        self.assertEqual(len(session.captures), 10)
        # It was 2 s for each.
        self.assertLess(max(capture["skid_ns"] for capture in session.captures), 1500000000)
        self.assertIn("perf_poke_session_armed", common.read(os.path.join(folder, "m.prom")))
        self.assertEqual(os.listdir(folder), ["m.prom"])

    def test_a_reader_that_does_not_read(self):
        """Neither of results nor of messages."""
        pipes = [os.pipe(), os.pipe()]
        for _, sink in pipes:
            fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, 4096)
        process = self.start("--json", "--count", "400", stdout=pipes[0][1], stderr=pipes[1][1])
        for _, sink in pipes:
            os.close(sink)
        # More than a pipe takes.
        common.wait_for(
            lambda: os.path.isdir(self.output) and len(
                [name for name in self.folders() if name[0] != "."]) == 400, "400 captures")
        with os.fdopen(pipes[1][0]) as err, os.fdopen(pipes[0][0]) as out:
            drain = threading.Thread(target=err.read)
            drain.start()
            lines = common.parse_lines(out.read())
            drain.join()
        self.assertEqual(process.wait(timeout=common.PATIENCE), 0)
        self.assertEqual(len(common.of_type(lines, "capture")), 400)
        self.assertEqual(lines[-1]["type"], "summary")

    def test_nobody_reads_at_the_end(self):
        """A second signal gives up what nobody reads; the session had ended before."""
        source, sink = os.pipe()
        fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, 4096)
        process = self.start("--json", "--count", "100000", stdout=sink, stderr=subprocess.DEVNULL)
        os.close(sink)
        common.wait_for(lambda: os.path.isdir(self.output) and len(self.folders()) > 30,
                        "some captures")
        process.send_signal(signal.SIGTERM)
        common.wait_for(lambda: not self.partial(), "the end of the session")
        self.assertEqual(common.run_ctl("status", "--json").stdout, "")
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=common.PATIENCE), 1)
        os.close(source)

    def test_a_target_that_blocks_the_signal(self):
        """Pending signals outlive execve(): the next program, which has no handler, unblocks
        them."""
        code = ("import os, signal, sys, time\n"
                "signal.signal(signal.SIGUSR2, lambda *_: None)\n"
                "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])\n"
                "print(flush=True)\n"
                "sys.stdin.read(1)\n"
                "time.sleep(0.3)\n"
                "os.execl('/bin/sh', 'sh', '-c', 'sleep 0.2; true')\n")
        for delivery in ("task-work", "fasync", "relay"):
            with self.subTest(delivery=delivery):
                target = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE)
                target.stdout.readline()
                with common.Session([self.cpu], self.output, *ANY, "--count", "1000000",
                                    "--keep-worst", "1", "--any-process", "--delivery", delivery,
                                    "--perf-pid", str(target.pid)) as session:
                    target.communicate(b"x")
                    session.finish(signal.SIGINT)
                self.assertEqual(target.returncode, 0)
                pokes = [common.facts(capture["path"])["poke"]["targets"][0]
                         for capture in session.captures if os.path.exists(capture["path"])]
                self.assertTrue(pokes, session.lines)
                self.assertGreater(pokes[-1]["refused"].get("relay", 0), 0, pokes[-1])
                self.assertEqual(sum(pokes[-1]["sent"].values()), 0, pokes[-1])

    def test_a_cpu_that_comes_back(self):
        """It has the idle states of a boot, which the session limits again."""
        cpu = max(os.sched_getaffinity(0))
        state, online = ("/sys/devices/system/cpu/cpu%d/%s" % (cpu, name)
                         for name in ("cpuidle/state1/disable", "online"))
        if not os.path.exists(online) or not os.path.exists(state) or common.read(state) != "0\n":
            self.skipTest(
                "CPU %d cannot be taken offline, or has no idle state that can be disabled" % cpu)
        with common.Session([cpu], self.output, *common.NO_SPIKES, "--deepest-idle-state",
                            "0") as session:
            self.assertEqual(common.read(state), "1\n")
            self.switch(online, "0")
            self.switch(online, "1")
            common.wait_for(lambda: common.read(state) == "1\n", "the limit")
            session.finish(signal.SIGINT)
        self.assertEqual(common.read(state), "0\n")
        self.assertNotIn("not restored", session.stderr)

    def switch(self, path, text):
        try:
            with open(path, "w") as file:
                file.write(text)
        except OSError as error:
            self.skipTest("%s: cannot write %s: %s" % (path, text, error))


if __name__ == "__main__":
    common.main()
