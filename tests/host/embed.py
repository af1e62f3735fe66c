#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A program that embeds the library gets its capture."""
import errno
import json
import os
import re
import subprocess

import common


class Embed(common.HostTest):
    def test_capture(self):
        cpu = common.find_cpus(1)[0]
        with common.late(cpu):
            result = subprocess.run([common.EMBED, str(cpu)], cwd=self.folder,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, timeout=common.PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        match = re.fullmatch(r"(\d+) ns late on CPU (\d+), in (.+): (perf-poke\.data/\S+)\n",
                             result.stdout)
        self.assertTrue(match, result.stdout)
        self.assertGreaterEqual(int(match[1]), 50000)
        self.assertEqual(int(match[2]), cpu)
        path = os.path.join(self.folder, match[4])
        self.assertTrue(os.path.exists(os.path.join(path, "capture.json")))
        self.samples(path)


class Library(common.HostTest):
    def test_what_the_command_does_not(self):
        cpu = common.find_cpus(1)[0]
        result = subprocess.run([common.LIBRARY, str(cpu), self.output], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=common.PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        seen = json.loads(result.stdout)
        # The workload has ten expiries a second, the program's own thread a thousand.
        self.assertGreater(seen["threads"], 5)
        self.assertLess(seen["threads"], 30)
        # An adapted threshold must not carry over to the next run. There is one spike only.
        self.assertEqual(seen["runs"], [{"threshold_ns": 1, "captures": 1}] * 2)
        busy = -errno.EBUSY
        self.assertEqual(seen["in_callback"],
                         {"captures": 1, "start": busy, "poll": busy, "stop": busy, "stats": 0})
        self.assertEqual(seen["together"], [2] * 4)
        self.assertEqual(
            seen["forked"],
            {"ended": 20, "poll": -errno.ECHILD, "listed": 1, "captures": 1, "failed": 0})


if __name__ == "__main__":
    common.main()
