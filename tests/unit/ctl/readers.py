#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What strangers' files and folders may cost: memory, unpacked bytes, time after a signal; and
files that change meanwhile.

Usage: readers.py CTL
"""
import contextlib
import fcntl
import io
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

import made

CTL = os.path.abspath(sys.argv.pop(1))
# The caller may ignore SIGHUP, as nohup does.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
MIB = 1 << 20
KALLSYMS = "perf.data/kcore_dir/kallsyms"


def compressed(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


class ReaderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.capture = self.folder / "capture"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.env = os.environ | {"TMPDIR": str(self.temporary), "PERF_POKE_PERF": "/nonexistent"}

    def tearDown(self):
        self.assertEqual(list(self.temporary.iterdir()), [])

    def running(self, *words, **more):
        return subprocess.Popen([CTL, *map(str, words)], cwd=self.folder, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, **more)

    def ctl(self, *words, code=0):
        """Standard error, and the most memory that it took, in MiB."""
        with self.running(*words) as process:
            err = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, code, err)
        return err, usage.ru_maxrss / 1024

    def wait_unpacked(self, process):
        """Waits for the first file of an archive."""
        while process.poll() is None:
            for found in self.folder.glob("**/.partial-*/content/capture.json"):
                return found
            time.sleep(0.01)
        return self.fail(process.stderr.read())

    def pack(self, rest=b""):
        """An archive of the capture, and behind its end the rest, which is compressed already."""
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as tar:
            tar.add(self.capture, "capture")
        path = self.folder / "a.tar.zst"
        path.write_bytes(compressed(content.getvalue()) + rest)
        return path


class Budget(ReaderTest):
    def test_behind_the_end(self):
        made.stack_capture(self.capture)
        zeros = compressed(bytes(16 * MIB))
        archive = self.pack(zeros * 64)
        self.assertLess(archive.stat().st_size, MIB)
        for words in (["open", archive, "-o",
                       "opened"], ["report", archive], ["report", "--against", archive, "capture"]):
            said, _ = self.ctl(*words, "--max-size", "10M", code=1)
            self.assertIn("more than 10M when unpacked (--max-size allows more)", said)
            self.assertFalse((self.folder / "opened").exists())
        said, _ = self.ctl("causes", archive, "capture", "--max-size", "10M", code=1)
        self.assertIn("more than 10M when unpacked", said)
        self.ctl("report", archive, "--max-size", "2G")

    def test_default_leaves_room(self):
        """Also where the temporary folder is memory."""
        made.stack_capture(self.capture)
        with open(self.capture / "ring.cpu1", "wb") as file:
            file.truncate(3 << 30)
        self.ctl("archive", "capture", "-o", "a.tar.zst")
        self.assertRegex(
            self.ctl("report", "a.tar.zst", code=1)[0], "more than [0-9.]+[MG] when unpacked")

    def make_traced(self):
        made.capture(self.capture, 5)
        (self.capture / "perf.data/kcore_dir").mkdir()
        return self.capture / KALLSYMS

    def test_endless_line(self):
        with open(self.make_traced(), "wb") as file:
            file.truncate(600 * MIB)
        for words in (["report", "capture"], ["export", "capture", "-o",
                                              "a.fxt"], ["list", "--why",
                                                         "."], ["causes", "capture"]):
            with self.subTest(words=words):
                self.assertLess(self.ctl(*words)[1], 100)

    def test_memory(self):
        """All that a command allocates, by whatever library."""
        if b"__asan_init" in pathlib.Path(CTL).read_bytes():
            self.skipTest("the address sanitizer allocates instead of the program")
        (self.capture.parent / "good").mkdir()
        made.stack_capture(self.folder / "good/capture")
        self.make_traced().write_bytes(b"ffffffff81000000 t a\n" * 13000000)
        said, used = self.ctl("report", "capture", "--max-size", "256M", code=1)
        self.assertIn("it takes too much memory (--max-size allows more)", said)
        self.assertLess(used, 400)
        # The others are listed all the same.
        for words in (["list", "--why", "."], ["causes", "."]):
            said, used = self.ctl(*words, "--max-size", "256M", code=1)
            self.assertIn("too much memory", said)
            self.assertLess(used, 400)
        told = subprocess.run([CTL, "causes", "--json", "--max-size", "256M", "."], cwd=self.folder,
                              env=self.env, capture_output=True, text=True, check=False)
        types = [json.loads(line)["type"] for line in told.stdout.splitlines()]
        self.assertEqual(types, ["error", "cause", "summary"])
        said, used = self.ctl("export", "capture", "-o", "a.fxt", "--max-size", "256M", code=1)
        self.assertIn("too much memory", said)

    def test_holes(self):
        """A terabyte of nothing."""
        made.stack_capture(self.capture)
        part = self.capture / "buildid/.build-id/00/112233"
        part.mkdir(parents=True)
        with open(part / "elf", "wb") as file:
            file.truncate(1 << 40)
            file.write(b"begin")
            file.seek((1 << 40) - 5)
            file.write(b"ended")
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.ctl("archive", "capture", "-o", "holes.tar.zst")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - cpu, 5)
        self.ctl("open", "holes.tar.zst", "-o", "opened", "--max-size", "2000G")
        with open(self.folder / "opened/buildid/.build-id/00/112233/elf", "rb") as file:
            self.assertEqual(file.read(6), b"begin\0")
            file.seek((1 << 40) - 6)
            self.assertEqual(file.read(), b"\0ended")


class Signals(ReaderTest):
    def end(self, process, number):
        """Whether it was still running. It ends long before the work would."""
        begin = time.monotonic()
        process.send_signal(number)
        process.wait(timeout=60)
        took = time.monotonic() - begin
        said = process.stderr.read()
        self.slowest = max(getattr(self, "slowest", 0), took)
        # The signal may have come before or after all else.
        self.assertIn(process.returncode, (0, 1, -number))
        if process.returncode == 1:
            # `archive` may have told that the capture names no machine.
            self.assertRegex(
                said, r"^(perf-poke-ctl: 'capture' was taken on \? .*\n)?perf-poke-ctl: interrupted"
                r"(: nothing is written|: the archive is incomplete)?\n$")
        return process.returncode == 1

    def test_skipped_zeros(self):
        """A minute of unpacking within a single call of libarchive."""
        made.stack_capture(self.capture)
        archive = self.pack(compressed(bytes(16 * MIB)) * 5000)
        for words in (["report", archive], ["causes", archive], ["open", archive, "-o", "opened"]):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(words=words,
                                  number=number), self.running(*words, "--max-size",
                                                               "1000G") as process:
                    self.wait_unpacked(process)
                    self.assertTrue(self.end(process, number))
                    self.assertEqual(list(self.folder.glob("**/.partial-*")), [])
        self.assertLess(self.slowest, 20)  # on a busy machine

    def test_any_moment(self):
        made.capture(self.capture, 3000, packets=100)
        (self.capture / "perf.data/kcore_dir").mkdir()
        (self.capture / KALLSYMS).write_bytes(b"ffffffff81000000 t a\n" * 500000)
        archive = self.pack()
        chooser, nr = random.Random(7), 0
        for words in (["report", "capture"], ["report", archive], ["causes", archive],
                      ["list", "--why", "."], ["export", "capture", "-o", "out.fxt"],
                      ["export", "capture", "--html",
                       "out.html"], ["open", archive, "-o",
                                     "out"], ["archive", "capture", "-o",
                                              "out"], ["archive", "capture", "-o", "-"]):
            for _ in range(6):
                number = chooser.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
                with self.subTest(words=words, number=number), self.running(
                        *words, "-q" if words[0] in ("open", "archive") else
                        "--json" if words[0] in ("report", "causes", "list") else "-f") as process:
                    time.sleep(chooser.uniform(0, 0.5))
                    nr += self.end(process, number)
                self.assertEqual([
                    path
                    for path in self.folder.glob("**/.partial-*") if process.returncode != -number
                ], [])
                for path in self.folder.glob("out*"):
                    self.assertEqual(process.returncode, 0, (words, number, path))
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                # A signal before it is prepared for leaves what the next one sweeps.
                for path in self.folder.glob("**/.partial-*"):
                    shutil.rmtree(path)
        self.assertGreater(nr, 10)
        self.assertLess(self.slowest, 20)  # on a busy machine


class Changes(ReaderTest):
    """Somebody truncates files and writes them back, all the time."""

    FILES = ("perf.data/data", KALLSYMS, "capture.json")

    def change(self):
        chooser = random.Random(11)
        while not self.stopped:
            for name, content in self.content.items():
                path = self.capture / name
                os.truncate(path, chooser.randrange(len(content)))
                time.sleep(chooser.random() * 0.004)
                with open(path, "r+b") as file:
                    file.write(content)
                time.sleep(chooser.random() * 0.01)

    @contextlib.contextmanager
    def changing(self):
        self.stopped = False
        self.content = {name: (self.capture / name).read_bytes() for name in self.FILES}
        thread = threading.Thread(target=self.change)
        thread.start()
        try:
            yield
        finally:
            self.stopped = True
            thread.join()

    def test_shrink(self):
        made.capture(self.capture, 200, packets=50)
        (self.capture / "perf.data/kcore_dir").mkdir()
        (self.capture / KALLSYMS).write_bytes(b"ffffffff81000000 t a\n" * 10000)
        made.stack_capture(self.folder / "good")
        counts, named = {}, 0
        with self.changing():
            for _ in range(10):
                for words in (["report",
                               "capture"], ["list", "--why",
                                            "."], ["causes",
                                                   "."], ["export", "-f", "-o", "a.fxt", "capture"],
                              ["export", "-f", "--html", "a.html",
                               "capture"], ["archive", "-q", "-f", "-o", "a.tar.zst", "capture"]):
                    with self.running(*words) as process:
                        err = process.communicate(timeout=60)[1]
                    self.assertIn(process.returncode, (0, 1), (words, err))
                    counts[words[0], process.returncode] = counts.get(
                        (words[0], process.returncode), 0) + 1
                    named += "was changed while it was read" in err
                    if process.returncode:
                        self.assertRegex(err, "capture")
        self.assertGreater(named, 0, counts)
        self.assertEqual(list(self.folder.glob(".partial-*")), [])


class Sweeps(ReaderTest):
    """Leftovers are known by what only their maker can have written, not by their names."""

    def setUp(self):
        super().setUp()
        made.stack_capture(self.capture)

    def killed(self):
        archive = self.pack(compressed(bytes(16 * MIB)) * 5000)
        with self.running("open", archive, "-o", "opened", "--max-size", "1000G") as process:
            found = self.wait_unpacked(process)
            process.kill()
        return found.parent.parent

    def test_what_others_have_renamed(self):
        mine = self.folder / "mine"
        mine.mkdir(mode=0o700)
        (mine / "precious").write_text("x")
        mine.rename(self.folder / ".partial-perf-poke-AAAAAA")
        (self.folder / ".partial-perf-poke-BBBBBB").write_text("precious")
        left = self.killed()
        copy = left.with_name(".partial-perf-poke-CCCCCC")
        shutil.copytree(left, copy)
        copy.chmod(0o700)
        self.ctl("archive", "capture", "-o", "b.tar.zst")
        self.assertEqual(sorted(path.name for path in self.folder.glob(".partial-*")),
                         [f".partial-perf-poke-{end * 6}" for end in "ABC"])

    def test_others_lock_the_folder(self):
        """Nobody waits for them."""
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)
        begin = time.monotonic()
        self.ctl("archive", "capture", "-o", "b.tar.zst")
        self.assertLess(time.monotonic() - begin, 1.5)


if __name__ == "__main__":
    unittest.main()
