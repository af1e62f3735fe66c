# SPDX-License-Identifier: GPL-2.0-only
"""Many spikes in a row on two CPUs: each capture decodes and holds no data of an earlier one,
the controller's memory does not grow, and the ring wraps in between. Also options that select
what is recorded and written."""
import pathlib
import re
import sys

import capture
import guest
from capture import take
from guest import check, equal

CTL = sys.argv[1]
COUNT = 10
SETTLED = 4
RING = 32 << 10
# Small, so that the ring wraps many times between spikes and has many PSBs.
BUSY = {"bytes_per_sec": 1000000, "max_burst": RING}
EVENT = "intel_pt/cyc,noretcomp,psb_period=0/k"


def resident_kb(pid):
    """0 after its end"""
    match = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return int(match[1]) if match else 0


def in_a_row(way):
    for name, value in BUSY.items():
        guest.set_parameter(name, value)
    resident, before = [], guest.counter("bytes")
    captures = take(CTL, f"/tmp/pt_many_{way}", "--freeze", way, "-e", EVENT, count=COUNT,
                    buffer=str(RING), each=lambda pid: resident.append(resident_kb(pid)))
    rounds = (guest.counter("bytes") - before) / RING
    check(rounds >= COUNT, f"the ring went round only {rounds:.1f} times")
    # The session ends at its last capture and frees its memory.
    settled, last = resident[SETTLED - 1], resident[-2]
    check(
        abs(last - settled) * 10 <= settled,
        f"resident memory went from {settled} KiB to {last} KiB")
    check_decode(way, captures)
    skids = sorted(one.line["skid_ns"] // 1000 for one in captures)
    blinds = sorted(one.line["blind_ns"] // 1000 for one in captures)
    print(
        f"{way}: {COUNT} captures, skid {skids[0]} to {skids[-1]} us, median {skids[COUNT // 2]}; "
        f"blind median {blinds[COUNT // 2]} us; "
        f"{rounds:.0f} rounds of the ring; {settled} KiB at capture {SETTLED}, then {last}",
        flush=True)


def check_decode(way, captures):
    end_ns = 0
    for number, one in enumerate(captures):
        decoded = one.decoded()
        equal((decoded.errors, decoded.said), ([], ""),
              f"errors of the decoder in capture {number}")
        check(
            len(decoded.branches) > 1000,
            f"only {len(decoded.branches)} branches in capture {number}")
        first_ns, last_ns = one.times_ns()
        # A sample may reach back before the last spike, as nothing was stopped. Else the trace
        # begins at the re-arming.
        check(way == "sample" or first_ns > end_ns,
              f"capture {number} begins at {first_ns}, before the last one's end, {end_ns}")
        end_ns = last_ns
        equal(one.line["sequence"], number + 1, "sequence")


def two_cpus():
    capture.be_calm()
    late = capture.Late(cpus=(0, 1))
    captures = take(CTL, "/tmp/pt_many_cpus", "--freeze-all", cpu="0-1", count=2, late=late)
    for one in captures:
        equal([t["cpu"] for t in one.json["recorder"]["traces"]], [0, 1], "traces in the capture")
        guest.equal(one.decoded().errors, [], "errors of the decoder")
    alone = take(CTL, "/tmp/pt_many_alone", cpu="0-1", late=capture.Late(cpus=(0, 1)))[0]
    equal([t["cpu"] for t in alone.json["recorder"]["traces"]], [alone.line["cpu"]],
          "traces without --freeze-all")


def options():
    capture.be_calm()
    alone = take(CTL, "/tmp/pt_many_noswitch", "--no-switch-events")[0]
    guest.check_whole_iterations(alone.decoded())
    user = take(CTL, "/tmp/pt_many_user", "-e", "intel_pt/cyc,noretcomp/ku")[0]
    equal(user.decoded().errors, [], "errors of the decoder with /ku")


capture.load()
for freeze in capture.ways():
    in_a_row(freeze)
two_cpus()
options()
