#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Shell completion offers every command, option and value, and file names where one is expected. In
bash, and in fish and zsh if installed.

Usage: complete.py PERF_POKE_CTL BASH FISH ZSH
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOOL, BASH, FISH, ZSH = (pathlib.Path(word).resolve() for word in sys.argv[1:])
ENV = {**os.environ, "PATH": f"{TOOL.parent}:{os.environ['PATH']}"}

BASH_TEST = """
. "$0"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _perf_poke_ctl
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
"""
# The arguments of the shell's own functions
ZSH_TEST = """
_describe() { print -rl -- "${(@P)3}" }
_files() { print -r files $* }
words=("$@"); CURRENT=$#
file=$0
run() { . $file }
run
"""


def offered(*words):
    out = subprocess.run([TOOL, "complete", *words], capture_output=True, text=True, check=True)
    assert not out.stderr, out.stderr
    return [line.split("\t")[0] for line in out.stdout.splitlines()]


def in_bash(*words, cwd=None):
    return subprocess.run(["bash", "-c", BASH_TEST, BASH, "perf-poke-ctl", *words],
                          capture_output=True, text=True, check=True, env=ENV,
                          cwd=cwd).stdout.split()


def in_fish(line, cwd=None):
    out = subprocess.run(["fish", "--no-config", "-c", f"source {FISH}; complete -C '{line}'"],
                         capture_output=True, text=True, check=True, env=ENV, cwd=cwd).stdout
    return [found.split("\t")[0] for found in out.splitlines()]


def help_of(*words):
    return subprocess.run([TOOL, *words, "--help"], capture_output=True, text=True,
                          check=True).stdout


def equal(got, expected):
    assert sorted(got) == sorted(expected), f"{got}, not {expected}"


def check_all():
    """All are offered, and in the help."""
    commands = re.findall(r"^  ([\w-]+) ", help_of(), re.MULTILINE)
    assert len(commands) > 5, commands
    equal(offered(""), commands)
    for command in commands:
        text = help_of(command)
        assert text.startswith(f"Usage: perf-poke-ctl {command} "), text
        assert "\nExit codes: " in text, \
            f"{command} --help: add a line 'Exit codes: ...' to .notes of its struct command"
        options = re.findall(r"^  (?:-\w, |    )(--[\w-]+)", text, re.MULTILINE)
        assert options, command
        equal(offered(command, "--"), options)


FREEZES = ["auto", "pause", "sample", "signal", "swap", "traceoff"]


def check_values():
    equal(offered("start", "--freeze", ""), FREEZES)
    equal(offered("start", "--freeze", "p"), ["pause"])
    equal(offered("start", "--json", "--recorder", "p"), ["pt", "perf"])
    equal(offered("start", "--output", "x"), [":folders"])
    equal(offered("start", "-o", "x"), [":folders"])
    equal(offered("start", "--count", ""), [])
    equal(offered("start", "--cpu", "3", "--", "perf", "rec"), [":files"])
    equal(offered("export", "--html", ""), [":files"])
    equal(offered("report", ""), [":folders"])
    equal(offered("nothing", ""), [])
    own = pathlib.Path("/proc/self/comm").read_text().rstrip("\n")
    assert own in offered("start", "--task", own), own
    equal(offered("st"), ["start", "status", "stop"])


def check_bash(folder):
    equal(in_bash("st"), ["start", "status", "stop"])
    equal(in_bash("start", "--freeze", "s"), ["sample", "signal", "swap"])
    equal(in_bash("start", "--freeze", "=", "s"), ["sample", "signal", "swap"])
    equal(in_bash("start", "--freeze", "="), FREEZES)
    equal(in_bash("report", "c", cwd=folder), ["captures"])
    equal(in_bash("open", "c", cwd=folder), ["captures", "c.tar.zst"])


def check_fish(folder):
    equal(in_fish("perf-poke-ctl st"), ["start", "status", "stop"])
    equal(in_fish("perf-poke-ctl start --freeze s"), ["sample", "signal"])
    equal(in_fish("perf-poke-ctl report c", cwd=folder), ["captures/"])


def check_zsh():
    def in_zsh(*words):
        return subprocess.run(["zsh", "-f", "-c", ZSH_TEST, ZSH, "perf-poke-ctl", *words],
                              capture_output=True, text=True, check=True,
                              env=ENV).stdout.splitlines()

    equal([line.split(":")[0] for line in in_zsh("st")], ["start", "status", "stop"])
    equal(in_zsh("start", "--freeze", "s"), ["sample:", "signal:"])
    equal(in_zsh("report", ""), ["files -/"])


def main():
    check_all()
    check_values()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "captures").mkdir()
        (pathlib.Path(folder) / "c.tar.zst").touch()
        check_bash(folder)
        if shutil.which("fish"):
            check_fish(folder)
    if shutil.which("zsh"):
        check_zsh()


main()
