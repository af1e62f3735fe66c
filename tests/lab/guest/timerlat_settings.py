# SPDX-License-Identifier: GPL-2.0-only
"""Settings of a session: scheduler and cgroup of the threads that wait for timerlat's timers, as
the kernel reports them, and idle states of the watched CPU. Every way to end restores them."""
import contextlib
import ctypes
import itertools
import pathlib
import signal
import struct
import time

import guest
from guest import check, equal
from tracer import OSNOISE, Session, as_before, need, state, stop_all, tasks

CGROUPS = pathlib.Path("/sys/fs/cgroup")
CPUIDLE = pathlib.Path("/sys/devices/system/cpu/cpu1/cpuidle")
THREADS = {"timerlat": "timerlat/1", "user": "pp-user/1"}
SCHED_GETATTR = 315
OTHER, FIFO, RR, DEADLINE = 0, 1, 2, 6
# As given, and as the kernel reports them: policy, nice, priority, runtime, period.
PRIORITIES = {
    "o:5": (OTHER, 5, 0),
    "r:7": (RR, 0, 7),
    "f:33": (FIFO, 0, 33),
    "d:200:1000": (DEADLINE, 0, 0, 200000, 1000000),
}
ENDS = ((signal.SIGINT, 3), (signal.SIGTERM, 3), (signal.SIGKILL, -9))


def scheduling(pid):
    """By sched_getattr(2). Attributes that a policy lacks may have any value."""
    attr = ctypes.create_string_buffer(48)
    equal(
        ctypes.CDLL(None, use_errno=True).syscall(SCHED_GETATTR, pid, attr, len(attr), 0), 0,
        f"sched_getattr ({ctypes.get_errno()})")
    policy, _, nice, priority, runtime, _, period = struct.unpack_from("=IQiIQQQ", attr, 4)
    return (policy, nice, priority) + ((runtime, period) if policy == DEADLINE else ())


def thread(workload):
    pids = [int(pid) for pid, comm in tasks() if comm == THREADS[workload]]
    equal(len(pids), 1, f"threads {THREADS[workload]}")
    return pids[0]


def cgroup(pid):
    return pathlib.Path(f"/proc/{pid}/cgroup").read_text().strip().rpartition("::/")[2]


@contextlib.contextmanager
def new_cgroup(name):
    path = CGROUPS / name
    path.mkdir()
    try:
        yield path
        guest.wait_for(lambda: not (path / "cgroup.procs").read_text(),
                       f"end of all in cgroup {name}")
    finally:
        path.rmdir()


def has_user():
    return (OSNOISE / "per_cpu").exists()


def can_move():
    """Whether the kernel allows moving timerlat's threads to another cgroup."""
    session = Session("--workload", "timerlat", "--cgroup", "lab", expect=None if guest.VERSION >
                      (6, 1) else 1)
    if guest.VERSION == (6, 1):
        check("does not let the tracer's thread" in session.text(), f"said: {session.text()}")
        return False
    session.end()
    return True


def disabled():
    return [int((CPUIDLE / f"state{i}/disable").read_text()) for i in range(4)]


def deeper_used():
    return sum(int((CPUIDLE / f"state{i}/usage").read_text()) for i in (2, 3))


def runs(before, workload, priority, how, status, group):
    """A session with all of these, and how it ends."""
    options = ("--cgroup", group) if group else ()
    session = Session("--workload", workload, "--prio", priority, "--deepest-idle-state", "1",
                      *options)
    pid = thread(workload)
    equal(scheduling(pid), PRIORITIES[priority],
          f"scheduling of {THREADS[workload]} with {priority}")
    equal(cgroup(pid), group or "", f"cgroup of {THREADS[workload]}")
    equal(disabled(), [0, 0, 1, 1], "idle states that are disabled")
    # The CPU may be in one now.
    time.sleep(0.05)
    used = deeper_used()
    time.sleep(0.2)
    equal(deeper_used(), used, "how often deeper idle states are used")
    session.end(how, status)
    if how == signal.SIGKILL:
        equal(disabled(), [0, 0, 1, 1],
              "idle states when nobody has put them back: nothing is shown by the rest")
        stop_all("restored")
    as_before(before, f"after {workload}, {priority}, {how.name}")


def priorities(before, movable):
    ends = itertools.cycle(ENDS)
    for workload in THREADS if has_user() else ["timerlat"]:
        group = "lab" if movable or workload == "user" else None
        for priority in ("o:5", "r:7", "f:33"):
            runs(before, workload, priority, *next(ends), group)
        text = Session("--workload", workload, "--prio", "d:200:1000", expect=1).text()
        check("needs a cpuset partition of that CPU alone" in text, f"said: {text}")
        as_before(before, "after a deadline that was refused")
        print(f"{workload}: well{f', in the cgroup {group}' if group else ''}", flush=True)


def partitions(before, movable):
    """With a partition of its own, as on tuned machines, the threads may use SCHED_DEADLINE too."""
    (CGROUPS / "cgroup.subtree_control").write_text("+cpuset")
    with new_cgroup("part") as part:
        (part / "cpuset.cpus").write_text("1")
        (part / "cpuset.cpus.partition").write_text("root")
        equal((part / "cpuset.cpus.partition").read_text(), "root\n", "partition")
        runs(before, "timerlat", "d:200:1000", *ENDS[0], "part" if movable else None)
        if has_user():
            runs(before, "user", "d:200:1000", *ENDS[0], "part")
            text = Session("--workload", "user", expect=2).text()
            check("the CPU is not in its cpuset" in text, f"said: {text}")
            as_before(before, "after a thread that may not be on its CPU")
    (CGROUPS / "cgroup.subtree_control").write_text("-cpuset")
    print("a partition: well", flush=True)


def others_change(before):
    """Settings that another user restores meanwhile stay, and what we never set is not touched."""
    session = Session("--workload", "none", "--deepest-idle-state", "0")
    equal(disabled(), [0, 1, 1, 1], "idle states that are disabled")
    (CPUIDLE / "state3/disable").write_text("0")
    (CPUIDLE / "state0/disable").write_text("1")
    time.sleep(0.2)
    equal(disabled(), [1, 1, 1, 0], "idle states that are disabled, some by somebody else")
    session.end()
    check(
        f"are not restored: {CPUIDLE}/state3/disable is '0' (the session had set '1')\n"
        in session.text(), f"said: {session.text()}")
    equal(disabled(), [1, 0, 0, 0], "idle states at the end")
    (CPUIDLE / "state0/disable").write_text("0")
    as_before(before, "after somebody else has changed idle states")
    print("changed by somebody else: well", flush=True)


def main():
    need()
    guest.load("idle_states")
    guest.wait_for(CPUIDLE.exists, "idle states")
    before = state()
    with new_cgroup("lab"):
        movable = can_move()
        priorities(before, movable)
    partitions(before, movable)
    others_change(before)


main()
