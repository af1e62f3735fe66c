# SPDX-License-Identifier: GPL-2.0-only
"""An overflow causes one decoder error and costs one iteration."""
import common
from common import equal

common.load("ptsim", bytes_per_sec=50000)
with common.in_folder("/tmp/ptsim_overflow"):
    for terms in ("cyc,noretcomp", ""):
        before = common.counter("iterations")
        record = common.Record("-S", "-m", ",1M", event=f"intel_pt/{terms}/k")
        overflows = common.counter("overflows")
        common.time.sleep(0.3)
        common.set_parameter("inject_overflow", 1)
        common.wait_for(lambda: common.counter("overflows") == overflows + 1, "overflow")
        end = record.snapshot()
        record.end()
        decoded = common.Decoded()
        print(decoded.errors)
        iterations = common.check_whole_iterations(decoded, errors=1)
        equal("Overflow packet" in decoded.errors[0], True, f"what the error says ({decoded.errors})")
        equal(iterations, end["iterations"] - before, "iterations")
