# SPDX-License-Identifier: GPL-2.0-only
"""Shared by tests that poke a perf, or a stand-in: single spikes, processes that count signals, and
processes with a given PID.
"""
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

import common

# Above the latencies of a busy machine.
SPIN_US = 60000
THRESHOLD = ["--threshold", "30ms"]
SYS_CLONE3 = 435
TAKEN_S = 5  # until nothing is left of a dead process


def spike(session, cpu):
    """Makes a timer late from another CPU until the session has taken the spike. Returns its
    line."""
    with common.late(cpu, SPIN_US, 1000):
        return session.read_capture()


def status(session):
    lines = common.parse_lines(common.run_ctl("status", "--json", session.name).stdout)
    return lines[0]


def wait_accounted(session):
    """Waits until as many signals became pending, or merged with another, as spikes were taken.
    Takes time on a busy CPU. For a session with one target; returns its status.
    """
    end = time.monotonic() + common.PATIENCE
    while True:
        seen = status(session)
        taken = seen["all"]["spikes"] - seen["all"]["unarmed"]
        if seen["pokes"] + seen["merged"] == taken:
            return seen
        if time.monotonic() > end:
            raise AssertionError("%d spikes were taken, and are not as many signals: %s" %
                                 (taken, seen))
        time.sleep(0.02)


# Counts signals to any of its threads, and prints a line for each. Like perf, it waits in poll()
# for a perf event. On command it runs another program, or restores the signal's default action.
COUNTER = """
import ctypes, os, select, signal, struct, sys, threading, time
number, seconds = int(sys.argv[1]), float(sys.argv[2])
reader, writer = os.pipe()
os.set_blocking(writer, False)
signal.set_wakeup_fd(writer)
signal.signal(number, lambda *_: None)
dummy = struct.pack("=IIQ", 1, 120, 9).ljust(120, b"\\0")
event = ctypes.CDLL(None).syscall(298, dummy, 0, -1, -1, 0)
thread = threading.Thread(target=time.sleep, args=(seconds,), daemon=True)
thread.start()
print(thread.native_id, flush=True)
end = time.monotonic() + seconds
while time.monotonic() < end:
    select.select([reader], [], [], 0.01)
    poll = select.poll()
    if event >= 0:
        poll.register(event)
    poll.register(reader, select.POLLIN)
    if any(ready & select.POLLIN for _, ready in poll.poll(0)):
        for got in os.read(reader, 64):
            print(got, flush=True)
    if select.select([0], [], [], 0)[0]:
        change = os.read(0, 64)
        if change == b"exec":
            os.execvp("sleep", ["sleep", "600"])
        elif change == b"reset":
            signal.signal(number, signal.SIG_DFL)
"""


class Counter:
    """A process that counts the signals it gets."""

    def __init__(self, number=signal.SIGUSR2, command=()):
        self.process = subprocess.Popen(
            [*command, sys.executable, "-c", COUNTER,
             str(int(number)), "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.thread = int(self.process.stdout.readline())

    def wait_signal(self, number=signal.SIGUSR2):
        assert common.readable(self.process.stdout, common.PATIENCE), "no signal came"
        got = int(self.process.stdout.readline())
        assert got == number, got

    def has_signal(self, seconds=0.3):
        return common.readable(self.process.stdout, seconds)

    def count(self, number=signal.SIGUSR2):
        """The signals so far and those that still come."""
        seen = 0
        while self.has_signal():
            self.wait_signal(number)
            seen += 1
        return seen

    def catches(self, number=signal.SIGUSR2):
        with open("/proc/%d/status" % self.pid) as file:
            caught = next(line for line in file if line.startswith("SigCgt:"))
        return bool(int(caught.split()[1], 16) >> (number - 1) & 1)

    def change(self, how):
        """`exec` or `reset`: from then on the signal would end it."""
        self.process.stdin.write(how.encode())
        common.wait_for(lambda: not self.catches(), "%s of process %d" % (how, self.pid))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class CloneArgs(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64)
                for name in ("flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack",
                             "stack_size", "tls", "set_tid", "set_tid_size", "cgroup")]


def fork_as(pid):
    """Like fork(), but the child has that PID. Raises OSError if it is taken, or this is not
    allowed."""
    wanted = ctypes.c_int(pid)
    args = CloneArgs(exit_signal=signal.SIGCHLD, set_tid=ctypes.addressof(wanted), set_tid_size=1)
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.syscall(SYS_CLONE3, ctypes.byref(args), ctypes.sizeof(args))
    if made < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return made


def free_pid():
    """An unused PID."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    return gone.pid


def need_newcomers(test):
    try:
        with Newcomer(free_pid()):
            pass
    except OSError as error:
        test.skipTest("no process can be made with a number that is asked for: %s" % error)


class Newcomer:
    """A counter of signals that reuses the PID of an ended process."""

    def __init__(self, pid, number=signal.SIGUSR2):
        reader, writer = os.pipe()
        end = time.monotonic() + TAKEN_S
        while True:
            try:
                self.pid = fork_as(pid)
                break
            except FileExistsError:
                # The PID is not free yet.
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        if not self.pid:
            os.dup2(writer, 1)
            os.execv(sys.executable, [sys.executable, "-c", COUNTER, str(int(number)), "600"])
        assert self.pid == pid, self.pid
        os.close(writer)
        self.out = os.fdopen(reader, "rb", 0)
        self.thread = int(self.out.readline())

    def has_signal(self, seconds=0.3):
        return common.readable(self.out, seconds)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.out.close()


@contextlib.contextmanager
def perf_record(folder, cpu, name, *args):
    """A running perf record that takes SIGUSR2."""
    data = os.path.join(folder, name)
    control = os.path.join(folder, name + ".control")
    ack = os.path.join(folder, name + ".ack")
    os.mkfifo(control)
    os.mkfifo(ack)
    fds = [os.open(path, os.O_RDWR) for path in (control, ack)]
    process = subprocess.Popen([
        "perf", "record", "-q", "-e", "cpu-clock", "-C",
        str(cpu), "-o", data, "--switch-output=signal", "--delay=-1", "--control",
        "fifo:%s,%s" % (control, ack), *args
    ], stdin=subprocess.DEVNULL)
    try:
        os.write(fds[0], b"enable\n")
        assert common.readable(fds[1], common.PATIENCE), "perf does not answer"
        yield process, data
    finally:
        for fd in fds:
            os.close(fd)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(common.PATIENCE)


def dumps(data):
    """The data files of a perf with --switch-output, the oldest first."""
    folder, name = os.path.split(data)
    return sorted(os.path.join(folder, entry) for entry in os.listdir(folder)
                  if entry.startswith(name + ".") and entry[len(name) + 1:].isdigit())
