# SPDX-License-Identifier: GPL-2.0-only
"""Shared by the tests on the running kernel. Paths of the built programs are in the environment."""
import contextlib
import ctypes
import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CTL = os.environ.get("PERF_POKE_CTL")
LATE = os.environ.get("PERF_POKE_LATE")
EMBED = os.environ.get("PERF_POKE_EMBED")
LIBRARY = os.environ.get("PERF_POKE_LIBRARY")
LOOP = os.environ.get("PERF_POKE_LOOP")
REPORTER = os.environ.get("PERF_POKE_REPORTER")
FRAMELESS = os.environ.get("PERF_POKE_FRAMELESS")
HERE = os.path.dirname(os.path.abspath(__file__))

BTF = "/sys/kernel/btf/vmlinux"
BPFFS = "/sys/fs/bpf"
SKIP = 77
# On an emulated machine, tests that relate the clock to the work done would fail.
EMULATED = "PERF_POKE_EMULATED" in os.environ
# A caller may ignore SIGCHLD, as some daemons do, and the tests' programs inherit that.
CHILDREN_IGNORED = ["env", "--ignore-signal=CHLD"]
PATIENCE = 600.0 if EMULATED else 60.0  # seconds; a moment on an idle machine

# Intended spikes and their threshold: far above the latencies of a busy machine.
SPIN_US = 10000
EVERY_MS = 40
THRESHOLD_NS = 5000000
ALL_EVENTS = ["--recorder", "events"]
EVENTS = [*ALL_EVENTS, "-e", "sched:sched_switch", "-e", "timer:hrtimer_expire_entry"]
SPIKES = ["--threshold", "5ms", *EVENTS]
NO_SPIKES = ["--threshold", "1h", *EVENTS]
DETAILED_SPIKES = ["--threshold", "5ms", *ALL_EVENTS]
# Every timer of the workload is later than this.
ANY_TIMER = ["--threshold", "1us", *EVENTS, "--workload", "cyclic", "--buffer", "64K"]


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIP)


def require_host():
    if os.geteuid() != 0:
        skip("needs root")
    if not os.path.exists(BTF):
        skip("this kernel has no BTF (" + BTF + ")")


def own_mounts():
    """A prefix that runs a program with its own mounts; None if that is not allowed. A root that is
    no mount point cannot be made private, so its mount point is.
    """
    for propagation in ("private", "unchanged"):
        prefix = ["unshare", "--mount", "--propagation", propagation]
        if shutil.which("unshare") and not subprocess.run([*prefix, "true"],
                                                          stderr=subprocess.DEVNULL).returncode:
            return prefix
    return None


def enter_own_bpffs():
    """Enters a bpffs of its own, isolated from other sessions, where nothing that `start` mounts
    stays."""
    if os.environ.get("PERF_POKE_TEST_BPFFS") or not own_mounts():
        return
    enter_mount_namespace()
    subprocess.run(["mount", "-t", "bpf", "bpf", BPFFS], check=True)
    os.environ["PERF_POKE_TEST_BPFFS"] = "1"


def main():
    """Runs the script's tests; if all are skipped, so is the script."""
    # The caller may ignore SIGHUP, as nohup does.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    require_host()
    enter_own_bpffs()
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun and len(result.skipped) == result.testsRun:
        skip("; ".join(sorted({reason for _, reason in result.skipped})))


def enter_mount_namespace():
    """Restarts the script in its own mount namespace."""
    if os.environ.get("PERF_POKE_TEST_UNSHARED"):
        return
    prefix = own_mounts()
    if not prefix:
        skip("mount namespaces are not allowed here, or there is no unshare (util-linux)")
    os.environ["PERF_POKE_TEST_UNSHARED"] = "1"
    os.execvp(prefix[0], [*prefix, sys.executable, *sys.argv])


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def cpu_time_ns(pid):
    """CPU time of all threads so far."""
    # The clock that clock_getcpuclockid() gives.
    return time.clock_gettime_ns(~pid << 3 | 2)


def find_cpus(wanted):
    """The last CPUs that this process may use: the first ones do most of the system's work."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < wanted:
        raise unittest.SkipTest("needs %d CPUs, there are %d" % (wanted, len(allowed)))
    return allowed[-wanted:]


def cpu_list(cpus):
    return ",".join(str(cpu) for cpu in cpus)


def symbol_address(name):
    with open("/proc/kallsyms") as file:
        return next("0x" + line.split()[0] for line in file if line.split()[2] == name)


def wait_for(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("after %d s still not: %s" % (seconds, what))
        time.sleep(0.02)


def readable(source, seconds):
    """Whether there is data within that time. Open the file unbuffered: Python's buffer is not
    checked."""
    return bool(select.select([source], [], [], seconds)[0])


@contextlib.contextmanager
def running(argv, ready=False, cpus=None, env=None):
    """Runs a program for the duration of the block; it must not end earlier. A `ready` one prints a
    line when it is."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE if ready else None, env=env, preexec_fn=cpus
                               and (lambda: os.sched_setaffinity(0, cpus)))
    try:
        if ready:
            process.stdout.readline()
        yield process
        if process.poll() is not None:
            raise AssertionError("%s ended by itself: %d" % (argv[0], process.returncode))
    finally:
        process.kill()
        process.wait()
        if ready:
            process.stdout.close()


def late(cpu, spin_us=SPIN_US, every_ms=EVERY_MS):
    # From another CPU, an interrupt spins there; on the CPU itself, a preemptible task.
    cpus = os.sched_getaffinity(0) - {cpu}
    if not cpus:
        raise unittest.SkipTest("needs 2 CPUs: one to be late, one to make it so")
    return running([LATE, str(cpu), str(spin_us), str(every_ms)], cpus=cpus)


def ticker(cpu, period_us, clock="monotonic"):
    return running(
        [sys.executable,
         os.path.join(HERE, "ticker.py"),
         str(cpu), str(period_us), clock])


def busy(cpu):
    """Keeps a CPU busy: its timers are sampled even if samples of the idle task are dropped."""
    return python_on(cpu, "while True: pass")


def switching(cpu):
    """Two tasks that keep waking each other on the CPU: the densest source of events."""
    return python_on(cpu, "to_child, to_parent = os.pipe(), os.pipe()\n"
                     "source, sink = ((to_parent[0], to_child[1]) if os.fork()\n"
                     "                else (to_child[0], to_parent[1]))\n"
                     "os.close(to_child[1] if sink == to_parent[1] else to_parent[1])\n"
                     "if sink == to_child[1]: os.write(sink, b'x')\n"
                     "while os.read(source, 1): os.write(sink, b'x')")


def python_on(cpu, code, env=None):
    """Starts Python on the CPU; returns once it runs under its own name."""
    start = "import os\nos.sched_setaffinity(0, [%d])\nprint(flush=True)\n" % cpu
    return running([sys.executable, "-c", start + code], ready=True, env=env)


def unshared(commands):
    """A prefix that runs a program after these commands have changed its mounts."""
    return [*own_mounts(), "sh", "-ec", commands + '\nexec "$@"', "sh"]


def setpriv(*args):
    """A prefix that runs a program with other privileges."""
    if not shutil.which("setpriv"):
        raise unittest.SkipTest("needs setpriv (util-linux)")
    return ["setpriv", *args]


def read(path):
    with open(path) as file:
        return file.read()


def is_closing():
    """Whether a process still closes tracepoints, or removes a tracing instance."""
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if read(path) == "perf-poke-close\n":
                return True
    return False


def facts(path):
    """The capture.json of a capture."""
    return json.loads(read(os.path.join(path, "capture.json")))


def find_bpftool():
    return shutil.which("bpftool") or shutil.which("/usr/sbin/bpftool")


def bpf_exists(kind, number):
    """Asks the kernel, because bpftool 7.8 shows a link and yet reports failure."""
    fd = getattr(ctypes.CDLL("libbpf.so.1"), "bpf_%s_get_fd_by_id" % kind)(number)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def bpf_objects(pid):
    """(kind, id) of what the process holds."""
    found = set()
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            with open(path) as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
        except FileNotFoundError:
            continue
        for kind in ("prog", "map", "link"):
            if kind + "_id" in fields:
                found.add((kind, int(fields[kind + "_id"])))
    return found


def perf_environment():
    """perf 7.3 prints uninitialised memory, which MALLOC_PERTURB_ reveals."""
    return {name: value
            for name, value in os.environ.items() if name != "MALLOC_PERTURB_"} | {"LC_ALL": "C"}


def run_ctl(*args, prefix=(), env=None, cwd=None, timeout=PATIENCE):
    return subprocess.run([*prefix, CTL, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=env, cwd=cwd, timeout=timeout)


def parse_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def of_type(lines, kind):
    return [line for line in lines if line["type"] == kind]


class Session:
    """perf-poke-ctl start --json as a child, armed."""

    def __init__(self, cpus, output, *args, **popen):
        self.lines = []
        self.ahead = b""  # read, and not a line yet
        # Tests know the workload's threads, and not every kernel has the tracer timerlat.
        workload = [] if "--workload" in args else ["--workload", "cyclic"]
        self.process = subprocess.Popen(
            [CTL, "start", "--json", "--cpu", cpu_list(cpus), "--output", output, *workload, *args],
            stdin=popen.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **popen)
        first = self.read_line()
        if first["type"] != "armed":
            raise AssertionError("not armed: %s" % first)
        self.name = first["session"]

    @property
    def pid(self):
        return self.process.pid

    def read_line(self):
        while b"\n" not in self.ahead:
            # Not buffered by Python: finish() would not see what is in that buffer.
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                self.process.wait()
                raise AssertionError("the session ended with %d: %s" % (
                    self.process.returncode, self.process.stderr.read()))
            self.ahead += more
        line, _, self.ahead = self.ahead.partition(b"\n")
        self.lines.append(json.loads(line))
        return self.lines[-1]

    def read_capture(self):
        while True:
            line = self.read_line()
            if line["type"] == "capture":
                return line

    def finish(self, signal=None, timeout=PATIENCE):
        """Returns the exit code; the rest of the output is in lines and stderr."""
        if signal is not None:
            self.process.send_signal(signal)
        out, self.stderr = self.process.communicate(timeout=timeout)
        self.lines += parse_lines(self.ahead.decode() + out)
        return self.process.returncode

    def of_type(self, kind):
        return of_type(self.lines, kind)

    @property
    def captures(self):
        return [line for line in self.of_type("capture") if line["error"] is None]

    @property
    def summary(self):
        return self.of_type("summary")[0]

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            if kind:  # A test that failed leaves no pins to the next one.
                run_ctl("stop", self.name)
        self.process.stdout.close()
        self.process.stderr.close()


class HostTest(unittest.TestCase):
    """A test with a folder and a CPU of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perf-poke-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.output = os.path.join(self.folder, "captures")
        self.cpu = find_cpus(1)[0]

    @classmethod
    def make_taker(cls):
        """Makes `taker`, a test whose folder all tests of the class share."""
        cls.taker = HostTest()
        cls.taker.setUp()
        cls.addClassCleanup(cls.taker.doCleanups)

    def assert_one_line(self, text, *parts):
        lines = text.splitlines()
        self.assertEqual(len(lines), 1, text)
        for part in parts:
            self.assertIn(part, lines[0])

    def assert_fails(self, result, code, *parts):
        """Asserts one line on stderr with these parts, nothing on stdout, and the exit code."""
        self.assert_one_line(result.stderr, *parts)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.returncode, code, result.stderr)

    def capture_spikes(self, cpus, count, *args, limits=SPIKES):
        """Runs a session until it has `count` captures of spikes made on each CPU."""
        with contextlib.ExitStack() as stack:
            for cpu in cpus:
                stack.enter_context(late(cpu))
            session = stack.enter_context(
                Session(cpus, self.output, *limits, "--count", str(count), *args))
            self.assertEqual(session.finish(), 0, session.__dict__)
        return session

    def folders(self):
        return sorted(os.listdir(self.output))

    def partial(self):
        """Hidden folders of living sessions, and leftovers of dead ones."""
        return [name for name in self.folders() if name.startswith(".session-")]

    def perf(self, *args):
        """Runs stock perf, which must not print warnings, but of events that were lost."""
        if not shutil.which("perf"):
            self.skipTest("needs perf")
        result = subprocess.run(["perf", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
                                cwd=self.folder, env=perf_environment())
        self.assertEqual(result.returncode, 0, (args, result.stderr))
        stderr = re.sub(
            r"Warning:\nProcessed \d+ events and lost \d+ chunks!\n\nCheck IO/CPU overload!\n\n",
            "", result.stderr)
        stderr = [line for line in stderr.splitlines() if not re.search("Converted|Written", line)]
        self.assertEqual(stderr, [], args)
        return result.stdout

    def samples(self, path):
        """Samples that perf script prints, as a list of dicts."""
        pattern = re.compile(r"\s*(?P<comm>\S.*?)\s+(?P<tid>-?\d+)\s+\[(?P<cpu>\d+)\]"
                             r"\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+(?P<event>\w+:\w+):\s*(?P<trace>.*)")
        found = []
        for line in self.perf("script", "--ns", "-F", "-ip,-sym,-symoff,-dso", "-i",
                              os.path.join(path, "perf.data")).splitlines():
            # The stack at the spike is another kind of sample, with a line for each frame.
            if not line.strip() or line[0] == "\t" or re.fullmatch(r".*: +1 +spike: *", line):
                continue
            match = pattern.fullmatch(line)
            self.assertTrue(match, line)
            sample = match.groupdict()
            sample["time_ns"] = int(sample["s"]) * 1000000000 + int(sample["ns"])
            sample["cpu"] = int(sample["cpu"])
            sample["tid"] = int(sample["tid"])
            found.append(sample)
        return found
