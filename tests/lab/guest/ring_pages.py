# SPDX-License-Identifier: GPL-2.0-only
"""Reads the pages of the kernel's rings in a trace.dat of version 6, by the format alone: no
library takes part."""
import collections
import struct

Event = collections.namedtuple("Event", "time_ns kind data")
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31
HEADER = 16


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def text(self):
        end = self.data.index(b"\0", self.at)
        return self.take(end + 1 - self.at)[:-1]


def skip_formats(file):
    for _ in range(2):
        file.text()
        file.take(file.number(8))
    for _ in range(file.number(4)):
        file.take(file.number(8))
    for _ in range(file.number(4)):
        file.text()
        for _ in range(file.number(4)):
            file.take(file.number(8))


def page_events(page):
    """Those of a page, which has the time of its first event."""
    time_ns, commit = struct.unpack_from("<QQ", page)
    at, end = HEADER, HEADER + (commit & 0xfffff)
    while at < end:
        head, = struct.unpack_from("<I", page, at)
        kind, delta = head & 31, head >> 5
        at += 4
        if kind == TIME_EXTEND:
            delta += struct.unpack_from("<I", page, at)[0] << 27
            time_ns, at = time_ns + delta, at + 4
        elif kind == TIME_STAMP:
            low = delta + (struct.unpack_from("<I", page, at)[0] << 27)
            time_ns, at = low | time_ns >> 59 << 59, at + 4
        elif kind == PADDING:
            if not delta:
                return
            time_ns, at = time_ns + delta, at + struct.unpack_from("<I", page, at)[0]
        else:
            size = 4 * kind
            if not kind:
                size, at = struct.unpack_from("<I", page, at)[0] - 4, at + 4
            time_ns += delta
            yield Event(time_ns, struct.unpack_from("<H", page, at)[0], bytes(page[at:at + size]))
            at += (size + 3) & ~3


def rings(path):
    """The events of each CPU, oldest first."""
    file = Cursor(path.read_bytes())
    assert file.take(10) == b"\x17\x08\x44tracing" and file.text() == b"6"
    file.take(2)
    page_size = file.number(4)
    skip_formats(file)
    for size in (4, 4, 8):  # functions, formats of printk, names of tasks
        file.take(file.number(size))
    nr_cpus = file.number(4)
    assert file.take(10).startswith(b"options")
    while file.number(2):
        file.take(file.number(4))
    assert file.take(10).startswith(b"flyrecord")
    found = {}
    for cpu in range(nr_cpus):
        at, size = file.number(8), file.number(8)
        found[cpu] = [event for page in range(at, at + size, page_size)
                      for event in page_events(file.data[page:page + page_size])]
    return found


def expiry(event):
    """Of timer:hrtimer_expire_entry: the timer and its time, as the kernel's histogram has them."""
    return struct.unpack_from("<QQ", event.data, 8)
