#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The manual pages: man prints no warnings, pages can be found by name, and each command has one with all its
options. README and docs/ name no command or option that does not exist.

Usage: manual.py PERF_POKE_CTL TREE PAGE...
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys


def output(*words):
    # No word is broken in lines that are long.
    return subprocess.run(words, capture_output=True, text=True, check=True,
                          env=os.environ | {"MANWIDTH": "2000"})


def help_of(tool, *words):
    return output(tool, *words, "--help").stdout


def check_page(page, name):
    shown = output("man", "--warnings", "-E", "UTF-8", "-l", str(page))
    assert not shown.stderr, f"{page.name}: {shown.stderr}"
    found = output("lexgrog", str(page)).stdout
    assert f'"{name} - ' in found, found
    return re.sub(r"\s+", " ", shown.stdout)


def check_docs(tree, helps):
    """Each `perf-poke-ctl COMMAND --option`."""
    for path in [tree / "README.md", *tree.glob("docs/*.md")]:
        for command, words in re.findall(r"perf-poke-ctl ([a-z][\w-]*)([^\n`]*)", path.read_text().replace("\\\n", "")):
            assert command in helps, f"{path}: {command}"
            for option in re.findall(r"\s(--?[a-zA-Z][\w-]*)", re.split(r" -- | --$|[#|;)]", words)[0]):
                assert re.search(rf"[\s,]{option}[\s,]", helps[command]), f"{path}: {command} {option}"


def main():
    tool, tree, *pages = sys.argv[1:]
    commands = re.findall(r"^  ([\w-]+) ", help_of(tool), re.MULTILINE)
    assert len(commands) > 5, commands
    check_docs(pathlib.Path(tree), {command: help_of(tool, command) for command in commands})
    if not shutil.which("man") or not shutil.which("lexgrog"):
        print("there is no man here, or no lexgrog (Debian: man-db)")
        return 77
    shown = {}
    for page in map(pathlib.Path, pages):
        shown[page.stem] = check_page(page, page.stem)
    for command in commands:
        text = shown[f"perf-poke-ctl-{command}"]
        assert f"perf-poke-ctl-{command}(1)" in shown["perf-poke-ctl"], command
        options = re.findall(r"^ +(?:-\w, )?(--\w[\w-]*)", help_of(tool, command), re.MULTILINE)
        missing = [option for option in options if option not in text]
        assert options and not missing, f"{command}: {missing}"
    print(f"{len(shown)} pages, {len(commands)} commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
