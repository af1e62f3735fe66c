#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sessions that other processes see, poke and stop, and what is left of one that was killed."""
import contextlib
import os
import shutil
import signal
import stat
import subprocess
import time
import unittest

import common
import errors
import poked

PINS = os.path.join(common.BPFFS, "perf-poke")
FAILED, USAGE, NO_SPIKE = 1, 2, 3


def pins():
    return sorted(os.listdir(PINS)) if os.path.exists(PINS) else []


def status(*args):
    result = common.run_ctl("status", "--json", *args)
    assert (result.returncode, result.stderr) == (0, ""), result
    return common.parse_lines(result.stdout)


def parent_and_start(pid):
    """The start time is in clock ticks since boot."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[1]), int(fields[19])


class SessionTest(common.HostTest):
    def setUp(self):
        super().setUp()
        self.assertEqual(pins(), [])

    def session(self, *args, cpus=None, limits=common.NO_SPIKES, **popen):
        return common.Session(cpus or [self.cpu], self.output, *limits, "--count", "100000", *args,
                              **popen)

    def end(self, session, code=NO_SPIKE):
        """By `stop`, which returns once nothing of the session is visible."""
        result = common.run_ctl("stop", session.name)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertNotIn(session.name.replace(".", ":"), pins())
        self.assertEqual(session.finish(), code, session.__dict__)
        self.assertEqual(session.stderr, "")

    def start(self, *args, cpu=None, prefix=()):
        return common.run_ctl("start", "--cpu", str(cpu or self.cpu), "--output", self.output,
                              "--duration", "100ms", *common.NO_SPIKES, *args, prefix=prefix)


class Status(SessionTest):
    def test_none(self):
        result = common.run_ctl("status")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, "no sessions\n", ""))
        self.assertEqual(status(), [])
        self.assert_fails(common.run_ctl("status", "x"), FAILED, "'x'")
        for command in ("stop", "poke"):
            self.assert_fails(common.run_ctl(command), FAILED, "no session")
            self.assert_fails(common.run_ctl(command, "x"), FAILED, "'x'")
            self.assert_fails(common.run_ctl(command, "../x"), FAILED, "'../x'")
        result = common.run_ctl("stop", "--all")
        self.assertEqual(result.returncode, 0)
        self.assert_one_line(result.stderr, "no session")
        self.assert_fails(common.run_ctl("stop", "--all", "x"), USAGE, "--all", "'x'")

    def test_numbers(self):
        """What others see of a quiet session is what its own summary says."""
        with self.session("--function", "hrtimer_wakeup", "--period", "2ms", "--session",
                          "a.b-C_1") as session:
            self.assertEqual(session.name, "a.b-C_1")
            common.wait_for(lambda: status()[0]["all"]["count"] > 20, "expiries are counted")
            before = status(session.name)[0]
            # The thread of the CPU sleeps 2 ms at a time.
            common.wait_for(lambda: status()[0]["all"]["count"] > before["all"]["count"],
                            "more of them")
            self.end(session)
        summary = session.summary["all"]
        self.assertEqual(before["session"], "a.b-C_1")
        self.assertTrue(before["alive"])
        self.assertEqual(before["threshold_ns"], 3600 * 10**9)
        self.assertEqual([
            before[key]
            for key in ("function", "recorder", "freeze", "workload", "output", "last_capture")
        ], ["hrtimer_wakeup", "events", None, "cyclic",
            os.path.realpath(self.output), None])
        self.assertEqual([
            before[key]
            for key in ("captures", "failed", "pending", "max_captures", "targets", "pokes")
        ], [0, 0, 0, 100000, [], 0])
        self.assertEqual([cpu["cpu"] for cpu in before["cpus"]], [self.cpu])
        # They are read one after the other.
        self.assertTrue(0 < before["cpus"][0]["count"] <= before["all"]["count"], before)
        self.assertEqual(before["all"]["spikes"], 0)
        self.assertEqual(before["triggers"], {})
        self.assertTrue(0 < before["cpus"][0]["p99_ns"] <= before["cpus"][0]["max_ns"], before)
        self.assertLessEqual(before["all"]["count"], summary["count"])
        self.assertLessEqual(before["all"]["max_ns"], summary["max_ns"])
        self.assertGreaterEqual(before["all"]["min_ns"], summary["min_ns"])
        order = [before["all"][key] for key in ("min_ns", "p50_ns", "p99_ns", "p99_9_ns", "max_ns")]
        self.assertEqual(order, sorted(order))
        self.assertTrue(0 < before["armed_for_ns"] <= session.summary["elapsed_ns"], before)

    def test_captures(self):
        with common.late(self.cpu), self.session(limits=common.SPIKES) as session:
            self.assertEqual(session.name, str(session.pid))
            session.read_capture()
            capture = session.read_capture()
            common.wait_for(lambda: status()[0]["captures"] >= 2, "captures are counted")
            seen = status()[0]
            self.assertGreaterEqual(seen["all"]["spikes"], 2)
            self.assertEqual(seen["failed"], 0)
            self.assertEqual(os.path.dirname(seen["last_capture"]),
                             os.path.dirname(os.path.realpath(capture["path"])))
            self.assertTrue(os.path.exists(os.path.join(seen["last_capture"], "capture.json")))
            text = common.run_ctl("status").stdout
            for part in (session.name, "alive", "CPU %d" % self.cpu, "5ms", "events", "p99.9",
                         "spikes", "of 100000"):
                self.assertIn(part, text)
            self.end(session, 0)
        self.assertEqual(session.summary["failed"], 0)

    def test_watch(self):
        with self.session() as session:
            watch = subprocess.Popen([common.CTL, "status", "--watch", "--json"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            first, second = (common.parse_lines(watch.stdout.readline())[0] for _ in range(2))
            watch.send_signal(signal.SIGINT)
            watch.communicate(timeout=common.PATIENCE)
            self.assertEqual(watch.returncode, 0)
            self.assertEqual([first["session"], second["session"]], [session.name] * 2)
            self.assertGreaterEqual(second["armed_for_ns"] - first["armed_for_ns"], 10**9)
            self.end(session)

    def test_two(self):
        one, other = common.find_cpus(2)
        with self.session("--session", "one", cpus=[one]) as first, \
                self.session("--session", "other", cpus=[other]) as second:
            seen = status()
            self.assertEqual([session["session"] for session in seen], ["one", "other"])
            self.assertEqual([session["cpus"][0]["cpu"] for session in seen], [one, other])
            for command in ("stop", "poke"):
                self.assert_fails(common.run_ctl(command), USAGE, "one, other")
            self.assertEqual(common.run_ctl("poke", "other").returncode, 0)
            self.assertTrue(second.read_capture()["poked"])
            self.end(first)
            self.assertEqual([session["session"] for session in status()], ["other"])
            self.assertEqual(common.run_ctl("stop").returncode, 0)
            self.assertEqual(second.finish(), 0)
        self.assertEqual(pins(), [])


class Poke(SessionTest):
    def test_poke(self):
        with self.session() as session:
            result = common.run_ctl("poke")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            capture = session.read_capture()
            self.assertTrue(capture["poked"])
            self.assertEqual((capture["cpu"], capture["latency_ns"], capture["comm"]),
                             (-1, 0, "perf-poke-ctl"))
            self.assertEqual(len(self.samples(capture["path"])), capture["events"])
            result = common.run_ctl("poke", session.name, "--wait")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            second = session.read_capture()
            self.assertEqual(result.stdout.strip(), os.path.realpath(second["path"]))
            self.end(session, 0)
        self.assertEqual(session.summary["all"]["spikes"], 0)

    def test_does_not_count(self):
        """For --count: the spike after it is captured."""
        with common.Session([self.cpu], self.output, *poked.THRESHOLD, *common.EVENTS, "--count",
                            "1") as session:
            self.assertEqual(common.run_ctl("poke", "--wait").returncode, 0)
            self.assertTrue(session.read_capture()["poked"])
            self.assertFalse(poked.spike(session, self.cpu)["poked"])
            self.assertEqual(session.finish(), 0)
        self.assertEqual(session.summary["captures"], 2)

    def test_waits_for_its_own(self):
        """While spikes are being captured. Armed between them: a capture takes seconds in an
        emulator."""
        every_ms = 5000 if common.EMULATED else 200
        with common.busy(self.cpu), common.late(self.cpu, poked.SPIN_US, every_ms), \
             self.session(*common.EVENTS, limits=poked.THRESHOLD) as session:
            for _ in range(3):
                common.wait_for(lambda: self.poke_wait(session), "it is armed")
                spike = common.facts(self.path)["spike"]
                self.assertEqual((spike["poked"], spike["pid"]), (True, self.poker))
            self.end(session, 0)

    def poke_wait(self, session):
        with subprocess.Popen([common.CTL, "poke", session.name, "--wait"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as poke:
            out, err = poke.communicate(timeout=common.PATIENCE)
        if poke.returncode:
            self.assertIn("not armed", err)
            return False
        self.path, self.poker = out.strip(), poke.pid
        return True


class Stop(SessionTest):
    @unittest.skipUnless(common.find_bpftool(), "needs bpftool")
    def test_one_that_cannot_be_stopped(self):
        """The others have ended when `stop --all` returns."""
        one, other = common.find_cpus(2)
        with self.session("--session", "deaf",
                          cpus=[one]) as deaf, self.session("--session", "last",
                                                            cpus=[other]) as last:
            pin = os.path.join(PINS, "deaf", "stop")
            os.remove(pin)
            subprocess.run([
                common.find_bpftool(), "map", "create", pin, "type", "array", "key", "4", "value",
                "4", "entries", "1", "name", "none"
            ], check=True)
            result = common.run_ctl("stop", "--all")
            self.assertEqual(pins(), ["deaf"])
            self.assert_fails(result, FAILED, "'deaf'", "cannot stop it")
            self.assertEqual(last.finish(), NO_SPIKE)
            self.assertEqual(deaf.finish(signal.SIGINT), NO_SPIKE)

    def test_waits_for_the_capture(self):
        """A capture that is being written is complete when `stop` returns."""
        with self.session() as session:
            # The controller wakes up to both at once.
            session.process.send_signal(signal.SIGSTOP)
            self.assertEqual(common.run_ctl("poke").returncode, 0)
            self.assert_fails(common.run_ctl("poke"), FAILED, session.name, "not armed")
            self.assert_fails(common.run_ctl("stop", "--timeout", "100ms"), FAILED, session.name,
                              "100ms")
            self.assertEqual(self.folders(), self.partial())
            session.process.send_signal(signal.SIGCONT)
            common.wait_for(lambda: not pins(), "the session has ended")
            self.assertEqual(len(self.folders()), 1)
            self.assertEqual(self.partial(), [])
            self.assertTrue(
                os.path.exists(os.path.join(self.output,
                                            self.folders()[0], "capture.json")))
            self.assertEqual(session.finish(), 0)
        self.assertEqual(len(session.captures), 1)

    def test_under_load(self):
        """A request is not lost among spikes."""
        with common.late(self.cpu, every_ms=20), self.session(limits=common.SPIKES) as session:
            session.read_capture()
            self.end(session, 0)
        self.assertEqual(session.summary["captures"], len(session.captures))
        self.assertEqual(self.partial(), [])


class Killed(SessionTest):
    def kill(self, session):
        session.process.kill()
        self.assertEqual(session.process.wait(timeout=common.PATIENCE), -signal.SIGKILL)

    def test_kill(self):
        with self.session("--session", "victim") as session:
            objects = common.bpf_objects(session.pid)
            links = {each for each in objects if each[0] == "link"}
            self.kill(session)
        self.assertEqual([(each["session"], each["alive"]) for each in status()],
                         [("victim", False)])
        self.assertIn("victim  dead", common.run_ctl("status").stdout)
        # Only pins are left, and nothing is attached.
        common.wait_for(lambda: not [each for each in links if common.bpf_exists(*each)],
                        "its links are gone")
        count = status()[0]["all"]["count"]
        time.sleep(0.1)
        self.assertEqual(status()[0]["all"]["count"], count)
        self.assert_fails(common.run_ctl("poke", "victim"), FAILED, "victim", "dead")
        self.assert_fails(common.run_ctl("poke"), FAILED, "no session")
        # The next start removes it, whatever its name.
        with self.session("--session", "next") as session:
            self.assertEqual(pins(), ["next"])
            common.wait_for(lambda: not [each for each in objects if common.bpf_exists(*each)],
                            "all of it is gone")
            self.end(session)
        self.assertEqual(pins(), [])

    def test_same_name(self):
        with self.session("--session", "phoenix") as session:
            self.kill(session)
        with self.session("--session", "phoenix") as session:
            self.assertTrue(status()[0]["alive"])
            self.end(session)

    def test_stop_removes(self):
        with self.session("--session", "victim") as session:
            self.kill(session)
        result = common.run_ctl("stop", "victim")
        self.assertEqual(result.returncode, 0)
        self.assert_one_line(result.stderr, "'victim'", "dead")
        self.assertFalse(os.path.exists(PINS))

    def test_stop_all(self):
        one, other = common.find_cpus(2)
        with self.session("--session", "living",
                          cpus=[one]) as living, self.session(cpus=[other]) as session:
            self.kill(session)
            self.assertEqual(common.run_ctl("stop", "--all").returncode, 0)
            self.assertEqual(living.finish(), NO_SPIKE)
        self.assertFalse(os.path.exists(PINS))

    def test_killed_while_pinning(self):
        os.makedirs(os.path.join(PINS, "half"))
        self.assertEqual([(each["session"], each["alive"]) for each in status()], [("half", False)])
        self.assertEqual(common.run_ctl("stop", "half").returncode, 0)
        os.makedirs(os.path.join(PINS, "half"))
        self.assertEqual(self.start().returncode, NO_SPIKE)
        self.assertEqual(pins(), [])


class Pins(SessionTest):
    def test_taken(self):
        with self.session("--session", "mine") as session:
            result = self.start("--session", "mine")
            self.assert_fails(result, USAGE, "'mine'", "taken")
            self.assertEqual(len(status()), 1)
            self.end(session)

    def test_bad_names(self):
        for name in ("", ".", "..", "a/b", "a b", "a:b", "x" * 64, "\u00e4"):
            with self.subTest(name=name):
                self.assert_fails(self.start("--session", name), USAGE, "session", "'%s'" % name)
        self.assertEqual(self.start("--session", "x" * 63).returncode, NO_SPIKE)

    def test_modes(self):
        os.mkdir(PINS, 0o777)
        os.chmod(PINS, 0o777)
        with self.session() as session:
            folder = os.path.join(PINS, session.name)
            self.assertEqual(sorted(os.listdir(folder)),
                             ["arming", "cpus", "cpus_more", "poke", "session", "stop", "targets"])
            for path in (PINS, folder):
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700, path)
            for name in os.listdir(folder):
                self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600,
                                 name)
            self.end(session)
        self.assertFalse(os.path.exists(PINS))

    def test_start_that_fails(self):
        """A failure after pinning: the workload starts last, and cannot run outside the cpuset."""
        inside, outside = common.find_cpus(2)
        with contextlib.ExitStack() as stack:
            try:
                entrance = stack.enter_context(errors.cpuset_of([inside]))
            except OSError as error:
                self.skipTest("no cpuset can be made: %s" % error)
            enter = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', entrance]
            self.assert_fails(self.start("--workload", "cyclic", cpu=outside, prefix=enter), USAGE,
                              "cpuset")
        self.assertFalse(os.path.exists(PINS))

    def test_folder_of_somebody_else(self):
        """If any user may write to bpffs: a folder of another user is no session, and root replaces
        it."""
        os.makedirs(os.path.join(PINS, "\033[31mred", "below"))
        for path in (os.path.join(PINS, "\033[31mred"), PINS):
            os.chown(path, 65534, 65534)
        for command in (["status"], ["stop", "--all"]):
            result = common.run_ctl(*command)
            self.assertIn("no session", result.stdout + result.stderr)
            self.assertNotIn("\033", result.stdout + result.stderr)
        with self.session() as session:
            self.assertEqual([each["session"] for each in status()], [session.name])
            self.assertEqual(pins(), [session.name])
            self.assertEqual(common.run_ctl("stop", session.name).returncode, 0)
            self.assertEqual(session.finish(), NO_SPIKE)
        self.assertIn("removed %s, which another user had created" % PINS, session.stderr)

    def test_link_of_somebody_else(self):
        os.symlink(self.folder, PINS)
        os.chown(PINS, 65534, 65534, follow_symlinks=False)
        with self.session() as session:
            self.assertEqual(pins(), [session.name])
            self.assertEqual(common.run_ctl("stop", session.name).returncode, 0)
            self.assertEqual(session.finish(), NO_SPIKE)
        self.assertEqual([name for name in os.listdir(self.folder) if name != "captures"], [])

    def test_no_name_of_a_session(self):
        os.makedirs(os.path.join(PINS, "\033[31mred"))
        self.addCleanup(shutil.rmtree, PINS, ignore_errors=True)
        self.assertEqual(status(), [])

    def test_of_another_user(self):
        """Users' session names do not collide, and root sees all sessions."""
        folder = PINS + "-65534"
        os.makedirs(os.path.join(folder, "theirs"))
        os.makedirs(PINS + "-65533/hidden")
        self.addCleanup(shutil.rmtree, PINS + "-65533")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chown(folder, 65534, 65534)
        with self.session() as session:
            self.assertEqual({(each["session"], each["alive"]) for each in status()},
                             {(session.name, True), ("theirs", False)})
            self.end(session)
        self.assertEqual(common.run_ctl("stop", "theirs").returncode, 0)
        self.assertFalse(os.path.exists(folder))

    def test_not_root(self):
        if not shutil.which("setpriv"):
            self.skipTest("needs setpriv (util-linux)")
        os.chmod(self.folder, 0o1777)
        become = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        if subprocess.run([*become, common.CTL, "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("nobody cannot run programs of this build folder")
        with self.session() as session:
            for command in ("status", "stop", "poke"):
                self.assert_fails(common.run_ctl(command, session.name, prefix=become), FAILED,
                                  "needs root")
            self.end(session)


class Bpffs(SessionTest):
    """Without bpffs in its usual place."""

    AWAY = "while mountpoint -q /sys/fs/bpf; do umount -l /sys/fs/bpf; done"

    def test_is_mounted(self):
        result = self.start(prefix=common.unshared(self.AWAY))
        self.assertEqual(result.returncode, NO_SPIKE, result.stderr)
        self.assertIn("mounted bpffs on /sys/fs/bpf", result.stderr)
        self.assertIn("session",
                      next(line for line in result.stderr.splitlines() if "armed" in line))

    def test_cannot_be_mounted(self):
        result = self.start(prefix=common.unshared("mount -t tmpfs tmpfs /sys/fs"))
        self.assertEqual(result.returncode, NO_SPIKE, result.stderr)
        self.assertIn("cannot pin", result.stderr)
        armed = next(line for line in result.stderr.splitlines() if "armed" in line)
        self.assertNotIn("session", armed)


class Namespace(SessionTest):
    def test_pid(self):
        """In its own PID namespace the controller has a low PID; others see a PID valid for
        them."""
        if subprocess.run(["unshare", "-p", "-f", "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("pid namespaces are not allowed here")
        command = [
            common.CTL, "start", "--json", "--cpu",
            str(self.cpu), "--output", self.output, *common.NO_SPIKES, "--session", "inside"
        ]
        with contextlib.ExitStack() as stack:
            outer = subprocess.Popen(["unshare", "-p", "-f", "--kill-child", *command],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            stack.callback(outer.wait)
            stack.callback(outer.stdout.close)
            stack.callback(outer.kill)
            self.assertEqual(common.parse_lines(outer.stdout.readline())[0]["type"], "armed")
            seen = status()[0]
            self.assertTrue(seen["alive"])
            with open("/proc/self/status") as file:
                nested = len(next(line for line in file if line.startswith("NSpid:")).split()) > 2
            if not nested:
                self.assertEqual(parent_and_start(seen["pid"])[0], outer.pid)
            # It is also alive in another namespace's view, and can be stopped from there.
            result = common.run_ctl("status", prefix=["unshare", "-p", "-f"])
            self.assertIn("inside  alive", result.stdout)
            result = common.run_ctl("stop", prefix=["unshare", "-p", "-f"])
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            outer.communicate(timeout=common.PATIENCE)
            self.assertEqual(outer.returncode, NO_SPIKE)

    def test_tasks(self):
        """Tasks outside have their own IDs, as the kernel has them, and are not taken for idle."""
        if subprocess.run(["unshare", "-p", "-f", "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("pid namespaces are not allowed here")
        with common.busy(self.cpu), common.late(self.cpu):
            result = common.run_ctl(
                "start", "--cpu", str(self.cpu), "--output", self.output, *common.SPIKES, "--count",
                "1", "--json",
                prefix=["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"])
        folder = common.of_type(common.parse_lines(result.stdout), "capture")[0]["path"]
        report = common.parse_lines(common.run_ctl("report", "--json", folder).stdout)[0]
        kinds, names = zip(*((row["kind"], row["name"]) for row in report["budget"]
                             if row["kind"] in ("thread", "idle")))
        # The task that the timer's interrupt hit
        hit = ("idle",
               f"swapper/{self.cpu}") if report["spike"]["idle"] else ("thread",
                                                                       report["spike"]["tid"])
        self.assertIn(hit, [(kind, int(name.split()[-1]) if kind == "thread" else name)
                            for kind, name in zip(kinds, names)])
        self.assertEqual(len(set(names)), len(names), names)


if __name__ == "__main__":
    common.main()
