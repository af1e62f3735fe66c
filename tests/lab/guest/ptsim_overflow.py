# SPDX-License-Identifier: GPL-2.0-only
"""An overflow causes one decoder error and costs one iteration."""
import guest
from guest import equal

guest.load("ptsim", bytes_per_sec=50000)
with guest.in_folder("/tmp/ptsim_overflow"):
    for terms in ("cyc,noretcomp", ""):
        before = guest.counter("iterations")
        record = guest.Record("-S", "-m", ",1M", event=f"intel_pt/{terms}/k")
        overflows = guest.counter("overflows")
        guest.time.sleep(0.3)
        guest.set_parameter("inject_overflow", 1)
        guest.wait_for(lambda: guest.counter("overflows") == overflows + 1, "overflow")
        end = record.snapshot()
        record.end()
        decoded = guest.Decoded()
        print(decoded.errors)
        iterations = guest.check_whole_iterations(decoded, errors=1)
        equal("Overflow packet" in decoded.errors[0], True,
              f"what the error says ({decoded.errors})")
        equal(iterations, end["iterations"] - before, "iterations")
