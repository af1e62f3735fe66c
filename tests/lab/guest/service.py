# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke@.service under systemd: it is started once it is armed, takes a capture with symbols,
idle states off and a changed PM QoS inside its sandbox, survives daemon-reload and daemon-reexec,
begins again when it is killed, not when its options are wrong, and is stopped without a failure.
systemd is the first process of a PID namespace, with few units.

usage: service.py PERF_POKE_CTL LATE UNIT"""
import contextlib
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys

import guest
from guest import check, equal

CTL, LATE, UNIT = sys.argv[1:]
SYSTEMD = pathlib.Path("/usr/lib/systemd")
UNITS = pathlib.Path("/run/units")
CONFIG = pathlib.Path("/etc/perf-poke")
STATE = pathlib.Path("/var/lib/perf-poke")
TARGETS = ["sysinit", "basic", "shutdown", "multi-user", "sockets"]
JOURNAL = ["systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket"]
# A guest on a busy host is late by tens of milliseconds.
OPTIONS = f"--cpu {guest.CPU} --threshold 60ms --recorder events " \
          "--workload cyclic --dma-latency 0 --count 1000"


def inside():
    """Who speaks to systemd has to be of its PID namespace."""
    pid = subprocess.run(["pgrep", "--exact", "--newest", "systemd"], capture_output=True,
                         text=True, check=False).stdout.strip()
    return ["nsenter", "--target", pid, "--mount", "--pid", "--root", "--wd"]


def journal():
    argv = [*inside(), "journalctl", "--no-pager", "--quiet", "-t", "perf-poke-ctl"]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def systemctl(*words, status=0):
    result = subprocess.run([*inside(), "systemctl", *words], capture_output=True, text=True,
                            check=False)
    check(status in (None, result.returncode),
          f"systemctl {words}: {result.returncode}, {result.stderr}{journal()}")
    return result.stdout.strip()


def shown(name, unit="perf-poke@timers"):
    return systemctl("show", "--value", "--property", name, unit)


def write_units():
    UNITS.mkdir()
    for name in TARGETS:
        wants = f"Wants={' '.join(JOURNAL)}\n" if name == "sysinit" else ""
        (UNITS / f"{name}.target").write_text(f"[Unit]\nDefaultDependencies=no\n{wants}")
    for name in JOURNAL:
        shutil.copy(SYSTEMD / "system" / name, UNITS)
    # Where it is installed the program is of the system.
    text = pathlib.Path(UNIT).read_text()
    program = next(word for word in text.split()
                   if word.endswith("/perf-poke-ctl")).removeprefix("ExecStart=")
    (UNITS / "perf-poke@.service").write_text(text.replace(program, CTL))
    CONFIG.mkdir(exist_ok=True)
    (CONFIG / "timers.conf").write_text(f"OPTIONS={OPTIONS}\n")
    (CONFIG / "wrong.conf").write_text("OPTIONS=--cpu nonsense\n")


@contextlib.contextmanager
def manager():
    """Without a container's name it would take the guest for a machine that it boots."""
    argv = [
        "unshare", "--mount", "--pid", "--fork", "--cgroup", "--mount-proc", "--kill-child", "env",
        "container=lab", f"SYSTEMD_UNIT_PATH={UNITS}", SYSTEMD / "systemd", "--system",
        "--unit=multi-user.target", "--log-target=kmsg", "--log-level=notice"
    ]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as process:
        try:
            guest.wait_for(
                lambda: systemctl("is-system-running", status=None) in ("running", "degraded"),
                "systemd", 120)
            yield
        finally:
            process.kill()


def captures():
    return sorted(glob.glob(f"{STATE}/timers/*/capture.json"))


def takes_a_capture():
    before = len(captures())
    with subprocess.Popen([LATE, str(guest.CPU), "100000", "300"]) as late:
        guest.wait_for(lambda: len(captures()) > before, "capture", 120)
        late.kill()
    capture = json.loads(pathlib.Path(captures()[-1]).read_text())
    check(any(frame.get("symbol") for frame in capture["spike"]["stack"]),
          f"no symbols in {capture['spike']}")
    return capture


def is_armed(pid):
    equal(shown("MainPID"), pid, "process of the service")
    equal(shown("ActiveState"), "active", f"state of the service ({journal()})")
    check(
        "timers" in subprocess.run([CTL, "status"], capture_output=True, text=True,
                                   check=True).stdout, "no such session")


def survives(pid):
    for command in ("daemon-reload", "daemon-reexec"):
        systemctl(command)
        is_armed(pid)
        takes_a_capture()
        print(f"{command}: the session is armed, and captures", flush=True)


def begins_again(pid):
    systemctl("kill", "--signal=KILL", "perf-poke@timers")
    guest.wait_for(lambda: shown("ActiveState") == "active" and shown("MainPID") not in (pid, "0"),
                   "restart", 90)
    equal(shown("NRestarts"), "1", "restarts")
    is_armed(shown("MainPID"))
    print("killed: begins again", flush=True)


def main():
    guest.need_root()
    if not (SYSTEMD / "systemd").exists():
        guest.skip("needs systemd")
    # The guest's root is not that of its first process.
    os.environ["SYSTEMD_IGNORE_CHROOT"] = "1"
    write_units()
    with manager():
        systemctl("start", "perf-poke@timers")
        pid = shown("MainPID")
        is_armed(pid)
        takes_a_capture()
        print("status:", shown("StatusText"), flush=True)
        survives(pid)
        begins_again(pid)
        systemctl("stop", "perf-poke@timers")
        equal(shown("Result"), "success", "result of a stopped session")
        systemctl("start", "perf-poke@wrong", status=1)
        equal(shown("NRestarts", "perf-poke@wrong"), "0", "restarts with wrong options")
        equal(shown("ExecMainStatus", "perf-poke@wrong"), "2", "exit status with wrong options")
        check("armed" in journal(), "the journal does not tell that a session is armed")


if __name__ == "__main__":
    main()
