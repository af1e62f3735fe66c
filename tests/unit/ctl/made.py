# SPDX-License-Identifier: GPL-2.0-only
"""Captures: of Intel PT, of a program that keeps calling a function; and without a trace."""
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fuzz"))
from corpus import Recording  # noqa: E402

BASE = 0x400000
CODE = 0x1000  # of the file and, behind BASE, of memory
# call f; jmp here; and at 32 f: nop, ret
FUNCTIONS = (("loop", 0, bytes.fromhex("e81b000000ebf9").ljust(32, b"\x90")),
             ("leaf", 32, bytes.fromhex("90c3").ljust(32, b"\x90")))
# Returns in a TNT packet, each to its call
RETURNS = 6
CLOCK = (0, 1, 0)  # a tick is a nanosecond
PID = 77


def program(build_id=b"\x11" * 20):
    """An ELF file with these functions, symbols and a build ID."""
    text = b"".join(code for _, _, code in FUNCTIONS)
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in FUNCTIONS)
    symbols, at = bytes(24), 1
    for name, start, code in FUNCTIONS:
        symbols += struct.pack("<IBBHQQ", at, 0x12, 0, 1, BASE + CODE + start, len(code))
        at += len(name) + 1
    note = struct.pack("<III4s", 4, len(build_id), 3, b"GNU") + build_id
    section_names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0.note\0"
    places = [CODE]
    for part in text, symbols, names, section_names, note:
        places.append(places[-1] + -(-len(part) // 8) * 8)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, BASE + CODE, 64, places[5],
                       0, 64, 56, 2, 64, 6, 4)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, CODE + len(text), CODE + len(text), 4096)
    load += struct.pack("<IIQQQQQQ", 4, 4, places[4], 0, 0, len(note), len(note), 4)
    sections = bytes(64)
    for name, kind, flags, address, place, part, link, info, entry in ((1, 1, 6, BASE + CODE,
                                                                        places[0], text, 0, 0,
                                                                        0), (7, 2, 0, 0, places[1],
                                                                             symbols, 3, 1, 24),
                                                                       (15, 3, 0, 0, places[2],
                                                                        names, 0, 0, 0),
                                                                       (23, 3, 0, 0, places[3],
                                                                        section_names, 0, 0,
                                                                        0), (33, 7, 0, 0, places[4],
                                                                             note, 0, 0, 0)):
        sections += struct.pack("<IIQQQQIIQQ", name, kind, flags, address, place, len(part), link,
                                info, 8, entry)
    whole = (head + load).ljust(CODE, b"\0")
    for part in text, symbols, names, section_names, note:
        whole += part.ljust(-(-len(part) // 8) * 8, b"\0")
    return whole + sections


def segment(time, packets, ip=BASE + CODE):
    """PSB+ with a time, 64-bit MODE.Exec and the program's address, then packets of six loops
    each."""
    return (Recording.PSB + b"\x19" + struct.pack("<Q", time)[:7] + b"\x99\x01" + b"\x7d" +
            struct.pack("<Q", ip)[:6] + b"\x02\x03\x14\0" + Recording.PSBEND + b"\xfe" * packets)


def capture(folder, segments, begin=2000000000, step=1000, packets=10, about=None, cpus=(1, ),
            others=()):
    """Makes the capture in a folder, with its program. Each segment of a CPU begins `step` ns after
    the previous one. `others` are mapped but not executed.
    """
    (folder / "perf.data").mkdir(parents=True, exist_ok=True)
    binary = folder.parent / "prog"
    binary.write_bytes(program())
    one = Recording(clock=CLOCK)
    one.event(one.COMM,
              struct.pack("<II", PID, PID) + b"prog\0", 0x2000,
              begin - 20).mapped(PID, BASE + CODE, 0x1000,
                                 str(binary).encode(), time=begin - 10, pgoff=CODE,
                                 build_id=b"\x11" * 20)
    for i, path in enumerate(others):
        path.write_bytes(program(bytes([0x22 + i] * 20)))
        one.mapped(PID, 0x7000000 + 0x1000 * i, 0x1000,
                   str(path).encode(), time=begin - 9, build_id=bytes([0x22 + i] * 20))
    for cpu in cpus:
        one.event(one.ITRACE_START, struct.pack("<II", PID, PID), time=begin - 5, cpu=cpu,
                  task=(PID, PID))
        one.trace(b"".join(segment(begin + i * step, packets) for i in range(segments)), cpu=cpu,
                  reference=begin)
    (folder / "perf.data/data").write_bytes(one.whole())
    spike = begin + segments * step
    about = about or {
        "schema": 1, "spike": {
            "time_ns": spike, "cpu": 1, "latency_ns": step, "expected_ns": spike - 2 * step
        }, "history_ns": segments * step,
        "recorder": {"kind": "pt", "clock": {"monotonic_ns": 5, "perf_ns": 5}}
    }
    (folder / "capture.json").write_text(json.dumps(about))
    return binary


def frame(symbol):
    return {
        "address": "0xffffffffc0000017", "symbol": symbol, "module": None, "offset": 23,
        "user": False
    }


def stack_capture(path, culprit="acme_flush", latency_us=83, cpu=1, host="one", second=0,
                  below=None, **facts):
    """A capture without a trace: the stack at the spike tells the cause. The culprit was called by
    `below`, if that is given."""
    stack = [
        frame(name)
        for name in ("_raw_spin_unlock_irqrestore", f"{culprit}.isra.0", *filter(None, [below]),
                     "acme_write", "vfs_write", "__x64_sys_write")
    ]
    about = {
        "schema": 1, "threshold_ns": 30000, "history_ns": 0, "recorder": {"kind": "none"},
        "machine": {"hostname": host, "hypervisor": False}, "spike": {
            "time_ns": 3000000000 + latency_us * 1000, "cpu": cpu, "latency_ns": latency_us * 1000,
            "expected_ns": 3000000000, "actual_ns": 3000000000 + latency_us * 1000, "pid": 7,
            "tid": 7, "comm": "stress", "stack": stack, "irqs_off": True,
            "wall_time": f"2026-11-21T09:30:{second:02}.000000Z", **facts
        }
    }
    path.mkdir(parents=True)
    (path / "capture.json").write_text(json.dumps(about))
