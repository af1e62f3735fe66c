# SPDX-License-Identifier: GPL-2.0-only
"""Inputs of the target unwind: a stack, and a file with unwind tables."""
import struct

from symbols import ALLOC, EXEC, PROGBITS, Elf

ADDRESS = 0x1000  # of the code, also in the file
BASE = 0x555500000000
SP = 0x7ffd00001000
SP_REGISTER, BP_REGISTER, RETURN = 7, 6, 16
REGISTERS = {"aarch64": 14}


def rules(offset, *more, register=SP_REGISTER, back=RETURN):
    """The caller's frame is there; its return address is below."""
    return bytes([0x0c, register, offset, 0x80 | back, 1]) + b"".join(more)


def offset_of_register(number):
    """DW_CFA_offset_extended"""
    leb128 = bytes(number >> shift & 0x7f | 0x80 for shift in range(0, 28, 7)) + b"\0"
    return b"\5" + leb128 + b"\1"


def expression(*operations):
    """DW_CFA_def_cfa_expression"""
    body = b"".join(operations)
    return bytes([0x0f, len(body)]) + body + bytes([0x80 | RETURN, 1])


def entry(number, body):
    body = struct.pack("<I", number) + body
    body += bytes(-len(body) % 8)
    return struct.pack("<I", len(body)) + body


def table(*functions, debug=False, size=0x20, align=1, augmentation=b"", first=rules(8),
          back=RETURN):
    """A CIE, and an FDE for each function, one behind the other."""
    whole = entry(0xffffffff if debug else 0,
                  b"\1" + augmentation + b"\0" + bytes([align, 0x78, back]) + first)
    for i, one in enumerate(functions):
        whole += entry(0 if debug else len(whole) + 4,
                       struct.pack("<QQ", ADDRESS + size * i, size) + one)
    return whole + bytes(4)


def program(machine=62, **tables):
    elf = Elf(machine=machine).segment(ADDRESS)
    elf.section(b".text", PROGBITS, bytes(0x200), ALLOC | EXEC, ADDRESS)
    for name, body in tables.items():
        flags = ALLOC if name == "eh_frame" else 0
        elf.section(b"." + name.encode(), PROGBITS, body, flags, 0x1800 if flags else 0)
    return elf.whole()


def stack(words, registers=(), size=0x100, pc=4, code=None, arch="x86_64"):
    registers = [BASE + ADDRESS + pc, SP, *registers]
    registers += [0] * (REGISTERS.get(arch, 8) - len(registers))
    if code is None:
        code = [f"{BASE + ADDRESS:x} {BASE + 2 * ADDRESS:x} {ADDRESS:x} {'11' * 20} /bin/acme"]
    return "\n".join([
        arch, str(size), " ".join(f"{value:x}" for value in registers),
        " ".join(f"{i:x}:{value:x}" for i, value in words.items()), *code
    ]).encode() + b"\n\n"


def arm64(*functions):
    """In a leaf the return address is in a register, X30."""
    return program(183, eh_frame=table(*functions, first=bytes([0x0c, 31, 0]), back=30))


def inputs():
    called = {3: BASE + ADDRESS + 0x24, 5: SP + 64, 6: BASE + ADDRESS + 0x44}
    functions = (rules(32), rules(24), rules(16, register=BP_REGISTER))
    tables = table(*functions)
    whole = program(eh_frame=tables)
    yield "good-eh_frame", stack(called) + whole
    yield "good-debug_frame", stack(called) + program(debug_frame=table(*functions, debug=True))
    yield "good-both", stack(called) + program(eh_frame=table(functions[0]),
                                               debug_frame=table(*functions, debug=True))
    pointed = stack({4: SP + 96, 5: BASE + ADDRESS + 0x24, 9: 7}, (0, SP + 32), pc=0x44)
    yield "good-frame-pointer", pointed + whole
    yield "bad-frame-pointer", pointed + program()
    yield "bad-frame-pointer-behind", pointed + program(eh_frame=table(*functions[:2]))
    yield "good-endless", stack({i: BASE + ADDRESS + 4 for i in range(1024)}, size=8192) + program(
        eh_frame=table(rules(8)))
    yield "good-mappings", stack(called, code=[
        f"{BASE + ADDRESS + i:x} {BASE + ADDRESS + i + 1:x} {ADDRESS + i:x} {'11' * 20} /bin/acme"
        for i in range(0x80)
    ]) + whole
    yield "good-odd-lines", stack(called, code=[
        "zz", "1 0 0 11 /b", f"{BASE + ADDRESS:x} ffffffffffffffff {ADDRESS:x} 1111 /a b\1c"
    ]) + whole
    leaf = [0] * 11 + [BASE + ADDRESS + 0x24]
    yield "good-arm64", stack({3: BASE + ADDRESS + 0x44, 4: 0}, leaf, arch="aarch64") + arm64(
        b"", rules(32, register=31, back=30), b"")
    yield "bad-arm64-tables", stack(called) + arm64(b"", b"", b"")
    yield "bad-arch", stack(called, arch="riscv64") + whole
    loop = expression(b"\x77\0", b"\x2f\xfd\xff")  # breg7 0, skip -3
    yield "bad-expression-loops", stack(called) + program(eh_frame=table(loop))
    yield "bad-expression-around", stack(called) + program(
        eh_frame=table(expression(b"\x0e" + b"\xff" * 8, b"\x06" * 3)))
    yield "bad-remembers", stack(called) + program(eh_frame=table(b"\x0a" * 2000 + rules(8)))
    yield "bad-register-number", stack(called) + program(
        eh_frame=table(rules(8, offset_of_register(100 << 20))))
    yield "bad-remembers-registers", stack(called) + program(
        eh_frame=table(rules(8, offset_of_register(4 << 20)) + b"\x0a" * 500))
    yield "bad-no-code", stack(called, code=[]) + whole
    yield "bad-no-words", stack({}) + whole
    yield "bad-no-memory", stack(called, size=0) + whole
    yield "bad-around", stack(called).replace(f"{SP:x}".encode(), b"fffffffffffffff8") + whole
    yield "bad-registers", stack(called).replace(b" ", b"", 7) + whole
    yield "bad-other-mapping", stack(called, code=[
        f"{BASE + ADDRESS:x} {BASE + 2 * ADDRESS:x} ffffffffffffff00 {'11' * 20} /a"
    ]) + whole
    yield "bad-table-align", stack(called) + program(eh_frame=table(*functions, align=0x80))
    yield "bad-table-augmentation", stack(called) + program(
        eh_frame=table(*functions, augmentation=b"zRPLSz"))
    yield "bad-table-elsewhere", stack(called, pc=0x1f0) + whole
    yield "bad-table-cut", stack(called) + program(eh_frame=tables[:30])
    yield "bad-no-table", stack(called) + program()
    yield "bad-no-file", stack(called)
    yield "bad-file", stack(called) + b"#!/bin/sh\n"
    yield "bad-empty", b""
