# SPDX-License-Identifier: GPL-2.0-only
"""Compares perf's branches with ours."""
import subprocess

# Ns by which our times and perf's of one packet may differ. Both interpolate between timed packets:
# from TSC to the first MTC perf extrapolates from earlier MTCs, up to 21 ns from ours; elsewhere 1
# ns.
APART = 25
CONDITIONAL = "jcc"
ERROR = "instruction trace error"


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def lines_of(argv, **options):
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, **options) as process:
        yield from process.stdout
    check(process.returncode == 0, f"exit status {process.returncode} of {argv}")


def by_perf(data, *options, perf=("perf",), errors=None):
    """From, to, ns and task of each branch, and whether ours may lack it: one to the next
    instruction, or right before an error, where perf follows the code. Appends perf's errors to
    `errors` if given."""
    held = None
    argv = [
        *perf, "script", "-f", "-i", data, "--ns", "--itrace=be", "-F",
        "tid,time,event,flags,ip,addr", *options
    ]
    for line in lines_of(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        if ERROR in line:
            check(errors is not None, f"perf: {line}")
            errors.append(line)
            if held:
                yield (*held[:4], True)
                held = None
            continue
        if held:
            yield held
        left, right = line.split("=>")
        words = left.split()
        start, end = int(words[-1], 16), int(right.split()[0], 16)
        held = (start, end, int(words[1].replace(".", "").rstrip(":")), int(words[0]),
                words[3] == CONDITIONAL and end - start in (2, 6))
    if held:
        yield held


def by_us(items, data, *options, cpu=None, **popen):
    """The same, by tests/unit/analysis/pt/items.c."""
    for line in lines_of([items, "branches", data, *options], **popen):
        start, end, time, tid, where = line.split()
        if cpu is None or int(where) == cpu:
            yield int(start, 16), int(end, 16), int(time), int(tid)


def compare(theirs, ours, tasks=True):
    """Each branch, in order, no earlier than perf's time and no later than perf's next: no
    packet may date a branch between two others. Returns the number of branches, and of those
    later than perf's."""
    ours = iter(ours)
    our, count, late, last, before = next(ours, None), 0, 0, 0, 0
    for their in theirs:
        check(their[2] == before or last <= their[2] + APART,
              f"branch {count - 1} at {last} ns, the next time is {their[2]} by perf")
        before = their[2]
        if not count and our and our[0] == 0 and their[0]:
            our = next(ours, None)  # a trace that begins in the middle
        if their[4] and (not our or our[:2] != their[:2]):
            continue
        # An ended task has no number, and perf misses the switch to it.
        same = our and our[:2] == their[:2] and (not tasks or our[3] in (their[3], -1))
        check(same, f"branch {count} is {our}, {their} by perf")
        check(our[2] >= max(last, their[2] - APART),
              f"branch {count} at {our[2]} ns, {their[2]} by perf, behind one at {last}")
        late += our[2] > their[2] + APART
        last, count = our[2], count + 1
        our = next(ours, None)
    check(our is None, f"{our} is more than perf's {count} branches")
    return count, late
