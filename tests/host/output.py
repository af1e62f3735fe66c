#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The folder for captures: its owner, permissions of its contents, and changes to it during a
session."""
import fcntl
import os
import re
import shutil
import signal
import stat
import time

import common

FAILED, NO_SPIKE = 1, 3
NOBODY = 65534


class OutputTest(common.HostTest):
    def setUp(self):
        super().setUp()
        self.cpu = common.find_cpus(2)[1]
        self.addCleanup(os.umask, os.umask(0))

    def start(self, *args, prefix=(), env=None):
        return common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                              "--workload", "cyclic", "--duration", "100ms", *common.NO_SPIKES,
                              *args, prefix=prefix, env=env)

    def session(self, *args):
        return common.Session([self.cpu], self.output, *args)

    def spikes(self):
        return self.session(*common.SPIKES, "--count", "100000")

    def is_own(self, path):
        """Nobody but the owner may read, write or enter it."""
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        return not mode & 0o077

    def read_complete(self, session):
        while True:
            capture = session.read_capture()
            if not capture["error"]:
                return capture


class Others(OutputTest):
    def test_modes(self):
        self.capture_spikes([self.cpu], 1)
        found = [self.output]
        for top, folders, files in os.walk(self.output):
            found += [os.path.join(top, name) for name in folders + files]
        self.assertIn("capture.json", {os.path.basename(path) for path in found})
        self.assertEqual([path for path in found if not self.is_own(path)], [])

    def test_folder_of_a_stranger(self):
        os.mkdir(self.output, 0o700)
        os.chown(self.output, NOBODY, NOBODY)
        self.assert_fails(self.start(), FAILED, "output",
                          "other users can change '%s'" % self.output, "owner 65534")
        self.assertEqual(self.folders(), [])
        # The user who called sudo is allowed.
        sudo = {**os.environ, "SUDO_UID": str(NOBODY)}
        self.assertEqual(self.start(env=sudo).returncode, NO_SPIKE)

    def test_captures_of_the_user_of_sudo(self):
        """The folder and all in it; nobody else can read them."""
        with common.late(self.cpu):
            result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                    *common.SPIKES, "--count", "2",
                                    env={**os.environ, "SUDO_UID": str(NOBODY)})
        self.assertEqual(result.returncode, 0, result.stderr)
        found = [self.output]
        for top, folders, files in os.walk(self.output):
            found += [os.path.join(top, name) for name in folders + files]
        self.assertGreater(len(found), 6)
        for path in found:
            status = os.lstat(path)
            self.assertEqual((path, status.st_uid, status.st_mode & 0o77), (path, NOBODY, 0))

    def test_log_is_no_link(self):
        precious = os.path.join(self.folder, "precious")
        with open(precious, "w") as file:
            file.write("mine\n")
        os.mkdir(self.output, 0o700)
        os.symlink(precious, os.path.join(self.output, "planted.log"))
        prefix = common.unshared("mount -t tmpfs tmpfs /run/systemd") if os.path.exists(
            "/run/systemd") else ()
        result = self.start("--detach", "--session", "planted", prefix=prefix)
        self.assertEqual(result.returncode, FAILED, result.stderr)
        self.assertIn("planted.log': Too many levels of symbolic links", result.stderr)
        with open(precious) as file:
            self.assertEqual(file.read(), "mine\n")
        # Neither is a file of another user, who could read it.
        planted = os.path.join(self.output, "planted.log")
        os.unlink(planted)
        with open(planted, "w"):
            os.chown(planted, NOBODY, NOBODY)
        self.assertEqual(
            self.start("--detach", "--session", "planted", prefix=prefix).returncode, FAILED)
        self.assertEqual(os.path.getsize(planted), 0)

    def test_lock_of_a_stranger(self):
        """Whoever can read the folder can lock it: a living session's files must survive that."""
        os.mkdir(self.output, 0o755)
        folder = os.open(self.output, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)
        with self.session(*common.NO_SPIKES) as living:
            fcntl.flock(folder, fcntl.LOCK_UN)
            own = self.partial()
            half = os.path.join(self.output, own[0] if own else ".partial-1-1", "half")
            os.makedirs(half)
            self.assertEqual(self.start().returncode, NO_SPIKE)
            self.assertTrue(os.path.exists(half))
            self.assertEqual(living.finish(signal.SIGINT), NO_SPIKE)
        self.assertEqual(self.partial(), [])


class Away(OutputTest):
    """The folder is removed during the session."""

    def test_removed(self):
        with self.spikes() as session, common.late(self.cpu):
            self.read_complete(session)
            common.wait_for(self.remove, "the folder is removed")
            before = {line["path"] for line in session.captures}
            while True:
                capture = self.read_complete(session)
                if capture["path"] not in before and os.path.exists(capture["path"]):
                    break
            self.assertTrue(self.samples(capture["path"]))
            self.assertTrue(
                os.path.exists(os.path.join(capture["path"], "perf.data", "kcore_dir", "kallsyms")))
            self.assertEqual(session.finish(signal.SIGINT), FAILED)
        said = [line for line in session.stderr.splitlines() if "is made again" in line]
        self.assertEqual(len(said), 1, session.stderr)
        self.assertIn("'%s'" % self.output, said[0])
        self.assertEqual(self.partial(), [])

    def remove(self):
        """Removes it; retries while the session writes there."""
        shutil.rmtree(self.output, ignore_errors=True)
        return not os.path.exists(self.output) or not self.folders()

    def test_moved(self):
        moved = os.path.join(self.folder, "moved")
        with self.spikes() as session:
            with common.late(self.cpu):
                first = self.read_complete(session)
            session.process.send_signal(signal.SIGSTOP)
            os.rename(self.output, moved)
            session.process.send_signal(signal.SIGCONT)
            self.assertEqual(session.finish(signal.SIGINT), FAILED)
        self.assertIn("moved or removed", session.stderr)
        self.assertIn("'%s'" % moved, session.stderr)
        self.assertTrue(os.path.exists(os.path.join(moved, os.path.basename(first["path"]))))
        self.assertEqual([name for name in os.listdir(moved) if name.startswith(".")], [])

    def test_cannot_be_made_again(self):
        with self.session("--threshold", "1us", *common.EVENTS, "--count", "100000") as session:
            session.read_capture()
            common.wait_for(self.replace, "a file is in its place")
            end = time.monotonic() + 2
            while time.monotonic() < end:
                session.read_capture()
            os.unlink(self.output)
            capture = self.read_complete(session)
            self.assertTrue(os.path.exists(capture["path"]))
            self.assertEqual(session.finish(signal.SIGINT), FAILED)
        lost = [line for line in session.of_type("capture") if line["error"]]
        self.assertGreater(len(lost), 20)
        told = [re.search("the capture is lost|([0-9]+) more captures? (is|are) lost", line)
                for line in session.stderr.splitlines()]
        told = [found for found in told if found]
        self.assertLess(len(told), 5, session.stderr)
        self.assertEqual(sum(int(found[1] or 1) for found in told), len(lost))

    def replace(self):
        self.remove()
        try:
            os.rmdir(self.output)
        except OSError:
            pass
        try:
            with open(self.output, "x"):
                return True
        except OSError:
            return False


if __name__ == "__main__":
    common.main()
