#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""While the file system of the captures hangs, the session goes on, and it can be stopped."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

import common

SPIKES = [*common.ANY_TIMER, "--cooldown", "100ms", "--count", "100000"]


class Hangs(common.HostTest):
    def setUp(self):
        super().setUp()
        for program in ("mkfs.ext4", "fsfreeze", "losetup"):
            if not shutil.which(program):
                self.skipTest("there is no " + program)
        image, self.disk = (os.path.join(self.folder, name) for name in ("image", "disk"))
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        os.mkdir(self.disk)
        if subprocess.run(["mount", "-o", "loop", image, self.disk], check=False).returncode:
            self.skipTest("no loop device")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.disk], check=False)
        self.output = os.path.join(self.disk, "captures")

    def freeze(self):
        subprocess.run(["fsfreeze", "--freeze", self.disk], check=True)

    def thaw(self):
        subprocess.run(["fsfreeze", "--unfreeze", self.disk], check=False,
                       stderr=subprocess.DEVNULL)

    @contextlib.contextmanager
    def session(self, *args):
        """Thaws before it waits for a session that failed."""
        with common.Session([self.cpu], self.output, *SPIKES, *args) as session:
            try:
                yield session
            finally:
                self.thaw()

    def states(self, pid):
        """Of the threads: D waits for a file system."""
        found = {}
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, tid)) as file:
                found[int(tid)] = file.read().rpartition(")")[2].split()[0]
        return found

    def check_goes_on(self, *args):
        """A thread waits, but never the one that takes the captures."""
        with self.session(*args) as session:
            session.read_capture()
            session.read_capture()
            self.freeze()
            common.wait_for(lambda: "D" in self.states(session.pid).values(), "a thread waits")
            end, seen = time.monotonic() + 2, set()
            while time.monotonic() < end:
                seen.add(self.states(session.pid)[session.pid])
                time.sleep(0.01)
            self.assertNotIn("D", seen)
            session.process.send_signal(signal.SIGINT)
            time.sleep(1)
            self.thaw()
            self.assertEqual(session.finish(), 0)
        return session

    def test_writing(self):
        session = self.check_goes_on()
        self.assertEqual(len(self.folders()), len(session.captures))

    def test_removing(self):
        session = self.check_goes_on("--keep-worst", "1")
        self.assertEqual(len(self.folders()), 1)
        removed = [line["path"] for line in session.of_type("removed")]
        self.assertEqual(len(removed), len(session.captures) - 1)

    def test_removing_known_causes(self):
        known = os.path.join(self.folder, "known.json")
        with open(known, "w") as file:
            json.dump({"version": 5, "causes": [{"fingerprint": "*"}]}, file)
        session = self.check_goes_on("--known", known)
        self.assertEqual(self.folders() if os.path.exists(self.output) else [], [])
        self.assertEqual(len(session.of_type("removed")), len(session.captures))

    def test_the_end(self):
        """The kernel keeps the process while a thread of it waits. All else has ended."""
        with self.session() as session:
            session.read_capture()
            self.freeze()
            common.wait_for(lambda: "D" in self.states(session.pid).values(), "a thread waits")
            session.process.send_signal(signal.SIGINT)
            common.wait_for(lambda: "no sessions" in common.run_ctl("status").stdout, "it ends")
            common.wait_for(lambda: self.states(session.pid)[session.pid] == "Z", "it exits")
            self.thaw()
            self.assertEqual(session.finish(), 1)
        self.assertIn("output '%s': given up: its file system does not answer" % self.output,
                      session.stderr)


if __name__ == "__main__":
    common.main()
