# SPDX-License-Identifier: GPL-2.0-only
"""Failures around the recorder pt: one clear line, the right exit code, no leftovers; or the
session goes on without the missing part."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import capture
import guest
from guest import check, equal

CTL = sys.argv[1]
OUTPUT = pathlib.Path("/tmp/pt_errors")
OFFLINE = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
CPU = str(guest.CPU)
NO_SPIKE = ("--threshold", "1h", "--duration", "200ms")
WITHOUT_IPC_LOCK = ("setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock")


def start(*args, prefix=(), buffer="128K", output=OUTPUT, cpu=CPU):
    return subprocess.run([
        *prefix, CTL, "start", "--cpu", cpu, "--recorder", "pt", "--buffer", buffer, "--output",
        output, *args
    ], capture_output=True, text=True, timeout=120, check=False)


def fails(result, *parts):
    lines = result.stderr.splitlines()
    equal(len(lines), 1, f"lines of {lines}")
    for part in parts:
        check(part in lines[0], f"no '{part}' in: {lines[0]}")
    equal(result.returncode, 1, "exit status")
    check(not OUTPUT.exists(), f"left behind: {list(OUTPUT.glob('*'))}")
    print(lines[0], flush=True)


def works(*args, **kwargs):
    result = start(*NO_SPIKE, *args, **kwargs)
    equal(result.returncode, 3, f"exit status ({result.stderr})")


@contextlib.contextmanager
def sysctl(name, value):
    path = pathlib.Path("/proc/sys", name.replace(".", "/"))
    old = path.read_text()
    path.write_text(f"{value}\n")
    try:
        yield
    finally:
        path.write_text(old)


@contextlib.contextmanager
def ended(argv):
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@contextlib.contextmanager
def mounted(*args):
    subprocess.run(["mount", *args], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", args[-1]], check=True)


def no_pmu():
    fails(start(*NO_SPIKE), "no PMU intel_pt", "recorder events")


def namespace():
    """perf knows no task outside of it: the trace would be of one task."""
    inside = ("unshare", "--pid", "--fork", "--mount-proc")
    fails(start(*NO_SPIKE, prefix=inside), "PID namespace", "--pid host", "recorder events")
    found = subprocess.run([*inside, CTL, "check", "--json"], capture_output=True, text=True,
                           timeout=60, check=False)
    row = next(line for line in map(json.loads, found.stdout.splitlines())
               if line.get("name") == "intel_pt")
    check(not row["have"], f"{row}")


def busy():
    before = guest.counter("start")
    with ended(["perf", "record", "-q", "-e", "intel_pt//k", "-S", "-C", CPU, "-o",
                "/tmp/other"]) as other:
        guest.wait_for(lambda: guest.counter("start") > before, "start of the trace")
        fails(start(*NO_SPIKE), "intel_pt is in use", f"perf ({other.pid})")
    works()


def second_session():
    first = [
        CTL, "start", "--json", "--cpu", CPU, "--recorder", "pt", "--output",
        "/tmp/pt_errors_first", "--threshold", "1h"
    ]
    with ended(first) as other:
        equal(json.loads(other.stdout.readline())["type"], "armed", "first line")
        fails(start(*NO_SPIKE), "intel_pt is in use", f"perf-poke-ctl ({other.pid})")
    equal(other.returncode, 3, "exit status of the first session")


def no_symbols():
    with sysctl("kernel.kptr_restrict", 2):
        one, said = capture_without_kcore()
    check("kernel.kptr_restrict" in said, f"no reason: {said}")
    print(said.splitlines()[0], flush=True)
    shutil.rmtree(one)


def no_kcore():
    empty = pathlib.Path("/tmp/empty")
    empty.touch()
    with mounted("--bind", str(empty), "/proc/kcore"):
        one, said = capture_without_kcore()
    check("cannot read /proc/kcore" in said, f"no warning: {said}")
    shutil.rmtree(one)


def capture_without_kcore():
    """The folder of a capture that lacks only the kernel's code, and the warning."""
    with capture.Late():
        result = start("--threshold", f"{capture.THRESHOLD_US}us", "--count", "1", "--duration",
                       "60s")
    equal(result.returncode, 0, f"exit status ({result.stderr})")
    folder = next(OUTPUT.iterdir())
    check(not json.loads((folder / "capture.json").read_text())["recorder"]["kcore"],
          "capture.json says kcore")
    check(not (folder / "perf.data/kcore_dir/kcore").exists(), "there is a kcore")
    OUTPUT.rename("/tmp/pt_errors_done")
    return "/tmp/pt_errors_done", result.stderr


def limits():
    with sysctl("kernel.perf_event_mlock_kb", 516):
        fails(
            start(*NO_SPIKE,
                  prefix=("sh", "-c", 'ulimit -l 64; exec "$@"', "sh", *WITHOUT_IPC_LOCK),
                  buffer="64M"), "locked memory", "CAP_IPC_LOCK", "kernel.perf_event_mlock_kb")
    free = int(
        subprocess.run(["free", "-m"], capture_output=True, text=True,
                       check=True).stdout.splitlines()[1].split()[-1])
    fails(start(*NO_SPIKE, buffer="2G"), "buffer 2147483648", "memory available", "MiB")
    # Of 1 GiB: the ring fits, its copy does not.
    fails(start(*NO_SPIKE, buffer="512M"), "memory available")
    # Two rings and a copy fit, two copies do not.
    fails(start(*NO_SPIKE, "--freeze-all", buffer="256M", cpu="0-1"), "on 2 CPUs, and copies of 2",
          "memory available")
    check(3 * 256 < free < 1024, f"a guest with {free} MiB")
    works(buffer="64M")
    works("--freeze-all", buffer="64M", cpu="0-1")


def full_at_start():
    os.makedirs("/tmp/small", exist_ok=True)
    with mounted("-t", "tmpfs", "-o", "size=6M", "tmpfs", "/tmp/small"):
        fails(start(*NO_SPIKE, output="/tmp/small/out"), "No space left on device")
        equal(os.listdir("/tmp/small"), [], "left behind")


def late_on(cpu, session):
    """The report of a timer that is later than the guest ever is by itself."""
    capture.LATE.write_text(f"{cpu} 900000\n")
    lines = map(json.loads, iter(session.stdout.readline, ""))
    return next((line for line in lines if line["type"] == "capture"), None)


def full_at_capture():
    """The disk has room for the kernel's code only."""
    with mounted("-t", "tmpfs", "-o", "size=64M", "tmpfs", "/tmp/small"):
        argv = [
            CTL, "start", "--json", "--cpu", CPU, "--recorder", "pt", "--buffer", "128K",
            "--output", "/tmp/small/out", "--threshold", "500ms", "--workload", "none", "--count",
            "9"
        ]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as session:
            equal(json.loads(session.stdout.readline())["type"], "armed", "first line")
            with open("/tmp/small/filler", "wb",
                      buffering=0) as filler, contextlib.suppress(OSError):
                while filler.write(bytes(4096)):
                    pass
            failed = late_on(guest.CPU, session)
            check(failed and failed["error"], f"a capture on a full disk: {failed}")
            equal(failed["path"], None, "path of a capture that failed")
            os.unlink("/tmp/small/filler")
            after = late_on(guest.CPU, session)
            check(after and not after["error"], f"no capture after there was room again: {after}")
            session.send_signal(signal.SIGINT)
            session.communicate(timeout=60)
        equal(session.returncode, 1, "exit status")
        equal(len(os.listdir("/tmp/small/out")), 1, "folders: the capture that worked")


def check_again(lines):
    """Captures of CPU 1 after its return have a readable trace."""
    check(all(lines), f"no capture after the CPU came back: {lines}")
    for one in map(capture.Capture, lines):
        sizes = [trace["bytes"] for trace in one.json["recorder"]["traces"] if trace["cpu"] == 1]
        check(len(sizes) == 1 and sizes[0], f"bytes of the CPU that came back: {sizes}")
        decoded = one.decoded()
        equal(decoded.errors, [], "errors of the decoder")
        check(decoded.branches, "nothing was decoded")


def offline(*options):
    """A CPU goes offline in between: spikes of the other are captured, and the session ends
    normally."""
    output = f"/tmp/pt_errors_offline{len(options)}"
    argv = [
        CTL, "start", "--json", "--cpu", "0-1", "--recorder", "pt", "--buffer", "128K", "--output",
        output, "--workload", "none", "--threshold", "500ms", "--count", "9", *options
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as session:
        equal(json.loads(session.stdout.readline())["type"], "armed", "first line")
        OFFLINE.write_text("0")
        try:
            time.sleep(0.5)
            line = late_on(0, session)
        finally:
            OFFLINE.write_text("1")
        time.sleep(0.5)
        again = [late_on(1, session) for _ in range(2)]
        session.send_signal(signal.SIGINT)
        session.communicate(timeout=60)
    print(f"CPU 1 offline, {options}: {line and line['path']}", flush=True)
    check(line, "no capture after the CPU went")
    one = capture.Capture(line)
    equal(one.line["cpu"], 0, "CPU of the spike")
    check(one.decoded().branches, "nothing was decoded")
    equal([t["cpu"] for t in one.json["recorder"]["traces"]],
          [0, 1] if "--freeze-all" in options else [0], "CPUs with a trace")
    check_again(again)
    equal(session.returncode, 0, "exit status")


def lockdown():
    """Lockdown cannot be lowered again."""
    level = pathlib.Path("/sys/kernel/security/lockdown")
    with mounted("-t", "securityfs", "securityfs", "/sys/kernel/security"):
        level.write_text("integrity")
        works()
        level.write_text("confidentiality")
        fails(start(*NO_SPIKE), "not allowed", "locked down", "confidentiality")


guest.need_root()
no_pmu()
capture.load()
namespace()
busy()
second_session()
no_symbols()
no_kcore()
limits()
full_at_start()
full_at_capture()
for way in capture.ways():
    offline("--freeze", way)
offline("--freeze", next(way for way in capture.ways() if way != "sample"), "--freeze-all")
lockdown()
