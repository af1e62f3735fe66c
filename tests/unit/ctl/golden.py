#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What each command prints of the same captures equals golden/COMMAND.txt and golden/COMMAND.json.
With PERF_POKE_UPDATE_GOLDEN set these files are written instead.

usage: golden.py PERF_POKE_CTL SPIKE.TAR.ZST
"""
import difflib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import made

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import fxt  # noqa: E402

CTL, SAMPLE = map(os.path.abspath, sys.argv[1:])
GOLDEN = pathlib.Path(__file__).parent / "golden"
# Without perf, and the same everywhere.
ENVIRONMENT = {
    "PATH": "/nonexistent", "LC_ALL": "C", "TZ": "UTC0",
    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS",
                                   ""), "LSAN_OPTIONS": os.environ.get("LSAN_OPTIONS", "")
}
# In order: what a command leaves in the cache, the next ones see.
COMMANDS = ("list captures", "list captures --why --sort latency --cpu 0-1 --min-latency 81us",
            "list captures/sample --json --why", "list captures --since 7", "list captures --cpu 7",
            "list captures --json --min-latency 1s", "list captures --since 2027-01-01",
            "report captures/sample", "report captures/loop", "report captures/flush-0",
            "report captures/perf", "report captures/poked",
            "report captures/sample --against captures/loop --top 3",
            "report captures/sample --against captures/poked", "report captures/sample --json",
            "report nothing", "causes captures --save known.json",
            "causes captures/sample captures/flush-2 --known known.json --worse 50",
            "causes captures/sample --known known.json --json",
            "script captures/loop --all --insns", "export captures/loop -o loop.fxt --time -2us,",
            "export captures/loop -o loop.fxt", "archive captures/loop -q -o loop.tar.zst",
            "archive captures/loop -o loop.tar.zst", "open loop.tar.zst -o opened",
            )


def make(folder):
    captures = folder / "captures"
    captures.mkdir()
    run(folder, f"open -q {shlex.quote(SAMPLE)} -o captures/sample")
    made.capture(captures / "loop", 3, packets=1)
    for i in range(3):
        made.stack_capture(captures / f"flush-{i}", latency_us=80 + i, host=f"host-{i}", second=i)
    made.stack_capture(captures / "drain", "acme_drain", 50, 2, "two", 10)
    made.stack_capture(captures / "poked", poked=True)
    for latency_us, kind in (83, "perf"), (84, "none"):
        made.stack_capture(captures / kind, latency_us=latency_us, second=30, stack=[])
    about = captures / "perf/capture.json"
    about.write_text(about.read_text().replace('"none"', '"perf"'))


def run(folder, words):
    return subprocess.run([CTL, *shlex.split(words)], cwd=folder,
                          env={**ENVIRONMENT, "XDG_CACHE_HOME": f"{folder}/cache"},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def members(line):
    """A JSON object with a line for each member."""
    return "".join([
        "{\n", *(f"  {json.dumps(key)}: {json.dumps(value)}\n"
                 for key, value in json.loads(line).items()), "}\n"
    ])


def made_files(folder, words):
    """What is in the file or folder that the command wrote."""
    command, *rest = shlex.split(words)
    if command == "open":
        yield from sorted(f"{path.relative_to(folder)}\n" for path in (folder / "opened").rglob("*")
                          if path.is_file())
    if command == "export" and "--time" in rest:
        for track, slices in sorted(fxt.read(folder / rest[2]).check().items()):
            yield from (
                f"{track}: {piece.begin}-{piece.end} {'  ' * piece.depth}{piece.name} "
                f"{piece.args}\n"
                for piece in slices)


def transcript(folder, words):
    result = run(folder, words)
    out = result.stdout
    if "--json" in words:
        out = "".join(map(members, out.splitlines()))
    said = "".join(f"stderr: {line}\n" for line in result.stderr.splitlines())
    code = f"exit code {result.returncode}\n" if result.returncode else ""
    text = f"$ perf-poke-ctl {words}\n{out}{''.join(made_files(folder, words))}{said}{code}\n"
    return text.replace(str(folder), "FOLDER")


def check(name, text):
    path = GOLDEN / name
    if os.environ.get("PERF_POKE_UPDATE_GOLDEN"):
        path.write_text(text)
    found = path.read_text() if path.exists() else ""
    sys.stdout.writelines(
        difflib.unified_diff(found.splitlines(True), text.splitlines(True), name, "now"))
    return found == text


def main():
    golden = {}
    # Paths are in captures: their length is part of sizes.
    with tempfile.TemporaryDirectory(prefix="perf-poke-golden-", dir="/tmp") as folder:
        make(pathlib.Path(folder))
        for words in COMMANDS:
            name = words.split()[0] + (".json" if "--json" in words else ".txt")
            golden[name] = golden.get(name, "") + transcript(pathlib.Path(folder), words)
    return not all([check(name, text) for name, text in golden.items()])


if __name__ == "__main__":
    sys.exit(main())
