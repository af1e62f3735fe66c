#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Archives are named by content, stream, and are read by report and causes as they are, also by GNU
parallel.

usage: archives.py CTL
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from made import stack_capture as capture

CTL = os.path.abspath(sys.argv.pop(1))


class Archives(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "tmp").mkdir()
        (self.folder / "all").mkdir()
        self.captures = [self.folder / f"20261121-0930{i:02}.000-cpu1-83us" for i in range(6)]
        for i, path in enumerate(self.captures):
            capture(path, f"culprit_{i % 2}", latency_us=80 + i, host="r/t 1", second=i)

    def ctl(self, *args, code=0, **more):
        result = subprocess.run([CTL, *args], cwd=self.folder, stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=60, check=False,
                                env=os.environ | {"TMPDIR": f"{self.folder}/tmp"}, **more)
        self.assertEqual(result.returncode, code, result)
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])
        return result

    def pack(self):
        for path in self.captures:
            self.ctl("archive", path, "-o", "all", "-q")
        return sorted((self.folder / "all").iterdir())

    def test_names_by_content(self):
        names = [path.name for path in self.pack()]
        self.assertEqual(len(names), 6)
        for name, path in zip(names, self.captures):
            self.assertRegex(name, rf"^r_t_1-{path.name}-[0-9a-f]{{8}}\.tar\.zst$")
        self.assertIn(b"exists", self.ctl("archive", self.captures[0], "-o", "all", code=1).stderr)
        self.ctl("report", self.captures[0])  # adds to the folder what is not part of the name
        self.ctl("archive", self.captures[0], "-o", "all", "--force")
        self.assertEqual(sorted(os.listdir(self.folder / "all")), names)
        about = self.captures[0] / "capture.json"
        about.write_text(about.read_text().replace('"stress"', '"other"'))
        told = self.ctl("archive", self.captures[0], "-o", "all/")
        self.assertNotIn(b"//", told.stderr)
        self.assertEqual(len(os.listdir(self.folder / "all")), 7)

    def test_streams(self):
        for words in ([self.captures[0], "-"], [self.captures[0], "-o", "-"]):
            stream = self.ctl("archive", *words).stdout
            (self.folder / "one.tar.zst").write_bytes(stream)
            self.assertEqual(
                json.loads(self.ctl("report", "--json",
                                    "one.tar.zst").stdout)["spike"]["latency_ns"], 80000)
        self.ctl("archive", "a", "b", "-o", "-", code=2)
        self.ctl("archive", self.captures[0], code=2)

    def test_reports(self):
        for archive, path in zip(self.pack(), self.captures):
            out = [self.ctl("report", "--json", archive).stdout for _ in range(2)]
            self.assertEqual(out[0], out[1])
            self.assertEqual(out[0].count(b"\n"), 1)
            archived, direct = json.loads(out[0]), json.loads(
                self.ctl("report", "--json", path).stdout)
            self.assertEqual(archived | {"capture": None}, direct | {"capture": None})
            self.assertEqual(archived["capture"], str(archive))
        (self.folder / "junk").write_bytes(b"\x28\xb5\x2f\xfdjunk")
        self.assertIn(b"'junk' cannot be opened: ", self.ctl("report", "junk", code=1).stderr)

    def test_causes(self):
        self.pack()
        lines = [
            json.loads(line) for line in self.ctl("causes", "--json", "all").stdout.splitlines()
        ]
        self.assertEqual([line.get("count") for line in lines], [3, 3, None])

    def test_gnu_parallel(self):
        if not shutil.which("parallel") or "GNU" not in subprocess.run(
            ["parallel", "--version"], capture_output=True, text=True, check=False).stdout:
            self.skipTest("needs GNU parallel (tests/install-deps --fleet)")
        archives = self.pack()
        command = [
            "parallel", "--will-cite", "-j3", "--joblog", "jobs", CTL, "report", "--json", "{}",
            ":::", *archives
        ]
        out = subprocess.run(command, cwd=self.folder, check=True, capture_output=True).stdout
        self.assertEqual(
            sorted(out.splitlines()),
            sorted(self.ctl("report", "--json", path).stdout.strip() for path in archives))


if __name__ == "__main__":
    unittest.main()
