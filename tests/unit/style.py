#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""House rules that a machine can check: licences, file sizes, layout. Usage: style.py TREE"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

LIBRARY = "LGPL-2.1-only OR BSD-2-Clause"
PROGRAM = "GPL-2.0-only"
BOTH_SIDES = "GPL-2.0-only OR BSD-2-Clause"

# The first that fits.
LICENCES = (
    (r".*\bmeson\.build", {LIBRARY, PROGRAM}),
    (r"src/(lib|perfdata|shared)/.*", {LIBRARY}),
    (r"tests/unit/(lib|perfdata|shared)/.*", {LIBRARY}),
    (r"bpf/.*\.h", {PROGRAM, BOTH_SIDES}),
    (r"(bpf|src/ctl|tests/unit/ctl|tests/host|tests/bench|tests/fuzz)/.*", {PROGRAM}),
    (r".*", {LIBRARY, PROGRAM}),
)
MARKED = re.compile(r".*\.(c|h|py|sh|map)|meson\.build|meson_options\.txt")
LINES_MAX = 600
# The public header is one, and mostly documentation.
HEADER_LINES_MAX = 1150

# What clang-format does not lay out, and documentation.
WIDTH_MAX = 100

# Documentation.
DOCS = re.compile(r"(README|CONTRIBUTING|docs/[^/]+)\.md")
README_LINES_MAX = 200
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")

# Other versions format some lines differently.
CLANG_FORMAT_MAJOR = 14


def files_of(tree):
    """All files except build folders, captures and hidden files (but .ci)."""
    for folder, subfolders, names in os.walk(tree):
        subfolders[:] = [
            name for name in subfolders
            if (name == ".ci" or not name.startswith("."))
            and name not in ("__pycache__", "perf-poke.data")
            and not os.path.isdir(os.path.join(folder, name, "meson-info"))
        ]
        for name in names:
            path = pathlib.Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def is_marked(path):
    if MARKED.fullmatch(path.name):
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def is_python(path):
    with path.open("rb") as file:
        return path.suffix == ".py" or re.match(rb"#!.*python", file.readline())


def licence_problem(path, relative):
    with path.open(errors="replace") as file:
        lines = [file.readline() for _ in range(2)]
    wanted = 1 if lines[0].startswith("#!") else 0
    found = re.fullmatch(r"(?://|#|/\*) SPDX-License-Identifier: ([^*]+?)(?: \*/)?",
                         lines[wanted].rstrip("\n"))
    if not found:
        return f"no SPDX-License-Identifier in line {wanted + 1}"
    allowed = next(allowed for pattern, allowed in LICENCES if re.fullmatch(pattern, relative))
    if found[1] not in allowed:
        return f"its licence is {found[1]}, not {' or '.join(sorted(allowed))}"
    return None


def size_problem(path):
    lines = path.read_bytes().count(b"\n")
    limit = HEADER_LINES_MAX if path.name == "perf_poke.h" else LINES_MAX
    return f"{lines} lines, more than {limit}" if lines > limit else None


def doc_problems(tree):
    """Lines that are too long, and links that lead nowhere."""
    for path in sorted(files_of(tree)):
        relative = path.relative_to(tree).as_posix()
        if not DOCS.fullmatch(relative):
            continue
        lines = path.read_text().splitlines()
        if relative == "README.md" and len(lines) > README_LINES_MAX:
            yield f"{relative}: {len(lines)} lines, more than {README_LINES_MAX}"
        for number, line in enumerate(lines, 1):
            if len(line) > WIDTH_MAX:
                yield f"{relative}:{number}: {len(line)} characters, more than {WIDTH_MAX}"
            for link in LINK.findall(line):
                if not (path.parent / link).exists():
                    yield f"{relative}:{number}: no {link}"


def problems(tree, paths):
    for path in paths:
        relative = path.relative_to(tree).as_posix()
        found = licence_problem(path, relative)
        if found:
            yield f"{relative}: {found}"
        if is_python(path):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if len(line) > WIDTH_MAX:
                    yield f"{relative}:{number}: {len(line)} characters, more than {WIDTH_MAX}"
        if relative.startswith(("src/", "bpf/")):
            found = size_problem(path)
            if found:
                yield f"{relative}: {found}"


def layout_problems(tree, paths):
    tool = shutil.which("clang-format")
    version = tool and subprocess.run([tool, "--version"], capture_output=True, text=True,
                                      check=True).stdout
    if not tool or f"version {CLANG_FORMAT_MAJOR}." not in version:
        print(f"no clang-format {CLANG_FORMAT_MAJOR}: layout is not checked")
        return
    sources = [str(path) for path in paths if path.suffix in (".c", ".h")
               and "subprojects" not in path.relative_to(tree).parts]
    result = subprocess.run([tool, "--dry-run", "-Werror", "--style=file", *sources],
                            capture_output=True, text=True, check=False)
    seen = re.findall(r"^(\S+?):\d+:\d+: error: ", result.stderr, re.MULTILINE)
    if result.returncode and not seen:
        yield f"clang-format: {result.stderr.strip()}"
    for path in dict.fromkeys(seen):
        yield f"{pathlib.Path(path).relative_to(tree)}: not laid out: run clang-format -i on it"


def thread_problems(tree):
    """What tests/run runs with the thread sanitizer exists."""
    names = re.search(r"^threads=\((.*)\)$", (tree / "tests/run").read_text(), re.M)[1].split()
    files = {
        str(path.relative_to(tree / "tests/unit")).replace("/", "-").removesuffix(".c")
        for path in (tree / "tests/unit").rglob("*.c")
    }
    return [f"tests/run: there is no test {name}" for name in names if name not in files]


def main():
    tree = pathlib.Path(sys.argv[1]).resolve()
    paths = sorted(path for path in files_of(tree) if is_marked(path))
    found = [
        *problems(tree, paths), *doc_problems(tree), *layout_problems(tree, paths),
        *thread_problems(tree)
    ]
    print("\n".join(found) if found else f"{len(paths)} files are fine")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
