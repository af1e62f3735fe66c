#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The user stack that a capture has kept, of a program of which only the debug information has
unwind tables; and from an archive, without the program.

Usage: unwound.py CTL
"""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
# gcc has both by default on arm64.
NO_TABLES = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
FRAME_POINTERS = ("-fno-omit-frame-pointer", )
# Prints what a spike in innermost() would keep: registers, words of the stack, mappings.
INNERMOST = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <ucontext.h>
static ucontext_t now;
#ifdef __x86_64__
#define SP now.uc_mcontext.gregs[REG_RSP]
static void print_registers(void)
{
	const int order[] = { REG_RIP, REG_RSP, REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15 };

	for (int i = 0; i < 8; i++)
		printf("%llx ", now.uc_mcontext.gregs[order[i]]);
}
#else
#define SP now.uc_mcontext.sp
static void print_registers(void)
{
	printf("%llx %llx ", now.uc_mcontext.pc, SP);
	for (int i = 19; i <= 30; i++)
		printf("%llx ", now.uc_mcontext.regs[i]);
}
#endif
static void print(const unsigned long *stack, int nr)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];

	print_registers();
	printf("\n");
	for (int i = 0; i < nr; i++) {
		if (stack[i])
			printf("%x:%lx ", i, stack[i]);
	}
	printf("\n");
	while (fgets(line, sizeof(line), maps))
		fputs(line, stdout);
}
__attribute__((noinline)) int innermost(int n)
{
	volatile char room[200];

	room[n] = (char)n;
	getcontext(&now);
	print((const unsigned long *)SP, 100);
	return room[n] + 1;
}
"""
CALLERS = """
int innermost(int n);
__attribute__((noinline)) int middle(int n)
{
	return innermost(n + 1) + 1;
}
__attribute__((noinline)) int outer(int n)
{
	return middle(n + 1) * 3;
}
int main(int argc, char **argv)
{
	return outer(argc) + 1 ? 0 : 1;
}
"""
# DW_CFA_offset_extended: a rule of register 100,000,000, for which libdw wants 1.6 GB.
HOSTILE = CALLERS.replace(
    "return innermost",
    'asm volatile(".cfi_escape 0x05, 0x80, 0xc2, 0xd7, 0x2f, 1");\n\treturn innermost')
USER_ADDRESS = (1 << 48) - 1
EXPECTED = ["innermost", "middle", "outer", "main"]
MAPPING = re.compile(r"(\w+)-(\w+) r-xp (\w+) \S+ \d+ +(/.*)")


def run(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout


def build_id(path):
    return re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", path))[1]


@unittest.skipUnless(os.uname().machine in ("x86_64", "aarch64"), "no registers are kept")
class UnwoundTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.program = self.folder / "program"
        self.env = os.environ | {"HOME": str(self.folder)}

    def kept_words(self, words, code):
        """As captures have them: of a return address that is signed, the address"""
        rows = [word.split(":") for word in words.split()]
        self.signed = 0
        for row in rows:
            address = int(row[1], 16) & USER_ADDRESS
            if any(int(start, 16) <= address < int(end, 16) for start, end, *_ in code):
                self.signed += address != int(row[1], 16)
                row[1] = f"{address:x}"
        return " ".join(map(":".join, rows))

    def compile(self, *flags, callers=(), text_of_callers=CALLERS):
        """Each part as an object, since tables are of all or no functions of one."""
        objects = []
        for text, more in (INNERMOST, ()), (text_of_callers, callers):
            objects.append(self.folder / f"part{len(objects)}.o")
            run("gcc", "-O2", "-g", "-fomit-frame-pointer", *flags, *more, "-x", "c", "-", "-c",
                "-o", objects[-1], input=text)
        run("gcc", *flags, *objects, "-o", self.program)
        registers, words, *lines = run(self.program).splitlines()
        code = [MAPPING.match(line).groups() for line in lines if MAPPING.match(line)]
        words = self.kept_words(words, code)
        address = int(registers.split()[0], 16)
        start, _, offset, path = next(row for row in code
                                      if int(row[0], 16) <= address < int(row[1], 16))
        frame = {
            "address": hex(address), "user": True, "symbol": None, "module": None, "file": path,
            "build_id": build_id(path), "offset": address - int(start, 16) + int(offset, 16)
        }
        about = {
            "schema": 1, "threshold_ns": 1000, "history_ns": 0, "recorder": {"kind": "none"},
            "machine": {"arch": os.uname().machine},
            "spike": {
                "time_ns": 3000083000, "cpu": 1, "latency_ns": 83000, "expected_ns": 3000000000,
                "actual_ns": 3000083000, "pid": 7, "tid": 7, "comm": "program", "stack": [frame],
                "irqs_off": False, "wall_time": "2026-11-21T09:30:00.000000Z"
            }, "user_stack": {
                "size": 800, "registers": registers, "words": words, "code": "".join(
                    f"{row[0]} {row[1]} {row[2]} {build_id(row[3])} {row[3]}\n" for row in code)
            }
        }
        (self.folder / "capture").mkdir(exist_ok=True)
        (self.folder / "capture/capture.json").write_text(json.dumps(about))

    def move_debug_information(self):
        """To where it is not looked for."""
        debug = self.folder / "elsewhere/acme.debug"
        debug.parent.mkdir(exist_ok=True)
        run("objcopy", "--only-keep-debug", self.program, debug)
        run("strip", self.program)
        return debug

    def stack(self, capture="capture", **env):
        report = run(CTL, "report", "--json", capture, cwd=self.folder, env=self.env | env)
        return json.loads(report)["stack"]

    def names(self, **env):
        return [frame["name"] for frame in self.stack(**env)][:len(EXPECTED)]

    def sections(self):
        return run("readelf", "-SW", self.program)

    def test_its_own_tables(self):
        self.compile()
        self.assertEqual(self.names(), EXPECTED)

    def test_a_table_that_takes_memory(self):
        """Unwinding ends there."""
        self.compile(text_of_callers=HOSTILE)
        self.assertEqual(self.names(ASAN_OPTIONS="allocator_may_return_null=1"), EXPECTED[:2])
        largest_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(largest_kib, 600 << 10)

    def test_its_own_debug_information(self):
        self.compile(*NO_TABLES)
        self.assertIn(".debug_frame", self.sections())
        self.assertEqual(self.names(), EXPECTED)

    def test_frame_pointers(self):
        """libdw follows them where there are no tables: to a caller that may be none."""
        self.compile(*FRAME_POINTERS, *NO_TABLES)
        run("strip", "--strip-debug", self.program)
        self.assertEqual(self.names(), EXPECTED[:1])
        self.compile(*FRAME_POINTERS, callers=NO_TABLES)
        run("strip", "--strip-debug", self.program)
        self.assertEqual(self.names(), EXPECTED[:2])
        self.compile(*FRAME_POINTERS, callers=NO_TABLES)
        self.assertEqual(self.names(), EXPECTED)

    @unittest.skipUnless(os.uname().machine == "aarch64", "only arm64 signs return addresses")
    def test_signed_return_addresses(self):
        for flags in ((), NO_TABLES):
            self.compile("-mbranch-protection=pac-ret", *flags)
            if not self.signed:
                self.skipTest("this CPU signs no return addresses")
            self.assertEqual(self.names(), EXPECTED)

    def test_a_debug_file(self):
        self.compile(*NO_TABLES)
        debug = self.move_debug_information()
        self.assertNotIn(".debug_frame", self.sections())
        self.assertEqual(len(self.stack()), 1)
        run("objcopy", f"--add-gnu-debuglink={debug}", self.program)
        self.assertEqual(len(self.stack()), 1)
        shutil.copy(debug, self.folder)
        self.assertEqual(self.names(), EXPECTED)
        # With its symbols, for which no debug file is opened.
        self.compile(*NO_TABLES)
        run("objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", self.program)
        self.assertEqual(self.names(), EXPECTED)
        # Of another build.
        self.compile(*NO_TABLES, f"-Wl,--build-id=0x{'12' * 20}")
        run("strip", self.program)
        run("objcopy", f"--add-gnu-debuglink={debug}", self.program)
        self.assertEqual(len(self.stack()), 1)

    def test_a_debug_file_by_build_id(self):
        self.compile(*NO_TABLES)
        debug, number = self.move_debug_information(), build_id(self.program)
        kept = self.folder / ".debug/.build-id" / number[:2] / number[2:]
        kept.mkdir(parents=True)
        shutil.move(debug, kept / "debug")
        self.assertEqual(self.names(), EXPECTED)

    def test_an_archive(self):
        """Shows the same where the files are not."""
        self.compile(*NO_TABLES)
        debug = self.move_debug_information()
        run("objcopy", f"--add-gnu-debuglink={debug}", self.program)
        shutil.move(debug, self.folder)
        before = self.stack()
        self.assertEqual([frame["name"] for frame in before[:4]], EXPECTED)
        run(CTL, "archive", "capture", "-q", "-o", "a.tar.zst", cwd=self.folder, env=self.env)
        self.program.unlink()
        (self.folder / debug.name).unlink()
        self.assertEqual(len(self.stack()), 1)
        self.assertEqual(self.stack("a.tar.zst"), before)
        run(CTL, "archive", "capture", "-q", "--no-binaries", "-o", "b.tar.zst", cwd=self.folder,
            env=self.env)
        self.assertEqual(len(self.stack("b.tar.zst")), 1)


if __name__ == "__main__":
    unittest.main()
