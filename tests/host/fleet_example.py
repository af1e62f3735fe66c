#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""examples/fleet/run: Prometheus and the journal name the new cause and its two hosts, and not the
old one."""
import os
import re
import subprocess
import sys

run = f"{os.environ['PERF_POKE_SOURCE']}/examples/fleet/run"
result = subprocess.run([sys.executable, run, os.environ["PERF_POKE_CTL"]], capture_output=True,
                        text=True, check=False, timeout=250)
if result.returncode == 77:
    print(result.stderr)
    sys.exit(77)
assert result.returncode == 0, result
promql, journal = result.stdout.split("journalctl:")
assert re.findall(r" irqs-off/acme_drain:[0-9a-f]{8} on (rt\d): (\d)\n",
                  promql) == [("rt2", "1"), ("rt3", "2")], promql
assert re.findall(r"\d (rt\d) perf-poke-ctl: ", journal) == ["rt2", "rt3", "rt3"], journal
assert "acme_flush" not in result.stdout, result.stdout
