#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Captures taken in a guest show the same to an unprivileged user on another kernel and on the
host.

usage: bundle_elsewhere.py TAKEN_ON OPENED_ON SECONDS PERF_POKE_CTL"""
import os
import pathlib
import subprocess
import sys
import tempfile

import bundle
import emulator

TAKEN_ON, OPENED_ON, SECONDS, CTL = *sys.argv[1:4], os.path.realpath(sys.argv[4])
HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = """
volatile unsigned long %(name)s_sum;
__attribute__((noinline)) void %(name)s_work(void)
{ for (int i = 0; i < 500; i++) %(name)s_sum += i; }
"""
ACME = """
#include <time.h>
void touched_work(void);
void untouched_work(void);
volatile unsigned long sum;
__attribute__((noinline)) void acme_leaf(void) { for (int i = 0; i < 500; i++) sum += i; }
__attribute__((noinline)) void acme_outer(void)
{
	struct timespec now;

	acme_leaf();
	touched_work();
	clock_gettime(CLOCK_MONOTONIC, &now);
	sum += now.tv_nsec;
}
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		untouched_work();
	for (;;)
		acme_outer();
}
"""


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def build(folder):
    """The program, with its libraries beside it."""
    folder.mkdir()
    compiler = ["gcc", "-O1", "-x", "c", "-"]
    names = ("touched", "untouched")
    for name in names:
        subprocess.run([*compiler, "-shared", "-fPIC", "-o", folder / f"lib{name}.so"],
                       input=LIBRARY % {"name": name}, text=True, check=True)
    subprocess.run([
        *compiler, "-o", folder / "acme", f"-L{folder}", *(f"-l{name}"
                                                           for name in names), "-Wl,-rpath,$ORIGIN"
    ], input=ACME, text=True, check=True)


def guest(kernel, script, options, *args):
    ran = subprocess.run(
        [HERE / "run-test", kernel, SECONDS, "python3", HERE / "guest" / script, CTL, *args],
        check=False, env={**os.environ, "LAB_OPTIONS": options})
    if ran.returncode:
        sys.exit(ran.returncode)


def compare(here, there, where):
    """Compares outputs by capture and command."""
    for file in sorted(here.iterdir()):
        name, _, kind = file.name.partition(".")
        data = there[name][kind] if isinstance(there, dict) else (there / file.name).read_bytes()
        check(file.stat().st_size and data == file.read_bytes(),
              f"{file.name} {where} is another than where it was taken")


def check_names(here):
    """Checks that code of all kinds has symbols."""
    wanted = [
        "acme_leaf", "acme_outer", "touched_work", "clock_gettime",
        "asm_sysvec_apic_timer_interrupt", "bpf_prog_"
    ]
    for kind in ("script", "perf", "fxt"):
        data = (here / f"pt.{kind}").read_bytes()
        missing = [name for name in wanted if name.encode() not in data]
        check(not missing, f"no {missing} in pt.{kind}")
        check(b"instruction trace error" not in data, f"errors of decoding in pt.{kind}")


def check_binaries(opened):
    """The archive holds executed binaries, but none that were only mapped."""
    code = b"".join(file.read_bytes() for file in (opened / "buildid").rglob("*") if file.is_file())
    for name, wanted in ((b"acme_leaf", True), (b"touched_work", True), (b"untouched_sum", False)):
        check((name in code) == wanted, f"{name} is {'not ' if wanted else ''}in {opened.name}")


if not emulator.is_here():
    print(f"skipped: no QEMU that can do it; this fetches it: {HERE}/lab qemu")
    sys.exit(77)
if subprocess.run([*bundle.AS_NOBODY, CTL, "--version"], capture_output=True,
                  check=False).returncode:
    print("skipped: needs a build that others than root can run")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="perf-poke-bundle-") as scratch:
    folder = pathlib.Path(scratch)
    folder.chmod(0o755)
    build(folder / "programs")
    guest(TAKEN_ON, "bundle_take.py", f"--pt emulated --share {folder}", folder,
          folder / "programs")
    check_names(folder / "here")
    guest(OPENED_ON, "bundle_open.py", f"--share {folder}", folder)
    compare(folder / "here", folder / "there", f"on {OPENED_ON}")
    compare(folder / "here", bundle.opened(CTL, folder, folder / "host"), "on the host")
    check_binaries(folder / "host/pt")
