#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The header's ABI is that of perf_poke.abi, the header without comments when it was stored, or has
grown as the header allows: functions, enum values, and members at the end of structs. The test
lib-abi shows that the library has these functions.

Usage: abidiff.py HEADER STORED CC...; `--renew` before them stores it anew
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import abi

LICENSE = "/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */\n"
# abidiff's report of new members if no other has moved.
GROWTH = re.compile(
    r"Leaf changes summary: .*|Changed leaf types summary: .*|Removed/Changed/Added .* summary: 0 "
    r"Removed, 0 Changed.*|"
    r"'struct \w+' changed:|  type size .*|  \d+ data member insertions?:|"
    r"    '.*', at offset \d+ \(in bits\).*|")


def build(folder, name, header, compiler):
    """A library with the functions of the header, which do nothing: libabigail follows their
    types."""
    source, library = folder / "stub.c", folder / name
    stubs = [
        f"{kind}{'' if kind.endswith('*') else ' '}{name}({parameters})\n"
        f"{{\n{'' if kind == 'void' else 'return 0;'}\n}}\n"
        for name, (kind, parameters, _) in abi.functions_in_header(header.read_text()).items()
    ]
    source.write_text(f'#include "{header}"\n{"".join(stubs)}')
    subprocess.run([*compiler, "-g", "-w", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def main():
    arguments = sys.argv[1:]
    renew = arguments[0] == "--renew"
    header, stored, *compiler = arguments[renew:]
    if not shutil.which("abidiff"):
        print("skipped: abidiff is not installed (Debian: abigail-tools)")
        return 77
    if renew:
        text = subprocess.run([*compiler, "-fpreprocessed", "-dD", "-E", "-P", header],
                              capture_output=True, text=True, check=True).stdout
        pathlib.Path(stored).write_text(LICENSE + re.sub(r" +$", "", text, flags=re.MULTILINE))
        return 0
    with tempfile.TemporaryDirectory() as name:
        libraries = [build(pathlib.Path(name), file, pathlib.Path(path).resolve(), compiler)
                     for file, path in (("stored.so", stored), ("now.so", header))]
        result = subprocess.run(
            ["abidiff", "--leaf-changes-only", "--no-added-syms", "--no-show-locs", *libraries],
            capture_output=True, text=True, check=False)
    # Bits 0 and 1: it could not compare.
    fine = not result.returncode & 3 and all(map(GROWTH.fullmatch, result.stdout.splitlines()))
    if not fine:
        print(
            f"{result.stdout}{result.stderr}\nPrograms that are compiled would break. Before 1.0 "
            f"they may: then store the ABI anew:\n"
            f"python3 {sys.argv[0]} --renew {' '.join(arguments)}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
