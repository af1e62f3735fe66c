#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A capture that does not fit on the disk is dropped as a whole; the session continues and takes
the next one that fits."""
import errno
import os
import re
import shutil
import signal
import subprocess

import common

ROOM = 1 << 18


class FullDisk(common.HostTest):
    def setUp(self):
        super().setUp()
        self.cpu = common.find_cpus(2)[1]
        os.mkdir(self.output)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64M", "tmpfs", self.output], check=True)
        self.addCleanup(subprocess.run, ["umount", self.output], check=True)
        self.filler = os.path.join(self.output, "filler")

    def fill(self, leave):
        """Leaves this many bytes free. A capture being written may use some of them first."""
        with open(self.filler, "wb") as file:
            while True:
                disk = os.statvfs(self.output)
                try:
                    return os.posix_fallocate(file.fileno(), 0,
                                              disk.f_bavail * disk.f_bsize - leave)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def fail_once(self, session):
        """A spike; its capture fails."""
        with common.late(self.cpu):
            capture = session.read_capture()
        self.assertIn("space", capture["error"])
        self.assertIsNone(capture["path"])
        # Another spike may be under way now.
        common.wait_for(
            lambda: self.folders() == [*self.partial(), "filler"] and not self.half_written(),
            "nothing but the filler in the folder", 10)

    def half_written(self):
        """The capture's size without the files that captures share."""
        own, = self.partial()
        return sorted(set(os.listdir(os.path.join(self.output, own))) - {"kernel", ".perf-poke"})

    def succeed_once(self, session):
        while session.read_capture()["error"]:
            pass

    def count_lost(self, stderr):
        """The first loss is reported at once, later ones as a count."""
        lost = 0
        for line in stderr.splitlines():
            told = re.fullmatch(
                "perf-poke-ctl: --output '%s': (?:the capture is|(\\d+) more captures? (?:is|are)) "
                "lost: No space left on device" % self.output, line)
            self.assertTrue(told, line)
            lost += int(told[1] or 1)
        return lost

    def check_end(self, session, number=None):
        self.assertEqual(session.finish(number), 1)
        failed = [line for line in session.of_type("capture") if line["error"]]
        self.assertEqual(session.summary["captures"], len(session.captures))
        self.assertEqual(session.summary["failed"], len(failed))
        self.assertEqual(self.count_lost(session.stderr), len(failed), session.stderr)
        self.assertEqual(self.folders(),
                         sorted(os.path.basename(c["path"]) for c in session.captures))
        for capture in session.captures:
            self.assertEqual(len(self.samples(capture["path"])), capture["events"])

    def test_no_room_for_the_first(self):
        for leave in (0, 4096, ROOM):
            with self.subTest(leave=leave):
                self.fill(leave)
                with common.Session([self.cpu], self.output, *common.SPIKES, "--count",
                                    "1") as session:
                    self.fail_once(session)
                    self.fail_once(session)
                    os.unlink(self.filler)
                    with common.late(self.cpu):
                        self.succeed_once(session)
                    self.check_end(session)
                self.assertEqual(len(session.captures), 1)
                shutil.rmtree(session.captures[0]["path"])

    def test_no_room_for_a_later_one(self):
        """The session has written the symbols by then, which all captures share."""
        with common.Session([self.cpu], self.output, *common.SPIKES, "--count",
                            "100000") as session:
            with common.late(self.cpu):
                self.succeed_once(session)
            self.fill(4096)
            with common.late(self.cpu):
                while not session.read_capture()["error"]:
                    pass
            common.wait_for(lambda: not self.half_written(),
                            "no half-written capture in the folder", 10)
            os.unlink(self.filler)
            with common.late(self.cpu):
                self.succeed_once(session)
            self.check_end(session, signal.SIGINT)
        self.assertGreaterEqual(len(session.captures), 2)


if __name__ == "__main__":
    common.enter_mount_namespace()
    common.main()
