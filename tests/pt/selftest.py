# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl selftest, with Intel PT: all that it looks at is fine, whatever holds the trace and delivers the signal."""
import os

import hardware
import common  # the path is set by hardware

# What makes timers late is not in the program that ptsim traces.
NOT_SEEN = ["culprit", "perf"] if hardware.SIMULATED else []
OPTIONS = ["--threshold", hardware.THRESHOLD, "--buffer", hardware.BUFFER] if hardware.SIMULATED else []


class SelfTest(hardware.PtTest):
    def test_all(self):
        archive = os.path.join(self.folder, "selftest.tar.zst")
        result = common.run_ctl("selftest", "--json", "--recorder", "pt", "--output", archive, *OPTIONS, timeout=540)
        *rows, last = common.parse_lines(result.stdout)
        print(result.stdout, flush=True)
        self.assertEqual((result.returncode, result.stderr), (1 if NOT_SEEN else 0, ""))
        self.assertEqual(last["archive"], archive)
        self.assertEqual(sorted({row["freeze"] for row in rows}), sorted(self.ways()))
        for row in rows:
            self.assertEqual([name for name, verdict in row["checks"].items() if verdict["ok"] is False], NOT_SEEN, row)
            self.assertEqual([name for name, verdict in row["checks"].items() if verdict["ok"] is None], [], row)


hardware.main()
