# SPDX-License-Identifier: GPL-2.0-only
"""check --cpu judges the isolation of a CPU, with the kernel parameters of this guest and a setting
that this changes. What is bad is named, and nothing else is.

usage: isolation.py PERF_POKE_CTL SETTING"""
import json
import os
import pathlib
import subprocess
import sys

import guest
from guest import check, equal

CTL, SETTING = sys.argv[1:]
# What the lab's guests have, whatever the parameters: neither cpufreq nor TSC as the clock.
OF_THE_GUEST = {"governor", "idle states", "clocksource"}
# What each setting of meson.build is to be blamed for, and what may be said besides, since it
# follows from that.
BLAMED = {
    "good": (set(), set()),
    "none": ({"isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "tasks", "kthreads",
              "workqueues"}, {"watchdog", "irqs", "tick"}),
    "tick_only": ({"isolcpus", "tasks", "kthreads"}, {"workqueues", "rcu_nocbs"}),
    "domain_only": ({"nohz_full", "rcu_nocbs", "irqaffinity"},
                    {"watchdog", "irqs", "kthreads", "tick", "workqueues"}),
    "changed": ({"irqs", "irqaffinity", "workqueues", "watchdog", "timer_migration", "tasks",
                 "rcu_nocbs"}, set()),
}
MASK = "%x" % (1 << guest.CPU)


def findings():
    out = subprocess.run([CTL, "check", "--json", "--cpu", str(guest.CPU)],
                         capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    check(lines and lines[-1]["type"] == "isolated", f"no last line: {out}")
    return out.returncode, lines[:-1]


def write(path, text):
    pathlib.Path(path).write_text(text)


def move_an_interrupt():
    """To the isolated CPU: any that a device has and that can be moved."""
    for folder in sorted(pathlib.Path("/proc/irq").glob("[0-9]*")):
        if not any(entry.is_dir() for entry in folder.iterdir()):
            continue  # no handler
        try:
            write(folder / "smp_affinity", MASK)
        except OSError:
            continue
        return folder.name
    return None


def spoil():
    """Each setting that isolation needs, undone after the boot."""
    check(move_an_interrupt(), "no interrupt can be moved")
    write("/proc/irq/default_smp_affinity", "3")
    write("/sys/devices/virtual/workqueue/cpumask", "3")
    write("/proc/sys/kernel/watchdog_cpumask", "0-1")
    write("/proc/sys/kernel/watchdog", "1")
    write("/proc/sys/kernel/timer_migration", "0")
    for task in pathlib.Path("/proc").glob("[0-9]*"):
        name = (task / "comm").read_text().strip()
        if name == "kthreadd" or name.startswith("rcuo"):
            os.sched_setaffinity(int(task.name), [0, guest.CPU])
    os.sched_setaffinity(0, [0, guest.CPU])


guest.need_root()
print(pathlib.Path("/proc/cmdline").read_text())
if SETTING == "changed":
    spoil()
status, found = findings()
for finding in found:
    print("%(verdict)-7s %(name)-16s %(detail)s" % finding, flush=True)
bad = {finding["name"] for finding in found if finding["verdict"] == "bad"} - OF_THE_GUEST
needed, allowed = BLAMED[SETTING]
check(needed <= bad, f"not named: {sorted(needed - bad)}")
check(bad <= needed | allowed, f"named, but not bad: {sorted(bad - needed - allowed)}")
for finding in found:
    check(finding["file"] and finding["detail"], f"nothing to look at: {finding}")
    check(finding["remedy"] or finding["verdict"] != "bad", f"no remedy: {finding}")
if bad:
    equal(status, 1, "exit status")
isolated = pathlib.Path("/sys/devices/system/cpu/isolated").read_text().strip()
out = subprocess.run([CTL, "check", "--cpu", "isolated"], capture_output=True, text=True,
                     check=False)
check(f"CPU {guest.CPU}" in out.stdout if isolated else out.returncode, f"--cpu isolated: {out}")
