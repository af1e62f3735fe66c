#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Pokes running processes: perf and others, several per spike, by each delivery, and never a wrong
one. A process that reuses a target's PID counts the signals that it gets.
"""
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys

import common
import poked

FAILED, USAGE, NO_SPIKE = 1, 2, 3
# If the kernel refuses a delivery, the session says so and the test skips. `tracepoint` needs a
# child of the session.
DELIVERIES = ["task-work", "fasync", "relay"]

# The namespaces of a container, with its own /proc; the command is process 1.
CONTAINER = [
    *(common.own_mounts() or ["unshare", "--mount"]), "--pid", "--uts", "--ipc", "--net",
    "--cgroup", "--fork", "--kill-child", "--mount-proc"
]


def poke_of(capture):
    return common.facts(capture["path"])["poke"]


@functools.cache
def capabilities():
    lines = common.parse_lines(common.run_ctl("check", "--json").stdout)
    return {line["name"]: line for line in lines if "name" in line}


def each_delivery(test):
    """Once for each way of delivery that this kernel has."""
    @functools.wraps(test)
    def run(self):
        for delivery in DELIVERIES:
            with self.subTest(delivery=delivery):
                self.need_delivery(delivery)
                test(self, delivery)
    return run


class PidTest(common.HostTest):
    def setUp(self):
        super().setUp()
        self.cpu = common.find_cpus(2)[-1]

    @contextlib.contextmanager
    def session(self, pids, *options, recorder="perf", limits=poked.THRESHOLD, **popen):
        targets = [word for pid in pids for word in ("--perf-pid", str(pid))]
        with common.Session([self.cpu], self.output, *limits, "--recorder", recorder, "--count",
                            "100000", *targets, *options, **popen) as session:
            self.assertEqual(session.lines[0]["targets"], list(pids))
            yield session

    def refuses(self, pid, code, *parts, options=(), prefix=()):
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                "--threshold", "1h", "--perf-pid", str(pid), *options,
                                prefix=prefix)
        self.assert_fails(result, code, *parts)

    def need_delivery(self, delivery):
        if delivery == "relay":
            return
        found = capabilities()[delivery.replace("-", "_")]
        if not found["have"]:
            self.skipTest("%s: %s" % (delivery, found["detail"]))


class Targets(PidTest):
    def test_several_perfs(self):
        """One spike pokes them all, and each writes a file."""
        if not shutil.which("perf"):
            self.skipTest("needs perf")
        with contextlib.ExitStack() as stack:
            perfs = [
                stack.enter_context(poked.perf_record(self.folder, self.cpu, name))
                for name in ("a", "b", "c")
            ]
            pids = [process.pid for process, _ in perfs]
            session = stack.enter_context(self.session(pids))
            for number in (1, 2):
                capture = poked.spike(session, self.cpu)
                for _, data in perfs:
                    common.wait_for(lambda data=data: len(poked.dumps(data)) >= number,
                                    "file %d of %s" % (number, data))
            self.assertEqual(poked.status(session)["targets"], pids)
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
            # The session does not end them.
            for process, _ in perfs:
                self.assertIsNone(process.poll())
        self.assertEqual([target["pid"] for target in poke_of(capture)["targets"]], pids)
        for _, data in perfs:
            for path in poked.dumps(data):
                self.assertIn("cpu-clock", self.perf("evlist", "-i", path))

    def test_beside_another_recorder(self):
        """Our own recorder freezes its trace, and perf is poked as well."""
        with poked.Counter() as counter, self.session([counter.pid], "--any-process",
                                                      recorder="events") as session:
            capture = poked.spike(session, self.cpu)
            counter.wait_signal()
            self.assertGreater(capture["events"], 0)
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)

    def test_signal(self):
        for name, number in (("usr1", signal.SIGUSR1), ("35", 35)):
            with self.subTest(name=name), poked.Counter(number) as counter, \
                    self.session([counter.pid], "--any-process", "--signal", name) as session:
                poked.spike(session, self.cpu)
                counter.wait_signal(number)
                self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)

    def test_poke_command(self):
        """perf-poke-ctl poke is a spike to the targets too."""
        with poked.Counter() as counter, self.session([counter.pid], "--any-process",
                                                      limits=["--threshold", "1h"]) as session:
            self.assertEqual(common.run_ctl("poke", session.name, "--wait").returncode, 0)
            counter.wait_signal()
            self.assertEqual(poke_of(session.read_capture())["targets"][0]["delivery"], "relay")
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)

    def test_thread(self):
        with poked.Counter() as counter, self.session([counter.thread], "--any-process") as session:
            capture = poked.spike(session, self.cpu)
            counter.wait_signal()
            target = poke_of(capture)["targets"][0]
            self.assertEqual((target["pid"], target["tid"]), (counter.pid, counter.thread))
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)

    def test_dropped_in_idle(self):
        """A kernel that drops samples in idle may do so once; still each spike is one signal."""
        with poked.Counter() as counter, self.session([counter.pid], "--any-process", "--delivery",
                                                      "fasync") as session:
            made = []
            # On a busy machine it takes several spikes until two are in idle.
            while len(made) < 6 and sum(capture["idle"] for capture in made) < 2:
                made.append(poked.spike(session, self.cpu))
                counter.wait_signal()
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
            signals = len(made) + counter.count()
        last = poke_of(session.captures[-1])["targets"][0]
        # A busy machine has more spikes than the test makes.
        self.assertEqual(signals + last["merged"], len(session.captures), last)
        idle = sum(capture["idle"] for capture in session.captures)
        refused = last["refused"].get("fasync", 0)
        if idle < 2 or not refused or len(session.captures) > len(made):
            self.skipTest("%d of %d spikes in idle, %d dropped, %d made" %
                          (idle, len(session.captures), refused, len(made)))
        self.assertEqual(refused, idle, last)
        self.assertEqual(last["sent"]["fasync"], len(made) - idle + 1, last)
        self.assertEqual(last["sent"]["relay"], idle, last)

    def test_mixed(self):
        """A stopped target with a queued callback accepts no second one, so its perf event signals
        it. The other target gets its callback, and no signal from that event.
        """
        self.need_delivery("task-work")
        # Keep the CPU busy: in idle a kernel may drop samples.
        busy = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
        with poked.Counter() as stopped, poked.Counter() as other, \
                common.running(busy, ready=True, cpus={self.cpu}), \
                self.session([stopped.pid, other.pid], "--any-process",
                             "--delivery", "task-work") as session:
            stopped.process.send_signal(signal.SIGSTOP)
            for _ in range(3):
                poked.spike(session, self.cpu)
            stopped.process.send_signal(signal.SIGCONT)
            stopped.wait_signal()
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
            signals = other.count()
        folders = sorted(os.listdir(self.output))
        one, two = poke_of({"path": os.path.join(self.output, folders[-1])})["targets"]
        # A busy machine has more spikes than the test makes.
        spikes = len(folders)
        self.assertEqual(two["merged"] + signals, spikes, two)
        # So does a target that has no turn between two spikes.
        for target in (one, two):
            sent, refused = target["sent"], target["refused"]
            self.assertGreater(sent["task-work"], 0, target)
            self.assertEqual(refused.get("task-work", 0), sent.get("fasync", 0), target)
            self.assertEqual(sum(sent.values()), spikes, target)
        self.assertGreater(one["sent"].get("fasync", 0), two["sent"].get("fasync", 0))

    def test_ends(self):
        """An ended target is reported and the others are still poked; the session ends with the
        last."""
        with poked.Counter() as one, poked.Counter() as other, \
                self.session([one.pid, other.pid], "--any-process") as session:
            one.process.kill()
            one.process.wait()
            poked.spike(session, self.cpu)
            other.wait_signal()
            other.process.kill()
            other.process.wait()
            self.assertEqual(session.finish(), 0, session.__dict__)
        for counter in (one, other):
            self.assertIn("target %d" % counter.pid, session.stderr)
        self.assertEqual(session.stderr.count("has ended"), 2, session.stderr)


class Refused(PidTest):
    def test_default_action(self):
        """SIGUSR2 would end it."""
        with common.running(["sleep", "100"]) as process:
            # It is the target only after exec().
            common.wait_for(lambda: os.readlink("/proc/%d/exe" % process.pid).endswith("sleep") or
                            "python" not in os.readlink("/proc/%d/exe" % process.pid), "sleep runs")
            self.refuses(process.pid, USAGE, "target %d" % process.pid, "does not look like perf")
            self.refuses(process.pid, USAGE, "target %d" % process.pid, "does not catch", "SIGUSR2",
                         options=["--any-process"])

    def test_perf_that_does_not_catch(self):
        """perf record without -S or --switch-output takes no SIGUSR2."""
        if not shutil.which("perf"):
            self.skipTest("needs perf")
        with common.running(["perf", "stat", "-e", "cpu-clock", "-C", str(self.cpu)]) as process:
            common.wait_for(lambda: "perf" in os.readlink("/proc/%d/exe" % process.pid),
                            "perf runs")
            self.refuses(process.pid, USAGE, "target %d" % process.pid, "does not catch",
                         "perf record")

    def test_nobody(self):
        pid = poked.free_pid()
        self.refuses(pid, FAILED, "target %d" % pid, "no such process")


class Namespace(PidTest):
    """PIDs are those of the caller's namespace."""

    def setUp(self):
        super().setUp()
        if subprocess.run([*CONTAINER, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("namespaces are not allowed here")

    def inner(self, outer):
        """The PID, in our namespace, of a process's child."""
        with open("/proc/%d/task/%d/children" % (outer, outer)) as file:
            return int(file.read())

    @each_delivery
    def test_target_inside(self, delivery):
        """The target is PID 1 there, and has another PID here."""
        with poked.Counter(command=CONTAINER) as counter:
            pid = self.inner(counter.pid)
            with self.session([pid], "--any-process", "--delivery", delivery) as session:
                poked.spike(session, self.cpu)
                counter.wait_signal()
                self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)

    @each_delivery
    def test_both_inside(self, delivery):
        """The PID given to the session inside belongs to another process outside, which gets no
        signal."""
        poked.need_newcomers(self)
        code = """
import json, os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
import common, poked
with open("/proc/sys/kernel/ns_last_pid", "w") as file:
    file.write(str(int(sys.stdin.readline()) - 1))
with poked.Counter() as counter:
    print(counter.pid, flush=True)
    sys.stdin.readline()
    with common.Session([%d], sys.argv[2], *poked.THRESHOLD, "--count", "100",
                        "--recorder", "perf", "--any-process",
                        "--delivery", "%s", "--perf-pid", str(counter.pid)) as session:
        poked.spike(session, %d)
        counter.wait_signal()
        assert session.finish(signal.SIGINT) == 0, session.__dict__
print("fine", flush=True)
""" % (self.cpu, delivery, self.cpu)
        with subprocess.Popen([*CONTAINER, "python3", "-c", code, common.HERE, self.output],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as outer:
            outer.stdin.write("%d\n" % poked.free_pid())
            outer.stdin.flush()
            with poked.Newcomer(int(outer.stdout.readline())) as bystander:
                out, _ = outer.communicate("\n", timeout=common.PATIENCE)
                self.assertEqual((outer.returncode, out), (0, "fine\n"))
                self.assertFalse(bystander.has_signal())


class Reused(PidTest):
    """A process that reuses the PID of an ended target gets no signal by any delivery."""

    def setUp(self):
        super().setUp()
        poked.need_newcomers(self)

    def check(self, delivery, stopped):
        """stopped: the controller is stopped, so it cannot notice before the spike that the target
        has ended."""
        with poked.Counter() as other, poked.Counter() as target, \
                self.session([target.pid, other.pid], "--any-process",
                             "--delivery", delivery) as session:
            poked.spike(session, self.cpu)
            target.wait_signal()
            other.wait_signal()
            if stopped:
                session.process.send_signal(signal.SIGSTOP)
            target.process.kill()
            target.process.wait()
            before = poked.status(session)["all"]["spikes"]
            with poked.Newcomer(target.pid) as newcomer:
                if stopped:
                    with common.late(self.cpu, poked.SPIN_US, 200):
                        common.wait_for(lambda: poked.status(session)["all"]["spikes"] > before,
                                        "another spike")
                    session.process.send_signal(signal.SIGCONT)
                    session.read_capture()
                else:
                    poked.spike(session, self.cpu)
                other.wait_signal()
                self.assertFalse(newcomer.has_signal(), "the newcomer was signalled")
                # The test can signal it, so the counter works.
                os.kill(newcomer.pid, signal.SIGUSR2)
                self.assertTrue(newcomer.has_signal(common.PATIENCE))
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
        self.assertIn("target %d" % target.pid, session.stderr)

    @each_delivery
    def test_noticed(self, delivery):
        self.check(delivery, stopped=False)

    @each_delivery
    def test_unnoticed(self, delivery):
        self.check(delivery, stopped=True)


class Changed(PidTest):
    """Targets that the signal would now end: one runs another program, one has restored the default
    action. They get no signal by any delivery, and are dropped with a message.
    """

    @each_delivery
    def test_changed(self, delivery):
        with poked.Counter() as other, poked.Counter() as execs, poked.Counter() as resets, \
                self.session([execs.pid, resets.pid, other.pid], "--any-process",
                             "--delivery", delivery) as session:
            poked.spike(session, self.cpu)
            for counter in (execs, resets, other):
                counter.wait_signal()
            execs.change("exec")
            resets.change("reset")
            # If the next spike comes too soon, as on a busy machine, a capture does not describe
            # its signal.
            captures = []
            while len(captures) < 2 or [True, True, False] not in captures and len(captures) < 10:
                capture = poked.spike(session, self.cpu)
                captures.append(
                    [target["delivery"] is None for target in poke_of(capture)["targets"]])
            other.wait_signal()
            self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)
            self.assertEqual((execs.process.poll(), resets.process.poll()), (None, None),
                             "ended by " + delivery)
        dropped = [line for line in session.stderr.splitlines() if "no longer poked" in line]
        self.assertEqual(len(dropped), 2, session.stderr)
        for counter, why, line in zip(
            (execs, resets), ("runs another program now", "no longer catches the signal"), dropped):
            self.assertIn("target %d (" % counter.pid, line)
            self.assertIn(why, line)
        self.assertIn([True, True, False], captures)


class Killed(PidTest):
    """Nothing continues in the kernel once the controller is gone."""

    @each_delivery
    def test_kill(self, delivery):
        with poked.Counter() as counter:
            with self.session([counter.pid], "--any-process", "--delivery", delivery) as session:
                poked.spike(session, self.cpu)
                counter.wait_signal()
                links = {each for each in common.bpf_objects(session.pid) if each[0] == "link"}
                session.process.kill()
                session.process.wait()
            common.wait_for(lambda: not [each for each in links if common.bpf_exists(*each)],
                            "its links are gone")
            # Output from before
            counter.count()
            with common.late(self.cpu, poked.SPIN_US, 200), common.ticker(self.cpu, 1000):
                self.assertFalse(counter.has_signal(0.5), "signalled by a session that was killed")
            folders = os.listdir(os.path.join(common.BPFFS, "perf-poke"))
            self.assertEqual(folders, [session.name])
            with self.session([counter.pid], "--any-process", "--delivery", delivery) as session:
                self.assertEqual(os.listdir(os.path.join(common.BPFFS, "perf-poke")),
                                 [session.name])
                poked.spike(session, self.cpu)
                counter.wait_signal()
                # A busy machine has more spikes than the test makes.
                self.assertLessEqual(1 + counter.count(), poked.status(session)["pokes"])
                self.assertEqual(session.finish(signal.SIGINT), 0, session.__dict__)


if __name__ == "__main__":
    common.main()
