# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl script shows a capture of the recorder pt as indented calls and returns, up to the
freeze.

usage: script.py PERF_POKE_CTL [CAPTURES]; keeps captures in the folder CAPTURES.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import capture as captures
import guest
from guest import check, equal

CTL = sys.argv[1]
OUTPUT = pathlib.Path("/var/tmp/script-captures")
LATE = pathlib.Path("/sys/kernel/debug/late_timer/irqs_off")
SPIKE_US = 30000
WINDOW_NS = 200000

LINE = re.compile(r" *(?P<comm>\S.*?) +(?P<tid>\d+) \[(?P<cpu>\d+)\] +(?P<s>\d+)\.(?P<ns>\d{9}): +"
                  r"(?P<flags>[a-z][a-z ]*?)(?P<indent> +)(?P<symbol>\S+)\s*")
# Call depth of each function of ptsim.
DEPTHS = {
    "ptsim_outer": 0, "ptsim_middle": 1, "ptsim_inner": 2, "ptsim_leaf": 3, "ptsim_indirect": 0,
    "ptsim_callee_a": 1, "ptsim_callee_b": 1, "ptsim_switch": 0, "ptsim_interrupted": 0,
    "ptsim_interrupt": 1, "ptsim_softirq": 2
}


def take_capture(*options):
    session = subprocess.Popen([
        CTL, "start", "--json", "--cpu",
        str(guest.CPU), "--threshold", "20ms", "--count", "1", "--duration", "60s", "--buffer",
        "128K", "--recorder", "pt", "--output", OUTPUT, *options
    ], stdout=subprocess.PIPE, text=True)
    first = session.stdout.readline()
    check('"armed"' in first, f"the session is not armed: {first}")
    LATE.write_text(f"{guest.CPU} {SPIKE_US}\n")
    out = session.communicate(timeout=120)[0]
    equal(session.returncode, 0, f"exit status of start ({out[-500:]})")
    path = max(OUTPUT.iterdir())
    return path, json.loads((path / "capture.json").read_text())


def script(path, *args, perf="perf"):
    result = subprocess.run([CTL, "script", path, *args], capture_output=True, text=True,
                            check=False, env={**os.environ, "PERF_POKE_PERF": shutil.which(perf)})
    equal(result.returncode, 0, f"exit status of script {args} ({result.stderr[-500:]})")
    return result


def parse(text):
    """Lines of calls, returns and the like."""
    lines = []
    for line in map(str.rstrip, text.splitlines()):
        # The core frequency and synchronisation points
        if not line or "cbr:" in line or "psb offs:" in line or guest.is_sample(line):
            continue
        match = LINE.fullmatch(line)
        check(match, f"not understood: '{line}'")
        lines.append({
            "time": int(match["s"] + match["ns"]), "flags": match["flags"],
            "symbol": match["symbol"], "column": match.start("symbol"), "cpu": int(match["cpu"])
        })
    return lines


def check_indentation(lines):
    """From the first whole iteration of ptsim on, four columns a call."""
    begin = next((i for i, line in enumerate(lines)
                  if (line["flags"], line["symbol"]) == ("call", "ptsim_outer")), None)
    check(begin is not None, "no call of ptsim_outer")
    base = lines[begin]["column"]
    for line in lines[begin:]:
        if line["symbol"] in DEPTHS:
            equal((line["column"] - base) // 4, DEPTHS[line["symbol"]], f"depth of {line}")
    calls = {line["symbol"] for line in lines if line["flags"] in ("call", "hw int")}
    returns = {line["symbol"] for line in lines if line["flags"] in ("return", "iret")}
    equal(calls, set(DEPTHS), "functions that are called")
    equal(returns, set(DEPTHS), "functions that return")


def check_times(lines, facts, window_ns):
    """Nothing before the window or after the freeze; and the trace ends with this."""
    clock = facts["recorder"]["clock"]
    spike = facts["spike"]["time_ns"] - clock["monotonic_ns"] + clock["perf_ns"]
    first, last = lines[0]["time"], lines[-1]["time"]
    print(
        f"{len(lines)} lines, {spike - first} ns before the spike to {last - spike} ns after it, "
        f"freeze "
        f"{facts['recorder']['freeze']}, skid {facts['skid_ns']} ns")
    check(first >= spike - window_ns, f"{spike - first} ns before the spike")
    check(last <= spike + facts["skid_ns"],
          f"{last - spike} ns after the spike, of a skid of {facts['skid_ns']} ns")
    check(lines[-1]["flags"].startswith("tr end"), f"the last line is {lines[-1]}")
    equal({line["cpu"] for line in lines}, {guest.CPU}, "CPUs")


def check_instructions(path):
    """Every perf can at least show the bytes."""
    result = script(path, "--insns", "--window", "1ms")
    shown = [
        line for line in result.stdout.splitlines() if re.search(r"\bptsim_leaf\+0x\w+ ", line)
    ]
    check(shown, f"no instruction of ptsim_leaf: {result.stdout[:500]}")


def check_silence(path):
    """No perf warns about a capture whose trace is in a sample, and all name it."""
    for perf in captures.perfs():
        for args in ([], ["--insns"]):
            result = script(path, "--window", "3ms", *args, perf=perf)
            foreign = [
                line for line in result.stderr.splitlines()
                if not line.startswith("perf-poke-ctl: ")
            ]
            equal(foreign, [], f"what {perf} said of {args}")
            named = re.findall(r"\bbpf_trace:bpf_trace_printk:", result.stdout)
            equal(len(named), 1, f"{perf}: lines of the sample with {args}")
            check("ptsim_" in result.stdout, f"{perf}: nothing of the traced program with {args}")
        plain = subprocess.run([perf, "script", "-i", path / "perf.data"], capture_output=True,
                               text=True, check=False)
        equal((plain.returncode, plain.stderr), (0, ""), f"{perf} script alone")


guest.load("ptsim")
guest.load("late_timer")
shutil.rmtree(OUTPUT, ignore_errors=True)
capture, about = take_capture()
if len(sys.argv) > 2:
    shutil.copytree(OUTPUT, sys.argv[2], dirs_exist_ok=True)
equal(about["recorder"]["kind"], "pt", "recorder")
default = script(capture)
equal(default.stderr, "", "what perf said")
check_times(parse(default.stdout), about, WINDOW_NS)
wide = parse(script(capture, "--window", "3ms").stdout)
check_times(wide, about, 3000000)
check_indentation(wide)
check(len(parse(script(capture, "--all").stdout)) > len(wide), "--all shows no more than 3 ms")
check_instructions(capture)
check_silence(take_capture("--freeze", "sample")[0])
