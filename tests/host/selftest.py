# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl selftest passes; something broken on purpose gives a row that says so, exit code 1
and an archive."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import unittest

import common

TOP = "perf-poke-selftest"
ONE = ["--recorder", "events", "--delivery", "relay"]


def setUpModule():
    """The kernel waits when the last event of a tracepoint is closed, and selftest waits for that:
    another session that has them open makes sessions end at once."""
    enter = unittest.enterModuleContext
    folder = enter(tempfile.TemporaryDirectory(prefix="perf-poke-test-"))
    enter(common.Session([min(os.sched_getaffinity(0))], folder, "--threshold", "1h",
                         *common.ALL_EVENTS, "--workload", "none"))


def rows(lines):
    return common.of_type(lines, "row")


def command_lines():
    """The command lines of all processes."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_text(errors="replace")


class SelfTest(common.HostTest):
    def setUp(self):
        super().setUp()
        self.temporary = os.path.join(self.folder, "tmp")
        self.here = os.path.join(self.folder, "here")
        os.mkdir(self.temporary)
        os.mkdir(self.here)
        self.env = {**os.environ, "TMPDIR": self.temporary}

    def selftest(self, code, *args, env=()):
        """The lines of --json."""
        result = common.run_ctl("selftest", "--json", *args, env=self.env | dict(env),
                                cwd=self.here)
        self.assertEqual((result.returncode, result.stderr), (code, ""), result.stdout)
        self.assert_nothing_is_left()
        lines = common.parse_lines(result.stdout)
        self.assertEqual(lines[-1]["type"], "selftest")
        self.assertEqual(lines[-1]["ok"], code == 0)
        return lines

    def assert_nothing_is_left(self):
        self.assertEqual(os.listdir(self.temporary), [])
        self.assertEqual(common.run_ctl("status").stdout.count("selftest"), 0)
        self.assertEqual(
            [line for line in command_lines() if line.startswith(common.CTL + "\0selftest\0")], [])

    def archived(self, path):
        """Names and contents of an archive's files."""
        if not shutil.which("zstd"):
            self.skipTest("needs zstd")
        data = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            return {
                member.name: tar.extractfile(member).read() if member.isreg() else None
                for member in tar
            }

    def assert_wrong(self, lines, check, why):
        """The only row has this fault alone, and the archive the same row."""
        row, = rows(lines)
        self.assertEqual(
            [name for name, verdict in row["checks"].items() if verdict["ok"] is False], [check],
            row)
        self.assertIn(why, row["checks"][check]["why"])
        archive = lines[-1]["archive"]
        self.assertEqual(os.listdir(self.here), [archive])
        files = self.archived(os.path.join(self.here, archive))
        told = common.parse_lines(files[TOP + "/selftest.json"].decode())
        self.assertEqual(rows(told), rows(lines))
        self.assertIn("intel_pt", [line["name"] for line in common.of_type(told, "capability")])
        self.assertEqual(
            json.loads(files[TOP + "/host.json"])["kernel"]["release"],
            os.uname().release)
        self.assertTrue(files[TOP + "/messages"])
        captures = {name.rpartition("/")[0] for name in files if name.endswith("/capture.json")}
        self.assertEqual(len(captures), 2, sorted(files))
        for capture in captures:
            self.assertIn(capture + "/perf.data/data", files)

    def test_all_is_well(self):
        lines = self.selftest(0)
        self.assertTrue(rows(lines))
        for row in rows(lines):
            self.assertTrue(row["ok"], row)
            self.assertNotIn(False, [check["ok"] for check in row["checks"].values()])
        self.assertIn("relay", [row["delivery"] for row in rows(lines)])
        self.assertEqual(lines[-1]["intel_pt"],
                         os.path.isdir("/sys/bus/event_source/devices/intel_pt"))
        self.assertIsNone(lines[-1]["archive"])
        self.assertEqual(os.listdir(self.here), [])

    def test_table(self):
        result = common.run_ctl("selftest", *ONE, env=self.env, cwd=self.here)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        head, row = result.stdout.splitlines()[:2]
        self.assertEqual(head.split()[:3], ["recorder", "freeze", "delivery"])
        self.assertEqual(row.split()[:3], ["events", "-", "relay"])
        self.assertLessEqual(set(row.split()[3:]), {"ok", "-"})
        self.assertEqual(len(head.split()), len(row.split()))

    def test_ftrace(self):
        """Each freeze of the recorder ftrace. The kernel may trace no functions."""
        checked = common.parse_lines(common.run_ctl("check", "--json").stdout)
        have = {line["name"] for line in checked if line.get("have")}
        if not {"ftrace", "libtracecmd"} <= have:
            self.skipTest("needs ftrace and libtracecmd")
        lines = self.selftest(0, "--recorder", "ftrace", "--delivery", "relay")
        self.assertEqual([row["freeze"] for row in rows(lines)],
                         [how for how in ("swap", "traceoff") if "ftrace_" + how in have])
        for row in rows(lines):
            self.assertEqual([name for name, check in row["checks"].items() if not check["ok"]],
                             ["perf"])

    def broken(self, check):
        library = os.environ["PERF_POKE_BROKEN_LIBRARY"]
        if not library:
            self.skipTest("not with sanitizers, which must be loaded first")
        return self.selftest(1, *ONE, env={"LD_PRELOAD": library, "PERF_POKE_BROKEN": check})

    def test_a_delivery_that_never_signals(self):
        self.assert_wrong(self.broken("signal"), "signal", "0 signals for")

    def test_what_is_left_behind(self):
        self.assert_wrong(self.broken("clean"), "clean", " descriptors, ")

    def test_what_is_asked_for_stays(self):
        kept, archive = os.path.join(self.folder, "kept"), os.path.join(self.folder, "all.tar.zst")
        lines = self.selftest(0, *ONE, "--keep", kept, "--output", archive)
        self.assertEqual(lines[-1]["archive"], archive)
        self.assertEqual(os.listdir(self.here), [])
        files = self.archived(archive)
        taken = {name.split("/")[1] for name in files if name.endswith("/capture.json")}
        self.assertEqual(len(taken), 2)
        # There may be others, of timers that were late without the test.
        self.assertLessEqual(taken, set(os.listdir(kept)))
        for name in taken:
            result = common.run_ctl("report", os.path.join(kept, name))
            self.assertIn("call_function_single", result.stdout)
        result = common.run_ctl("selftest", *ONE, "--output", archive, env=self.env)
        self.assert_fails(result, 1, archive, "file exists")
        self.opened(archive, taken)

    def opened(self, archive, taken):
        """The output of `list --why` for the opened archive."""
        result = common.run_ctl("open", "-q", archive, cwd=self.here)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, TOP + "\n", ""))
        self.assertEqual(set(os.listdir(os.path.join(self.here, TOP))),
                         taken | {"selftest.json", "messages", "host.json"})
        result = common.run_ctl("list", "--why", "--json", TOP, cwd=self.here)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.count("in interrupt call_function_single"), 2, result.stdout)

    def test_interrupted(self):
        with subprocess.Popen([common.CTL, "selftest", "--json", "--recorder", "events"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.env, cwd=self.here) as process:
            process.stdout.readline()
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=common.PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assert_one_line(stderr, "interrupted")
        self.assert_nothing_is_left()
        self.assertEqual(os.listdir(self.here), [])

    def test_without_privileges(self):
        become = shutil.which("setpriv")
        if not become:
            self.skipTest("needs setpriv (util-linux)")
        prefix = [become, "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        if subprocess.run([*prefix, common.CTL, "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("nobody cannot run programs of this build folder")
        result = common.run_ctl("selftest", prefix=prefix, cwd="/")
        self.assert_fails(result, 1, "run as root")

    def test_what_cannot_be(self):
        for args, part in ((["--cpu", "8000"], "'8000'"), (["--output",
                                                            "/nothing/x"], "'/nothing/x'"),
                           (["--keep", "/nothing/x"], "'/nothing/x'")):
            result = common.run_ctl("selftest", "--recorder", "events", *args, env=self.env,
                                    cwd=self.here)
            self.assert_fails(result, 1, args[0], part)
            self.assertEqual(os.listdir(self.here), [])

    def test_usage(self):
        for args in (["--delivery", "pigeon"], ["--recorder", "perf"], ["--recorder",
                                                                        "none"], ["--cpu",
                                                                                  "x"], ["now"]):
            self.assert_fails(common.run_ctl("selftest", *args), 2, args[-1])
        if not os.path.isdir("/sys/bus/event_source/devices/intel_pt"):
            result = common.run_ctl("selftest", "--json", "--recorder", "pt", env=self.env,
                                    cwd=self.here)
            self.assertEqual(result.returncode, 1)
            self.assert_one_line(result.stderr, "there is no PMU intel_pt")


common.main()
