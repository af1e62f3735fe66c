#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A session that is killed at any moment leaves no broken capture, and the next start removes what it left."""
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
        return subprocess.Popen([common.CTL, "start", "--cpu", str(self.cpu), "--output", self.output, *args],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_one(self, after):
        with self.start(*common.SPIKES, "--workload", "cyclic", "--count", "100000") as session:
            time.sleep(after)
            session.kill()
        self.assertEqual(session.returncode, -signal.SIGKILL)

    def test_any_moment(self):
        self.cpu = common.find_cpus(1)[0]
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        with self.subTest(seed=seed), common.busy(self.cpu), common.late(self.cpu):
            for _ in range(ROUNDS):
                self.kill_one(rng.uniform(0, 0.4))
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
