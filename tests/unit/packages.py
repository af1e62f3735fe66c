#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""README names the packages that tests/install-deps installs. Usage: packages.py TREE"""
import pathlib
import re
import shlex
import sys

ROWS = {"debian": "Debian, Ubuntu", "fedora": "Fedora, RHEL"}


def installed(script, name):
    """Of alternatives the first."""
    words = shlex.split(re.search(rf"^{name}=\((.*?)^\)", script, re.MULTILINE | re.DOTALL)[1])
    return [word.split("|")[0] for word in words]


def named(readme, row):
    """Up to the first remark."""
    return re.search(rf"^\| {row}[^|]*\| ([^(,|]*)", readme, re.MULTILINE)[1].split()


def main():
    tree = pathlib.Path(sys.argv[1])
    script = (tree / "tests/install-deps").read_text()
    readme = (tree / "README.md").read_text()
    failed = 0
    for name, row in ROWS.items():
        wanted, found = installed(script, name), named(readme, row)
        if wanted != found or not wanted:
            print(f"README.md, {row}: {' '.join(found)}\ntests/install-deps: {' '.join(wanted)}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
