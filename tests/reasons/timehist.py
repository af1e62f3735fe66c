# SPDX-License-Identifier: GPL-2.0-only
"""The outside witness: how `perf sched timehist -w -n --state` of stock perf divides the time of
the late thread; for a trace.dat, what `trace-cmd report` of stock trace-cmd prints."""
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
# Of trace-cmd, with no plugin
EVENT = re.compile(r"\s*(.*)-\d+\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\w+):\s+(.*)")
PREV_NEXT = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> "
                       r"next_comm=(.*) next_pid=(\d+) ")
WOKEN = re.compile(r"comm=.* pid=(\d+) ")
IDLE = "<idle>"
# Preempted (R+) is W to perf before 6.10.
RUNNABLE = "RW"
# perf prints microseconds; a part is computed of up to three such numbers.
ROUNDING_NS = 1000

Stay = collections.namedtuple("Stay", "begin_ns end_ns comm tid cpu state delay_ns")
Wakeup = collections.namedtuple("Wakeup", "time_ns by tid")
Part = collections.namedtuple("Part", "begin_ns end_ns state")


def run(*argv):
    env = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=True,
                          stdin=subprocess.DEVNULL, env={**env, "LC_ALL": "C"}).stdout


class Timehist:
    name = "perf.data"

    def __init__(self, capture):
        self.stays, self.wakeups, self.nexts, self.runners = [], [], [], []
        self.file = os.path.join(capture, self.name)
        self.read()

    def read(self):
        out = run("perf", "sched", "timehist", "-w", "-n", "--state", "-i", self.file)
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
                delay_ns, run_ns = (round(float(switch[i]) * 10**6) for i in (2, 3))
                self.stays.append(
                    Stay(time_ns - run_ns, time_ns, comm, tid, int(match[3]), switch[4], delay_ns))
                self.nexts.append((time_ns, int(switch[6])))
                self.runners.append((time_ns, switch[5]))

    def vectors(self):
        """Entries and exits of interrupts: CPU, time, name, and which."""
        for match in filter(
                None,
                map(VECTOR.match,
                    run("perf", "script", "--ns", "-F", "cpu,time,event", "-i",
                        self.file).splitlines())):
            yield int(match[1]), int(match[2]) * 10**9 + int(match[3]), match[4], match[5]

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
                Stay(found_in[0], end_ns, "", tid, -1, "R", delay_ns)
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


class TraceCmd(Timehist):
    """The same of a trace.dat"""
    name = "trace.dat"

    def read(self):
        inside, out, woken = {}, {}, {}
        for cpu, time_ns, event, rest in self.events():
            # Who leaves the CPU first has had it since the ring's first event.
            inside.setdefault(cpu, (time_ns, None))
            if event == "sched_waking":
                tid = int(WOKEN.match(rest)[1])
                self.wakeups.append(Wakeup(time_ns, "", tid))
                woken[tid] = time_ns
                continue
            if event != "sched_switch":
                continue
            comm, prev, state, next_comm, following = PREV_NEXT.match(rest).groups()
            tid = int(prev)
            begin_ns, runs = inside[cpu]
            if runs is None:
                self.nexts.append((begin_ns, tid))
            elif runs != tid:
                begin_ns = time_ns
            awake_ns = woken.get(tid, 0)
            awake_ns = awake_ns if out.get(tid, 0) <= awake_ns <= begin_ns else begin_ns
            self.stays.append(
                Stay(begin_ns, time_ns, comm if tid else IDLE, tid, cpu, state[0],
                     begin_ns - awake_ns))
            inside[cpu], out[tid] = (time_ns, int(following)), time_ns
            self.nexts.append((time_ns, int(following)))
            self.runners.append((time_ns, next_comm))

    def events(self):
        for match in map(EVENT.match, run("trace-cmd", "report", "-t", "-N", "-i",
                                          self.file).splitlines()):
            if match:
                yield int(match[2]), int(match[3]) * 10**9 + int(match[4]), match[5], match[6]

    def vectors(self):
        for cpu, time_ns, event, rest in self.events():
            name, _, which = event.rpartition("_")
            if which in ("entry", "exit") and rest.startswith("vector="):
                yield cpu, time_ns, name, which


def witness_of(capture):
    return (TraceCmd if os.path.exists(os.path.join(capture, TraceCmd.name)) else Timehist)(capture)


def interrupts(witness, cpu, begin_ns, end_ns):
    """How long each interrupt had the CPU."""
    found, entries = collections.Counter(), {}
    for on, time_ns, name, which in witness.vectors():
        if on != cpu:
            continue
        if which == "entry":
            entries[name] = time_ns
        else:
            entry_ns = entries.pop(name, begin_ns)
            found[name] += max(0, min(time_ns, end_ns) - max(entry_ns, begin_ns))
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
