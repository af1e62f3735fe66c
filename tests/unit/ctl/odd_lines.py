#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Odd command lines: each exits with 1 or 2 and prints one line with the reason.

Usage: odd_lines.py PERF_POKE_CTL
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]).resolve()
# Without commands on sessions: as root they would end the machine's sessions.
COMMANDS = "start", "list", "report", "script", "export", "archive", "open"
VALUES = ("", "0", "-1", "x", "1e9", "99999999999999999999", "1,,2", "0x10", "a=b", "--", "-",
          "\x1b[2J", "ä" * 300, "/", "/dev/null", "../..", "%s%n", "1us,2us", "'\"`$(false)",
          "4294967297")
LINES = 150


def options_of(command):
    out = subprocess.run([TOOL, command, "--help"], capture_output=True, text=True,
                         check=True).stdout
    return [
        name for name in re.findall(r"^  .{4}(--[a-z-]+)", out, re.MULTILINE) if name != "--help"
    ]


def odd_line(rng, options):
    command = rng.choice(COMMANDS)
    words = [rng.choice(options[command] + list(VALUES)) for _ in range(rng.randrange(7))]
    # None may be valid by chance.
    return [command, *words, "--no-such-option"]


def check(words, folder):
    result = subprocess.run([TOOL, *words], capture_output=True, cwd=folder,
                            stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert result.returncode in (1, 2), (words, result)
    assert result.stdout == b"" and result.stderr.count(b"\n") == 1, (words, result)
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", result.stderr), (words,
                                                                                        result)


def main():
    options = {command: options_of(command) for command in COMMANDS}
    assert all(len(found) > 2 for found in options.values()), options
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(LINES):
            check(odd_line(rng, options), folder)
        assert not list(pathlib.Path(folder).iterdir())


main()
