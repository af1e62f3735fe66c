# SPDX-License-Identifier: GPL-2.0-only
"""A strict reader of the Fuchsia trace format, from its published specification
(https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format): anything it does not know, or that
refers to nothing, is an error.

usage: fxt.py FILE... prints what is in them.
"""
import collections
import gzip
import struct
import sys

MAGIC = bytes.fromhex("1000044678541600")
INSTANT, COUNTER, BEGIN, END, COMPLETE = range(5)
ASYNC_BEGIN, ASYNC_INSTANT, ASYNC_END, FLOW_BEGIN, FLOW_STEP, FLOW_END = range(5, 11)
PROCESS, THREAD = 1, 2

Event = collections.namedtuple("Event", "type at track category name args flow")
Switch = collections.namedtuple("Switch", "at cpu before after")
Slice = collections.namedtuple("Slice", "begin end depth name category args")


class Malformed(Exception):
    pass


def need(condition, message):
    if not condition:
        raise Malformed(message)


def bits(word, first, last):
    return word >> first & (1 << last - first + 1) - 1


class Record:
    """One record: its words are taken in turn, and all of them must be."""
    def __init__(self, data):
        self.data = data
        self.at = 0

    def word(self):
        need(self.at + 8 <= len(self.data), "a record is too short")
        self.at += 8
        return struct.unpack_from("<Q", self.data, self.at - 8)[0]

    def text(self, length):
        padded = (length + 7) // 8 * 8
        need(self.at + padded <= len(self.data), "a string does not fit its record")
        piece = self.data[self.at:self.at + padded]
        self.at += padded
        need(not any(piece[length:]), "a string is not padded with zeros")
        return piece[:length].decode("utf-8")


class Trace:
    # Whether flows may be where no slice is.
    flows_alone = False

    def __init__(self, data):
        self.events = []
        self.switches = []
        self.processes = {}
        self.threads = {}  # koid: (name, process)
        self.providers = {}
        self.strings = None
        self.thread_table = None
        self.ticks = None
        self.counts = collections.Counter()
        self.readers = {
            0: self.metadata, 1: self.initialization, 2: self.string, 3: self.thread, 4: self.event,
            7: self.kernel_object, 8: self.scheduling
        }
        need(data[:8] == MAGIC, "no magic number in front")
        need(len(data) % 8 == 0, "the end is not at a word")
        at = 0
        while at < len(data):
            header = struct.unpack_from("<Q", data, at)[0]
            size = bits(header, 4, 15) * 8
            need(size, f"a record of no size at {at}")
            need(at + size <= len(data), f"the record at {at} goes beyond the end")
            record = Record(data[at:at + size])
            try:
                self.read(record, at)
                need(record.at == size, f"{size - record.at} bytes are left of it")
            except (Malformed, UnicodeDecodeError) as error:
                raise Malformed(f"record of type {bits(header, 0, 3)} at {at}: {error}") from error
            at += size

    def read(self, record, at):
        header = record.word()
        kind = bits(header, 0, 3)
        need(kind in self.readers, f"type {kind} is not expected")
        need(kind == 0 or self.strings is not None, "it is of no provider")
        self.counts[kind] += 1
        self.readers[kind](header, record, at)

    def metadata(self, header, record, at):
        kind = bits(header, 16, 19)
        if kind == 4:
            need(at == 0 and bits(header, 20, 63) == 0x16547846 << 4,
                 "trace info that is no magic number")
        elif kind == 1:
            need(bits(header, 60, 63) == 0, "reserved bits")
            self.providers[bits(header, 20, 51)] = record.text(bits(header, 52, 59))
            self.strings, self.thread_table = {}, {}
        elif kind == 2:
            need(bits(header, 52, 63) == 0, "reserved bits")
            need(bits(header, 20, 51) in self.providers, "a section of an unknown provider")
        else:
            raise Malformed(f"metadata {kind}")

    def initialization(self, header, record, _at):
        need(bits(header, 16, 63) == 0, "reserved bits")
        self.ticks = record.word()

    def string(self, header, record, _at):
        index, length = bits(header, 16, 30), bits(header, 32, 46)
        need(index and length, "an empty string, or no index")
        need(bits(header, 31, 31) == 0 and bits(header, 47, 63) == 0, "reserved bits")
        need(length <= 32000, "too long")
        self.strings[index] = record.text(length)

    def thread(self, header, record, _at):
        index = bits(header, 16, 23)
        need(index, "index 0")
        need(bits(header, 24, 63) == 0, "reserved bits")
        self.thread_table[index] = (record.word(), record.word())

    def string_ref(self, ref, record):
        if ref & 0x8000:
            return record.text(ref & 0x7fff)
        need(not ref or ref in self.strings, f"string {ref} is not in the table")
        return self.strings[ref] if ref else ""

    def thread_ref(self, ref, record):
        if not ref:
            return record.word(), record.word()
        need(ref in self.thread_table, f"thread {ref} is not in the table")
        return self.thread_table[ref]

    def argument(self, record):
        begin = record.at
        header = record.word()
        kind, high = bits(header, 0, 3), bits(header, 32, 63)
        key = self.string_ref(bits(header, 16, 31), record)
        if kind in (0, 3, 4, 5, 7, 8):
            need(high == 0, f"reserved bits of argument {key}")
        if kind == 0:
            value = None
        elif kind in (1, 2):
            value = high - (1 << 32) if kind == 1 and high >> 31 else high
        elif kind in (3, 4, 7, 8):
            value = record.word()
            need(kind != 4 or value >> 32, f"argument {key} fits 32 bits")
        elif kind == 5:
            value = struct.unpack("<d", struct.pack("<Q", record.word()))[0]
        elif kind == 6:
            need(high >> 16 == 0, f"reserved bits of argument {key}")
            value = self.string_ref(high, record)
        elif kind == 9:
            need(high in (0, 1), f"argument {key} is no boolean")
            value = bool(high)
        else:
            raise Malformed(f"argument {key} of type {kind}")
        need(record.at - begin == bits(header, 4, 15) * 8, f"the size of argument {key}")
        return key, value

    def arguments(self, count, record):
        pairs = [self.argument(record) for _ in range(count)]
        need(len({key for key, _ in pairs}) == count, f"an argument twice: {pairs}")
        return dict(pairs)

    def event(self, header, record, _at):
        kind = bits(header, 16, 19)
        need(kind in (INSTANT, BEGIN, END, COMPLETE, FLOW_BEGIN, FLOW_STEP, FLOW_END),
             f"event {kind} is not expected")
        when = record.word()
        track = self.thread_ref(bits(header, 24, 31), record)
        category = self.string_ref(bits(header, 32, 47), record)
        name = self.string_ref(bits(header, 48, 63), record)
        args = self.arguments(bits(header, 20, 23), record)
        flow = record.word() if kind >= COMPLETE else None
        need(name and category, "no name, or no category")
        self.events.append(Event(kind, when, track, category, name, args, flow))

    def kernel_object(self, header, record, _at):
        kind = bits(header, 16, 23)
        need(bits(header, 44, 63) == 0, "reserved bits")
        koid = record.word()
        name = self.string_ref(bits(header, 24, 39), record)
        args = self.arguments(bits(header, 40, 43), record)
        if kind == PROCESS:
            self.processes[koid] = name
        else:
            need(kind == THREAD, f"object of type {kind}")
            need("process" in args, "a thread of no process")
            self.threads[koid] = (name, args["process"])

    def scheduling(self, header, record, _at):
        need(
            bits(header, 60, 63) == 1 and bits(header, 16, 19) == 0 and bits(header, 40, 59) == 0,
            "not a context switch")
        need(bits(header, 36, 39) in (2, 3, 4, 5), "state of a thread that does not run")
        self.switches.append(
            Switch(record.word(), bits(header, 20, 35), record.word(), record.word()))

    def name_of(self, track):
        return self.threads[track[1]][0]

    def check(self):
        """All that is referred to has a name, and slices are nested rightly. Returns the slices of
        each track, by the name of that."""
        need(self.ticks == 1000000000, f"{self.ticks} ticks in a second")
        for event in self.events:
            process, thread = event.track
            need(thread in self.threads, f"thread {thread} has no name")
            need(process in self.processes, f"process {process} has no name")
            need(self.threads[thread][1] == process, f"thread {thread} is of two processes")
            need(max(event.track) < 1 << 31, f"{event.track}: Perfetto has less bits")
        for switch in self.switches:
            need(switch.before in self.threads and switch.after in self.threads,
                 f"{switch}: of nameless threads")
        tracks = collections.defaultdict(list)
        for event in sorted(self.events, key=lambda event: event.at):  # stable
            tracks[event.track].append(event)
        need(
            len({self.name_of(track) for track in tracks}) == len(tracks), "two tracks of one name")
        self.check_flows(tracks)
        return {self.name_of(track): self.nest(track, events) for track, events in tracks.items()}

    def nest(self, track, events):
        stack, slices = [], []
        for event in events:
            if event.type == BEGIN:
                stack.append(event)
            elif event.type == END:
                need(stack,
                     f"{self.name_of(track)}: the end of {event.name} at {event.at} ends nothing")
                begin = stack.pop()
                need((begin.name, begin.category) == (
                    event.name, event.category
                ), f"{self.name_of(track)}: {begin.name} of {begin.at} ends as {event.name} at "
                   f"{event.at}"
                     )
                need(not set(begin.args) & set(event.args), "an argument at both ends")
                slices.append(
                    Slice(begin.at, event.at, len(stack), begin.name, begin.category,
                          {**begin.args, **event.args}))
            elif event.type == COMPLETE:
                raise Malformed("a complete event")
        need(not stack, f"{self.name_of(track)}: {[event.name for event in stack]} do not end")
        return slices

    def check_flows(self, tracks):
        """Each begins once and ends once, in slices."""
        ends = collections.defaultdict(list)
        for events in tracks.values():
            depth = self.flows_alone
            for event in events:
                depth += (event.type == BEGIN) - (event.type == END)
                if event.type in (FLOW_BEGIN, FLOW_END):
                    need(depth, f"the flow {event.name} is in no slice at {event.at}")
                    ends[event.flow].append(event)
        for events in ends.values():
            kinds = [
                event.type for event in sorted(events, key=lambda event: (event.at, event.type))
            ]
            need(kinds == [FLOW_BEGIN, FLOW_END], f"a flow of {kinds}")


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if str(path).endswith(".gz"):
        data = gzip.decompress(data)
    return Trace(data)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        trace = read(name)
        for track_name, found in trace.check().items():
            print(f"{name}: {track_name}: {len(found)} slices")
            for piece in found[:40 if len(sys.argv) == 2 else 0]:
                print("  ", piece)
        print(f"{name}: {len(trace.events)} events, {len(trace.switches)} switches")
