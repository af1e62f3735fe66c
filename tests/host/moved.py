#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A thread that is moved to a CPU that is not watched runs there: that time is unknown, and not
time in the run queue."""
import json
import os
import subprocess

import common

MOVED = os.environ["PERF_POKE_MOVED"]
REQUEST_NS = 45000000  # of CPU time
CLOCKS_DIFFER_NS = 1000000


class Moved(common.HostTest):
    def test_is_not_runnable(self):
        cpu, other = common.find_cpus(2)
        with common.Session([cpu], self.output, "--workload", "none", "--recorder", "events",
                            "--span", "req=uprobe:%s:request" % MOVED, "--trigger", "req=30ms",
                            "--count", "8") as session, \
                subprocess.Popen([MOVED, str(cpu), str(other), "60"]) as process:
            try:
                for _ in range(8):
                    session.read_capture()
                self.assertEqual(session.finish(), 0, session.__dict__)
            finally:
                process.terminate()
        moved = 0
        for capture in session.captures:
            report = json.loads(common.run_ctl("report", "--json", capture["path"]).stdout)
            thread = report["thread"]
            known = "%s: %s" % (report["sentence"], thread)
            self.assertGreater(thread["running_ns"] + thread["unknown_ns"],
                               REQUEST_NS - CLOCKS_DIFFER_NS, known)
            moved += thread["unknown_ns"] > REQUEST_NS / 10
        self.assertGreater(moved, 0, "it was never moved before it ended")


if __name__ == "__main__":
    common.main()
