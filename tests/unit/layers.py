#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The two halves of the house, by the linker's symbols and by includes.

Usage: layers.py TREE BUILD

lib takes captures, analysis reads them, ctl is a command line over both. Nothing uses ctl, lib and
analysis do not use each other but for the public header and its readers of captures, and what they
share is in perfdata and shared. Folders of one half have no circle, files no circle but a table and
its rows. docs/internals.md has the arrows between folders, as this prints them.
"""

import collections
import pathlib
import re
import subprocess
import sys

# Each part with those it may use.
PARTS = {
    "bpf": {"lib"},
    "src/shared": set(),
    "src/perfdata": {"shared"},
    "src/lib": {"shared", "perfdata", "bpf"},
    "src/analysis": {"shared", "perfdata"},
    "src/ctl": {"shared", "perfdata", "analysis", "lib", "bpf"},
}
PUBLIC = "src/lib/perf_poke.h"
# Of the library, what whoever reads captures may call.
PUBLIC_READERS = re.compile(r"perf_poke__(capture|last_error)")
# The table of all tables, which the parser of options asks, and a table's row is an axis.
TABLE_OF_TABLES = "perf_poke__choice"
# A table of rows includes the rows, which call what the table's file has for all of them.
CIRCLE_MAX = 3

INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)
ROW = re.compile(r"^\| `((?:src|bpf)[^`]*)/` \| (.*) \| (.*)\|$", re.MULTILINE)


def part_of(path):
    return next((part for part in PARTS if path == part or path.startswith(part + "/")), None)


def folder_of(path):
    """What a row of docs/internals.md describes: recorders are one folder with their table."""
    return "/".join(path.split("/")[:-1][:3])


def name_of(folder):
    return folder.split("/")[-1]


def sources(tree):
    paths = [*tree.glob("src/**/*.[ch]"), *tree.glob("bpf/**/*.[ch]")]
    return {path.relative_to(tree).as_posix(): path.read_text() for path in paths}


def objects(build, files):
    """Each object file with its source."""
    built = {(part, file.name): file for part in PARTS for file in (build / part).glob("*.p/*.o")}
    for path in files:
        # A stand-in for a library that is not there
        if path.rpartition("/")[2].startswith("no_"):
            continue
        part = part_of(path)
        file = built.get((part, path[len(part) + 1:].replace("/", "_") + ".o"))
        if path.endswith(".c") and file:
            yield str(file), path


def uses_of_symbols(build, files):
    """(user, used, symbol) by what objects define and need."""
    defined, needed = collections.defaultdict(set), collections.defaultdict(set)
    source_of = dict(objects(build, files))
    out = subprocess.run(["nm", "-P", "-A", *source_of], capture_output=True, text=True,
                         check=True).stdout
    for line in out.splitlines():
        file, _, entry = line.rpartition(": ")
        symbol, kind = entry.split()[:2]
        if kind == "U":
            needed[source_of[file]].add(symbol)
        elif kind in "TDBRCVW":
            defined[symbol].add(source_of[file])
    for path, symbols in needed.items():
        for symbol in sorted(symbols):
            if len(defined[symbol]) == 1:
                yield path, next(iter(defined[symbol])), symbol


def uses_of_includes(files):
    for path, text in files.items():
        part = part_of(path)
        for name in INCLUDE.findall(text):
            places = (f"{path.rpartition('/')[0]}/{name}", f"{part}/{name}", name,
                      *(f"{other}/{name}" for other in PARTS))
            target = next((place for place in places if place in files), None)
            if target:
                yield path, target, None


def circles(graph):
    """Sets of nodes that reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[-len(group):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def layer_problems(uses):
    for path, target, symbol in uses:
        part, other = part_of(path), part_of(target)
        if part == other or name_of(other) in PARTS[part] or target == PUBLIC:
            continue
        if part == "src/analysis" and symbol and PUBLIC_READERS.match(symbol):
            continue
        yield f"{path}: may not use {symbol or target}: no arrow from {part} to {other}"


def row_problems(page, arrows):
    """Of the table in docs/internals.md."""
    rows = {folder: (role, uses) for folder, role, uses in ROW.findall(page)}
    for folder, targets in arrows.items():
        uses = ", ".join(name_of(target) for target in sorted(targets))
        if folder not in rows:
            yield f"docs/internals.md: add a row | `{folder}/` | ... | {uses} |"
        elif rows[folder][1].strip() != uses:
            yield f"docs/internals.md: write | `{folder}/` | {rows[folder][0]} | {uses} |"
    for folder in rows.keys() - arrows.keys() - {"src/python"}:
        yield f"docs/internals.md: there is no {folder}/"


def main():
    tree, build = map(pathlib.Path, sys.argv[1:])
    files = sources(tree)
    uses = [*uses_of_symbols(build, files), *uses_of_includes(files)]
    graph = collections.defaultdict(set)
    # Above the folders of a part are only its public header, and main().
    arrows = {folder: set() for folder in map(folder_of, files)
              if folder not in ("src/lib", "src/ctl")}
    for path, target, symbol in uses:
        if path != target and symbol:
            graph[path].add(target)
        if symbol == TABLE_OF_TABLES:
            continue
        user, used = folder_of(path), folder_of(target)
        if user != used and {user, used} <= arrows.keys() and part_of(user) == part_of(used):
            arrows[user].add(used)
    found = [*layer_problems(uses)]
    for circle in circles(graph):
        print("circle:", *circle)
        if len(circle) > CIRCLE_MAX:
            found.append("a circle: " + ", ".join(circle))
    found += ["folders in a circle: " + ", ".join(circle) for circle in circles(arrows)]
    found += row_problems((tree / "docs/internals.md").read_text(), arrows)
    print("\n".join(found) if found else f"{len(files)} files are fine")
    return 1 if found or not graph else 0


if __name__ == "__main__":
    sys.exit(main())
