#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The public header, the version script and the built library have the same functions, and each one
is documented.

Usage: abi.py HEADER MAP LIBRARY
"""

import pathlib
import re
import shutil
import subprocess
import sys

NAME = r"perf_poke__\w+"
DECLARATION = re.compile(
    rf"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?^((?:[\w]+[ *]+)+?)({NAME})\(((?:[^;])*)\);",
    re.MULTILINE | re.DOTALL)


def functions_in_header(text):
    """name: (return type, parameters, doc block or None)"""
    return {name: (kind.strip(), parameters, doc)
            for doc, kind, name, parameters in DECLARATION.findall(text)}


def names_in_header(text):
    """Everything outside comments that looks like a function."""
    return set(re.findall(rf"({NAME})\s*\(", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))


def functions_in_map(text):
    """name: version node"""
    nodes = re.findall(r"(\w[\w.]*)\s*\{\s*global:(.*?)(?:local:.*?)?\}", text, re.DOTALL)
    return {name: node for node, body in nodes for name in re.findall(r"(\w+)\s*;", body)}


def functions_in_library(path):
    """name: version node"""
    output = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", path],
                            capture_output=True, text=True, check=True).stdout
    symbols = (line.split() for line in output.splitlines())
    return {name: node
            for *_, kind, symbol in symbols if kind != "A"
            for name, _, node in [symbol.partition("@@")]}


def parameter_names(parameters):
    inner = re.sub(r"\)\s*\([^)]*\)", ")", parameters)
    names = (re.findall(r"\w+", parameter) for parameter in inner.split(","))
    return [words[-1] for words in names if words and words != ["void"]]


def doc_problems(name, kind, parameters, doc):
    if not doc:
        yield f"{name}: has no doc block"
        return
    if kind != "void" and "Returns:" not in doc:
        yield f"{name}: does not say what it returns"
    if not re.search(r"Since: \d+\.\d+", doc):
        yield f"{name}: does not say since when it is there"
    described = re.findall(r"@param (\w+)", doc)
    if described != parameter_names(parameters):
        yield f"{name}: describes the parameters {described}, has {parameter_names(parameters)}"


def since_problems(functions, versions):
    for name, (_, _, doc) in functions.items():
        since = re.search(r"Since: (\d+\.\d+)", doc or "")
        node = versions.get(name, "")
        if since and node and node != f"PERFPOKE_{since[1]}":
            yield f"{name}: is there since {since[1]}, but in {node}"


def differences(left, left_name, right, right_name):
    for name in sorted(set(left) - set(right)):
        yield f"{name}: in {left_name}, not in {right_name}"
    for name in sorted(set(right) - set(left)):
        yield f"{name}: in {right_name}, not in {left_name}"


def problems(header_text, version_script, exported):
    header, versions = functions_in_header(header_text), functions_in_map(version_script)
    yield from differences(names_in_header(header_text), "the header", header,
                           "what of it could be read")
    yield from differences(header, "the header", versions, "the version script")
    yield from differences(versions, "the version script", exported, "the library")
    for name, node in exported.items():
        if name in versions and versions[name] != node:
            yield f"{name}: the library has it in {node or 'no version'}, not {versions[name]}"
    for name, function in header.items():
        yield from doc_problems(name, *function)
    yield from since_problems(header, versions)
    if not header:
        yield "the header has no functions"


def main():
    if not shutil.which("nm"):
        print("skipped: nm (binutils) is not installed")
        return 77
    header, version_script, library = sys.argv[1:]
    exported = functions_in_library(library)
    found = list(
        problems(
            pathlib.Path(header).read_text(),
            pathlib.Path(version_script).read_text(), exported))
    print("\n".join(found) if found else f"{len(exported)} functions agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
