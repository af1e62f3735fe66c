# SPDX-License-Identifier: GPL-2.0-only
"""Many spikes in a row, each a capture of its own that decodes and holds nothing of an earlier one; the ring goes round in
between. Two CPUs at once. Options that say what is recorded and written."""
import sys

import capture
import common
from capture import take
from common import check, equal

CTL = sys.argv[1]
# So that a ring of 64K goes round many times between two spikes, and has many points to begin at.
BUSY = {"bytes_per_sec": 1000000, "max_burst": 65536}
EVENT = "intel_pt/cyc,noretcomp,psb_period=0/k"


def in_a_row(way, number):
    common.set_parameter("bytes_per_sec", BUSY["bytes_per_sec"])
    common.set_parameter("max_burst", BUSY["max_burst"])
    captures = take(CTL, f"/tmp/pt_many_{way}", "--freeze", way, "-e", EVENT, count=number, buffer="64K")
    end_ns = 0
    for number, one in enumerate(captures):
        decoded = one.decoded()
        equal(decoded.errors, [], f"errors of the decoder in capture {number}")
        check(len(decoded.branches) > 1000, f"only {len(decoded.branches)} branches in capture {number}")
        first_ns, last_ns = one.times_ns()
        # A sample may go back to before the last spike: nothing was stopped. Else it begins when tracing began again.
        check(way == "sample" or first_ns > end_ns, f"capture {number} begins at {first_ns}, before the last one's end, {end_ns}")
        end_ns = last_ns
        equal(one.line["sequence"], number + 1, "sequence")
    skids = sorted(one.line["skid_ns"] // 1000 for one in captures)
    blinds = sorted(one.line["blind_ns"] // 1000 for one in captures)
    print(f"{way}: {len(captures)} captures, skid {skids[0]} to {skids[-1]} us, median {skids[len(skids) // 2]}; blind median "
          f"{blinds[len(blinds) // 2]} us")


def two_cpus():
    capture.be_calm()
    late = capture.Late(cpus=(0, 1))
    captures = take(CTL, "/tmp/pt_many_cpus", "--freeze-all", cpu="0-1", count=2, late=late)
    for one in captures:
        equal([t["cpu"] for t in one.json["recorder"]["traces"]], [0, 1], "traces in the capture")
        common.equal(one.decoded().errors, [], "errors of the decoder")
    alone = take(CTL, "/tmp/pt_many_alone", cpu="0-1", late=capture.Late(cpus=(0, 1)))[0]
    equal([t["cpu"] for t in alone.json["recorder"]["traces"]], [alone.line["cpu"]], "traces without --freeze-all")


def options():
    capture.be_calm()
    short = take(CTL, "/tmp/pt_many_short", "--history", "20K", "-e", EVENT)[0]
    check(short.json["recorder"]["traces"][0]["bytes"] <= 20480, f"--history 20K: {short.json['recorder']['traces']}")
    check(len(short.decoded().branches) > 1000, "--history 20K decodes to little")
    alone = take(CTL, "/tmp/pt_many_noswitch", "--no-switch-events")[0]
    common.check_whole_iterations(alone.decoded())
    user = take(CTL, "/tmp/pt_many_user", "-e", "intel_pt/cyc,noretcomp/ku")[0]
    equal(user.decoded().errors, [], "errors of the decoder with /ku")


capture.load()
for freeze in capture.ways():
    in_a_row(freeze, 15)
two_cpus()
options()
