#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Entries of a PLT have binutils' names, for x86 and arm64, in each form that linkers make; and
what is no name in a file of arm64.

usage: linkage.py SYMBOLS_OF
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
NAMES = [f"{word}_{i}" for word in ("zinc", "acme", "mole") for i in range(8)]
LIBRARY = "".join(f"int {name}(int n) {{ return n; }}\n" for name in NAMES)
LIBRARY += '__asm__(".text\\n.long 1, 2");\n'  # data in code
PROGRAM = "".join(f"int {name}(int n);\n" for name in NAMES) + """
int _start(int n)
{
    int (*volatile other)(int) = mole_7;

    return other(n) + %s;
}
""" % " + ".join(f"{name}(n)" for name in reversed(NAMES))
LLD = "-fuse-ld=lld"
FORMS = {
    "program": ("-no-pie", ),
    "pie": ("-pie", ),
    "shared": ("-shared", "-fPIC"),
    "now": ("-pie", "-Wl,-z,now"),
    # The addresses that the linker stores are far behind the entries, or before them.
    "far": ("-no-pie", "-Wl,-Tdata=0x3456000"),
    "before": ("-no-pie", "-Wl,-z,norelro,--section-start=.got.plt=0x10000"),
    "lld": ("-pie", LLD),
}
MACHINES = {
    "x86_64": {
        "targets": ("-no-pie", "-fcf-protection", "-Wl,-z,ibtplt"),
        "targets-shared": ("-shared", "-fPIC", "-fcf-protection", "-Wl,-z,ibtplt"),
    },
    "aarch64": {
        "targets": ("-no-pie", "-mbranch-protection=bti", "-Wl,-z,force-bti"),
        "targets-shared": ("-shared", "-fPIC", "-mbranch-protection=bti", "-Wl,-z,force-bti"),
        "signed": ("-no-pie", "-Wl,-z,pac-plt"),
        "lld-targets": ("-no-pie", LLD, "-Wl,-z,force-bti"),
        "both": ("-no-pie", "-mbranch-protection=standard", "-Wl,-z,force-bti,-z,pac-plt"),
    },
}
SECTION = re.compile(r" (\.plt\S*) +PROGBITS +(\w+) (\w+) (\w+)")
ENTRY = re.compile(r"^([0-9a-f]+) <([^>]+)>:\n((?:[^\n]+\n)*)", re.M)
INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t", re.M)


def run(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout


def has_compiler(machine):
    return all(shutil.which(f"{machine}-linux-gnu-{name}") for name in ("gcc", "objdump"))


class LinkageTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.program = self.folder / "program"

    def compile(self, machine, *flags):
        compiler, library = (f"{machine}-linux-gnu-gcc", ), self.folder / "library.so"
        if LLD in flags:
            compiler = "clang", f"--target={machine}-linux-gnu", LLD
        common = (*compiler, "-nostdlib", "-O1", "-x", "c", "-")
        run(*common, "-shared", "-fPIC", "-o", library, input=LIBRARY)
        run(*common, *flags, "-s", "-o", self.program, "-x", "none", library, input=PROGRAM)

    def sections(self):
        """Offsets of PLTs, and how many bytes they are mapped behind them"""
        found = SECTION.findall(run("readelf", "-SW", self.program))
        return {name: (int(offset, 16), int(address, 16) - int(offset, 16), int(size, 16))
                for name, address, offset, size in found}

    def their_names(self, machine, section):
        """Of the bytes of each entry that binutils names"""
        text = run(f"{machine}-linux-gnu-objdump", "-d", "-j", section, self.program)
        return {
            int(at, 16): name for _, name, lines in ENTRY.findall(text) if name.endswith("@plt")
            for at in INSTRUCTION.findall(lines)
        }

    def our_names(self, offsets, program=None):
        text = "\n".join(f"{offset:x}" for offset in offsets)
        names = run(TOOL, "elf", program or self.program, input=text).split("\n")[:-1]
        self.assertEqual(len(names), len(offsets))
        return names

    def check(self, machine):
        seen = set()
        for form, flags in (FORMS | MACHINES[machine]).items():
            if LLD in flags and not (shutil.which("clang") and shutil.which("ld.lld")):
                continue
            with self.subTest(form):
                self.compile(machine, *flags)
                named = set()
                for section, (offset, moved, size) in self.sections().items():
                    theirs = {at - moved: name
                              for at, name in self.their_names(machine, section).items()}
                    ours = self.our_names(range(offset, offset + size))
                    named.update(theirs.values())
                    for at, name in theirs.items():
                        self.assertEqual(ours[at - offset], name, hex(at))
                    # What binutils does not name is the header, and what fills up. Where calls go
                    # to .plt.sec, it does not name .plt.
                    for at, name in enumerate(ours, offset):
                        if name.endswith("@plt") and (theirs or section != ".plt"):
                            before = max((one for one in theirs if one <= at), default=None)
                            self.assertIsNotNone(before, hex(at))
                            self.assertEqual(name, theirs[before], hex(at))
                self.assertEqual(named, {f"{name}@plt" for name in NAMES})
                seen.add(tuple(self.sections()))
        return seen

    @unittest.skipUnless(has_compiler("x86_64"), "no compiler for x86")
    def test_x86(self):
        self.assertIn((".plt", ".plt.got", ".plt.sec"), self.check("x86_64"))

    @unittest.skipUnless(has_compiler("aarch64"), "no compiler for arm64")
    def test_arm64(self):
        self.check("aarch64")
        # As the last form has it, each entry has both instructions.
        text = run("aarch64-linux-gnu-objdump", "-d", "-j", ".plt", self.program)
        self.assertEqual(len(re.findall(r"\tbti\tc\n.*\tadrp\t", text)), len(NAMES))
        self.assertEqual(text.count("\tautia1716\n"), len(NAMES))
        # Symbols that mark where code and data begin are no names.
        library = self.folder / "library.so"
        self.assertRegex(run("readelf", "-sW", library), r"\$d\n")
        names = set(self.our_names(range(0, library.stat().st_size, 4), library))
        self.assertLessEqual(set(NAMES), names)
        self.assertEqual([name for name in names if name.startswith("$")], [])


if __name__ == "__main__":
    if not any(map(has_compiler, MACHINES)):
        print("SKIP: there is no gcc and objdump by the name of a machine")
        sys.exit(77)
    unittest.main()
