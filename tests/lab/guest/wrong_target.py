# SPDX-License-Identifier: GPL-2.0-only
"""Delivery `tracepoint`: a target that polls its perf event signals itself. Another process that
polls too and has reused the number of an ended target gets nothing, nor does a target that the
signal would kill now. The suite host shows this for other deliveries, but not on kernels that
lack this one."""
import subprocess
import sys

import capture
import guest
from guest import check, equal  # and finds the helpers of the suite host
import poked

POKER = sys.argv[1]


class Poker:
    def __init__(self, pids):
        argv = [
            POKER,
            str(guest.CPU),
            str(capture.THRESHOLD_US * 1000), "/tmp/wrong_target", "pp-wrong-target",
            *map(str, pids)
        ]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
        equal(self.process.stdout.readline(), b"armed\n", "first line")

    def spike(self):
        with capture.Late():
            equal(self.process.stdout.readline(), b"0\n", "line of a capture")

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(30), 0, "exit status")


def changed(how):
    with poked.Counter() as other, poked.Counter() as target:
        poker = Poker([target.pid, other.pid])
        poker.spike()
        target.wait_signal()
        other.wait_signal()
        target.change(how)
        for _ in range(2):
            poker.spike()
            other.wait_signal()
        poker.end()
        equal(target.process.poll(), None, f"exit status of the target after {how}")
    print(f"{how}: the target was not signalled any more")


guest.load("late_timer")
for change in ("exec", "reset"):
    changed(change)
with poked.Counter() as other, poked.Counter() as target:
    poker = Poker([target.pid, other.pid])
    poker.spike()
    target.wait_signal()
    other.wait_signal()
    target.process.kill()
    target.process.wait()
    with poked.Newcomer(target.pid) as newcomer:
        poker.spike()
        other.wait_signal()
        check(not newcomer.has_signal(2), "the newcomer was signalled")
        # Allowed if requested explicitly.
        second = Poker([newcomer.pid])
        second.spike()
        check(newcomer.has_signal(10), "the newcomer was not signalled by its own session")
        second.end()
    poker.end()
print(f"process {target.pid} was signalled, the next of this number was not")
