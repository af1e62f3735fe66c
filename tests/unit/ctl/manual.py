#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The manual pages: mandoc and man have nothing to say against them, pages can be found by name,
and the page of a command has the options of its --help and of its completion, no more and no fewer;
that of start also names their values. README and docs/ name no command or option that does not
exist.

Usage: manual.py PERF_POKE_CTL TREE PAGE...
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

# Of `start`
OPTIONS_MAX, LINES_MAX = 47, 120


def output(*words):
    # No word is broken in lines that are long.
    return subprocess.run(words, capture_output=True, text=True, check=True,
                          env=os.environ | {"MANWIDTH": "2000"})


def help_of(tool, *words):
    return output(tool, *words, "--help").stdout


def check_lint(pages):
    """References to pages that are not installed here are fine."""
    out = subprocess.run(["mandoc", "-T", "lint", "-W", "style", *pages], capture_output=True,
                         text=True, check=False).stdout
    said = [
        line for line in out.splitlines()
        if "STYLE: referenced manual not found" not in line and "outdated mandoc.db" not in line
    ]
    assert not said, said


def check_man(page, name):
    shown = output("man", "--warnings", "-E", "UTF-8", "-l", page)
    assert not shown.stderr, f"{page}: {shown.stderr}"
    found = output("lexgrog", page).stdout
    assert f'"{name} - ' in found, found


def options_of_page(text):
    """Of the lists of options: `.It Fl c , Fl -cpu Ar LIST`."""
    rows = re.findall(r"^\.It (Fl .*)$", text, re.MULTILINE)
    return {"-" + name for row in rows for name in re.findall(r"(?:^| , )Fl (\S+)", row)}


def options_of_help(text):
    rows = re.findall(r"^ {2,6}(-\w(?:, --[\w-]+)?|--[\w-]+)(?=\s|$)", text, re.MULTILINE)
    return {name for row in rows for name in row.split(", ")} - {"-h", "--help"}


def options_of_completion(tool, command):
    rows = output(tool, "complete", command, "--").stdout.splitlines()
    return {row.split("\t")[0].rstrip("=") for row in rows} - {"--help", "--"}


def check_options(tool, command, page):
    expected, written = options_of_help(help_of(tool, command)), options_of_page(page)
    assert expected == written, \
        f"src/ctl/man/perf-poke-ctl-{command}.1: add {expected - written}, " \
        f"remove {written - expected}"
    offered = options_of_completion(tool, command)
    assert {name for name in expected
            if name.startswith("--")} == offered, f"{command}: {expected ^ offered}"


def check_values(tool, command, page):
    """The text of an option has the names of its values, but for the default and `span`, whose NAME
    is written."""
    for row, text in re.findall(r"^\.It (Fl .*)\n((?:(?!\.It Fl ).*\n)*)", page, re.MULTILINE):
        for option in re.findall(r"Fl (-\w\S+)", row):
            offered = output(tool, "complete", command, "-" + option, "").stdout
            values = {line.split("\t")[0]
                      for line in offered.splitlines() if "\t" in line} - {"auto", "span"}
            lacking = {
                value for value in values
                if not re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text)
            }
            assert not lacking, \
                f"src/ctl/man/perf-poke-ctl-{command}.1: add {lacking} to -{option}"


def check_docs(tree, helps):
    """Each `perf-poke-ctl COMMAND --option`."""
    for path in [tree / "README.md", *tree.glob("docs/*.md")]:
        for command, words in re.findall(r"perf-poke-ctl ([a-z][\w-]*)([^\n`]*)",
                                         path.read_text().replace("\\\n", "")):
            assert command in helps, f"{path}: {command}"
            for option in re.findall(r"\s(--?[a-zA-Z][\w-]*)",
                                     re.split(r" -- | --$|[#|;)]", words)[0]):
                assert re.search(rf"[\s,]{option}[\s,]",
                                 helps[command]), f"{path}: {command} {option}"


def check_help(helps):
    """Short enough to be read; the fields of JSON are in the manual page."""
    schemas = [command for command, text in helps.items() if '{"' in text]
    assert not schemas, f"fields of JSON in --help of {schemas}: write them to perf-poke-capture.5"
    lines = helps["start"].splitlines()
    options = [line for line in lines if re.match(r" {2,6}-", line)]
    assert len(options) <= OPTIONS_MAX, \
        f"start has {len(options)} options, more than {OPTIONS_MAX}: " \
        "derive one, or let one say what two say"
    assert len(lines) <= LINES_MAX, \
        f"start --help has {len(lines)} lines, more than {LINES_MAX}: " \
        "leave what the manual page says"


def main():
    tool, tree, *paths = sys.argv[1:]
    commands = re.findall(r"^  ([\w-]+) ", help_of(tool), re.MULTILINE)
    assert len(commands) > 5, commands
    helps = {command: help_of(tool, command) for command in commands}
    check_docs(pathlib.Path(tree), helps)
    check_help(helps)
    pages = {pathlib.Path(path).stem: pathlib.Path(path).read_text() for path in paths}
    for command in commands:
        page = f"perf-poke-ctl-{command}"
        assert page in pages, f"write src/ctl/man/{page}.1 and name it in src/ctl/man/meson.build"
        assert f".It Xr {page} 1\n" in pages["perf-poke-ctl"], \
            f"src/ctl/man/perf-poke-ctl.1: add `.It Xr {page} 1`"
        # run has the options of start, and its page refers to that one.
        page = page.replace("-run", "-start")
        check_options(tool, command, pages[page])
    check_values(tool, "start", pages["perf-poke-ctl-start"])
    missing = [name for name in ("mandoc", "man", "lexgrog") if not shutil.which(name)]
    if missing:
        print(f"there is no {missing[0]} here (Debian: mandoc, man-db)")
        return 77
    check_lint(paths)
    for path in paths:
        check_man(path, pathlib.Path(path).stem)
    print(f"{len(pages)} pages, {len(commands)} commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
