#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Includes follow the layout: arrows between roles go one way, without circles.

Usage: includes.py TREE

Prints the graph of folders. A folder may include what its row names, and what those rows lead to.
"""

import pathlib
import re
import sys

# Folder: the folders whose headers it may include. A folder without a row has its parent's.
ARROWS = {
    "bpf": ("src/lib",),
    "src/shared": (),
    "src/perfdata": ("src/shared",),
    "src/lib/machine": ("src/lib", "src/shared", "bpf"),
    "src/lib/options": ("src/lib/machine",),
    "src/lib/recorder": ("src/lib/machine", "src/perfdata"),
    "src/lib/recorder/events": ("src/lib/recorder",),
    "src/lib/recorder/pt": ("src/lib/recorder",),
    "src/lib/trigger": ("src/lib/options",),
    "src/lib/workload": ("src/lib/trigger",),
    "src/lib/delivery": ("src/lib/trigger",),
    "src/lib/capture": ("src/lib/delivery", "src/lib/recorder", "src/lib/trigger"),
    "src/lib/session": ("src/lib/capture", "src/lib/workload"),
    "src/lib": (),
    "src/analysis/code": ("src/perfdata",),
    "src/analysis/pt": ("src/analysis/code",),
    "src/analysis/calls": ("src/analysis/pt",),
    "src/analysis/events": ("src/analysis/code",),
    "src/analysis/facts": ("src/analysis/calls", "src/analysis/events", "src/lib"),
    "src/analysis/cause": ("src/analysis/facts",),
    "src/analysis/compare": ("src/analysis/cause",),
    "src/analysis/output": ("src/analysis/compare",),
    "src/analysis/archive": ("src/analysis/facts",),
    "src/analysis/causes": ("src/analysis/archive", "src/analysis/output"),
    "src/analysis": (),
    "src/ctl/cli": ("src/lib", "src/analysis/facts"),
    "src/ctl/session": ("src/ctl/cli",),
    "src/ctl/selftest": ("src/analysis/archive", "src/analysis/cause", "src/ctl/session"),
    "src/ctl/commands": ("src/analysis/causes", "src/ctl/selftest"),
    "src/ctl": ("src/ctl/commands",),
}

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def role_of(path):
    """The innermost folder of the table that the file is in, or None."""
    return next((folder.as_posix() for folder in path.parents if folder.as_posix() in ARROWS), None)


def reachable(folder):
    seen, rest = set(), [folder]
    while rest:
        at = rest.pop()
        if at not in seen:
            seen.add(at)
            rest += ARROWS[at]
    return seen


def include_graph(tree):
    """Each file of src/ and bpf/ with the files of the tree that it includes."""
    paths = [*tree.glob("src/**/*.[ch]"), *tree.glob("bpf/**/*.[ch]")]
    files = {path.relative_to(tree) for path in paths}
    # Below folders with subfolders headers are named with their folder.
    folders = [pathlib.Path(folder) for folder in ARROWS if folder.count("/") < 2]
    for path in sorted(files):
        found = []
        for name in INCLUDE.findall((tree / path).read_text()):
            found += [at / name for at in (*path.parents, *folders) if at / name in files][:1]
        yield path, found


def circle_of(graph):
    """The files of one circle, in order, or nothing."""
    done = set()

    def walk(path, way):
        if path in way:
            return way[way.index(path):]
        if path in done:
            return []
        for target in graph.get(path, ()):
            circle = walk(target, way + [path])
            if circle:
                return circle
        done.add(path)
        return []

    return next(filter(None, (walk(path, []) for path in graph)), [])


def module_of(path, files):
    """A source with its headers: NAME_more.h without a source is private to NAME."""
    own = path.with_suffix("")
    if own.with_suffix(".c") not in files:
        words = path.stem.split("_")
        names = [path.with_name("_".join(words[:nr])) for nr in range(len(words) - 1, 0, -1)]
        own = next((name for name in names if name.with_suffix(".h") in files), own)
    return own


def modules_of(graph):
    modules = {}
    for path, targets in graph.items():
        own = module_of(path, graph)
        modules.setdefault(own, set()).update({module_of(to, graph) for to in targets} - {own})
    return {own: sorted(targets) for own, targets in sorted(modules.items())}


def problems(graph):
    for path, targets in graph.items():
        role = role_of(path)
        if not role:
            yield f"{path}: its folder is not in the table of {pathlib.Path(__file__).name}"
            continue
        for target in targets:
            if role_of(target) not in reachable(role):
                yield f"{path}: may not include {target}: no arrow from {role} to {role_of(target)}"
    circle = circle_of(modules_of(graph))
    if circle:
        yield "a circle: " + " -> ".join(str(path) for path in circle + circle[:1])


def print_folders(graph):
    arrows = {(role_of(path), role_of(to)) for path, targets in graph.items() for to in targets}
    for folder in ARROWS:
        targets = sorted(to for at, to in arrows if at == folder and to != folder)
        print(f"{folder} -> {', '.join(targets) or '-'}")


def main():
    graph = dict(include_graph(pathlib.Path(sys.argv[1]).resolve()))
    print_folders(graph)
    found = list(problems(graph))
    print("\n".join(found) if found else f"{len(graph)} files are fine")
    return 1 if found or not graph else 0


if __name__ == "__main__":
    sys.exit(main())
