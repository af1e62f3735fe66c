#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes a long recording of Intel PT: repeats the largest trace of a short one with new times; or,
for "loop", traces a loop full of unpredictable conditional branches, whose code it writes to
OUT.elf.

usage: dense.py PERF.DATA|loop BYTES OUT
"""
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fuzz"))
import corpus  # noqa: E402  # pylint: disable=wrong-import-position

AUX, EXIT, AUXTRACE = 11, 4, 71
FEATURE_AUXTRACE = 18
PSB = b"\x02\x82" * 8
# By the second byte of packets that begin with 2: Intel SDM, volume 3, "Packet Definitions".
EXTENDED = {
    0x03: 4, 0x13: 4, 0x22: 4, 0x23: 2, 0x33: 2, 0x43: 8, 0x53: 11, 0x62: 2, 0x63: 3, 0x73: 7,
    0x82: 16, 0x83: 2, 0xa2: 7, 0xa3: 8, 0xb3: 2, 0xc2: 10, 0xc3: 11, 0xc8: 7, 0xe2: 2, 0xf3: 2
}
IP_BYTES = (0, 2, 4, 6, 6, 0, 8, 0)
# Ticks between the end of one repetition and the begin of the next.
PAUSE = 1 << 20


def length(trace, at):
    first = trace[at]
    if first == 2:
        return EXTENDED[trace[at + 1]]
    if first & 1 == 0:
        return 1
    if first & 3 == 3:
        end, more = at + 1, first & 4
        while more:
            more = trace[end] & 1
            end += 1
        return end - at
    if first & 0x1f in (0x01, 0x0d, 0x11, 0x1d):
        return 1 + IP_BYTES[first >> 5]
    return {0x99: 2, 0x19: 8, 0x59: 2}[first]


def tsc_packets(trace):
    at = trace.find(PSB)
    while at < len(trace):
        if trace[at] == 0x19:
            yield at
        at += length(trace, at)


def repeat(trace, size):
    places = list(tsc_packets(trace))
    times = [int.from_bytes(trace[at + 1:at + 8], "little") for at in places]
    span = times[-1] - times[0] + PAUSE
    for i in range(max(1, size // len(trace))):
        copy = bytearray(trace)
        for at, time in zip(places, times):
            copy[at + 1:at + 8] = ((time + i * span) & ((1 << 56) - 1)).to_bytes(7, "little")
        yield copy


def records(data):
    at = 0
    while at < len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        extra = struct.unpack_from("<Q", data, at + 8)[0] if kind == AUXTRACE else 0
        yield kind, data[at:at + size], data[at + size:at + size + extra]
        at += size + extra


def features(whole, header, end, moved):
    """The table of features without the index of traces, and their contents."""
    bits = int.from_bytes(header[72:104], "little")
    table = [struct.unpack_from("<QQ", whole, end + 16 * i) for i in range(bin(bits).count("1"))]
    numbers = [bit for bit in range(256) if bits >> bit & 1]
    kept = [(bit, section) for bit, section in zip(numbers, table) if bit != FEATURE_AUXTRACE]
    place = end + moved + 16 * len(kept)
    entries, bodies = b"", b""
    for _, (offset, size) in kept:
        entries += struct.pack("<QQ", place + len(bodies), size)
        bodies += whole[offset:offset + size]
    header[72:104] = sum(1 << bit for bit, _ in kept).to_bytes(32, "little")
    return entries + bodies


# -- The loop: cells of 19 instructions and a branch over 10 of the next one's

CELLS, CODE = 64, 0x401000
NOP, JE, JMP = b"\x90", b"\x74", b"\xe9"
# Packets of 6 branches between two PSB, whole rounds of the loop; and ticks.
BETWEEN, TICKS = 16384, 1 << 20


def loop_elf():
    cell = NOP * 19 + JE
    code = (cell + b"\x0a") * (CELLS - 1) + cell + b"\0"
    back = len(code)
    code += JMP + struct.pack("<i", -len(code) - 5)
    header = struct.pack("<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 2, 62, 1, CODE, 64, 0,
                         0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0x1000, CODE, CODE, len(code), len(code), 0x1000)
    return (header + segment).ljust(0x1000, b"\0") + code, CODE + back


def loop_trace(size, ip):
    branches = bytes(0x80 | (byte & 0x7e) for byte in range(256))
    for i in range(max(1, size // BETWEEN)):
        yield corpus.Recording.PSB + b"\x99\x01\xdd" + struct.pack("<Q", ip)
        yield b"\x19" + struct.pack(
            "<Q", 1 + (i + 1) * TICKS)[:7] + b"\x02\x03\x14\0" + corpus.Recording.PSBEND
        yield os.urandom(BETWEEN).translate(branches)
    yield b"\x01"


def loop(size, target):
    elf, ip = loop_elf()
    pathlib.Path(target + ".elf").write_bytes(elf)
    one = corpus.Recording(clock=(0, 1, 0))
    one.mapped(1, CODE, 0x1000, os.path.abspath(target + ".elf").encode(), pgoff=0x1000)
    one.event(one.ITRACE_START, struct.pack("<II", 1, 1), time=1)
    one.trace(b"".join(loop_trace(size, ip)))
    pathlib.Path(target).write_bytes(one.whole())


def read(path):
    """The file, where its data begins, how long that is, and its records."""
    whole = pathlib.Path(path).read_bytes()
    offset, length_of_data = struct.unpack_from("<QQ", whole, 40)
    return whole, offset, length_of_data, list(records(whole[offset:offset + length_of_data]))


def write(target, whole, offset, length_of_data, new):
    header = bytearray(whole[:offset])
    struct.pack_into("<Q", header, 48, len(new))
    tail = features(whole, header, offset + length_of_data, len(new) - length_of_data)
    pathlib.Path(target).write_bytes(header + new + tail)


def join(path):
    """The stream of a CPU is in one piece, as in a snapshot."""
    *place, data = read(path)
    heads, streams, kept = {}, {}, b""
    for kind, record, trace in data:
        if kind != AUXTRACE:
            kept += record
            continue
        cpu = struct.unpack_from("<i", record, 40)[0]
        heads.setdefault(cpu, record)
        streams[cpu] = streams.get(cpu, b"") + trace
    for cpu, stream in streams.items():
        kept += heads[cpu][:8] + struct.pack("<Q", len(stream)) + heads[cpu][16:] + stream
    write(path, *place, kept)


def rewrite(source, target, change):
    """A recording whose traces are replaced by one made of the largest."""
    *place, data = read(source)
    largest = max((trace for kind, _, trace in data if kind == AUXTRACE), key=len)
    head = next(record for kind, record, trace in data if trace is largest)
    kept = b"".join(record for kind, record, _ in data if kind not in (AUX, EXIT, AUXTRACE))
    copies = change(largest)
    head = head[:8] + struct.pack("<Q", len(copies)) + head[16:]
    write(target, *place, kept + head + copies)


def main():
    source, size, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if source == "loop":
        loop(size, target)
    else:
        rewrite(source, target, lambda trace: b"".join(repeat(trace, size)))


if __name__ == "__main__":
    main()
