# SPDX-License-Identifier: GPL-2.0-only
"""The outside witness: how `perf sched timehist -w -n --state` of stock perf divides the time of
the late thread."""
import collections
import os
import re
import subprocess

# The idle task has no number.
LINE = re.compile(
    r"\s*(\d+)\.(\d{6}) \[(\d+)\]\s+(?:(<idle>|swapper)\s|(\S.*?)\[(\d+)(?:/\d+)?\]\s)\s*(.*)")
SWITCH = re.compile(r"([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\S)\s+next: (.*?)\[(\d+)(?:/\d+)?\]")
AWAKENED = re.compile(r"awakened: (.*?)\[(\d+)(?:/\d+)?\]")
VECTOR = re.compile(r"\s*\[(\d+)\]\s+(\d+)\.(\d{9}):\s+irq_vectors:(\w+)_(entry|exit):")
IDLE = "<idle>"
# Preempted (R+) is W to perf before 6.10.
RUNNABLE = "RW"
# perf prints microseconds; a part is computed of up to three such numbers.
ROUNDING_NS = 1000

Stay = collections.namedtuple("Stay", "begin_ns end_ns comm tid cpu state delay_ns wait_ns")
Wakeup = collections.namedtuple("Wakeup", "time_ns by tid")
Part = collections.namedtuple("Part", "begin_ns end_ns state")


class Timehist:
    def __init__(self, capture):
        env = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"
               } | {"LC_ALL": "C"}
        out = subprocess.run([
            "perf", "sched", "timehist", "-w", "-n", "--state", "-i",
            os.path.join(capture, "perf.data")
        ], capture_output=True, text=True, check=True, env=env, stdin=subprocess.DEVNULL).stdout
        self.stays, self.wakeups, self.nexts, self.runners = [], [], [], []
        for line in out.splitlines():
            match = LINE.match(line)
            if not match:
                continue
            time_ns = int(match[1]) * 10**9 + int(match[2]) * 1000
            comm, tid, rest = match[4] or match[5], int(match[6] or 0), match[7]
            awakened, switch = AWAKENED.search(rest), SWITCH.match(rest)
            if awakened:
                self.wakeups.append(Wakeup(time_ns, comm, int(awakened[2])))
            elif switch:
                wait_ns, delay_ns, run_ns = (round(float(switch[i]) * 10**6) for i in (1, 2, 3))
                self.stays.append(
                    Stay(time_ns - run_ns, time_ns, comm, tid, int(match[3]), switch[4], delay_ns,
                         wait_ns))
                self.nexts.append((time_ns, int(switch[6])))
                self.runners.append((time_ns, switch[5]))

    def parts(self, tid, begin_ns, end_ns):
        """Running, runnable and asleep of the thread, in order, from its first switch to the last
        that the recording has."""
        found = []
        stays = [stay for stay in self.stays if stay.tid == tid]
        last = stays[-1].end_ns if stays else 0
        # It still runs: perf prints a stay when it ends.
        found_in = [time_ns for time_ns, other in self.nexts if other == tid and time_ns >= last]
        if found_in:
            woken = [
                w.time_ns for w in self.wakeups if w.tid == tid and last <= w.time_ns <= found_in[0]
            ]
            delay_ns = found_in[0] - woken[0] if woken else 0
            stays = [
                *stays,
                Stay(found_in[0], end_ns, "", tid, -1, "R", delay_ns, found_in[0] - last)
            ]
        for number, stay in enumerate(stays):
            # Some kernels drop the switch from the idle task. Then perf takes the idle time for
            # that of the thread.
            if not any(other == tid and abs(time_ns - stay.begin_ns) <= 2 * ROUNDING_NS
                       for time_ns, other in self.nexts):
                continue
            if number:
                before = stays[number - 1]
                runnable = before.state in RUNNABLE
                awake_ns = before.end_ns if runnable else stay.begin_ns - stay.delay_ns
                found.append(Part(before.end_ns, awake_ns, "asleep"))
                found.append(Part(awake_ns, stay.begin_ns, "runnable"))
            found.append(Part(stay.begin_ns, stay.end_ns, "running"))
        cut = [Part(max(p.begin_ns, begin_ns), min(p.end_ns, end_ns), p.state) for p in found]
        return [part for part in cut if part.end_ns > part.begin_ns]

    def sums(self, tid, begin_ns, end_ns):
        found = collections.Counter()
        for part in self.parts(tid, begin_ns, end_ns):
            found[part.state] += part.end_ns - part.begin_ns
        return found

    def ran(self, pattern, begin_ns, end_ns):
        """Whether such a thread got a CPU in that time, or had it before."""
        return any(
            re.search(pattern, comm) for time_ns, comm in self.runners
            if begin_ns <= time_ns <= end_ns) or any(
                re.search(pattern, stay.comm) for stay in self.stays
                if stay.begin_ns < end_ns and stay.end_ns > begin_ns)

    def rivals(self, tid, begin_ns, end_ns):
        """Who ran while the thread was runnable, on its CPU, by the time of each."""
        cpus = {stay.cpu for stay in self.stays if stay.tid == tid}
        found = collections.Counter()
        for part in self.parts(tid, begin_ns, end_ns):
            if part.state != "runnable":
                continue
            for stay in self.stays:
                if stay.tid != tid and stay.cpu in cpus:
                    shared = min(part.end_ns, stay.end_ns) - max(part.begin_ns, stay.begin_ns)
                    found[stay.comm] += max(shared, 0)
        return +found


def interrupts(capture, cpu, begin_ns, end_ns):
    """How long each interrupt had the CPU, by `perf script`."""
    out = subprocess.run([
        "perf", "script", "--ns", "-F", "cpu,time,event", "-i",
        os.path.join(capture, "perf.data")
    ], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout
    found, entries = collections.Counter(), {}
    for match in filter(None, map(VECTOR.match, out.splitlines())):
        if int(match[1]) != cpu:
            continue
        time_ns = int(match[2]) * 10**9 + int(match[3])
        if match[5] == "entry":
            entries[match[4]] = time_ns
        else:
            entry_ns = entries.pop(match[4], begin_ns)
            found[match[4]] += max(0, min(time_ns, end_ns) - max(entry_ns, begin_ns))
    return found


def differences(witness, thread, begin_ns, end_ns):
    """What the report and perf say differently; empty if they agree, where perf says something."""
    ours = [Part(i["begin_ns"], i["end_ns"], i["state"]) for i in thread["intervals"]]
    # perf does not know what came before the first switch and after the last.
    theirs = witness.parts(thread["tid"], begin_ns, end_ns)
    found = []
    for part in theirs:
        shared = collections.Counter()
        for o in ours:
            shared[o.state] += max(0, min(o.end_ns, part.end_ns) - max(o.begin_ns, part.begin_ns))
        inside = shared[part.state]
        # What the report says not to know is no difference.
        if abs(inside + shared["unknown"] - (part.end_ns - part.begin_ns)) > 3 * ROUNDING_NS:
            found.append(
                "%s %d to %d ns: %d ns by perf, %d by the report" %
                (part.state, part.begin_ns, part.end_ns, part.end_ns - part.begin_ns, inside))
    return found
