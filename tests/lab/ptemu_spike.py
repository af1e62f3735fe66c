#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What perf-poke is for: a timer or its thread is 200 us late and more because of a function;
script shows it in the capture, and report names it.

usage: ptemu_spike.py KERNEL SECONDS PERF_POKE_CTL

Runs guest/ptemu_spike.py in a guest and reads here what it captured. $PTEMU_RUNS is how often
each."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import recording

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import fxt  # noqa: E402
import pftrace  # noqa: E402

KERNEL, SECONDS, CTL = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
RUNS = os.environ.get("PTEMU_RUNS", "1")
# What keeps a thread from running ends before a signal is there: the story is of a trace that is
# held at once.
SPIKES = ["pause:irqs_off:softirqs:syscall:preempt_off", "signal:call"]
CLOCK = {"ktime_get_mono_fast_ns", "read_tsc"}
TASKLETS = 8
CLOCK_SLACK_NS = 100
MARK_NS, MARKS_MIN = 2000, 10
TIMER = "asm_sysvec_apic_timer_interrupt"

Line = collections.namedtuple("Line", "cpu flags symbol time")


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def equal(got, expected, message):
    check(got == expected, f"{message}: {got}, not {expected}")


def script(one, *options):
    """The lines that perf-poke-ctl shows."""
    out = subprocess.run([CTL, "script", str(one.folder), "--quiet", *options],
                         capture_output=True, text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), "result of script")
    equal(re.findall(r"^.*instruction trace error.*$", out.stdout, re.M), [],
          "errors of the decoder")
    lines = re.findall(r"^.*?\[(00\d)\] +(\d+\.\d+): +([a-z][a-z ]*?) {2,}(\S+)", out.stdout, re.M)
    return [
        Line(int(cpu), flags, symbol, int(time.replace(".", "")))
        for cpu, time, flags, symbol in lines
    ]


def position(lines, flags, symbol, begin=0):
    found = next((i for i in range(begin, len(lines))
                  if lines[i].flags == flags and re.fullmatch(symbol, lines[i].symbol)), None)
    check(found is not None,
          f"no {flags} of {symbol} after line {begin} of {len(lines)}: {lines[-30:]}")
    return found


def began(lines, begin, end):
    """What was called or came from begin to end."""
    return {
        line.symbol for line in lines[begin:end]
        if line.flags in ("hw int", "iret", "syscall", "call")
    }


def irqs_off(lines):
    """Nothing else runs while the culprit holds interrupts off; then comes the timer's
    interrupt."""
    culprit = position(lines, "call", "late_timer_irqs_off")
    spin = position(lines, "call", "late_timer_spin", culprit)
    back = position(lines, "return", "late_timer_spin", spin)
    between = began(lines, spin, back)
    check(between <= {"late_timer_spin", *CLOCK}, f"with interrupts off there were {between}")
    return position(lines, "hw int", TIMER, back)


def call(lines):
    """Another CPU asked for it, by an interrupt."""
    culprit = position(lines, "call", "late_timer_called",
                       position(lines, "hw int", "asm_sysvec_call_function_single"))
    return position(lines, "hw int", TIMER, position(lines, "return", "late_timer_spin", culprit))


def kept(lines, culprit, back):
    """The timer's interrupt is in time; the thread that it wakes has its turn when the culprit is
    done."""
    interrupt = position(lines, "hw int", TIMER, culprit)
    check(interrupt < back, f"no interrupt of the timer from line {culprit} to {back}")
    check("__schedule" not in began(lines, culprit, back), "another task was run meanwhile")
    return position(lines, "call", "__schedule", back)


def softirqs(lines):
    """One tasklet after the other, in one go."""
    position(lines, "call", "late_timer_softirqs")
    storm = [
        i for i, line in enumerate(lines)
        if (line.flags, line.symbol) == ("call", "late_timer_tasklet")
    ]
    equal(len(storm), TASKLETS, "tasklets")
    return kept(lines, storm[0], position(lines, "return", "late_timer_tasklet", storm[-1]))


def syscall(lines):
    """From the system call to its function, which nothing interrupts but interrupts."""
    culprit = position(lines, "call", "late_timer_syscall")
    written = [(line.flags, line.symbol) for line in lines[:culprit] if line.symbol == "vfs_write"]
    equal(written[-1:], [("call", "vfs_write")], "what it was called in")
    # It is not done yet when the thread has its turn.
    return kept(lines, culprit, position(lines, "call", r"preempt_schedule\w*", culprit))


def preempt_off(lines):
    """A worker, which the thread waits for."""
    culprit = position(lines, "call", "late_timer_preempt_off")
    return kept(lines, culprit, position(lines, "return", "late_timer_spin", culprit))


# What is late, what report blames and how it calls that, what has to be in the capture, and who
# report says asked for it
Culprit = collections.namedtuple("Culprit", "trigger function kind story sender", defaults=[""])
CULPRITS = {
    "irqs_off": Culprit("irq", "late_timer_irqs_off", "irqs_off", irqs_off),
    "call": Culprit("irq", "late_timer_called", "interrupt", call,
                    r", sent by CPU 0, task \d+ python3, from late_timer_call\(\)"),
    "softirqs": Culprit("thread", "late_timer_tasklet", "softirq",
                        softirqs), "syscall": Culprit("thread", "late_timer_syscall", "thread",
                                                      syscall),
    "preempt_off": Culprit("thread", "late_timer_preempt_off", "thread", preempt_off,
                           r", queued by CPU 0, task \d+ python3, from late_timer_work[.\w]*\(\)")
}


def check_story(lines, way, culprit):
    """The culprit, then the timer's interrupt or its thread, then perf-poke's program, and then the
    trace is held."""
    program = position(lines, "call", r"bpf_prog_[0-9a-f]+_\w+", culprit.story(lines))
    end = len(lines) - 1
    check(lines[end].flags.startswith("tr end"), f"the last line is {lines[end]}")
    if way == "pause":
        pause = position(lines, "call", "perf_event_aux_pause", program)
        back = [
            line for line in lines[pause:]
            if (line.flags, line.symbol) == ("return", "perf_event_aux_pause")
        ]
        equal(back, [], "what comes after the pause")
        # Others of its programs may have looked before the one that saw the spike.
        program = max(i for i in range(program, pause)
                      if lines[i].flags == "call" and lines[i].symbol.startswith("bpf_prog_"))
        equal([
            line for line in lines[program:]
            if re.match(r"(__)?schedule|ep_poll|x64_sys_epoll", line.symbol)
        ], [], "switches of tasks after the spike")
    return end - program


def check_report(one, culprit):
    """What people read first."""
    out = subprocess.run([CTL, "report", one.folder, "--json"], capture_output=True, text=True,
                         check=False)
    equal((out.returncode, out.stderr), (0, ""), "result of report")
    found = json.loads(out.stdout)
    print(found["sentence"], flush=True)
    equal(found["cause"]["kind"], culprit.kind, "what report blames")
    check(f"{culprit.function}()" in found["sentence"],
          f"{culprit.function} is not named: {found['sentence']}")
    check(re.search(culprit.sender, found["sentence"]),
          f"the sender is not named: {found['sentence']}")
    sent = re.search(r"sent by CPU (\d+)", found["sentence"])
    if sent:
        check_arrow(one, int(sent[1]))


def check_arrow(one, sender):
    """Perfetto's format leads from the sender, on a CPU that is not traced, to the interrupt."""
    path = one.folder / "spike.pftrace"
    out = subprocess.run([CTL, "export", one.folder, "--quiet", "-o", path], capture_output=True,
                         text=True, check=False)
    equal((out.returncode, out.stderr), (0, ""), "result of export")
    trace = pftrace.read(path)
    cpu = json.loads((one.folder / "capture.json").read_text())["spike"]["cpu"]
    late = max((each for each in trace.check()[f"CPU {cpu} interrupts"]
                if "call_function" in each.name), key=lambda each: each.end - each.begin)
    ends = {event.flow: event for event in trace.events if event.type == fxt.FLOW_END}
    begins = [(trace.name_of(event.track), event.at) for event in trace.events
              if event.type == fxt.FLOW_BEGIN and event.name == "sent interrupt" and
              late.begin <= ends[event.flow].at < late.end]
    equal([name for name, _ in begins], [f"CPU {sender} tasks"], "where the arrow begins")
    check(late.begin - 1000000 < begins[0][1] <= late.begin + 1000, f"{begins}: {late}")
    print(f"{len(ends)} arrows", flush=True)


def check_time(lines, one):
    """Where ptsim reads the TSC on its way to hold the trace, the trace has the same time."""
    mark = recording.Recording(one.folder / "perf.data").ns(one.facts["held_tsc"])
    begin = position(lines, "call", "present", position(lines, "call", "perf_event_aux_pause"))
    end = position(lines, "return", "present", begin)
    check(lines[begin].time - CLOCK_SLACK_NS <= mark <= lines[end].time + CLOCK_SLACK_NS,
          f"the TSC was read at {mark}, in the trace from {lines[begin].time} to {lines[end].time}")
    return mark - lines[begin].time, lines[end].time - mark


Capture = collections.namedtuple("Capture", "folder facts")


def spike(one):
    way, culprit = one.facts["way"], CULPRITS[one.facts["culprit"]]
    equal(one.facts["line"]["trigger"], culprit.trigger, "what was late")
    # From well before the culprit on
    lines = script(one, "--window", "1ms")
    lines_after = check_story(lines, way, culprit)
    print(
        f"{one.folder.name}: {one.facts['line']['latency_ns'] / 1000:.0f} us late; {lines_after} "
        f"lines after the spike",
        flush=True)
    check_report(one, culprit)
    if way == "pause":
        after, before = check_time(lines, one)
        print(
            f"a mark of the guest is {after} ns after what the trace has before it, {before} ns "
            f"before what it has after it"
        )


def marks(one):
    """What the guest read as CLOCK_MONOTONIC, and when that was by the trace, on CPUs that are
    traced at once. The ring may have lost the first ones."""
    lines = script(one, "--all", "--all-cpus")
    for cpu, times in one.facts["marks"].items():
        calls, returns = ([
            line.time - one.facts["to_perf_ns"] for line in lines
            if (line.cpu, line.flags, line.symbol) == (int(cpu), flags, "late_timer_mark")
        ] for flags in ("call", "return"))
        count = min(len(calls), len(times))
        check(count >= MARKS_MIN and len(calls) == len(returns),
              f"CPU {cpu}: {len(calls)} calls, {len(returns)} returns for {len(times)} marks")
        after = [mark - at for mark, at in zip(times[-count:], calls[-count:])]
        before = [at - mark for mark, at in zip(times[-count:], returns[-count:])]
        print(
            f"CPU {cpu}: {count} marks are {min(after)} to {max(after)} ns after they are called "
            f"in the trace, {min(before)} to "
            f"{max(before)} ns before they return", flush=True)
        # Between a call and its return it may be the other CPU's turn.
        check(min(after + before) >= -MARK_NS and max(map(min, after, before)) <= MARK_NS,
              f"CPU {cpu}: by the trace, marks were at other times: {after} {before}")


with tempfile.TemporaryDirectory() as scratch:
    ran = subprocess.run(
        [
            HERE / "run-test", KERNEL, SECONDS, "python3", HERE / "guest/ptemu_spike.py", CTL, RUNS,
            *SPIKES
        ], check=False,
        env={**os.environ, "LAB_OPTIONS": f"--pt emulated --icount 0 --scratch {scratch}"})
    if ran.returncode:
        sys.exit(ran.returncode)
    taken = [
        Capture(path.with_suffix(""), json.loads(path.read_text()))
        for path in sorted(pathlib.Path(scratch).glob("*.json"))
    ]
    equal(len(taken), int(RUNS) * sum(word.count(":") for word in SPIKES) + 1, "captures")
    for capture in taken:
        (marks if capture.folder.name == "marks" else spike)(capture)
print(f"{len(taken) - 1} captures, the culprit named in each")
