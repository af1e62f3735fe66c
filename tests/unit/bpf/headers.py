#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each header of the BPF programs compiles alone. Usage: headers.py FOLDER CLANG FLAG..."""

import pathlib
import subprocess
import sys


def main():
    headers = sorted(pathlib.Path(sys.argv[1]).rglob("*.h"))
    results = [
        subprocess.run(
            [*sys.argv[2:], "-Wno-unused-function", "-Werror", "-fsyntax-only", "-x", "c", header],
            check=False) for header in headers
    ]
    print(f"{len(headers)} headers")
    return not headers or any(result.returncode for result in results)


if __name__ == "__main__":
    sys.exit(main())
