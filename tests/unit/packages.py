#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""docs/requirements.md names the packages that tests/install-deps installs. Usage: packages.py
TREE"""
import pathlib
import re
import shlex
import sys

ROWS = {"debian": "Debian, Ubuntu", "fedora": "Fedora, RHEL"}


def installed(script, name):
    """The first of alternatives."""
    words = shlex.split(re.search(rf"^{name}=\((.*?)^\)", script, re.MULTILINE | re.DOTALL)[1])
    return [word.split("|")[0] for word in words]


def named(text, row):
    """Up to the first remark."""
    return re.search(rf"^- {row}[^:]*: ([^(,]*)", text, re.MULTILINE)[1].split()


def main():
    tree = pathlib.Path(sys.argv[1])
    script = (tree / "tests/install-deps").read_text()
    text = (tree / "docs/requirements.md").read_text()
    failed = 0
    for name, row in ROWS.items():
        wanted, found = installed(script, name), named(text, row)
        if wanted != found or not wanted:
            print(
                f"docs/requirements.md, {row}: {' '.join(found)}\ntests/install-deps: "
                f"{' '.join(wanted)}"
            )
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
