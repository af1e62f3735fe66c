# SPDX-License-Identifier: GPL-2.0-only
"""Inputs of the target symbols: symbol tables, and a kernel's code."""
import struct

PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, DYNSYM = 1, 2, 3, 4, 8, 11
ALLOC, EXEC = 2, 4
HEAD, SEGMENT, SECTION = 64, 56, 64
# Arm64: bti c; adrp x16, two pages on; ldr x17, [x16, #8 * i]; br x17; nop
BTI, ADRP, LDR, BR, NOP = 0xd503245f, 0xd0000010, 0xf9400211, 0xd61f0220, 0xd503201f
KALLSYMS = b"""ffffffff81000000 T _stext
ffffffff81000000 t alias
ffffffff81000040 W weak
ffffffff81000040 D data
ffffffffc0000010 t second\t[module]
ffffffffc0000000 t first\t[module]
ffffffffc0001000 t bpf_prog_0\t[bpf]
"""


class Elf:
    """Sections in the order in which they were added; each header field can be overridden."""

    def __init__(self, kind=3, machine=62):
        self.kind, self.machine, self.sections = kind, machine, [(0, ) * 10]
        self.segments, self.names, self.body = [], b"\0", b""

    def name(self, name):
        self.names += name + b"\0"
        return len(self.names) - len(name) - 1

    def section(self, name, kind, body=b"", flags=0, address=0, link=0, info=0, entry=0, **lies):
        fields = {"offset": 0x1000 + len(self.body), "size": len(body)}
        fields.update(lies)
        self.sections.append((self.name(name), kind, flags, address, fields["offset"],
                              fields["size"], link, info, 8, entry))
        self.body += body + bytes(-len(body) % 8)
        return self

    def segment(self, address, offset=0x1000, size=0x1000, memory=None, kind=1):
        self.segments.append(
            struct.pack("<IIQQQQQQ", kind, 5, offset, address, 0, size, memory or size, 0x1000))
        return self

    def whole(self, **lies):
        self.section(b".shstrtab", STRTAB, self.names + b".shstrtab\0")
        at = 0x1000 + len(self.body)
        fields = {
            "phnum": len(self.segments), "shnum": len(self.sections),
            "shstrndx": len(self.sections) - 1, "shoff": at
        }
        fields.update(lies)
        head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
            "<HHIQQQIHHHHHH", self.kind, self.machine, 1, 0, HEAD, fields["shoff"], 0, HEAD,
            SEGMENT, fields["phnum"], SECTION, fields["shnum"], fields["shstrndx"])
        head += b"".join(self.segments)
        return head.ljust(0x1000, b"\0") + self.body + b"".join(
            struct.pack("<IIQQQQIIQQ", *one) for one in self.sections)


def symbol(name, value, size, info=0x12, section=1, other=0):
    return struct.pack("<IBBHQQ", name, info, other, section, value, size)


def program(kind=SYMTAB, symbols=b"", **lies):
    strings = b"\0main\0_label\0weak\0odd"
    table = symbol(0, 0, 0, 0, 0) + symbol(1, 0x1000, 16) + symbol(6, 0x1010, 0, 0) + symbol(
        13, 0x1000, 8, 0x22) + symbols
    elf = Elf().segment(0x1000)
    elf.section(b".text", PROGBITS, bytes(64), ALLOC | EXEC, 0x1000)
    elf.section(b".strings", STRTAB, strings)
    elf.section(b".symbols", kind, table, link=2, info=1, entry=24, **lies)
    return elf


def linked(entry=16, relocations=2, link=3, code=bytes(48), **lies):
    elf = program(DYNSYM)
    elf.section(b".rela.plt", RELA,
                b"".join(struct.pack("<QQq", 0x3000 + 8 * i, (1 + i) << 32 | 7, 0)
                         for i in range(relocations)), link=link, entry=24)
    return elf.section(b".plt", PROGBITS, code, ALLOC | EXEC, 0x1200, entry=entry, **lies)


def arm64(*code, **lies):
    """Of ADRP, LDR and what follows"""
    elf = linked(code=struct.pack(f"<{len(code)}I", *code), **lies)
    elf.machine = 183
    return elf


def inputs():
    yield "good-kallsyms", b"k" + KALLSYMS
    yield "good-kallsyms-empty", b"k"
    odd = b"zz\n \nffff\nffffffffffffffff T x\nffffffffffffffff T\n1 T \n"
    yield "good-kallsyms-odd", b"k" + odd + KALLSYMS[:-1]
    yield "good-kallsyms-ends", b"k" + b"ffffffffffffffff T last\n0 T first\n"
    yield "good-kallsyms-zeros", b"k" + KALLSYMS.replace(b"weak", b"w\0k")
    yield "good-kallsyms-hole", b"h" + KALLSYMS
    for name, elf in (("symbols", program()), ("dynamic", program(DYNSYM)), ("plt", linked()),
                      ("plt-no-size", linked(0)), ("plt-large", linked(1 << 40)), ("plt-bytes",
                                                                                   linked(1)),
                      ("plt-many", linked(relocations=500)), ("plt-of-other", linked(link=1)),
                      ("plt-claims",
                       linked(1, size=(1 << 32) - 1)), ("plt-lies",
                                                        linked(offset=1 << 63, size=1 << 40)),
                      ("plt-arm64", arm64(BTI, ADRP, LDR, BR, NOP, ADRP, LDR + (1 << 10), BR)),
                      ("plt-arm64-ends", arm64(ADRP, LDR)), ("plt-arm64-cut", arm64(BTI, ADRP)),
                      ("plt-arm64-odd", arm64(ADRP, LDR, NOP, size=11)),
                      ("no-section", program(symbols=symbol(1, 0x1000, 8, section=999))),
                      ("no-segment", program(symbols=symbol(1, 0x9000, 8))),
                      ("name", program(symbols=symbol(1 << 31, 0x1000, 8))),
                      ("name-end", program(symbols=symbol(18, 0x1000, 8))),
                      ("around", program(symbols=symbol(1, 0x1000, (1 << 64) - 1))),
                      ("same", program(symbols=symbol(1, 0x1000, 16) * 50)),
                      ("table-size", program(size=1 << 40)), ("table-offset",
                                                              program(offset=1 << 63))):
        whole = elf.whole()
        yield "good-elf-" + name, b"e" + whole
        # The target accepts that as a file with symbols only.
        yield "good-elf-two-" + name, b"e" + whole + b"\0"
    yield "good-elf-no-names", b"e" + program().whole(shstrndx=77)
    yield "good-elf-sections", b"e" + program().whole(shnum=60000)
    yield "good-elf-no-sections", b"e" + program().whole(shnum=0, shoff=0)
    whole = program().whole()
    for size in (64, 100, 0x1000, 0x1080, len(whole) - 8):
        yield "good-elf-cut-%d" % size, b"e" + whole[:size]
    yield "bad-elf-empty", b"e"
    yield "bad-elf-script", b"e#!/bin/sh\n"
    core = Elf(4).segment(0xffffffffc0000000, 0x2000).segment(0xffffffff81000000)
    yield "good-core", b"c" + core.whole()
    yield "good-core-overlaps", b"c" + core.segment(0xffffffff81000800).segment(
        0xffffffff81000000).whole()
    yield "good-core-around", b"c" + core.segment((1 << 64) - 16).whole()
    yield "bad-core-none", b"c" + Elf(4).whole()
    yield "bad-core-around", b"c" + Elf(4).segment((1 << 64) - 16).whole()
    yield "bad-core-count", b"c" + Elf(4).whole(phnum=0xffff)
    yield "bad-core-empty", b"c"
    yield "bad-core-text", b"ctext"
    yield "bad-empty", b""
