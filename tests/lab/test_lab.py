# SPDX-License-Identifier: GPL-2.0-only
"""`lab run` keeps its promises: exit status and output of the command, a limit for guests that
hang, no leftovers."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAB = os.environ["LAB"]
KERNEL = os.environ["LAB_KERNEL"]


def lab(*args, timeout=120):
    return subprocess.run([LAB, *args], capture_output=True, text=True, timeout=timeout,
                          check=False, stdin=subprocess.DEVNULL)


def guest(*command, options=()):
    return lab("run", *options, KERNEL, "--", *command)


def processes():
    """QEMU processes on this machine that may be our guests."""
    found = set()
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes()
        except OSError:
            continue
        if b"perf-poke-lab-" in line and line.startswith(b"qemu"):
            found.add(entry.parent.name)
    return found


def leftovers():
    mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").count("\n")
    folder = pathlib.Path(tempfile.gettempdir())
    return mounts, {p.name for p in folder.glob("perf-poke-lab-*")
                    } | {p.name for p in folder.glob("perf-poke-scratch-*")}


class Run(unittest.TestCase):
    def test_status_and_output(self):
        result = guest("sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (3, "out\n", "err\n"))

    def test_binary_output(self):
        result = subprocess.run([LAB, "run", KERNEL, "--", "head", "-c", "3000000", "/dev/zero"],
                                capture_output=True, timeout=120, check=False,
                                stdin=subprocess.DEVNULL)
        self.assertEqual((result.returncode, len(result.stdout)), (0, 3000000))

    def test_is_the_kernel_and_root(self):
        result = guest("sh", "-c", "uname -r; id -u; nproc; cat /proc/cmdline",
                       options=("--cpus", "3", "--append", "lab.x=1"))
        lines = result.stdout.splitlines()
        self.assertTrue(lines[0].startswith(KERNEL.removesuffix("-rt")), lines)
        self.assertEqual(lines[1:3], ["0", "3"])
        self.assertIn("lab.x=1", lines[3])

    def test_host_is_not_written(self):
        name = os.path.join(os.getcwd(), f"lab-test-{os.getpid()}")
        self.assertEqual(guest("touch", name).returncode, 0)
        self.assertFalse(os.path.exists(name))

    def test_scratch_is(self):
        with tempfile.TemporaryDirectory() as scratch:
            self.assertEqual(
                guest("sh", "-c", "echo kept >$LAB_SCRATCH/file",
                      options=("--scratch", scratch)).returncode, 0)
            self.assertEqual(pathlib.Path(scratch, "file").read_text(encoding="utf-8"), "kept\n")

    def test_panic(self):
        result = guest("true", options=("--append", "rdinit=/no/such/init"))
        self.assertEqual(result.returncode, 125, result)
        self.assertIn("without a result", result.stderr)
        self.assertIn("Kernel panic", result.stderr)

    def test_hang(self):
        result = guest("sleep", "1000", options=("--timeout", "10"))
        self.assertEqual(result.returncode, 124, result)
        self.assertIn("out of time after 10 s", result.stderr)

    def test_missing_kernel(self):
        result = lab("run", "no-such-kernel", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("'no-such-kernel'", result.stderr)

    def test_several_at_once(self):
        running = [
            subprocess.Popen([LAB, "run", KERNEL, "--", "sh", "-c", f"exit {i}"],
                             stdin=subprocess.DEVNULL) for i in (11, 12)
        ]
        self.assertEqual([process.wait(120) for process in running], [11, 12])


class Leaves(unittest.TestCase):
    def test_nothing(self):
        mounts, files = leftovers()
        before = processes()
        for _ in range(10):
            self.assertEqual(guest("true").returncode, 0)
        self.assertLessEqual(processes(), before)
        self.assertEqual(leftovers()[0], mounts)
        self.assertLessEqual(leftovers()[1], files)

    def test_nothing_when_killed(self):
        before = processes()
        running = subprocess.Popen([LAB, "run", KERNEL, "--", "sh", "-c", "echo up; sleep 100"],
                                   stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.assertEqual(running.stdout.readline(), b"up\n")
        running.kill()
        running.wait()
        running.stdout.close()
        self.assertLessEqual(processes(), before)


if __name__ == "__main__":
    if subprocess.run([LAB, "run", KERNEL, "--", "true"], stdin=subprocess.DEVNULL, check=False,
                      capture_output=True).returncode == 125:
        print(f"kernel {KERNEL} is not built, or does not start: {LAB} build {KERNEL}")
        sys.exit(77)
    unittest.main(verbosity=2)
