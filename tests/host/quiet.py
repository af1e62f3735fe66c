#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A spike costs the watched CPU no interrupt from other CPUs: the kernel's own trace of who sends
them has none of the session's."""
import os
import unittest

import common

TRACEFS = "/sys/kernel/tracing"
# Each tells the target's CPU.
SENT = {"ipi/ipi_send_cpu": "cpu == %d", "ipi/ipi_send_cpumask": "",
        "csd/csd_queue_cpu": "cpu == %d"}


class Tracing:
    """An instance that records who sends interrupts to the CPU."""

    def __init__(self, cpu):
        self.path = "%s/instances/perf-poke-quiet-%d" % (TRACEFS, os.getpid())
        os.mkdir(self.path)
        self.cpu = cpu

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(text)

    def __enter__(self):
        for event, text in SENT.items():
            if text:
                self.write("events/%s/filter" % event, text % self.cpu)
            self.write("events/%s/enable" % event, "1")
        self.write("trace", "")
        return self

    def __exit__(self, *_):
        os.rmdir(self.path)

    def senders(self):
        """Of each interrupt, the line that names the task."""
        return [line.strip() for line in common.read(os.path.join(self.path, "trace")).splitlines()
                if line[0] != "#" and
                ("cpumask=" not in line or
                 self.cpu in cpus_of(line.partition("cpumask=")[2].split()[0]))]


def cpus_of(text):
    ranges = [part.partition("-") for part in text.split(",")]
    return {cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)}


@unittest.skipUnless(all(os.path.exists("%s/events/%s" % (TRACEFS, event)) for event in SENT),
                     "this kernel does not trace who sends interrupts (Linux 6.4)")
class Quiet(common.HostTest):
    def check(self, *options):
        """The trace begins once the session is armed, and has the spikes and their captures."""
        with common.late(self.cpu) as late, common.Session(
            [self.cpu], self.output, *options, "--count", "3") as session:
            with Tracing(self.cpu) as tracing:
                session.read_capture()
                session.read_capture()
                lines = tracing.senders()
        # The program that makes timers late does so by interrupts.
        self.assertTrue([line for line in lines if "-%d " % late.pid in line], lines)
        self.assertEqual([line for line in lines if line.startswith("perf-poke")], [])

    def test_none(self):
        self.check("--threshold", "5ms", "--recorder", "none")

    def test_events(self):
        self.check(*common.SPIKES)


if __name__ == "__main__":
    common.main()
