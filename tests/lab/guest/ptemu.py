# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of emulated Intel PT share."""
import os
import pathlib
import random

import capture
import guest

LATE = pathlib.Path("/sys/kernel/debug/late_timer")
MOSTLY = 0.7
SCRATCH = pathlib.Path(os.environ.get("LAB_SCRATCH", "/tmp"))
LOGS = SCRATCH / "ptemu"


def load(**parameters):
    guest.need_root()
    if not LOGS.is_dir():
        guest.skip("the guest's QEMU has not the plugin: lab run --pt emulated")
    guest.load("ptsim", source="emulated", **parameters)


def clock():
    """The ratio of TSC and CTC, and the core's frequency, as strings."""
    n, d = (guest.PMU / "tsc_art_ratio").read_text().strip().split(":")
    return [n, d], (guest.PMU / "max_nonturbo_ratio").read_text().strip()


def log_of(cpu=guest.CPU):
    """Where the plugin writes it."""
    return str(LOGS / f"vcpu{cpu}")


class Late(capture.Late):
    """By each kind in its turn, a file of late_timer, the first one where nothing tells whose turn
    it is; knows when that was."""

    def __init__(self, *kinds, late_us=capture.INJECTED_US, turn=lambda: 0):
        # Of short delays, few make a timer late enough.
        super().__init__(every_s=late_us / 100000, late_us=late_us)
        self.kinds, self.turn, self.spans = kinds or ("irqs_off",), turn, []

    def run(self):
        # As the guest counts instructions, equal waits could miss the timer again and again.
        while not self.stop.wait(self.every_s * random.uniform(0.5, 1.5)):
            kind = self.kinds[self.turn() % len(self.kinds)]
            os.sched_setaffinity(0, [guest.CPU if kind == "syscall" else 0])
            until = self.make(kind)
            self.spans.append((until - 1000 * self.late_us, until, kind))

    def make(self, kind):
        """Returns when it was over."""
        (LATE / kind).write_text(f"{guest.CPU} {self.late_us}\n")
        return int((LATE / "until_ns").read_text())

    def maker(self, one):
        """The kind that made most of it. If none did, it is the kernel, or the host that runs
        something else than the guest."""
        late_ns, at = one.line["latency_ns"], one.line["time_ns"]
        made_ns, kind = max(((min(until, at) - max(since, at - late_ns), kind)
                             for since, until, kind in self.spans), default=(0, None))
        if made_ns >= late_ns * MOSTLY:
            return kind
        print(f"a spike of {late_ns / 1000:.0f} us that nobody made", flush=True)
        return None
