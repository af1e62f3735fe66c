# SPDX-License-Identifier: GPL-2.0-only
"""A small ring that wraps often decodes from its first PSB to the stop."""
import guest
from guest import check

SIZE = 64 << 10

guest.load("ptsim", bytes_per_sec=500000000, max_burst=SIZE, period_us=10000)
with guest.in_folder("/tmp/ptsim_wrap"):
    for terms in ("cyc,noretcomp,psb_period=0", "psb_period=2"):
        record = guest.Record("-S", "-m", ",64K", event=f"intel_pt/{terms}/k")
        ends = [record.snapshot(), record.snapshot()]
        record.end()
        for end in ends:
            check(end["written"] > 10 * SIZE,
                  f"the ring has wrapped only {end['written'] // SIZE} times")
        iterations = guest.check_whole_iterations(guest.Decoded())
        print(
            f"{terms}: wrapped {ends[0]['written'] // SIZE} and {ends[1]['written'] // SIZE} "
            f"times, "
            f"{guest.counter('skipped')} iterations skipped, {iterations} decoded")
        # An iteration is 100 to 200 bytes.
        check(iterations > SIZE // 200, f"only {iterations} iterations in a ring of {SIZE} bytes")
