# SPDX-License-Identifier: GPL-2.0-only
"""A strict reader of Perfetto's trace format, from its published schemas (protos/perfetto/trace/ of
https://github.com/google/perfetto): a field that it does not know, or a reference to nothing, is an
error. What it returns is as of fxt.py.

usage: pftrace.py FILE... prints what is in them.
"""
import collections
import gzip
import struct
import sys

from fxt import BEGIN, END, FLOW_BEGIN, FLOW_END, INSTANT, Event, Malformed, Trace, need

TYPES = {1: BEGIN, 2: END, 3: INSTANT}
# Tables of InternedData.
CATEGORIES, NAMES, KEYS, TEXTS = 1, 2, 3, 29
FUNCTIONS, FRAMES, CALLSTACKS, BUILD_IDS, PATHS, MAPPINGS = 5, 6, 7, 16, 17, 19
STRINGS = (CATEGORIES, NAMES, KEYS, TEXTS, FUNCTIONS, PATHS)

Sample = collections.namedtuple("Sample", "at cpu pid tid frames")
Frame = collections.namedtuple("Frame", "function path build_id offset")


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a varint does not end")
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a message; a value is a number, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            need(tag & 7 == 2, f"wire type {tag & 7}")
            size, at = varint(data, at)
            need(at + size <= len(data), "a field goes beyond its message")
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def message(data, known):
    """The fields by the names of `known`, each once."""
    found = {}
    for number, value in fields(data):
        need(number in known, f"field {number} is not expected")
        need(known[number] not in found, f"{known[number]} twice")
        found[known[number]] = value
    return found


def process_of(uuid):
    need(uuid & 1, f"{uuid} is no process")
    return uuid >> 1


def thread_of(uuid):
    need(uuid & 1 == 0, f"{uuid} is no thread")
    return (uuid >> 1) - 1


class PerfettoTrace(Trace):
    flows_alone = True

    def __init__(self, data):  # pylint: disable=super-init-not-called
        self.events, self.switches = [], []
        self.processes, self.threads = {}, {}
        self.ticks = 1000000000
        self.tables = {}  # by sequence
        self.clocks, self.machine, self.release, self.arch = [], None, None, None
        self.samples = []
        for number, packet in fields(data):
            need(number == 1, "not a packet")
            self.packet(packet)

    def packet(self, data):
        found = message(
            data, {
                6: "clocks", 8: "at", 10: "sequence", 11: "event", 12: "interned", 13: "flags",
                33: "config", 45: "system", 58: "clock", 60: "track", 66: "sample"
            })
        sequence = found["sequence"]
        need((found["flags"] == 1) == (sequence not in self.tables), "state is not cleared once")
        tables = self.tables.setdefault(sequence, collections.defaultdict(dict))
        for number, row in fields(found.get("interned", b"")):
            self.intern(tables, number, row)
        if "event" in found:
            self.track_event(found["at"], found["event"], tables)
        elif "track" in found:
            self.track(found["track"])
        elif "sample" in found:
            self.sample(found["at"], found["sample"], tables)
        elif "interned" in found:
            need(set(found) <= {"sequence", "flags", "interned"}, "no packet of only rows")
        elif "clocks" in found:
            snapshot = message(found["clocks"], {1: "clock", 2: "primary"})
            need(snapshot["primary"] == 3, "the clock is not CLOCK_MONOTONIC")
            self.clocks.append(message(snapshot["clock"], {1: "id", 2: "at"}))
        elif "config" in found:
            self.machine = message(found["config"], {22: "name"})["name"].decode()
        else:
            system = message(found["system"], {1: "utsname"})
            names = message(system["utsname"], {1: "name", 3: "release", 4: "machine"})
            self.release, self.arch = names["release"].decode(), names["machine"].decode()

    @staticmethod
    def intern(tables, number, row):
        if number in STRINGS:
            row = message(row, {1: "iid", 2: "string"})
            value = row["string"].decode()
        elif number == FRAMES:
            row = message(row, {1: "iid", 2: "function", 3: "mapping", 4: "offset"})
            value = Frame(tables[FUNCTIONS][row["function"]], *tables[MAPPINGS][row["mapping"]],
                          row["offset"])
        elif number == BUILD_IDS:
            row = message(row, {1: "iid", 2: "bytes"})
            value = row["bytes"].hex()
        elif number == MAPPINGS:
            row = message(row, {1: "iid", 2: "build_id", 7: "path"})
            value = (tables[PATHS][row["path"]],
                     tables[BUILD_IDS][row["build_id"]] if "build_id" in row else None)
        else:
            need(number == CALLSTACKS, f"table {number}")
            row = list(fields(row))
            value = [tables[FRAMES][iid] for key, iid in row[1:] if key == 2]
            need(row[0][0] == 1 and len(value) == len(row) - 1, "no stack")
            row = {"iid": row[0][1]}
        need(row["iid"] and row["iid"] not in tables[number], "a row is interned twice")
        tables[number][row["iid"]] = value

    def sample(self, at, data, tables):
        """Frames outermost first."""
        found = message(data, {1: "cpu", 2: "pid", 3: "tid", 4: "stack", 5: "mode"})
        frames = tables[CALLSTACKS][found["stack"]]
        need(found["mode"] == (1 if frames[-1].path == "kernel" else 2), "another mode")
        self.samples.append(Sample(at, found["cpu"], found.get("pid"), found.get("tid"), frames))

    def track(self, data):
        track = message(data, {1: "uuid", 2: "name", 3: "process", 4: "thread", 5: "parent"})
        if "parent" not in track:
            name = track.get("name") or message(track["process"], {1: "pid", 6: "name"})["name"]
            self.processes[process_of(track["uuid"])] = name.decode()
            return
        need(process_of(track["parent"]) in self.processes, "a track of no process")
        name = track.get("name") or message(track["thread"], {
            1: "pid", 2: "tid", 5: "name"
        })["name"]
        self.threads[thread_of(track["uuid"])] = (name.decode(), process_of(track["parent"]))

    def annotation(self, data, tables):
        found = message(data, {1: "key", 2: "bool", 3: "uint", 5: "double", 6: "text", 17: "iid"})
        key = tables[KEYS][found.pop("key")]
        (kind, value), = found.items()
        if kind == "bool":
            value = bool(value)
        elif kind == "double":
            value = struct.unpack("<d", struct.pack("<Q", value))[0]
        elif kind == "text":
            value = value.decode()
        elif kind == "iid":
            value = tables[TEXTS][value]
        return key, value

    def track_event(self, at, data, tables):
        known = {
            3: "category", 4: "args", 9: "type", 10: "name", 11: "track", 47: "flow", 48: "end"
        }
        found = {"args": []}
        for number, value in fields(data):
            need(number in known, f"field {number} is not expected")
            if number == 4:
                found["args"].append(self.annotation(value, tables))
            else:
                found[known[number]] = value
        kind = TYPES[found["type"]]
        if "flow" in found or "end" in found:
            need(kind == INSTANT, "a flow of a slice")
            kind = FLOW_BEGIN if "flow" in found else FLOW_END
        thread = thread_of(found["track"])
        need(thread in self.threads, "an event of no track")
        track = self.threads[thread][1], thread
        self.events.append(
            Event(kind, at, track, tables[CATEGORIES][found["category"]],
                  tables[NAMES][found["name"]], dict(found["args"]),
                  found.get("flow", found.get("end"))))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if str(path).endswith(".gz"):
        data = gzip.decompress(data)
    try:
        return PerfettoTrace(data)
    except (KeyError, ValueError) as error:
        raise Malformed(f"{path}: {error!r}") from error


if __name__ == "__main__":
    for name in sys.argv[1:]:
        trace = read(name)
        for track_name, slices in trace.check().items():
            print(f"{name}: {track_name}: {len(slices)} slices")
        print(f"{name}: {len(trace.events)} events, {trace.machine}, {trace.release}")
