# SPDX-License-Identifier: GPL-2.0-only
"""The distribution's `perf record -S` takes snapshots of ptsim and decodes every branch."""
import guest
from guest import check, equal

TREE = {("ptsim_main", "ptsim_outer"), ("ptsim_outer", "ptsim_middle"),
        ("ptsim_middle", "ptsim_inner"), ("ptsim_inner", "ptsim_leaf"),
        ("ptsim_main", "ptsim_indirect"), ("ptsim_indirect", "ptsim_callee_a"),
        ("ptsim_indirect", "ptsim_callee_b"), ("ptsim_main", "ptsim_switch"),
        ("ptsim_main", "ptsim_interrupted"), ("ptsim_interrupted", "ptsim_interrupt"),
        ("ptsim_interrupt", "ptsim_softirq")}

# Event terms, program, parameters
CASES = [
    ("cyc,noretcomp", "mixed", {}), ("cyc,mtc=0", "mixed", {}), ("", "mixed", {"long_tnt": 1}),
    ("cyc,cyc_thresh=3,psb_period=0,mtc_period=6", "mixed", {}), ("cyc", "loop", {}),
    ("noretcomp", "deep", {"pip": 0}),
    ("cyc,noretcomp", "mixed", {"bytes_per_sec": 2000000000, "max_burst": 2048,
                                "period_us": 10000}),
]


def snapshots(terms, program, parameters):
    """Two snapshots of a ring that does not wrap: everything executed is there."""
    values = {"bytes_per_sec": 60000, "max_burst": 131072, "program": program, "period_us": 1000,
              "long_tnt": 0, "pip": 1, **parameters}
    for name, value in values.items():
        guest.set_parameter(name, value)
    before = {name: guest.counter(name) for name in ("iterations", "bytes")}
    record = guest.Record("-S", "-m", ",1M", event=f"intel_pt/{terms}/k")
    first, second = record.snapshot(), record.snapshot()
    record.end()
    check(second["written"] < (1 << 20) - 4096, "the ring is too small for this test")
    decoded = guest.Decoded()
    iterations = guest.check_whole_iterations(decoded, program)
    executed = second["iterations"] - before["iterations"]
    print(
        f"{terms or '-'} {program} {parameters}: {iterations} iterations of {executed}, "
        f"{len(decoded.edges)} edges"
    )
    # perf resumes at the first PSB of the second piece; up to a PSB period of it is not decoded.
    psb_period = 2048 if "psb_period=0" in terms else 16384
    lost_most = psb_period / ((second["bytes"] - before["bytes"]) / executed) + 2
    check(0 <= executed - iterations <= lost_most, f"{iterations} iterations of {executed}")
    per_iteration = guest.program_counts(program)["branches"]
    until_first = (first["iterations"] - before["iterations"]) * per_iteration
    equal(decoded.edges[:2], [("tr strt", 0), ("tr end  async", until_first)],
          "edges of the first snapshot")
    equal(decoded.edges[-1], ("tr end  async", len(decoded.branches)), "end of the second snapshot")
    if program == "mixed":
        equal(guest.call_tree(decoded.iterations("ptsim_main")[0]), TREE, "call tree")


guest.load("ptsim")
with guest.in_folder("/tmp/ptsim_snapshot"):
    for case in CASES:
        snapshots(*case)
