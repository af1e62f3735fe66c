#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The emulated Intel PT tells the truth: what libipt and perf decode is what the plugin saw, instruction by instruction.

usage: ptemu_flow.py [--windows LIST] KERNEL[,KERNEL...] SECONDS PERF_POKE_CTL PT_DECODE IPS_FILTER

Runs guest/ptemu_windows.py in a guest of each kernel and decodes here what it recorded: the windows of LIST, without one ten of the
kernel and ten of kernel and user space. $PTEMU_INSTRUCTIONS is how many instructions each is to have at least."""
import argparse
import array
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import ptemu_contents
import recording

HERE = pathlib.Path(__file__).resolve().parent
ALL = " ".join(f"{kind}{number}" for kind in ("kernel", "user") for number in range(1, 11))
INSTRUCTIONS = os.environ.get("PTEMU_INSTRUCTIONS", "5000000")
# Here it is up to the decoder what there is.
WITH_GAPS = ("overflow", "ring")
COUNTED = re.compile(r"IPC: [0-9.]+ \((\d+)/(\d+)\)")

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
    log = words(path)
    ips, i = array.array("Q"), 0
    while i < len(log):
        try:
            end = log.index(0, i)
        except ValueError:
            end = len(log)
        ips += log[i:end]
        i = end + 2
    return ips


def decode_by_libipt(name, folder, cpu, facts, recorded):
    """Returns what pt_decode says; its instructions are in files ipsN."""
    trace, code = folder / f"trace{cpu}", folder / f"code{cpu}"
    trace.write_bytes(recorded.trace(cpu))
    code.write_text(recorded.code(cpu))
    (n, d), ratio = facts["clock"]
    out = subprocess.run([args.pt_decode, trace, code, folder / f"ips{cpu}", n, d, "3", ratio], capture_output=True, text=True, check=False)
    errors = [line for line in out.stdout.splitlines() if line.startswith("error")]
    # It knows of no ranges, and so not where the trace ends.
    check(name.kind == "ranges" or (out.returncode == 0 and not errors), f"{name}: libipt: {errors[:5]} {out.stderr}")
    return dict(line.split("=") for line in out.stdout.splitlines() if line not in errors)


def check_libipt(name, folder, cpu, got, log):
    ips = words(folder / f"ips{cpu}")
    print(f"{name}, CPU {cpu}, libipt: {len(ips)} of {len(log)} instructions, {got['interrupts']} interrupts and exceptions", flush=True)
    check(difference(ips, log) is None, f"{name}: libipt, CPU {cpu}: {difference(ips, log)}")


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
    at = log.tobytes().find(got.tobytes())
    return at >= 0 and at % 8 == 0


def decode_by_perf(folder):
    """Returns perf's complaints; its instructions are in files cpuN."""
    out = subprocess.run(["perf", "--buildid-dir", folder.parent / "debug", "script", "-i", folder / "data", "--itrace=i0nse",
                          "--dlfilter", args.ips_filter],
                         capture_output=True, text=True, check=False, env={**os.environ, "IPS_FOLDER": str(folder)})
    check(out.returncode == 0, f"{folder.name}: exit status {out.returncode} of perf script ({out.stderr[-500:]})")
    return [line for line in out.stdout.splitlines() if "error" in line]


def check_counts(name, log, counted, sums, packets):
    """What perf counts is what the model does, but for what comes after the last branch."""
    check(int(sums["insns"]) == int(sums["counted_samples"]), f"{name}: {sums['insns']} instructions counted by perf")
    check(len(log) - int(sums["insns"]) < 1000, f"{name}: {sums['insns']} of {len(log)} instructions counted by perf")
    lost = counted["cycles"] - int(sums["cycles"])
    check(lost == int(packets["cycles_untold"]), f"{name}: {lost} cycles missing, {packets['cycles_untold']} after the last branch")


def check_perf(name, folder, cpu, counted, errors, log, packets):
    got = words(folder / f"cpu{cpu}")
    sums = dict(line.split("=") for line in (folder / f"cpu{cpu}.sums").read_text().splitlines())
    print(f"{name}, CPU {cpu}, perf: {len(got)} of {len(log)} instructions, {len(errors)} errors, counted {sums['insns']} and "
          f"{sums['cycles']} of {counted['cycles']} cycles, {8 * counted['bytes'] / max(len(log), 1):.2f} bits each", flush=True)
    if name.kind == "ring":
        check(len(got) > 100000 and is_slice(got, log), f"{name}: what is decoded is no part of what was executed")
    elif name.kind == "overflow":
        check(gaps(got, log) == counted["overflows"], f"{name}: {gaps(got, log)} gaps, {counted['overflows']} overflows")
    else:
        check(difference(got, log) is None, f"{name}: perf, CPU {cpu}: {difference(got, log)}")
        check_counts(name, log, counted, sums, packets)
    check(len(log) >= (100 if name.kind == "ranges" else int(INSTRUCTIONS)), f"{name}: only {len(log)} instructions")
    check(counted["instructions"] == len(log), f"{name}: {counted['instructions']} instructions counted, {len(log)} logged")
    check(counted["unexplained"] == 0, f"{name}: {counted['unexplained']} steps that no packet tells")
    check(counted["truncated"] == 0, f"{name}: the AUX area was full")


def check_printed(name, folder, counted):
    """The counts that `perf script` prints, summed up, are the model's."""
    out = subprocess.run(["perf", "script", "-i", folder / "data", "--itrace=i0ns", "-F", "ip,ipc"],
                         capture_output=True, text=True, check=True).stdout
    printed = [tuple(map(int, match)) for match in COUNTED.findall(out)]
    sums = tuple(map(sum, zip(*printed)))
    print(f"{name}: perf prints {len(printed)} counts, of {sums} instructions and cycles together", flush=True)
    check(sums == (counted["instructions"], counted["cycles"]), f"{name}: perf prints {sums}, not {counted}")


def check_window(name, folder, contents):
    facts = json.loads((folder / "facts.json").read_text())
    recorded = recording.Recording(folder / "data", folder.parent / "debug")
    errors = decode_by_perf(folder)
    overflows = sum(f["overflows"] for f in facts["cpus"].values())
    check(bool(overflows) == (name.kind == "overflow"), f"{name}: {overflows} overflows")
    check(len(errors) == overflows, f"{name}: {len(errors)} errors of perf, {overflows} overflows: {errors[:5]}")
    for cpu, counted in facts["cpus"].items():
        log = executed(folder / f"vcpu{cpu}")
        packets = None if name.kind in WITH_GAPS else decode_by_libipt(name, folder, int(cpu), facts, recorded)
        check_perf(name, folder, cpu, counted, errors, log, packets)
        if packets and name.kind != "ranges":
            check_libipt(name, folder, cpu, packets, log)
            contents[f"{name}, CPU {cpu}"] = ptemu_contents.count(log, recorded)
    if name.kind == "ranges":
        check_printed(name, folder, facts["cpus"]["1"])


def check_contents(kernel, contents):
    kinds = ptemu_contents.KINDS
    print(f"in windows of {kernel}: {', '.join(kinds)}")
    for where, found in contents.items():
        print(f"  {where}: {', '.join(str(found[kind]) for kind in kinds)}")
    for kind in kinds:
        check(any(found[kind] for found in contents.values()), f"{kernel}: no {kind} in any window")


class Name(str):
    @property
    def kind(self):
        return self.rstrip("0123456789")


def check_kernel(kernel):
    contents = {}
    options = "--pt emulated --cpus 3 --accel tcg-single"
    with tempfile.TemporaryDirectory(prefix="perf-poke-flow-") as scratch:
        scratch = pathlib.Path(scratch)
        guest = subprocess.Popen([HERE / "run-test", kernel, args.seconds, "python3", HERE / "guest/ptemu_windows.py", args.ctl,
                                  INSTRUCTIONS, *args.windows.split()],
                                 env={**os.environ, "LAB_OPTIONS": f"{options} --scratch {scratch}"})
        for window in args.windows.split():
            while not (scratch / window).exists() and guest.poll() is None:
                time.sleep(0.1)
            if (scratch / window).exists():
                check_window(Name(window), scratch / window, contents)
                shutil.rmtree(scratch / window)
        if guest.wait():
            return guest.returncode
    if contents:
        check_contents(kernel, contents)
    return 1 if failed else 0


def main():
    return max(check_kernel(kernel) for kernel in args.kernels.split(","))


parser = argparse.ArgumentParser()
parser.add_argument("--windows", default=ALL)
for argument in ("kernels", "seconds", "ctl", "pt_decode", "ips_filter"):
    parser.add_argument(argument)
args = parser.parse_args()
sys.exit(main())
