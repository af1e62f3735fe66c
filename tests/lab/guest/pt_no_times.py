# SPDX-License-Identifier: GPL-2.0-only
"""Where the TSC is not perf's clock, captures of Intel PT have an order but no times: a warning
says so first, and unknown values are null. Needs tsc=unstable on the kernel's command line."""
import json
import subprocess
import sys

import capture
import guest
from guest import check, equal

CTL = sys.argv[1]


def run(*args, status=0):
    out = subprocess.run([CTL, *args], capture_output=True, text=True, check=False)
    equal(out.returncode, status, f"exit status of {args}: {out.stderr}")
    return out.stdout, out.stderr


def check_said_before():
    rows = [json.loads(line) for line in run("check", "--json")[0].splitlines()]
    row = next(r for r in rows if r.get("name") == "tsc")
    check(not row["have"] or row["have"] == "no", f"check says that TSC is perf's clock: {row}")
    check("tsc=unstable" in row["remedy"], f"check has no remedy: {row}")
    said = run("start", "--cpu", "1", "--recorder", "pt", "--buffer", "128K", "--workload", "none",
               "--threshold", "100s", "--duration", "100ms", "--output", "/tmp/pt_no_times_none",
               status=3)[1]
    check("without times" in said, f"start does not say what is lost: {said}")


def check_unknown(one):
    """Values that need times of the trace are null, not 0."""
    equal((one.json["history_ns"], one.line["history_ns"]), (None, None), "history")
    equal(one.json["recorder"]["clock"]["perf_ns"], None, "perf's time")


def check_end(folder):
    """The trace is longer than what report decodes."""
    found = json.loads(run("report", folder, "--json")[0])
    check(found["path"], f"where the trace ended: {found}")
    equal((found["window"]["instructions"], found["after_spike"], found["decoding_errors"]),
          (20000, None, 0), "contents of the report")


def check_report(folder):
    text = run("report", folder)[0]
    check("the trace has no times" in text.splitlines()[0], f"sentence of the report: {text}")
    check("\nwhere the trace ended, which is at the spike\n" in text,
          f"the end of the trace: {text}")
    run("report", folder, "--window", "1ms", status=2)
    found = json.loads(run("report", folder, "--json", "--top", "1000")[0])
    check(found["spike"]["latency_ns"] >= capture.THRESHOLD_US * 1000,
          f"the report's spike: {found['spike']}")
    functions = {f["name"]: f for f in found["functions"]}
    for name in ("ptsim_outer", "ptsim_middle", "ptsim_leaf"):
        check(
            name in functions and functions[name]["calls"] > 0
            and functions[name]["self_instructions"] > 0, f"{name} in the report: {functions}")
    check(
        functions["ptsim_outer"]["total_instructions"] >
        functions["ptsim_outer"]["self_instructions"], f"what ptsim_outer called: {functions}")
    check(set(found["path"]) & set(functions), f"where the trace ended: {found['path']}")
    equal((found["budget"], found["window"]["begin_ns"]), (None, None), "times that are not known")


def check_order(folder):
    """All that was executed, and where it ended."""
    lines = run("script", folder, "--quiet")[0].splitlines()
    calls = [line.split()[-1] for line in lines if " call " in line]
    check({"ptsim_outer", "ptsim_middle", "ptsim_leaf"} <= set(calls), f"calls: {set(calls)}")
    check("tr end" in lines[-1], f"the end of the trace: {lines[-1]}")
    run("script", folder, "--window", "1ms", status=2)
    run("export", folder, "-o", "/tmp/times.fxt", status=2)
    run("export", folder, "-o", "/tmp/order.fxt", "--axis", "instructions")


capture.load()
check_said_before()
taken = capture.take(CTL, "/tmp/pt_no_times")[0]
check_unknown(taken)
guest.check_whole_iterations(taken.decoded())
check_report(str(taken.folder))
check_order(str(taken.folder))
guest.set_parameter("bytes_per_sec", 20000000)
guest.set_parameter("max_burst", 1 << 24)
taken = capture.take(CTL, "/tmp/pt_no_times_large", buffer="1M")[0]
check(taken.line["trace_bytes"] > 512 * 1024, f"size of the trace: {taken.line}")
check_end(str(taken.folder))
