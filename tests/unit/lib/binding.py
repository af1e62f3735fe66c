#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The Python binding: its structs are laid out as the header's, it is typed, reads a capture, and
refuses as the library does.

Usage: binding.py LIBRARY TREE CC...
"""
import ctypes
import errno
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, TREE, *CC = sys.argv[1:]
TREE = pathlib.Path(TREE)
BINDING = TREE / "src/python"
os.environ["PERF_POKE_LIBRARY_PATH"] = LIBRARY
sys.path.insert(0, str(BINDING))
sys.dont_write_bytecode = True

import perf_poke  # noqa: E402
from perf_poke import _library as lib  # noqa: E402

CAPTURE = {
    "schema": 1, "late": False, "machine": {"hostname": "one"}, "recorder": {"kind": "events"},
    "history_ns": None, "skid_ns": 5, "kernel": {"release": "6.1"}, "spike": {
        "sequence": 7, "cpu": 3, "time_ns": 900, "latency_ns": 83245, "trigger": "thread",
        "comm": "loop", "wall_time": "2026-11-21T07:01:43.881833Z", "label": "l", "stack": [{
            "address": "0x17", "symbol": "acme_flush", "module": "acme", "offset": 7, "user": False
        }], "holder": {
            "pid": 5, "tid": 6, "interrupted": True,
            "stack": [{"address": "0x18", "symbol": "acme_wait", "offset": 9, "user": False}]
        }
    }, "statistics": {"count": 9, "p99_ns": 15, "histogram": [[0, 16, 8], [64, None, 1]]},
    "hardware": {"idle_states": [{"name": "C6", "exit_latency_ns": 133}]},
}
# The hook of the fixture, with a session's captures given.
OVERRUNS = """
import sys, types
import perf_poke, pytest
from perf_poke import fixture
capture = perf_poke.read(sys.argv[1])
for captures in [], [capture]:
    watch = types.SimpleNamespace(finish=lambda: captures)
    item = types.SimpleNamespace(stash={fixture._WATCHES: [watch]}, user_properties=[],
                                 add_report_section=lambda *_: None)
    try:
        fixture.pytest_runtest_call(item)
        print("passes", item.user_properties)
    except pytest.fail.Exception as failed:
        print(failed)
"""
STRUCTS = {
    "option": lib.Option, "choice": lib.Choice, "capture": lib.Capture, "stats": lib.Stats,
    "report": lib.Report, "opts": lib.OptsHead
}


class Binding(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="perf-poke-binding-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def put(self, name, text):
        (self.folder / name).mkdir()
        (self.folder / name / "capture.json").write_text(text)
        return self.folder / name

    @unittest.skipUnless(shutil.which(CC[0]), "the compiler is of another machine")
    def test_structs(self):
        rows = [f'printf("%zu %zu\\n", offsetof(struct perf_poke_{name}, {field}), '
                f'sizeof(((struct perf_poke_{name} *)0)->{field}));'
                for name, struct in STRUCTS.items() for field, _ in struct._fields_]
        sizes = [f'printf("%zu\\n", sizeof(struct perf_poke_{name}));' for name in STRUCTS]
        source, program = self.folder / "layout.c", self.folder / "layout"
        source.write_text('#include <stdio.h>\n#include "perf_poke.h"\nint main(void)\n{\n' +
                          "\n".join(rows + sizes) + "\n}\n")
        subprocess.run([*CC, "-I", TREE / "src/lib", source, "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        expected = [f"{getattr(struct, field).offset} {getattr(struct, field).size}"
                    for struct in STRUCTS.values() for field, _ in struct._fields_]
        self.assertEqual(lines[:len(rows)], expected)
        for (name, struct), size in zip(STRUCTS.items(), map(int, lines[len(rows):])):
            # The library's struct may be longer.
            self.assertGreaterEqual(size, ctypes.sizeof(struct), name)
        self.assertLess(int(lines[-1]), lib.OPTS_SIZE)

    def test_options(self):
        found = {option.name: option for option in perf_poke.options()}
        self.assertIn("threshold", found)
        self.assertIsNone(found["no-samples"].metavar)
        self.assertTrue(found["trigger"].repeatable)
        session = perf_poke.Session("0", threshold="30us", trigger=["irq", "thread=50us"],
                                    no_samples=True, freeze_all=False, count=3, keep_worst=None)
        with self.assertRaises(perf_poke.Error) as caught:
            session.fileno()
        self.assertEqual(caught.exception.errno, 107)

    def test_refuses(self):
        for options, said in (({"treshold": 5}, "treshold '5': no such option"),
                              ({"threshold": "5x"}, "threshold '5x': not a time")):
            with self.assertRaises(perf_poke.Error) as caught:
                perf_poke.Session("0", **options)
            self.assertIn(said, caught.exception.strerror)
        with self.assertRaises(perf_poke.Error) as caught:
            perf_poke.Session("8191")
        self.assertEqual(caught.exception.errno, 6)

    def test_reads(self):
        path = self.put("b", json.dumps(CAPTURE))
        self.put("a", "{")
        with self.assertLogs("perf_poke", "WARNING") as logged:
            found = list(perf_poke.captures(self.folder))
        self.assertEqual(found, [perf_poke.read(path)])
        self.assertIn("a/capture.json: not JSON", logged.output[0])
        self.assertEqual((found[0].path, found[0].recorder, found[0].history_ns, found[0].kernel),
                         (str(path), "events", None, "6.1"))
        spike = found[0].spike
        self.assertEqual((spike.cpu, spike.latency_ns, spike.trigger), (3, 83245, "thread"))
        self.assertEqual((spike.comm, spike.label), ("loop", "l"))
        self.assertEqual(spike.stack, (perf_poke.Frame(0x17, "acme_flush", "acme", 7, False),))
        self.assertEqual(
            spike.holder,
            perf_poke.Holder(5, 6, True, (perf_poke.Frame(0x18, "acme_wait", None, 9, False), )))
        with self.assertRaises(perf_poke.Error):
            list(perf_poke.captures(self.folder / "nowhere"))

    def test_reads_any_field(self):
        path = self.put("a", json.dumps(CAPTURE))
        found = perf_poke.read(path)
        self.assertEqual(found.buckets, (perf_poke.Bucket(0, 16, 8), perf_poke.Bucket(64, None, 1)))
        self.assertEqual([
            found.number(name)
            for name in ("statistics.p99_ns", "hardware.idle_states.0.exit_latency_ns", "late")
        ], [15, 133, 0])
        self.assertEqual(
            [found.text(name) for name in ("machine.hostname", "spike.holder.stack.0.symbol")],
            ["one", "acme_wait"])
        self.assertEqual([
            found.number("history_ns"),
            found.number("nothing.here"),
            found.text("nothing"),
            found.text("spike.cpu")
        ], [None] * 4)
        with self.assertRaises(perf_poke.Error) as caught:
            found.number("spike.comm")
        self.assertEqual((caught.exception.errno, caught.exception.strerror),
                         (errno.EINVAL, "spike.comm: not a number from 0 on"))
        shutil.rmtree(path)
        with self.assertRaises(perf_poke.Error) as caught:
            found.number("statistics.p99_ns")
        self.assertEqual(caught.exception.errno, errno.ENOENT)

    def test_overruns_fail(self):
        """A Python that has pytest: the distribution's may have it if this one does not."""
        path = self.put("a", json.dumps(CAPTURE))
        for python in (sys.executable, "/usr/bin/python3"):
            if subprocess.run([python, "-c", "import pytest"], stderr=subprocess.DEVNULL,
                              check=False).returncode:
                continue
            out = subprocess.run(
                [python, "-c", OVERRUNS, path],
                env={**os.environ, "PYTHONPATH": str(BINDING), "PERF_POKE_CTL": "/bin/true"},
                capture_output=True, text=True, check=True).stdout
            self.assertEqual(out, f"passes []\n1 overrun, the longest 83.245 us: {path}\n")
            return
        self.skipTest("needs pytest (Debian: python3-pytest)")

    def test_types(self):
        if not shutil.which("mypy"):
            self.skipTest("needs mypy (Debian: mypy)")
        # pytest is optional.
        missing = [] if importlib.util.find_spec("pytest") else ["--ignore-missing-imports"]
        result = subprocess.run([
            "mypy", "--strict", "--allow-untyped-decorators", "--cache-dir", self.folder, *missing,
            BINDING / "perf_poke", TREE / "examples/loop.py"
        ], env={**os.environ, "MYPYPATH": str(BINDING)}, capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
