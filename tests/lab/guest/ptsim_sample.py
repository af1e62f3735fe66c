# SPDX-License-Identifier: GPL-2.0-only
"""AUX area sampling: each sample of another event has the newest part of the trace, which
decodes."""
import common
from common import check, equal

common.load("ptsim", bytes_per_sec=400000)
with common.in_folder("/tmp/ptsim_sample"):
    before = common.counter("snapshot")
    record = common.Record("--aux-sample=4096", event="{intel_pt/cyc,noretcomp/k,cpu-clock/period=20000000/}")
    common.time.sleep(0.6)
    record.end()
    snapshots = common.counter("snapshot") - before
    check(snapshots > 5, f"{snapshots} samples only")
    decoded = common.Decoded(itrace="be")
    # Samples of the other event have no branch target.
    errors = [e for e in decoded.errors if "error" in e]
    equal(errors, [], "errors of the decoder")
    iterations = common.check_whole_iterations(decoded, errors=len(decoded.errors))
    print(f"{snapshots} samples, {iterations} iterations")
    check(iterations >= snapshots, "fewer iterations than samples")
