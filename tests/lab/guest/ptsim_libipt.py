# SPDX-License-Identifier: GPL-2.0-only
"""libipt, as a second decoder, reads ptsim's AUX area packet by packet and instruction by
instruction.
Usage: ptsim_libipt.py PATH_OF_AUX_EVENTS PATH_OF_PT_DECODE"""
import os
import pathlib
import re
import struct
import subprocess
import sys

import common
from common import CONFIG, check, equal

AUX_EVENTS, PT_DECODE = map(os.path.abspath, sys.argv[1:])
SIZE = 256 << 10
PAGE = 4096

# Terms, mtc_period, psb_period, program, parameters
CASES = [
    ("tsc cyc mtc noretcomp", 3, 3, "mixed", {}),
    ("tsc mtc", 0, 0, "mixed", {}),
    ("tsc cyc", 0, 1, "mixed", {"long_tnt": 1}),
    ("tsc cyc mtc", 3, 2, "loop", {}),
    ("tsc cyc mtc noretcomp", 3, 0, "deep", {}),
    ("cyc", 0, 0, "deep", {}),
    # Without sleep, so that iterations follow each other and contain MTC packets
    ("tsc cyc mtc", 0, 0, "mixed", {"bytes_per_sec": 2000000000, "max_burst": 2048, "period_us": 10000}),
    ("tsc cyc mtc noretcomp", 3, 3, "loop", {"bytes_per_sec": 2000000000, "max_burst": 2048, "period_us": 10000}),
    ("tsc cyc mtc", 3, 0, "mixed", {"pip": 0}),
    ("tsc cyc mtc", 3, 0, "mixed", {"psb_order": "broadwell"}),
    ("tsc cyc mtc noretcomp", 0, 0, "mixed", {"psb_order": "shuffled"}),
    ("tsc mtc", 3, 0, "loop", {"psb_order": "shuffled"}),
    ("tsc cyc", 0, 0, "deep", {"psb_order": "shuffled", "pip": 0}),
]
ENTRIES = {"mixed": "ptsim_main", "loop": "ptsim_loop", "deep": "ptsim_deep"}


def address_of(symbol):
    text = pathlib.Path("/proc/kallsyms").read_text()
    return int(re.search(rf"^([0-9a-f]+) \S {symbol}\t\[ptsim\]$", text, re.M)[1], 16)


def read_kernel(address, size):
    """From /proc/kcore, an ELF core file."""
    with open("/proc/kcore", "rb") as kcore:
        header = kcore.read(64)
        offset, count = struct.unpack_from("<Q", header, 32)[0], struct.unpack_from("<H", header, 56)[0]
        kcore.seek(offset)
        for segment in struct.iter_unpack("<IIQQQQQQ", kcore.read(56 * count)):
            kind, _, place, virtual, _, length, _, _ = segment
            if kind == 1 and virtual <= address < virtual + length:
                kcore.seek(place + address - virtual)
                return kcore.read(size)
    return check(False, f"{address:#x} is not in /proc/kcore")


def trace(terms, mtc_period, psb_period):
    """Writes the AUX area to the file `trace`; returns the log entries of start and stop."""
    config = CONFIG["pt"] | CONFIG["branch"] | mtc_period << 14 | psb_period << 24
    for term in terms.split():
        config |= CONFIG[term]
    with common.AuxEvents(AUX_EVENTS, SIZE, config, siblings=False) as events:
        equal(events.answer, ["ready"], f"answer to config {config:#x}")
        events.do("enable")
        start = common.counter("iterations")
        common.wait_for(lambda: common.counter("iterations") > start + 300, "iterations")
        events.do("disable")
        events.do("dump trace")
    return common.log()[-2:]


def decode(entry, mtc_period):
    base = entry & -PAGE
    pathlib.Path("image").write_bytes(read_kernel(base, 2 * PAGE))
    pathlib.Path("code").write_text(f"0 map 0 {base:x} {2 * PAGE:x} 0 image\n")
    n, d = (common.PMU / "tsc_art_ratio").read_text().split(":")
    ratio = (common.PMU / "max_nonturbo_ratio").read_text()
    argv = [PT_DECODE, "trace", "code", "ips", n, d.strip(), str(mtc_period), ratio.strip()]
    out = subprocess.run(argv, capture_output=True, text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), f"result of pt_decode: {out.stdout}")
    ips = [ip for ip, in struct.iter_unpack("<Q", pathlib.Path("ips").read_bytes())]
    return {"iterations": ips.count(entry), **{k: int(v) for k, v in (line.split("=") for line in out.stdout.splitlines())}}


def check_psb_plus(got, order, terms, values):
    """Place of the TSC in PSB+, and what precedes it; an event's first PSB+ has no address."""
    places = got["psb_tsc_least"], got["psb_tsc_most"]
    if "tsc" not in terms:
        equal(places, (0, 0), "places of TSC")
        return
    check(got["psb"] > 1, "only one PSB")
    if order == "shuffled":
        check(places[1] - places[0] >= 16, f"TSC {places} bytes behind all PSBs")
    else:
        equal(places, {"broadwell": (16, 16), "skylake": (38, 54) if values["pip"] else (22, 38)}[order], "places of TSC")
    check(bool(got["pad"]) == (order != "broadwell"), f"{got['pad']} PAD packets")
    check(bool(got["cycles_psb"]) == ("cyc" in terms and order != "broadwell"), f"{got['cycles_psb']} cycles before TSC")


def check_packets(got, counts, n, terms, values):
    bits = counts["conditional"] + (0 if "noretcomp" in terms else counts["returns"])
    tips = counts["indirect"] + counts["interrupts"] + counts["irets"] + (counts["returns"] if "noretcomp" in terms else 0)
    equal(got["tnt_bits"], bits * n, "TNT bits")
    equal(got["tip"], tips * n, "TIP packets")
    equal(got["cycles"] - got["cycles_psb"], counts["cycles"] * n if "cyc" in terms else 0, "cycles")
    equal((got["tip_pge"], got["tip_pgd"]), (1, 1), "TIP.PGE and TIP.PGD packets")
    # Each PSB but the first, each interrupt, and the stop
    equal(got["fup"], got["psb"] - 1 + counts["interrupts"] * n + 1, "FUP packets")
    equal(got["psbend"], got["psb"], "PSBEND packets")
    equal(got["pip"], got["psb"] if values["pip"] else 0, "PIP packets")
    equal(got["ovf"], 0, "OVF packets")
    check(("mtc" in terms) or not got["mtc"], "MTC packets without MTC")
    check(bool(got["tnt_long"]) == bool(values["long_tnt"]), f"{got['tnt_long']} long TNT packets")
    equal(got["tsc_backward"], 0, "TSC packets that go back")


def check_flow(got, counts, n):
    equal(got["instructions"], counts["instructions"] * n, "instructions")
    for name in ("calls", "returns", "jumps", "conditional", "irets", "interrupts"):
        equal(got[name], counts[name] * n, name)
    equal((got["enabled"], got["async_disabled"], got["disabled"], got["overflows"]), (1, 1, 0, 0), "events")
    equal(got["iterations"], n, "iterations")


def check_times(got, start, stop):
    slack = 1000
    check(start["tsc"] <= got["first_time"] <= stop["tsc"], f"time {got['first_time']} of the first instruction")
    check(start["tsc"] <= got["last_time"] <= stop["tsc"] + slack, f"time {got['last_time']} of the last instruction")
    equal(got["last_tsc"], stop["tsc"], "TSC of the stop")


def case(terms, mtc_period, psb_period, program, parameters):
    values = {"bytes_per_sec": 200000, "max_burst": 131072, "period_us": 1000, "program": program, "long_tnt": 0, "pip": 1,
              "psb_order": "skylake", **parameters}
    for name, value in values.items():
        common.set_parameter(name, value)
    before = common.counter("iterations")
    start, stop = trace(terms, mtc_period, psb_period)
    n = stop["iterations"] - before
    check(stop["written"] < SIZE, "the ring is too small for this test")
    got = decode(address_of(ENTRIES[program]), mtc_period)
    print(f"{terms}, mtc_period {mtc_period}, psb_period {psb_period}, {program} {parameters}: {n} iterations; {got}", flush=True)
    counts = common.program_counts(program)
    check_packets(got, counts, n, terms.split(), values)
    check_psb_plus(got, values["psb_order"], terms.split(), values)
    check_flow(got, counts, n)
    if "tsc" in terms.split():
        check_times(got, start, stop)


common.load("ptsim")
with common.in_folder("/tmp/ptsim_libipt"):
    for one in CASES:
        case(*one)
