# SPDX-License-Identifier: GPL-2.0-only
"""Captures report what the hardware did: SMIs, raised by writes to the SMI command port and counted
by the CPU (MSR 0x34), and a deep idle state that the CPU left late, with its exit latency. Only
guests of KVM have steal time; tests/host covers it where there is some.

usage: hardware.py PERF_POKE_CTL"""
import json
import os
import pathlib
import subprocess
import sys
import time

import guest
from guest import check, equal

CTL = sys.argv[1]
# QEMU raises SMIs on the first CPU.
CPU = 0
SMIS = 3
SMI_COMMANDS = 0xB2
# Unknown to the firmware, so it is only counted.
COMMAND = b"\x42"
THRESHOLD_US = 30000
INJECTED_US = 60000
LATE = pathlib.Path("/sys/kernel/debug/late_timer/irqs_off")
EXIT_US = pathlib.Path("/sys/module/idle_states/parameters/exit_us")
CPUIDLE = "/sys/devices/system/cpu/cpu{}/cpuidle/state{}/disable"


def session(cause):
    """Reports of captures up to the first since the time that `cause` returns. The guest itself may
    be late before."""
    argv = [
        CTL, "start", "--json", "--cpu",
        str(CPU), "--recorder", "events", "--workload", "cyclic", "--period", "5ms", "--threshold",
        f"{THRESHOLD_US}us", "--output", "/tmp/hardware", "--count", "100"
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        equal(json.loads(process.stdout.readline())["type"], "armed", "first line")
        begin_ns = cause()
        while True:
            line = json.loads(process.stdout.readline())
            check(line["error"] is None, f"the capture failed: {line}")
            yield json.loads(
                subprocess.run([CTL, "report", "--json", line["path"]], capture_output=True,
                               text=True, check=True).stdout)
            if line["time_ns"] >= begin_ns:
                break
        process.terminate()
        process.stdout.read()


def raises_smis():
    with open("/dev/port", "wb", buffering=0) as port:
        for _ in range(SMIS):
            port.seek(SMI_COMMANDS)
            port.write(COMMAND)
            time.sleep(0.02)
    begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    LATE.write_text(f"{CPU} {INJECTED_US}\n")
    return begin_ns


def smis():
    """Some capture counts all SMIs that were raised."""
    reports = [found for found in session(raises_smis) if found["hardware"]["smis"]]
    equal(sum(found["hardware"]["smis"] for found in reports), SMIS, "SMIs")
    for found in reports:
        print(found["sentence"], flush=True)
        number = found["hardware"]["smis"]
        check(f"; {number} SMI{'s' if number > 1 else ''} in the " in found["sentence"],
              "they are not told")


def goes_deep():
    EXIT_US.write_text(str(INJECTED_US))
    begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    time.sleep(INJECTED_US / 1e6)
    EXIT_US.write_text("0")
    return begin_ns


def deep_idle():
    guest.load("idle_states", exit_us=INJECTED_US)
    EXIT_US.write_text("0")
    for state in range(4):
        for cpu in range(os.cpu_count()):
            pathlib.Path(CPUIDLE.format(cpu,
                                        state)).write_text(str(int((cpu == CPU) != (state == 3))))
    for found in session(goes_deep):
        print(found["sentence"], flush=True)
    check(
        "; the CPU left LAB3 after " in found["sentence"]
        and f"(exit latency {INJECTED_US // 1000}ms)" in found["sentence"], "the state is not told")
    equal((found["hardware"]["idle_state"], found["hardware"]["exit_latency_ns"]),
          ("LAB3", INJECTED_US * 1000), "idle state")
    delay = next(row for row in found["analysis"] if row["term"] == "IRQ handler delay")
    equal(delay["name"], "(exit from idle)", "what rtla calls it")


guest.load("late_timer")
os.sched_setaffinity(0, set(range(os.cpu_count())) - {CPU})
smis()
deep_idle()
