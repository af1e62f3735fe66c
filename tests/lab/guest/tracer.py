# SPDX-License-Identifier: GPL-2.0-only
"""Helpers for tests of the workload timerlat: sessions, and the state of everything that they
may set."""
import json
import os
import pathlib
import select
import signal
import subprocess
import sys

import guest
from guest import check, equal

CTL = sys.argv[1]
TRACING = pathlib.Path("/sys/kernel/tracing")
OSNOISE = TRACING / "osnoise"
THREAD = "timerlat/1"


def read(path):
    try:
        return path.read_text().strip()
    except OSError as error:
        return f"error {error.errno}"


def state():
    """The state of everything that a session may set."""
    files = [
        *OSNOISE.iterdir(), TRACING / "current_tracer", TRACING / "tracing_on",
        TRACING / "tracing_thresh",
        *pathlib.Path("/sys/devices/system/cpu").glob("cpu*/cpuidle/state*/disable")
    ]
    found = {str(path): read(path) for path in files if path.is_file()}
    found["instances"] = sorted(path.name for path in (TRACING / "instances").iterdir())
    found["dma latency"] = dma_latency()
    found["mounts"] = sorted(line.split()[1]
                             for line in pathlib.Path("/proc/mounts").read_text().splitlines())
    found["run"] = os.path.exists("/run/perf-poke")
    found["threads"] = sorted(comm for comm in comms() if comm.startswith(("timerlat", "osnoise/")))
    return found


def as_before(before, message):
    now = state()
    for key, value in before.items():
        equal(now[key], value, f"{message}: {key}")


def dma_latency():
    try:
        return int.from_bytes(
            pathlib.Path("/dev/cpu_dma_latency").read_bytes()[:4], sys.byteorder, signed=True)
    except OSError as error:
        return f"error {error.errno}"


def tasks():
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            yield path.parent.name, path.read_text().strip()
        except OSError:
            continue


def comms():
    return [comm for _, comm in tasks()]


def thread_policy():
    """Policy and priority of the tracer's thread: fields 41 and 40 of stat."""
    for pid, comm in tasks():
        if comm == THREAD:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            return int(fields[38]), int(fields[37])
    return None


class Session:
    """Records few events: at its end it waits for the kernel once for each."""

    def __init__(self, *options, cpu=1, threshold="1h", expect=None,
                 recorder=("events", "-e", "sched:sched_switch")):
        self.said = open("/tmp/timerlat.said", "w", encoding="utf-8")
        argv = [
            CTL, "start", "--json", "--cpu",
            str(cpu), "--recorder", *recorder, "--buffer", "256K", "--output", "/tmp/timerlat.data",
            "--threshold", threshold, "--count", "99", "--verbose", *options
        ]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=self.said, text=True)
        self.ahead = b""
        line = self.read_line()
        if expect is not None:
            equal(self.process.wait(60), expect, f"exit status ({line}{self.text()})")
            return
        check(line, f"nothing from the session: {self.text()}")
        self.armed = json.loads(line)
        equal(self.armed["type"], "armed", f"first line ({self.text()})")

    def read_line(self, seconds=60):
        """The next line; empty at a timeout or the end."""
        while b"\n" not in self.ahead:
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not data:
                return ""
            self.ahead += data
        line, _, self.ahead = self.ahead.partition(b"\n")
        return line.decode()

    def text(self):
        lines = pathlib.Path(self.said.name).read_text(errors="replace").splitlines(keepends=True)
        return "".join(line for line in lines if "libbpf" not in line)

    def end(self, how=signal.SIGINT, status=3):
        """how: a signal; None: wait for the end."""
        if how:
            self.process.send_signal(how)
        out, _ = self.process.communicate(timeout=60)
        equal(self.process.returncode, status, f"exit status after {how} ({self.text()})")
        return [json.loads(line) for line in (self.ahead.decode() + out).splitlines()]


def stop_all(*expected):
    out = subprocess.run([CTL, "stop", "--all"], capture_output=True, text=True, check=False)
    equal(out.returncode, 0, f"exit status of stop --all ({out.stderr})")
    for text in expected:
        check(text in out.stderr, f"'{text}' not said: {out.stderr}")


def need():
    guest.need_root()
    if not (OSNOISE / "timerlat_period_us").exists():
        guest.skip("this kernel has no timerlat tracer")


def hog(microseconds, priority=98):
    """Occupies CPU 1 as `the-hog` with this real-time priority. Returns its pid."""
    code = f"""
import os, time
open('/proc/self/comm', 'w').write('the-hog')
os.sched_setaffinity(0, [1])
time.sleep(0.2)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param({priority}))
end = time.monotonic_ns() + {microseconds} * 1000
while time.monotonic_ns() < end: pass
"""
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        pid = process.pid
    equal(process.returncode, 0, "the hog")
    return pid
