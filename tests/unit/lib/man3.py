#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Manual pages of the library: one for each function and type of the header, without a warning of
groff or mandoc; each can be found by its name, and names only pages that there are. Usage: man3.py
HEADER FOLDER
"""
import pathlib
import re
import shutil
import subprocess
import sys


def output(*words):
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not result.stderr, result.stderr
    return result.stdout


def names_in(header):
    """Functions, and types with a description, by what the compiler sees."""
    bare = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    functions = re.findall(r"^\w[^\n]*?(perf_poke__\w+)\(", bare, re.MULTILINE)
    return {*functions, *re.findall(r"^(?:struct|enum) (\w+)(?: \{|;)", bare, re.MULTILINE),
            *re.findall(r"^typedef void \(\*(\w+)\)", bare, re.MULTILINE)}


def main():
    header, folder = map(pathlib.Path, sys.argv[1:])
    pages = sorted(folder.glob("*.3"))
    names = names_in(header.read_text()) | {"libperfpoke"}
    found = {page.stem for page in pages}
    assert found == names, f"without a page or without a description: {found ^ names}"
    for page in pages:
        named = set(re.findall(r"^\.BR? (\w+) ?\(3\)", page.read_text(), re.MULTILINE))
        assert named <= names, f"{page.name}: names {named - names}"
        assert page.stem != "libperfpoke" or named == names - {
            "libperfpoke"
        }, f"libperfpoke.3 lacks {names - named}"
    if not shutil.which("groff") or not shutil.which("lexgrog"):
        print("skipped: there is no groff here, or no lexgrog (Debian: groff-base, man-db)")
        return 77
    output("groff", "-man", "-T", "utf8", "-w", "mac", "-z", *map(str, pages))
    summaries = output("lexgrog", *map(str, pages))
    for name in names:
        assert f'"{name} - ' in summaries, f"{name}.3: has no summary"
    if shutil.which("mandoc"):
        problems = output("mandoc", "-T", "lint", "-W", "warning", *map(str, pages))
        assert not problems, problems
    print(f"{len(pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
