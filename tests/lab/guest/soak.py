# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/soak with timerlat's threads, which only a lab kernel has: soak.py SOAK BUILD
OPTIONS"""
import subprocess
import sys

import guest
from guest import equal

guest.load("late_timer")
result = subprocess.run([*sys.argv[1:], "--workload", "timerlat"], check=False)
if result.returncode == 77:
    guest.skip("see above")
equal(result.returncode, 0, "exit status of soak")
