# SPDX-License-Identifier: GPL-2.0-only
"""Full-trace mode: everything executed is decoded, and a ring that overflows is reported as
truncated."""
import signal

import guest
from guest import check, equal

guest.load("ptsim", bytes_per_sec=100000)
with guest.in_folder("/tmp/ptsim_full"):
    record = guest.Record("-m", ",64K")
    guest.time.sleep(2)
    last = record.end()
    decoded = guest.Decoded()
    iterations = guest.check_whole_iterations(decoded)
    equal(iterations, last["iterations"], "iterations")
    check(last["written"] > 64 << 10, "the ring has not wrapped")
    print(f"{iterations} iterations, {last['written']} bytes, all there")

    # perf is stopped until the ring is full: a gap, then the trace begins again, without other
    # errors.
    guest.set_parameter("bytes_per_sec", 200000)
    before = guest.counter("iterations")
    record = guest.Record("-m", ",128K")
    guest.time.sleep(0.5)
    truncated = guest.counter("truncated")
    record.process.send_signal(signal.SIGSTOP)
    guest.wait_for(lambda: guest.counter("truncated") > truncated, "full ring")
    starts = guest.counter("start")
    record.process.send_signal(signal.SIGCONT)
    # 6.12 marks the event for disabling but never does it (perf_aux_output_end() lacks the call of
    # perf_event_disable_inatomic()): perf then enables an event that is not off, which stays
    # stopped.
    stays_still = guest.VERSION == (6, 12)
    if not stays_still:
        guest.wait_for(lambda: guest.counter("start") > starts, "start after that")
    record.end()
    decoded = guest.Decoded()
    iterations = guest.check_whole_iterations(decoded, errors=len(decoded.errors))
    print(
        f"{iterations} iterations of {guest.counter('iterations') - before}, {decoded.edges}, "
        f"{decoded.errors}"
    )
    check(all("Lost trace data" in e or "Trace doesn" in e for e in decoded.errors),
          "other errors than those of a gap")
    check(iterations > (128 << 10) / 150, "not a ring of iterations")
    equal([edge for edge, _ in decoded.edges],
          ["tr strt", "tr end  async"] * (1 if stays_still else 2), "edges")
