# SPDX-License-Identifier: GPL-2.0-only
"""AUX area sampling: each sample of another event has the newest part of the trace, which
decodes."""
import guest
from guest import check, equal

guest.load("ptsim", bytes_per_sec=400000)
with guest.in_folder("/tmp/ptsim_sample"):
    before = guest.counter("snapshot")
    record = guest.Record("--aux-sample=4096",
                          event="{intel_pt/cyc,noretcomp/k,cpu-clock/period=20000000/}")
    guest.time.sleep(0.6)
    record.end()
    snapshots = guest.counter("snapshot") - before
    check(snapshots > 5, f"{snapshots} samples only")
    decoded = guest.Decoded(itrace="be")
    # Samples of the other event have no branch target.
    errors = [e for e in decoded.errors if "error" in e]
    equal(errors, [], "errors of the decoder")
    iterations = guest.check_whole_iterations(decoded, errors=len(decoded.errors))
    print(f"{snapshots} samples, {iterations} iterations")
    check(iterations >= snapshots, "fewer iterations than samples")
