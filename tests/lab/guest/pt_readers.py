# SPDX-License-Identifier: GPL-2.0-only
"""Every command of stock perf that reads a trace takes a capture without a word of complaint, whatever version it is; the folder of
the capture is all it needs, also when the traced code is gone. With kernel addresses hidden there still is a capture that says so."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

import capture
import common
from capture import take
from common import check, equal

CTL = sys.argv[1]
KPTR_RESTRICT = pathlib.Path("/proc/sys/kernel/kptr_restrict")
# Nothing that perf has kept elsewhere helps it.
ENV = {**os.environ, "HOME": "/nonexistent", "PERF_BUILDID_DIR": "/nonexistent"}


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=ENV, stdin=subprocess.DEVNULL, errors="replace")


def text(*argv):
    """What a reader prints that has nothing to complain about."""
    out = run(*argv)
    equal((out.returncode, out.stderr), (0, ""), " ".join(argv))
    return out.stdout


def injected(perf, data, number):
    output = f"/tmp/pt_readers_injected{number}"
    text(perf, "inject", "--itrace=i100usb", "-i", data, "-o", output)
    # It has samples in place of the trace: as many branches as the trace has.
    events = collections.Counter(re.findall(r"^ *([\w-]+):", text(perf, "script", "-i", output, "-F", "event"), re.MULTILINE))
    shutil.rmtree(output, ignore_errors=True)
    pathlib.Path(output).unlink(missing_ok=True)
    return events


def check_readers(perf, data, number):
    machine = os.uname()
    head = text(perf, "report", "-i", data, "--header-only")
    for fact in (f"hostname : {machine.nodename}", f"os release : {machine.release}", f"arch : {machine.machine}",
                 f"nrcpus online : {os.cpu_count()}"):
        check(fact in head, f"{perf}: no '{fact}' in the header: {head[:600]}")
    report = text(perf, "report", "-i", data, "--header", "--stdio", "--itrace=i100us")
    check("ptsim_" in report, f"{perf}: nothing of the traced program in the report: {report[-600:]}")
    check("kernel" in text(perf, "buildid-list", "-i", data), f"{perf}: no build id of the kernel")
    dump = text(perf, "script", "-i", data, "-D")
    check("PSB" in dump, f"{perf}: no trace in the dump")
    check("intel_pt" in text(perf, "evlist", "-i", data, "-v"), f"{perf}: no event intel_pt")
    events = injected(perf, data, number)
    branches = len(common.Decoded(data, itrace="b", perf=perf).branches)
    check(branches and events["branches"] >= branches, f"{perf}: {events} injected of {branches} branches")
    print(f"{perf}: {len(dump.splitlines())} lines of dump, {dict(events)} injected")


def decoded_text(perf, data):
    return text(perf, "script", "-i", data, "--itrace=be", "--ns")


def check_moved(one, perfs):
    """The folder alone, elsewhere, on a machine that has not the module that was traced, or not at that address."""
    before = [decoded_text(perf, one.data) for perf in perfs]
    elsewhere = "/tmp/pt_readers_elsewhere/capture"
    shutil.copytree(one.folder, elsewhere)
    shutil.rmtree(one.folder)
    common.unload("ptsim")
    for perf, expected in zip(perfs, before):
        check("ptsim_main" in expected, f"{perf}: no symbols of the traced module")
        check(decoded_text(perf, f"{elsewhere}/perf.data") == expected, f"{perf}: another text of the copy than of the capture")


def check_hidden(perfs):
    """No addresses of the kernel for anybody: a capture without its code, that says so, and that no perf dies of."""
    KPTR_RESTRICT.write_text("2")
    try:
        one = take(CTL, "/tmp/pt_readers_hidden")[0]
    finally:
        KPTR_RESTRICT.write_text("0")
    equal(one.json["recorder"]["kcore"], False, "kernel code in a capture while addresses are hidden")
    for perf in perfs:
        for argv in (["report", "--header-only"], ["script", "-D"], ["script", "--itrace=be"], ["evlist", "-v"], ["buildid-list"]):
            out = run(perf, *argv, "-i", one.data)
            equal(out.returncode, 0, f"{perf} {argv} of a capture without kernel code: {out.stderr[-300:]}")


capture.load()
readers = capture.perfs()
check_hidden(readers)
visible = take(CTL, "/tmp/pt_readers")[0]
check(visible.json["recorder"]["kcore"], "no kernel code in the capture")
for index, reader in enumerate(readers):
    check_readers(reader, visible.data, index)
check_moved(visible, readers)
