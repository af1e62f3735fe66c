# SPDX-License-Identifier: GPL-2.0-only
"""Helpers for tests inside a lab guest, beside those of the suite host. Exit status: 0 passed, 1
failed, 77 skipped."""
import collections
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "host"))
from common import skip, wait_for  # noqa: E402  # pylint: disable=wrong-import-position

CPU = 1
PTSIM = pathlib.Path("/sys/kernel/debug/ptsim")
PARAMETERS = pathlib.Path("/sys/module/ptsim/parameters")
PMU = pathlib.Path("/sys/bus/event_source/devices/intel_pt")
KERNEL = os.environ.get("LAB_KERNEL", "")
# It simulates an Intel PT: x86 alone.
HAS_PTSIM = os.path.exists(f"{os.environ.get('LAB_MODULES', '')}/ptsim.ko")
VERSION = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
# Linux 6.13, and Debian's 6.12 stable
HAS_PAUSE = VERSION >= (6, 12)


def check(condition, message):
    if not condition:
        print(f"FAILED: {message}", flush=True)
        sys.exit(1)


def equal(got, expected, message):
    check(got == expected, f"{message}: {got}, not {expected}")


def need_root():
    if os.geteuid():
        skip("needs root")
    if "LAB_MODULES" not in os.environ:
        skip("runs in a lab guest: tests/lab/lab run KERNEL -- ...")


def load(module, **parameters):
    need_root()
    path = f"{os.environ['LAB_MODULES']}/{module}.ko"
    subprocess.run(["insmod", path, *(f"{k}={v}" for k, v in parameters.items())], check=True)


def unload(module):
    subprocess.run(["rmmod", module], check=True)


def set_parameter(name, value):
    (PARAMETERS / name).write_text(str(value))


# -- Log of ptsim ----------------------------------------------------------------------------------

def counter(name, cpu=CPU):
    return int((PTSIM / f"cpu{cpu}" / name).read_text())


def log(cpu=CPU):
    """The last calls, oldest first: dicts of numbers, and `what`."""
    entries = []
    for line in (PTSIM / f"cpu{cpu}/log").read_text().splitlines():
        what, *fields = line.split()
        entries.append({"what": what, **{k: int(v) for k, v in (f.split("=") for f in fields)}})
    return entries


def program_counts(name):
    """What one iteration of a program executes."""
    return {f.name: int(f.read_text()) for f in (PTSIM / "programs" / name).iterdir()}


# -- perf ------------------------------------------------------------------------------------------

class Record:
    """The distribution's `perf record` of one or several CPUs ("0,1"), running; it writes to
    `data`."""

    def __init__(self, *args, event="intel_pt/cyc,noretcomp/k", data="data", cpu=CPU):
        cpus, cpu = str(cpu), int(str(cpu).rpartition(",")[2])
        self.cpu = cpu
        self.data = data
        before = counter("start", cpu)
        self.process = subprocess.Popen(
            ["perf", "record", "-e", event, "--kcore", "-C", cpus, "-o", data, *args])
        wait_for(lambda: counter("start", cpu) > before or self.process.poll() is not None,
                 "start of the trace", 120)
        check(self.process.poll() is None,
              f"perf record ended with {self.process.returncode}: {self.process.args}")

    def snapshot(self):
        """Takes a snapshot and returns the log entry of its stop."""
        time.sleep(0.5)
        stops, starts = counter("stop", self.cpu), counter("start", self.cpu)
        self.process.send_signal(signal.SIGUSR2)
        wait_for(lambda: counter("start", self.cpu) > starts, "snapshot")
        entry = [e for e in log(self.cpu) if e["what"] == "stop"][-1]
        equal(counter("stop", self.cpu), stops + 1, "stops by a snapshot")
        return entry

    def end(self):
        time.sleep(0.3)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(300)
        stops = [e for e in log(self.cpu) if e["what"] in ("stop", "truncated")]
        return stops[-1]


def wait_until_closed():
    """Until no process closes tracepoints or removes a tracing instance of a session any more."""
    while subprocess.run(["pgrep", "-x", "perf-poke-close"], stdout=subprocess.DEVNULL,
                         check=False).returncode == 0:
        time.sleep(0.2)


@contextlib.contextmanager
def in_folder(path):
    os.makedirs(path, exist_ok=True)
    old = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(old)


Branch = collections.namedtuple("Branch", "flags from_ip from_symbol to_ip to_symbol")
LINE = re.compile(
    r"^ *((?P<time>[\d.]+): +)?(?P<flags>[a-z][a-z ]*?) +(?P<from>[0-9a-f]+) (?P<from_sym>\S+) => "
    r"+(?P<to>[0-9a-f]+) (?P<to_sym>\S+)\s*$"
)

EVENT = re.compile(
    r"(bpf_trace:bpf_trace_printk|ipi:ipi_send_cpu(mask)?|csd:csd_queue_cpu|"
    r"workqueue:workqueue_queue_work|sched:\w+): "
    r"|cpu=\d+ callsite=|work struct=|comm=.* (prev_)?pid=\d+ ")


def is_sample(line):
    """Whether the line belongs to the sample, the spike's stack, whose frames begin with a tab, or
    an event beside the trace, and not to the trace. With -F, events have no name."""
    return line[0] == "\t" or line.rstrip().endswith(":") or EVENT.search(line) is not None


class Decoded:
    """Output of `perf script`, parsed."""

    def __init__(self, data="data", itrace="be", perf="perf"):
        self.branches = []
        self.times = []  # in ns, of all lines
        self.edges = []  # begins and ends of the trace: flags, number of branches before
        self.errors = []
        out = subprocess.run([
            perf, "script", "-i", data, f"--itrace={itrace}", "--ns", "-F",
            "hw:time,flags,ip,sym,addr"
        ], capture_output=True, text=True, check=False)
        equal(out.returncode, 0, f"exit status of perf script ({out.stderr[-300:]})")
        self.said = out.stderr
        for line in out.stdout.splitlines():
            if not line.strip() or is_sample(line):
                continue
            match = LINE.match(line)
            if not match:
                self.errors.append(line)
                continue
            self.times.append(int((match["time"] or "0").replace(".",
                                                                 "")))  # none in a trace without
            # perf 7.3 reports the begin of a trace as a jump.
            flags = match["flags"].strip().removesuffix(" jmp")
            branch = Branch(flags, int(match["from"], 16), match["from_sym"], int(match["to"], 16),
                            match["to_sym"])
            if flags.startswith("tr "):
                self.edges.append((flags, len(self.branches)))
            else:
                self.branches.append(branch)

    def iterations(self, main):
        """Lists of branches, each up to the jump of `main` to its own begin."""
        found, current = [], []
        for branch in self.branches:
            current.append(branch)
            if branch.flags == "jcc" and branch.from_symbol == branch.to_symbol == main:
                found.append(current)
                current = []
        equal(current, [], "branches after the last whole iteration")
        return found


MAINS = {"mixed": "ptsim_main", "loop": "ptsim_loop", "deep": "ptsim_deep"}


def check_whole_iterations(decoded, program="mixed", errors=0):
    """Every whole iteration equals the one in ptsim's log. Returns their number."""
    equal(len(decoded.errors), errors, f"errors of the decoder {decoded.errors[:5]}")
    check(decoded.branches, "nothing was decoded")
    counts = program_counts(program)
    if program == "loop":
        # Jumps of the loop look like the end of an iteration, except for their target.
        begin = min(b.to_ip for b in decoded.branches)
        rounds = [i for i, b in enumerate(decoded.branches) if b.to_ip == begin]
        equal(len(decoded.branches), len(rounds) * counts["branches"], "branches")
        return len(rounds)
    iterations = decoded.iterations(MAINS[program])
    first = iterations[0]
    kinds = collections.Counter(b.flags for b in first)
    equal(len(first), counts["branches"], "branches of an iteration")
    for flags, name in (("call", "calls"), ("return", "returns"), ("jmp", "jumps"),
                        ("jcc", "taken"), ("hw int", "interrupts"), ("iret", "irets")):
        equal(kinds[flags], counts[name], f"{name} of an iteration")
    for number, iteration in enumerate(iterations):
        equal(iteration, first, f"iteration {number}")
    return len(iterations)


def call_tree(iteration):
    """Pairs (caller, callee)."""
    return {(b.from_symbol, b.to_symbol) for b in iteration if b.flags in ("call", "hw int")}
