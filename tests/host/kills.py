#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A session that is killed at any moment leaves no broken capture, and the next start removes what
it left."""
import os
import random
import signal
import subprocess
import time

import common

ROUNDS = 10
PINS = os.path.join(common.BPFFS, "perf-poke")


class Kills(common.HostTest):
    def start(self, *args):
        return subprocess.Popen(
            [common.CTL, "start", "--cpu",
             str(self.cpu), "--output", self.output, *args], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_one(self, wait):
        """Kills it after that time; returns how long it lived."""
        begin = time.monotonic()
        with self.start(*common.SPIKES, "--workload", "cyclic", "--count", "100000") as session:
            wait()
            session.kill()
        self.assertEqual(session.returncode, -signal.SIGKILL)
        return time.monotonic() - begin

    def has_capture(self):
        return os.path.isdir(self.output) and self.folders() != self.partial()

    def test_any_moment(self):
        self.cpu = common.find_cpus(1)[0]
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        with self.subTest(seed=seed), common.busy(self.cpu), common.late(self.cpu):
            first = self.kill_one(lambda: common.wait_for(self.has_capture, "a capture"))
            for _ in range(ROUNDS):
                self.kill_one(lambda: time.sleep(rng.uniform(0, 1.5 * first)))
            result = common.run_ctl("list", "--json", self.output)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertTrue(result.stdout)
        with self.start(*common.NO_SPIKES, "--duration", "100ms") as session:
            pass
        self.assertEqual(session.returncode, 3)
        self.assertEqual([name for name in self.folders() if name.startswith(".")], [])
        self.assertFalse(os.path.exists(PINS))


if __name__ == "__main__":
    common.main()
