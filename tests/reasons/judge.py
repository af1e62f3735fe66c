# SPDX-License-Identifier: GPL-2.0-only
"""What `perf-poke-ctl report --json` says of a late thread, as (part, what, who), and whether that
is the truth."""
import collections
import re

# sure: false if it only says what took the most.
Verdict = collections.namedtuple("Verdict", "part what who sure", defaults=(None, None, None, True))
RIGHT, NOT_KNOWN, WRONG = "right", "not known", "wrong"
UNKNOWN = {"none", "lost", "untraced", "unknown", "poked"}
INTERRUPTS = {"interrupt", "softirq", "nmi", "irqs_off"}


def join(*words):
    return " ".join(str(word) for word in words if word)


def waker_of(wait):
    """Who ended a sleep: a task, or the interrupt or timer that did."""
    waker = wait.get("waker") or {}
    name = waker.get("comm") if waker.get("context") == "task" else join(
        waker.get("context"), waker.get("function"), waker.get("comm"))
    return name or None


def functions(report):
    """All functions that the report blames. The name of a task is none."""
    cause, samples = report["cause"], report.get("samples") or {}
    task = re.fullmatch(r".+ \d+", cause.get("name") or "")
    names = [
        None if task else cause.get("name"),
        cause.get("culprit"),
        cause.get("mostly"), *cause.get("callers", []),
        samples.get("function"), *samples.get("callers", [])
    ]
    return join(*(name for name in names if name != "[not traced]")) or None


def verdict(report):
    """The sentence's own claim, by `cause`, with the details of `thread`."""
    cause, thread, spike = report["cause"], report.get("thread"), report["spike"]
    kind, name = cause["kind"], cause.get("name")
    if kind in UNKNOWN or (kind == "mixed" and not name):
        return Verdict()
    if kind == "asleep":
        waits = sorted((thread or {}).get("waits") or [], key=lambda wait: -wait["time_ns"])
        if not waits:
            return Verdict("asleep")
        place = join(waits[0].get("place"), waits[0].get("object")) or None
        return Verdict("asleep", place, waker_of(waits[0]))
    if kind in INTERRUPTS:
        sender = cause.get("sender") or {}
        return Verdict("irq", functions(report), sender.get("comm"))
    if kind == "idle":
        return Verdict("idle", name)
    # Of a timer the spike has the thread that had the CPU, not the one that was late.
    late = thread or ({"tid": -1} if report["analysis"] else spike)
    sure = kind != "mixed"
    # A page fault is work of the thread.
    if kind in ("running", "exception") or (name and re.search(r"\b%d\b" % late["tid"], name)):
        return Verdict("running", functions(report), late["comm"], sure)
    rivals = (thread or {}).get("rivals") or []
    if "quota" in ((thread or {}).get("runnable_why") or ""):
        # Whoever ran then is none of the reason.
        return Verdict("runnable", thread["runnable_why"], None, sure)
    # Of several threads of one program, none may have run for longest.
    alone = rivals and cause.get("count", 0) <= 1
    return Verdict("runnable", (thread or {}).get("runnable_why"),
                   rivals[0]["comm"] if alone else name, sure)


def blames_recorder(report):
    return bool(re.search(r"trace_event_|__traceiter_", report["sentence"]))


def contradicts_scheduler(report):
    """Whether it says of who woke the thread that it waited for a CPU that was idle."""
    chain = (report.get("thread") or {}).get("chain", [])
    return any(link["state"] == "runnable" and (link["rival"] or {}).get("tid") == 0
               for link in chain)


def judge(said, truth):
    """Any name that is not the truth is wrong; one that is missing is not known."""
    if said.part is None:
        return NOT_KNOWN
    # "Nothing took half of that" blames nobody.
    if said.part != truth.part:
        return WRONG if said.sure else NOT_KNOWN
    pairs = [(wanted, got) for wanted, got in ((truth.what, said.what), (truth.who, said.who))
             if wanted]
    if any(got and not re.search(wanted, got) for wanted, got in pairs):
        return WRONG
    return RIGHT if said.sure and all(got or wanted == "^$" for wanted, got in pairs) else NOT_KNOWN
