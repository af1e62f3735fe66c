#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Built without libipt: a capture of Intel PT is listed, archived, and reported without its trace.
What only shows the trace says in one line why not. `script` has stock perf decode it.

usage: no_libipt.py PERF_POKE_CTL SPIKE.TAR.ZST
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CTL, SAMPLE = shutil.which(sys.argv[1]) or sys.argv[1], sys.argv[2]


def run(*argv, code=0, **environment):
    done = subprocess.run([CTL, *argv], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    assert done.returncode == code, (argv, done.returncode, done.stderr)
    return done


def main():
    with tempfile.TemporaryDirectory(prefix="perf-poke-no-libipt-") as folder:
        spike, archive = pathlib.Path(folder, "spike"), pathlib.Path(folder, "again.tar.zst")
        run("open", "-q", SAMPLE, "-o", spike)
        told = run("report", spike).stdout
        assert "the trigger alone: this build has no libipt" in told, told
        sentence = " ".join(told.partition("\n\n")[0].split())
        assert re.fullmatch("IRQ latency 227us: .*the trace.*libipt.*", sentence), sentence
        assert json.loads(run("report", "--json", spike).stdout)["source"] == "none"
        for words, why in ((["export", spike, "-o", spike / "a.fxt"], "has no libipt"),
                           (["script", "-q", spike], "no perf in PATH")):
            done = run(*words, code=1, PATH="/nonexistent")
            assert why in done.stderr and "install" in done.stderr, done.stderr
            assert len(done.stderr.splitlines()) == 1 and not done.stdout, (words, done.stdout,
                                                                            done.stderr)
        assert not (spike / "a.fxt").exists()
        assert json.loads(run("list", "--json", folder).stdout.splitlines()[0])["recorder"] == "pt"
        run("archive", "-q", spike, "-o", archive)
        assert archive.stat().st_size > 10000
        if shutil.which("perf"):
            assert "late_timer_irqs_off" in run("script", "-q", "--all", spike).stdout


main()
