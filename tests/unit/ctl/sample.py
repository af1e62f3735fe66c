#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The sample capture is opened, reported and exported; `script` without perf shows each function call that stock perf
shows.

usage: sample.py PERF_POKE_CTL SPIKE.TAR.ZST
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CTL, SAMPLE = sys.argv[1:]
CULPRIT = "late_timer_irqs_off"


def run(*argv, **environment):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}).stdout


def last_words(text):
    return {line.split()[-1] for line in text.splitlines() if line.strip()}


def main():
    with tempfile.TemporaryDirectory(prefix="perf-poke-sample-") as folder:
        spike = pathlib.Path(folder, "spike")
        run(CTL, "open", "-q", SAMPLE, "-o", spike)
        said = run(CTL, "report", spike)
        assert f"IRQ latency 227us: 227us in {CULPRIT}() with interrupts off" in said, said
        for name in ("spike.fxt.gz", "spike.html"):
            run(CTL, "export", "-q", spike, "--html" if name.endswith("html") else "-o", spike / name)
            assert (spike / name).stat().st_size > 50000, name
        ours = last_words(run(shutil.which(CTL), "script", "-q", "--all", spike, PATH="/nonexistent"))
        assert CULPRIT in ours, "script without perf does not show the culprit"
        if shutil.which("perf"):
            theirs = last_words(run("perf", "script", "-i", spike / "perf.data", "--itrace=c", "-F", "ip,sym,addr")) - {"[unknown]"}
            assert CULPRIT in theirs and theirs <= ours, theirs - ours


main()
