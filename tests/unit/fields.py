#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The manual page has each field of the table of captures, and a field costs as few files as
CONTRIBUTING says.

Usage: fields.py TREE
"""
import pathlib
import re
import sys

FILES_MAX = 8
# From the BPF program to what `start` prints at its end.
EXAMPLE = "ran_watched"
# tests/host and tests/lab test what a kernel does. The stored ABI allows for new members.
FOLDERS = "bpf", "docs", "examples", "src", "tests/unit"
OTHERS = "tests/unit/lib/perf_poke.abi", "tests/unit/fields.py"


def rows_of(page):
    """Each entry with its text."""
    for words, text in re.findall(r"^\.It Va ([^\n]*)\n(.*?)(?=^\.It |^\.El)", page,
                                  re.MULTILINE | re.DOTALL):
        for name in words.split(" , "):
            yield name, text


def undescribed(table, page):
    """A field has an entry, or is in bold in that of the object that it is in."""
    rows = dict(rows_of(page.partition(".Sh JSON LINES")[0]))
    for path in re.findall(r'^\t\{ "([\w.]+)", FIELD_', table, re.MULTILINE):
        parent, _, name = path.rpartition(".")
        if path not in rows and fr"\fB{name}\fP" not in rows.get(parent, ""):
            yield path


def main():
    tree = pathlib.Path(sys.argv[1])
    lacks = [
        *undescribed((tree / "src/lib/capture/capture_fields.c").read_text(),
                     (tree / "src/ctl/man/perf-poke-capture.5").read_text())
    ]
    assert not lacks, f"src/ctl/man/perf-poke-capture.5 lacks {', '.join(lacks)}: " \
        f"add an entry `.It Va {lacks[0]}`"
    named = [
        path for folder in FOLDERS for path in (tree / folder).rglob("*")
        if path.is_file() and str(path.relative_to(tree)) not in OTHERS
        and re.search(rf"\b{EXAMPLE}\b".encode(), path.read_bytes())
    ]
    assert len(named) <= FILES_MAX, (
        f"a field of a capture such as {EXAMPLE} is named by {len(named)} files, more than "
        f"{FILES_MAX}: let them use the table of "
        "src/lib/capture/capture_fields.c, as CONTRIBUTING says: " +
        ", ".join(str(path.relative_to(tree)) for path in sorted(named)))
    assert len(named) > 4, "the example is no field that goes from BPF to the report"


if __name__ == "__main__":
    main()
