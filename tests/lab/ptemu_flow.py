#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The emulated Intel PT tells the truth: what libipt and perf decode is what the plugin saw, instruction by instruction.

usage: ptemu_flow.py KERNEL SECONDS PERF_POKE_CTL PT_FLOW IPS_FILTER

Runs guest/ptemu_windows.py in a guest and decodes here what it recorded. $PTEMU_WINDOWS names the windows, all without;
$PTEMU_INSTRUCTIONS is how many instructions each is to have at least."""
import array
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

KERNEL, SECONDS, CTL, PT_FLOW, IPS_FILTER = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
WINDOWS = os.environ.get("PTEMU_WINDOWS", "kernel compressed patched user two overflow ring ranges").split()
INSTRUCTIONS = os.environ.get("PTEMU_INSTRUCTIONS", "5000000")
AUXTRACE = 71
# libipt has the code of one moment and of no process, and here no ranges; at an overflow it is up to the decoder what there is.
NOT_FOR_LIBIPT = ("patched", "user", "overflow", "ring", "ranges")
# Cycles are told with branches: those after the last one are no instruction's.
CYCLES_LOST = 0.0001

failed = []


def check(condition, message):
    if not condition:
        print(f"FAILED: {message}", flush=True)
        failed.append(message)


def words(path):
    found = array.array("Q")
    found.frombytes(path.read_bytes())
    return found


def executed(path):
    """The log without the times."""
    log = words(path).tolist()
    ips, i = [], 0
    while i < len(log):
        try:
            end = log.index(0, i)
        except ValueError:
            end = len(log)
        ips += log[i:end]
        i = end + 2
    return ips


def raw_trace(data, cpu):
    """The AUX area's bytes of a CPU, out of perf's file."""
    content = (data / "data").read_bytes()
    begin, size = struct.unpack_from("<QQ", content, 40)
    at, raw = begin, b""
    while at < begin + size:
        kind, _, length = struct.unpack_from("<IHH", content, at)
        if kind == AUXTRACE:
            bytes_of, = struct.unpack_from("<Q", content, at + 8)
            if struct.unpack_from("<I", content, at + 40)[0] == cpu:
                raw += content[at + length:at + length + bytes_of]
            at += bytes_of
        at += length
    return raw


def check_libipt(window, folder, cpu, facts):
    trace = folder / f"trace{cpu}"
    trace.write_bytes(raw_trace(folder / "data", cpu))
    (n, d), ratio = facts["clock"]
    out = subprocess.run([PT_FLOW, trace, folder / f"vcpu{cpu}", n, d, "3", ratio, folder / "data/kcore_dir/kcore"],
                         capture_output=True, text=True, check=False)
    got = dict(line.split("=") for line in out.stdout.splitlines() if line.count("=") == 1 and " " not in line)
    print(f"{window}, CPU {cpu}, libipt: {got.get('decoded')} of {got.get('executed')} instructions, {got.get('different')} "
          f"different, {got.get('errors')} errors, {got.get('interrupts')} interrupts and exceptions", flush=True)
    check(out.returncode == 0 and got["decoded"] == got["executed"], f"{window}: libipt: {out.stdout[:2000]} {out.stderr}")


def difference(got, log):
    """Where the first is, with what is around it; None if there is none."""
    if got == log:
        return None
    at = next((i for i, (a, b) in enumerate(zip(got, log)) if a != b), min(len(got), len(log)))
    return at, [hex(ip) for ip in got[max(at - 3, 0):at + 3]], [hex(ip) for ip in log[max(at - 3, 0):at + 3]]


def gaps(got, log):
    """How often the streams differ for a while, and then go on alike."""
    count, i, j = 0, 0, 0
    while i < len(got) and j < len(log):
        if got[i] == log[j]:
            i, j = i + 1, j + 1
            continue
        count += 1
        same = [(a, b) for a in range(300) for b in range(300) if got[i + a:i + a + 20] == log[j + b:j + b + 20]]
        if not same:
            return None
        i, j = i + same[0][0], j + same[0][1]
    return count if (i, j) == (len(got), len(log)) else None


def is_slice(got, log):
    whole, part = array.array("Q", log).tobytes(), array.array("Q", got).tobytes()
    at = whole.find(part)
    return at >= 0 and at % 8 == 0


def decode_by_perf(folder):
    """Returns perf's complaints; its instructions are in files cpuN."""
    out = subprocess.run(["perf", "--buildid-dir", folder.parent / "debug", "script", "-i", folder / "data", "--itrace=i0nse",
                          "--dlfilter", IPS_FILTER],
                         capture_output=True, text=True, check=False, env={**os.environ, "IPS_FOLDER": str(folder)})
    check(out.returncode == 0, f"{folder.name}: exit status {out.returncode} of perf script ({out.stderr[-500:]})")
    return [line for line in out.stdout.splitlines() if "error" in line]


def check_perf(window, folder, cpu, facts, errors):
    got, log = words(folder / f"cpu{cpu}").tolist(), executed(folder / f"vcpu{cpu}")
    sums = dict(line.split("=") for line in (folder / f"cpu{cpu}.sums").read_text().splitlines())
    counted = facts["cpus"][str(cpu)]
    print(f"{window}, CPU {cpu}, perf: {len(got)} of {len(log)} instructions, {len(errors)} errors, {sums['cycles']} of "
          f"{counted['cycles']} cycles, {8 * counted['bytes'] / max(len(log), 1):.2f} bits each", flush=True)
    if window == "ring":
        check(len(got) > 100000 and is_slice(got, log), f"{window}: what is decoded is no part of what was executed")
    elif window == "overflow":
        check(gaps(got, log) == counted["overflows"], f"{window}: {gaps(got, log)} gaps, {counted['overflows']} overflows")
    else:
        check(difference(got, log) is None, f"{window}: perf, CPU {cpu}: {difference(got, log)}")
        lost = counted["cycles"] - int(sums["cycles"])
        check(0 <= lost <= CYCLES_LOST * counted["cycles"], f"{window}: {lost} cycles are missing")
    check(len(log) >= (1000 if window == "ranges" else int(INSTRUCTIONS)), f"{window}: only {len(log)} instructions")
    check(counted["instructions"] == len(log), f"{window}: {counted['instructions']} instructions counted, {len(log)} logged")
    check(counted["unexplained"] == 0, f"{window}: {counted['unexplained']} steps that no packet tells")
    check(counted["truncated"] == 0, f"{window}: the AUX area was full")


def check_window(window, folder):
    facts = json.loads((folder / "facts.json").read_text())
    errors = decode_by_perf(folder)
    overflows = sum(f["overflows"] for f in facts["cpus"].values())
    check(bool(overflows) == (window == "overflow"), f"{window}: {overflows} overflows")
    check(len(errors) == overflows, f"{window}: {len(errors)} errors of perf, {overflows} overflows: {errors[:5]}")
    for cpu in facts["cpus"]:
        check_perf(window, folder, int(cpu), facts, errors)
        if window not in NOT_FOR_LIBIPT:
            check_libipt(window, folder, int(cpu), facts)


def main():
    with tempfile.TemporaryDirectory(prefix="perf-poke-flow-") as scratch:
        scratch = pathlib.Path(scratch)
        out = subprocess.run([HERE / "run-test", KERNEL, SECONDS, "python3", HERE / "guest/ptemu_windows.py", CTL, INSTRUCTIONS,
                              *WINDOWS], env={**os.environ, "LAB_OPTIONS": f"--pt emulated --cpus 3 --scratch {scratch}"}, check=False)
        if out.returncode:
            return out.returncode
        for window in WINDOWS:
            check_window(window, scratch / window)
    return 1 if failed else 0


sys.exit(main())
