# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of emulated Intel PT share."""
import os
import pathlib
import re
import struct
import subprocess

import common
from common import check

SCRATCH = pathlib.Path(os.environ.get("LAB_SCRATCH", "/tmp"))
LOGS = SCRATCH / "ptemu"
PAGE = 4096


def load(**parameters):
    common.need_root()
    if not LOGS.is_dir():
        common.skip("the guest's QEMU has not the plugin: lab run --pt emulated")
    common.load("ptsim", source="emulated", **parameters)


class Kcore:
    """/proc/kcore, an ELF core file."""

    def __init__(self):
        self.file = open("/proc/kcore", "rb")
        header = self.file.read(64)
        offset, count = struct.unpack_from("<Q", header, 32)[0], struct.unpack_from("<H", header, 56)[0]
        self.file.seek(offset)
        rows = struct.iter_unpack("<IIQQQQQQ", self.file.read(56 * count))
        self.segments = [(virtual, length, place) for kind, _, place, virtual, _, length, _, _ in rows if kind == 1]

    def read(self, address, size):
        for virtual, length, place in self.segments:
            if virtual <= address < virtual + length:
                self.file.seek(place + address - virtual)
                return self.file.read(size)
        return check(False, f"{address:#x} is not in /proc/kcore")


def code_ranges():
    """The pages of the kernel's code, its modules' and that of BPF programs."""
    symbols = [(int(a, 16), n) for a, n in re.findall(r"^([0-9a-f]+) \S (\S+)", pathlib.Path("/proc/kallsyms").read_text(), re.M)]
    names = {n: a for a, n in symbols}
    ranges = [(names["_stext"] & -PAGE, (names["_etext"] + PAGE - 1) & -PAGE)]
    for line in pathlib.Path("/proc/modules").read_text().splitlines():
        fields = line.split()
        start = int(fields[5], 16)
        ranges.append((start & -PAGE, (start + int(fields[1]) + PAGE - 1) & -PAGE))
    pages = {a & -PAGE for a, n in symbols if a > names["_etext"] and re.match(r"bpf_prog_|bpf_trampoline_|bpf_dispatcher_", n)}
    pages = {p for p in pages if not any(a <= p < b for a, b in ranges)}
    return ranges + [(p, p + 2 * PAGE) for p in sorted(pages) if p - PAGE not in pages or True]


def save_code(folder):
    """Returns pairs of a file and the address it is of."""
    kcore, pairs = Kcore(), []
    for start, end in code_ranges():
        path = f"{folder}/code_{start:x}"
        pathlib.Path(path).write_bytes(kcore.read(start, end - start))
        pairs += [path, hex(start)]
    return pairs


def clock():
    n, d = (common.PMU / "tsc_art_ratio").read_text().strip().split(":")
    return [n, d], (common.PMU / "max_nonturbo_ratio").read_text().strip()


def log_of(cpu=common.CPU):
    """Where the plugin writes it."""
    return str(LOGS / f"vcpu{cpu}")
