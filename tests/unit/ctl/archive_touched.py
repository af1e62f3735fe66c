#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl archive packs the files that perf has seen executed, with a perf that says what it is told. Usage: archive_touched.py CTL"""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
FILTER = os.path.join(os.path.dirname(CTL), "../dlfilter/perf-poke-touched.so")
CAPTURE = {"schema": 1, "spike": {"time_ns": 3000000000, "cpu": 1}, "history_ns": 2000000000,
           "recorder": {"kind": "pt", "freeze": "pause", "clock": {"monotonic_ns": 5, "perf_ns": 5}},
           "kernel": {"release": os.uname().release, "version": os.uname().version}, "machine": {"hostname": os.uname().nodename}}
PERF = """#!/usr/bin/env python3
import os, sys, time
if sys.argv[1:] == ["--version"]:
    print("perf version 0")
    sys.exit()
with open(os.environ["CALLED"], "a") as file:
    print(*sys.argv[1:], file=file)
output = next(word[7:] for word in sys.argv if word.startswith("output="))
def touched(*ids):
    with open(output, "w") as file:
        file.writelines(one + "\\n" for one in ids)
    os.write(3, b"done 1 0\\n")
"""


def id_of(path):
    """As readelf has it."""
    out = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False).stdout
    return out.partition("Build ID: ")[2].split("\n")[0]


def padded(name, to):
    return name.encode().ljust(-(-(len(name) + 1) // to) * to, b"\0")


def perf_data(files, mapped=None):
    """With a table of build ids, and records of what was mapped, as perf 7.3 has them, and nothing else."""
    table = b"".join(struct.pack("<IHHi20sB3x", 67, 0x8002, 36 + len(padded(name, 64)), -1, bytes.fromhex(one), 20) + padded(name, 64)
                     for name, one in files.items())
    data = b"".join(struct.pack("<IHH2I3QB3x20s2I", 10, 0x4002, 72 + len(padded(name, 8)), 1, 1, 0, 0, 0, 20, bytes.fromhex(one), 5, 2) +
                    padded(name, 8) for name, one in (mapped or {}).items())
    return (struct.pack("<8s2Q2Q2Q2Q4Q", b"PERFILE2", 104, 144, 104, 0, 104, len(data), 0, 0, 1 << 2, 0, 0, 0) + data +
            struct.pack("<2Q", 120 + len(data), len(table)) + table)


@unittest.skipUnless(os.path.exists(FILTER), "the filter was not built")
@unittest.skipUnless(shutil.which("readelf") and len(id_of(CTL)) == 40, "programs have no build ids here")
class ArchiveTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.capture = self.folder / "capture"
        (self.capture / "perf.data").mkdir(parents=True)
        # Two that have ids of their own
        self.ids = {path: id_of(path) for path in (CTL, os.path.realpath(FILTER))}
        (self.capture / "perf.data/data").write_bytes(perf_data(self.ids))
        self.put(CAPTURE)

    def put(self, about):
        (self.capture / "capture.json").write_text(json.dumps(about))

    def command(self, does, *args):
        perf = self.folder / "perf"
        perf.write_text(PERF + does)
        perf.chmod(0o755)
        return {"args": [CTL, "archive", "capture", "-o", "a.tar", "-q", *args], "cwd": self.folder, "stdin": subprocess.DEVNULL, "text": True,
                "env": {**os.environ, "PERF_POKE_PERF": str(perf), "CALLED": str(self.folder / "called"), "TMPDIR": str(self.folder)}}

    def archive(self, does, *args):
        """What it says, and which of the files are in it."""
        result = subprocess.run(**self.command(does, *args), capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        listed = subprocess.run(["tar", "-tf", "a.tar"], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        (self.folder / "a.tar").unlink()
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("perf-poke.")], [])
        return result.stderr, {path for path, one in self.ids.items() if f"/.build-id/{one[:2]}/{one[2:]}/elf\n" in listed}

    def test_those_that_were_executed(self):
        for path, one in self.ids.items():
            self.assertEqual(self.archive(f"touched('{one}')"), ("", {path}))
        self.assertEqual(self.archive("touched(%r, %r)" % tuple(self.ids.values())), ("", set(self.ids)))
        self.assertEqual(self.archive("touched()"), ("", set()))
        # Neither a part of one, nor more than it.
        one = self.ids[CTL]
        self.assertEqual(self.archive(f"touched('{one[:38]}', '{one}00', '00{one}')"), ("", set()))
        called = (self.folder / "called").read_text().splitlines()
        self.assertTrue(called[0].startswith("script -i capture/perf.data --itrace=b --dlfilter "), called[0])

    def test_those_of_records(self):
        one, other = self.ids.items()
        (self.capture / "perf.data/data").write_bytes(perf_data(dict([one]), dict([other])))
        self.assertEqual(self.archive("touched(%r, %r)" % (one[1], other[1])), ("", set(self.ids)))
        (self.capture / "perf.data/data").write_bytes(perf_data({}, self.ids))
        self.assertEqual(self.archive("touched(%r)" % other[1]), ("", {other[0]}))

    def test_with_what_the_capture_has(self):
        (self.capture / "buildid").mkdir()
        self.archive("touched()")
        self.assertTrue((self.folder / "called").read_text().startswith("--buildid-dir capture/buildid script -i "))

    def test_all_without_perf(self):
        for does in ("print('no data', file=sys.stderr); sys.exit(1)", "sys.exit(0)", "os.kill(os.getpid(), 11)"):
            said, found = self.archive(does)
            self.assertEqual(found, set(self.ids))
            self.assertEqual(said.splitlines()[-1],
                             "perf-poke-ctl: 'capture': all files that were mapped are put in, traced or not")

    def test_no_temporary_folder(self):
        command = self.command("touched()")
        command["env"]["TMPDIR"] = "/nowhere"
        result = subprocess.run(**command, capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.splitlines()[0], "perf-poke-ctl: '/nowhere': no temporary folder can be made there: "
                         "No such file or directory (set TMPDIR)")
        self.assertFalse((self.folder / "called").exists())

    def test_perf_is_not_asked(self):
        self.assertEqual(self.archive("", "--no-binaries"), ("", set()))
        self.put({**CAPTURE, "recorder": {"kind": "events"}})
        self.assertEqual(self.archive(""), ("", set(self.ids)))
        self.put(CAPTURE)
        (self.capture / "perf.data/data").write_bytes(perf_data({}))
        self.assertEqual(self.archive(""), ("", set()))
        self.assertFalse((self.folder / "called").exists())

    def test_interrupted(self):
        with subprocess.Popen(**self.command("time.sleep(100)"), stderr=subprocess.PIPE) as process:
            while not (self.folder / "called").exists():
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
        self.assertEqual((process.returncode, said), (1, "perf-poke-ctl: interrupted: nothing is written\n"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["called", "capture", "perf"])


if __name__ == "__main__":
    unittest.main()
