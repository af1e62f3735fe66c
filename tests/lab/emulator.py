# SPDX-License-Identifier: GPL-2.0-only
"""QEMU with the plugin interface that ptemu needs. Debian bookworm's is too old; that of
trixie-backports runs with its own libraries."""
import os
import pathlib

from debian import LIBRARIES, Suite
from store import LabError, digest, locked, need, run_logged

PACKAGE = "qemu-system-x86"
SUITE = Suite("trixie-backports")
HERE = pathlib.Path(__file__).resolve().parent
# The plugin and ptsim share the packet writer.
SOURCES = sorted(
    (HERE / "ptemu").glob("*.c")) + [HERE / "ptsim" / name for name in ("packets.c", "psb.c")]
HEADERS = sorted(
    (HERE /
     "ptemu").rglob("*.h")) + [HERE / "ptsim" / name for name in ("packets.h", "psb.h", "ptemu.h")]


def is_here():
    return SUITE.version(PACKAGE) is not None


def fetch():
    """Downloads QEMU and its dependencies (40 MB) and returns the folder."""
    SUITE.unpack(PACKAGE)
    return SUITE.folder


def find():
    if not is_here():
        raise LabError(f"--pt emulated needs a newer QEMU, which this fetches: {HERE}/lab qemu")
    return SUITE.folder


def plugin(folder):
    """Path of the plugin, which is built if missing."""
    need("gcc")
    built = folder / f"ptemu_{digest(*[p.read_bytes() for p in SOURCES + HEADERS])}.so"
    with locked("ptemu"):
        if not built.exists():
            temporary = built.with_suffix(f".{os.getpid()}")
            run_logged([
                "gcc", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                "-fvisibility=hidden", f"-I{HERE}/ptemu/include", f"-I{HERE}/ptsim", "-o",
                temporary, *SOURCES
            ], folder / "log")
            os.rename(temporary, built)
    return built


def command(folder, log, single, icount):
    """QEMU's command line: its own loader, libraries and firmware, and the plugin."""
    options = [f"log={log}"] if log else []
    if single:
        options.append("single=on" if icount is None else f"icount={icount}")
    return [
        *SUITE.program("usr/bin/qemu-system-x86_64"), "-L",
        str(folder / "usr/share/seabios"), "-L",
        str(folder / "usr/share/qemu"), "-plugin", ",".join([str(plugin(folder)), *options])
    ]


def environment(folder):
    return {**os.environ, "QEMU_MODULE_DIR": str(folder / LIBRARIES / "qemu")}
