#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""list, archive and open: another, unprivileged user sees the same in an archived capture."""
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import common

FAILED = 1
USAGE = 2
NOBODY = 65534
AS_NOBODY = [
    "setpriv", "--reuid",
    str(NOBODY), "--regid",
    str(NOBODY), "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"
]

PROGRAM = """
static volatile unsigned long sum;
__attribute__((noinline)) void acme_burn(void) { for (int i = 0; i < 1000; i++) sum += i; }
int main(void) { for (int i = 0; i < 300000; i++) acme_burn(); return 0; }
"""


def ctl(*args, **kwargs):
    return common.run_ctl(*args, **kwargs)


@unittest.skipUnless(shutil.which("perf"), "needs perf")
class Captured(common.HostTest):
    """Tests on two captures."""

    @classmethod
    def setUpClass(cls):
        cls.make_taker()
        cpus = common.find_cpus(1)
        session = cls.taker.capture_spikes(cpus, 2, limits=common.DETAILED_SPIKES)
        cls.cpu = cpus[0]
        cls.captures = session.captures
        cls.path = cls.captures[0]["path"]

    def setUp(self):
        super().setUp()
        # A folder of another user.
        os.chmod(self.folder, 0o755)
        self.elsewhere = os.path.join(self.folder, "elsewhere")
        os.mkdir(self.elsewhere)
        os.chown(self.elsewhere, NOBODY, NOBODY)
        self.file = os.path.join(self.folder, "a.tar.zst")

    def list(self, *args):
        result = ctl("list", self.taker.output, "--json", *args)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return common.parse_lines(result.stdout)

    def archive(self, path, *args):
        result = ctl("archive", path, "-o", self.file, *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def open_as_nobody(self, *args):
        """Copies the program to where another user can run it."""
        for command in (["setpriv", "--help"], [*AS_NOBODY, common.CTL, "--version"]):
            if not shutil.which("setpriv") or subprocess.run(command, stdout=subprocess.DEVNULL,
                                                             stderr=subprocess.DEVNULL).returncode:
                self.skipTest("needs setpriv, and a build that others can run")
        with open(self.file, "rb") as file:
            result = subprocess.run([*AS_NOBODY, common.CTL, "open", "-", *args], stdin=file,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    cwd=self.elsewhere, timeout=common.PATIENCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return os.path.join(self.elsewhere, result.stdout.rstrip("\n"))

    def as_nobody(self, *command):
        result = subprocess.run([*AS_NOBODY, *command], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.elsewhere, timeout=common.PATIENCE,
                                env={**common.perf_environment(), "HOME": self.elsewhere})
        self.assertEqual(result.returncode, 0, (command, result.stderr))
        return result.stdout

    def test_lists(self):
        found = self.list()
        self.assertEqual([line["path"] for line in found],
                         [capture["path"] for capture in self.captures])
        for line, capture in zip(found, self.captures):
            self.assertEqual(line["type"], "capture")
            for field in ("recorder", "sequence", "poked", "cpu", "time_ns", "latency_ns",
                          "expected_ns", "actual_ns", "function_name", "idle", "pid", "tid", "comm",
                          "history_ns"):
                self.assertEqual(line[field], capture[field], field)
            files = [
                os.stat(os.path.join(at, name)) for at, _, names in os.walk(line["path"])
                for name in names
            ]
            # The size of a hard-linked file is divided among the captures.
            self.assertEqual(max(file.st_nlink for file in files), 2)
            self.assertEqual(line["size_bytes"],
                             sum(file.st_size // file.st_nlink for file in files))

    def test_lists_around_broken_ones(self):
        folder = os.path.join(self.folder, "captures")
        shutil.copytree(self.taker.output, folder)
        names = sorted(name for name in os.listdir(folder)
                       if os.path.isdir(os.path.join(folder, name)))
        with open(os.path.join(folder, names[0], "capture.json"), "r+") as file:
            file.truncate(100)
        os.mkdir(os.path.join(folder, "not-a-capture"))
        os.makedirs(os.path.join(folder, "no-facts", "perf.data"))
        os.mkdir(os.path.join(folder, "waits"))
        os.mkfifo(os.path.join(folder, "waits", "capture.json"))
        result = ctl("list", folder)
        self.assertEqual(result.returncode, FAILED)
        complaints = sorted(result.stderr.splitlines())
        self.assertEqual(len(complaints), 3, result.stderr)
        for complaint, parts in zip(complaints,
                                    ((names[0], "not JSON"), ("no-facts", "No such file"),
                                     ("waits", "not a regular file"))):
            for part in parts:
                self.assertIn(part, complaint)
        self.assertEqual(
            [os.path.basename(line.split()[-1]) for line in result.stdout.splitlines()[1:]],
            names[1:])
        as_json = common.parse_lines(ctl("list", folder, "--json").stdout)
        self.assertEqual(sorted(line["type"] for line in as_json), ["capture"] + ["error"] * 3)

    def test_shows_the_same_elsewhere(self):
        self.archive(self.path)
        opened = self.open_as_nobody()
        self.assertEqual(os.path.basename(opened), os.path.basename(self.path))
        for args in (["--quiet", "--window", "1s"], ["--quiet", "--all", "--all-cpus"]):
            here = ctl("script", self.path, *args)
            self.assertEqual(here.returncode, 0, here.stderr)
            self.assertTrue(here.stdout)
            self.assertEqual(self.as_nobody(common.CTL, "script", opened, *args), here.stdout)
        # perf reads user programs from where they were: some of root's only root can read, so root
        # runs both.
        here, there = (self.perf("script", "--force", "--ns", "-i", os.path.join(path, "perf.data"))
                       for path in (self.path, opened))
        self.assertEqual(there, here)
        # All files are unchanged; the binaries of user stacks and host.json are added.
        compared = subprocess.run(["diff", "-r", "-x", "buildid", self.path, opened],
                                  stdout=subprocess.PIPE, text=True)
        self.assertEqual(compared.stdout.splitlines(), ["Only in %s: host.json" % opened])
        with open(os.path.join(opened, "host.json")) as file:
            host = json.load(file)
        self.assertTrue(host["of_capture"])
        self.assertEqual(host["kernel"]["release"], os.uname().release)
        with open("/proc/cmdline") as file:
            self.assertEqual(host["kernel"]["cmdline"], file.readline().rstrip("\n"))
        # An opened archive can be archived again.
        os.remove(self.file)
        again = ctl("archive", opened, "-o", self.file)
        self.assertEqual(again.returncode, 0, again.stderr)
        third = self.open_as_nobody("-o", "third")
        self.assertEqual(subprocess.run(["diff", "-r", opened, third]).returncode, 0)

    def test_brings_binaries(self):
        """perf's own recording of a program that has been removed."""
        if not shutil.which("gcc"):
            self.skipTest("needs gcc")
        # Not in our folder: perf takes /tmp/perf-* for symbol maps of compilers.
        folder = tempfile.mkdtemp(prefix="acme-")
        self.addCleanup(shutil.rmtree, folder)
        program = os.path.join(folder, "acme")
        subprocess.run(["gcc", "-O1", "-g", "-x", "c", "-", "-o", program], input=PROGRAM.encode(),
                       check=True)
        capture = os.path.join(self.folder, "capture")
        os.makedirs(os.path.join(capture, "perf.data"))
        shutil.copy(os.path.join(self.path, "capture.json"), capture)
        recorded = subprocess.run([
            "perf", "record", "-q", "-F", "999", "-e", "cpu-clock:u", "--buildid-all", "-N", "-o",
            os.path.join(self.folder, "data"), program
        ], stderr=subprocess.PIPE, cwd=self.folder)
        if recorded.returncode:
            self.skipTest("perf record does not work here: %s" % recorded.stderr)
        shutil.move(os.path.join(self.folder, "data"), os.path.join(capture, "perf.data", "data"))
        args = ["--all", "--all-cpus", "--quiet", "--", "-F", "ip,sym"]
        self.assertIn("acme_burn", ctl("script", capture, *args).stdout)
        # Move its symbols to a separate file.
        for command in (["objcopy", "--only-keep-debug", program,
                         program + ".debug"], ["strip", program],
                        ["objcopy", "--add-gnu-debuglink=" + program + ".debug", program]):
            subprocess.run(command, check=True, cwd=folder)
        result = self.archive(capture)
        self.assertIn("traced files", result.stderr)
        os.remove(program)
        os.remove(program + ".debug")
        missing = ctl("archive", capture, "-o", self.file + "2",
                      env={**os.environ, "HOME": self.folder})
        self.assertEqual(missing.returncode, 0, missing.stderr)
        self.assertIn("left out %s: not found" % program, missing.stderr)
        opened = self.open_as_nobody()
        self.assertIn("acme_burn", self.as_nobody(common.CTL, "script", opened, *args))
        self.assertIn("--buildid-dir %s/buildid" % opened,
                      self.as_nobody(common.CTL, "script", opened, "--dry-run", "--quiet"))
        self.assertNotIn("--buildid-dir", ctl("script", capture, "--dry-run", "--quiet").stdout)
        # Without the binaries the symbol is unknown, so the archive's were used before.
        os.rename(os.path.join(opened, "buildid"), os.path.join(opened, "hidden"))
        self.assertNotIn("acme_burn", self.as_nobody(common.CTL, "script", opened, *args))

    def test_terminal(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        result = subprocess.run([common.CTL, "archive", self.path, "-o", "-"],
                                stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                                text=True)
        self.assertEqual(result.returncode, USAGE)
        self.assert_one_line(result.stderr, "--output '-'", "terminal")

    def test_replaces_nothing(self):
        with open(self.file, "w") as file:
            file.write("mine")
        self.assert_fails(ctl("archive", self.path, "-o", self.file), FAILED, self.file,
                          "not overwriting", "--force")
        with open(self.file) as file:
            self.assertEqual(file.read(), "mine")
        self.archive(self.path, "--force")
        name = os.path.join(self.folder, os.path.basename(self.path))
        for path, args in ((name, []), (os.path.join(self.folder, "b"), ["-o", "b"])):
            os.mkdir(path)
            self.assert_fails(ctl("open", self.file, *args, cwd=self.folder), FAILED,
                              os.path.basename(path), "not overwriting")
            self.assertEqual(os.listdir(path), [])
        self.assert_nothing_partial()

    def test_refuses_what_is_too_large(self):
        self.archive(self.path)
        self.assert_fails(ctl("open", self.file, "--max-size", "10K", cwd=self.folder), FAILED,
                          self.file, "more than 10K", "--max-size")
        self.assert_nothing_partial()

    def test_full_disk(self):
        self.archive(self.path)
        prefix = common.unshared("mount -t tmpfs -o size=64k tmpfs " + self.elsewhere)
        shown = "test -z \"$(ls -A %s)\"" % self.elsewhere
        # Unless told otherwise, open leaves room on the disk.
        for said, *args in (("--max-size allows more", "open", self.file, "-o",
                             self.elsewhere + "/x"), ("No space left", "open", self.file, "-o",
                                                      self.elsewhere + "/x", "--max-size", "1G"),
                            ("No space left", "archive", self.path, "-o", self.elsewhere + "/y")):
            result = subprocess.run([
                *prefix, "sh", "-c", '"$@"; code=$?; ' + shown + " && exit $code; exit 99", "sh",
                common.CTL, *args
            ], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assert_fails(result, FAILED, said)

    def test_damaged(self):
        self.archive(self.path)
        with open(self.file, "rb") as file:
            whole = file.read()
        damaged = os.path.join(self.folder, "damaged")
        middle = len(whole) // 2
        flipped = [whole[:at] + bytes(byte ^ 0x55 for byte in whole[at:at + 16]) + whole[at + 16:]
                   for at in (middle, len(whole) // 3, len(whole) - 100)]
        for data in (b"", b"text", whole[:-1], whole[:-10], whole[:middle], *flipped):
            with open(damaged, "wb") as file:
                file.write(data)
            self.assert_fails(ctl("open", damaged, cwd=self.folder), FAILED,
                              "'%s' cannot be opened: " % damaged)
            self.assert_nothing_partial()

    def assert_nothing_partial(self):
        self.assertEqual([name for name in os.listdir(self.folder) if "partial" in name], [])


class Strangers(common.HostTest):
    """Malicious archives; tests/fuzz has more."""

    def pack(self, *infos, top="capture"):
        path = os.path.join(self.folder, "evil.tar")
        with tarfile.open(path, "w") as tar:
            for name, kind, target in ((top, tarfile.DIRTYPE, ""), *infos):
                info = tarfile.TarInfo(name)
                info.type, info.linkname = kind, target
                info.size = 1 if kind == tarfile.REGTYPE else 0
                tar.addfile(info, io.BytesIO(b"x"))
        return path

    def test_refuses(self):
        inside = os.path.join(self.folder, "inside")
        os.mkdir(inside)
        for entries, why in (([
            ("capture/../../outside", tarfile.REGTYPE, "")
        ], "'capture/../../outside'"), ([
            (self.folder + "/outside", tarfile.REGTYPE, "")
        ], "outside the archive's first folder"), ([
            ("capture/perf.data", tarfile.SYMTYPE, self.folder),
            ("capture/perf.data/data", tarfile.REGTYPE, "")
        ], "'capture/perf.data'"), ([
            ("capture/host.json", tarfile.LNKTYPE, "/etc/passwd")
        ], "outside the archive's first folder"), ([
            ("capture/host.json", tarfile.LNKTYPE, "capture/perf.data")
        ], "hard link"), ([("capture/host.json", tarfile.CHRTYPE, "")], "'capture/host.json'"), ([
            ("capture/a\033[31m\u009b31m", tarfile.REGTYPE, "")
        ], "not part of a capture"), ([
            ("capture/.git", tarfile.DIRTYPE, ""), ("capture/.git/config", tarfile.REGTYPE, "")
        ], "'capture/.git/'"), ([("capture/notes", tarfile.REGTYPE, "")], "'capture/notes'"),
                             ([], "capture.json")):
            with self.subTest(entries=entries):
                before = sorted(os.listdir(self.folder))
                path = self.pack(*entries)
                result = ctl("open", path, cwd=inside)
                self.assert_fails(result, FAILED, why)
                self.assertNotRegex(result.stderr, "[\033\u009b]")
                self.assertEqual(os.listdir(inside), [])
                self.assertEqual(sorted(os.listdir(self.folder)), sorted({*before, "evil.tar"}))

    def test_no_selftest(self):
        top = "perf-poke-selftest"
        for entries, why in (([(top + "/messages", tarfile.REGTYPE, "")], "no selftest.json"),
                             ([(top + "/selftest.json", tarfile.REGTYPE, ""),
                               (top + "/capture", tarfile.DIRTYPE, "")], "capture.json")):
            self.assert_fails(ctl("open", self.pack(*entries, top=top), cwd=self.folder), FAILED,
                              why)
            self.assertEqual(os.listdir(self.folder), ["evil.tar"])

    def test_names_no_folder_by_itself(self):
        """git executes hooks of a folder named .git; a shell executes what is in a pasted name."""
        inside = os.path.join(self.folder, "inside")
        os.mkdir(inside)
        for top in (".git", ".ssh", "capture;id", "$(id)", "-x", "20261121-093015.042-cpu3-83us\n"):
            with self.subTest(top=top):
                self.assert_fails(ctl("open", self.pack(top=top), cwd=inside), FAILED,
                                  "not the name of a capture", "--output")
                self.assertEqual(os.listdir(inside), [])

    def test_quotes_the_hint(self):
        path = os.path.join(self.folder, "mine.tar")
        facts = {"schema": 1, "spike": {"cpu": 0, "time_ns": 1}, "recorder": {"kind": "events"}}
        with tarfile.open(path, "w") as tar:
            for name, data in (("any name", None), ("any name/capture.json",
                                                    json.dumps(facts).encode()),
                               ("any name/perf.data", None), ("any name/perf.data/data",
                                                              b"PERFILE2")):
                info = tarfile.TarInfo(name)
                info.type, info.size = (tarfile.REGTYPE, len(data)) if data else (tarfile.DIRTYPE,
                                                                                  0)
                tar.addfile(info, io.BytesIO(data or b""))
        result = ctl("open", path, "-o", "it's $(id)", cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (0, "it's $(id)\n"), result.stderr)
        self.assert_one_line(result.stderr, "perf-poke-ctl report 'it'\\''s $(id)'")

    def test_not_a_capture(self):
        nothing = os.path.join(self.folder, "nothing")
        for path, message in ((self.folder, "no capture in '%s'" % self.folder),
                              (nothing, "'%s': No such file" % nothing),
                              ("/dev/null", "'/dev/null' is not a capture")):
            self.assert_fails(ctl("archive", path, "-o", os.path.join(self.folder, "a")), FAILED,
                              message)
        self.assert_fails(ctl("open", os.path.join(self.folder, "nothing")), FAILED, "nothing",
                          "No such file")
        self.assert_fails(ctl("list", os.path.join(self.folder, "nothing")), FAILED, "nothing",
                          "No such file")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    common.main()
