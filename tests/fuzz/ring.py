# SPDX-License-Identifier: GPL-2.0-only
"""Inputs of the target ring: images of what libtracecmd finds in a trace.dat."""
import struct

from tracepoints import format_of

RECORD, FORMAT, SYMBOL, TASK, STRING, END = range(1, 7)
MISSED = 1 << 32
KERNEL = 0xffffffff81000000
REASON = 0xffffffff82000000
FUNCTIONS = ("schedule", "acme_poll", "acme_flush", "__sysvec_apic_timer_interrupt",
             "hrtimer_interrupt", "_raw_spin_lock_irqsave", "__common_interrupt")

FORMATS = {
    "funcgraph_entry": ("ftrace", 11, [("unsigned long func", 8, 8), ("int depth", 16, 4, 1)]),
    "funcgraph_exit": ("ftrace", 10, [("unsigned long func", 8, 8), ("int depth", 16, 4, 1)]),
    "function": ("ftrace", 1, [("unsigned long ip", 8, 8), ("unsigned long parent_ip", 16, 8)]),
    "kernel_stack": ("ftrace", 4, [("int size", 8, 4, 1), ("unsigned long caller[]", 16, 0)]),
    "sched_switch": ("sched", 300, [("char prev_comm[16]", 8, 16), ("pid_t prev_pid", 24, 4, 1),
                                    ("char next_comm[16]", 32, 16), ("pid_t next_pid", 48, 4, 1)]),
    "local_timer_entry": ("irq_vectors", 301, [("int vector", 8, 4, 1)]),
    "local_timer_exit": ("irq_vectors", 302, [("int vector", 8, 4, 1)]),
    "irq_handler_entry": ("irq", 303, [("int irq", 8, 4, 1), ("__data_loc char[] name", 12, 4)]),
    "ipi_entry": ("ipi", 305, [("const char * reason", 8, 8)]),
    "ipi_exit": ("ipi", 306, [("const char * reason", 8, 8)]),
    "irq_handler_exit": ("irq", 304, [("int irq", 8, 4, 1), ("int ret", 12, 4, 1)]),
}


def item(kind, numbers, payload=b""):
    return struct.pack("<IIQQ", kind, len(payload), *numbers) + payload + bytes(-len(payload) % 8)


def record(time, name, payload, cpu=1, pid=7, flags=0, missed=0):
    common = struct.pack("<HBBi", FORMATS[name][1], flags, 0, pid)
    return item(RECORD, (time, cpu | missed), common + payload)


def call(time, name, function, depth, **more):
    address = KERNEL + 0x100 * FUNCTIONS.index(function)
    return record(time, f"funcgraph_{name}", struct.pack("<Qi", address, depth), **more)


def switch(time, before, after, **more):
    return record(time, "sched_switch", b"foo".ljust(16, b"\0") + struct.pack("<iI", before, 0) +
                  b"bar".ljust(16, b"\0") + struct.pack("<i", after), pid=before, **more)


def image(*records, end=True):
    formats = (item(FORMAT, (number, 0), system.encode() + b"\0" + format_of(
        name, number, fields, '""')) for name, (system, number, fields) in FORMATS.items())
    symbols = (item(SYMBOL, (KERNEL + 0x100 * i, KERNEL + 0x100 * i + 64), name.encode() + b"\0")
               for i, name in enumerate(FUNCTIONS))
    return b"".join((*records, *formats, *symbols, item(TASK, (7, 0), b"acme\0"),
                     item(STRING, (REASON, 0), b"Function call interrupts\0"),
                     item(END, (8, 0)) if end else b""))


GRAPH = (
    call(100, "exit", "schedule", 1), switch(150, 0, 7), call(210, "entry", "acme_poll", 0),
    call(300, "entry", "acme_flush", 1, flags=1), call(400, "exit", "acme_flush", 1, flags=1),
    call(700, "entry", "__sysvec_apic_timer_interrupt", 1, flags=1),
    record(705, "local_timer_entry", struct.pack("<i", 236), flags=1),
    record(706, "kernel_stack", struct.pack("<iIQQ", 2, 0, KERNEL + 0x105, KERNEL + 0x201)),
    call(710, "entry", "hrtimer_interrupt", 2, flags=1),
    record(900, "local_timer_exit", struct.pack("<i", 236), flags=1),
    call(910, "exit", "__sysvec_apic_timer_interrupt", 1, flags=1, missed=MISSED),
    record(920, "irq_handler_entry", struct.pack("<iHH", 24, 16, 5) + b"eth0\0"),
    record(930, "irq_handler_exit", struct.pack("<ii", 24, 1)), switch(950, 7, 8),
    call(960, "entry", "acme_poll", 0, pid=8, cpu=0),
    record(970, "ipi_entry", struct.pack("<Q", REASON), pid=8),
    record(980, "ipi_exit", struct.pack("<Q", REASON), pid=8),
)
ENTRIES = tuple(
    record(100 * i, "function", struct.pack("<QQ", KERNEL + 0x100 * (i % 7),
                                            KERNEL + 0x100 * (i % 3) + 5)) for i in range(1, 9))


def inputs():
    whole = image(*GRAPH)
    yield "good-graph", whole
    yield "good-entries", image(*ENTRIES)
    yield "good-empty", image()
    yield "good-no-task", image(
        call(300, "entry", "acme_poll", 0, pid=-1),
        call(310, "entry", "acme_poll", 0, pid=-1, missed=MISSED))
    yield "bad-cut", whole[:len(whole) // 2]
    yield "bad-endless", image(*GRAPH, end=False)
    yield "bad-size", item(RECORD, (1, 1), bytes(8))[:24] + whole[24:]
    yield "bad-string", item(STRING, (1, 0), b"unending") + whole
    yield "bad-cpu", item(RECORD, (1, 0x80000001), bytes(8)) + whole
    yield "bad-item", item(9, (0, 0)) + whole
