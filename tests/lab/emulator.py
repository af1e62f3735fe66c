# SPDX-License-Identifier: GPL-2.0-only
"""QEMU with the interface for plugins that ptemu needs. Debian bookworm's is too old; trixie-backports' runs with its own libraries."""
import os
import pathlib
import shutil
import tempfile

from store import LabError, apt_config, cache, digest, locked, need, run_logged, say

PACKAGE = "qemu-system-x86"
SUITES = ("trixie", "trixie-backports")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
HERE = pathlib.Path(__file__).resolve().parent
# The plugin shares the writing of packets with ptsim.
SOURCES = sorted((HERE / "ptemu").glob("*.c")) + [HERE / "ptsim/packets.c"]
HEADERS = sorted((HERE / "ptemu").rglob("*.h")) + [HERE / "ptsim/packets.h", HERE / "ptsim/ptemu.h"]


def folders():
    return [ok.parent for ok in sorted(cache().glob("qemu_*/ok"))]


def fetch():
    """Downloads it with all that it depends on, 40 MB, and returns its folder."""
    need("apt-get", "dpkg-deb")
    with locked("qemu"):
        if folders():
            return folders()[-1]
        with tempfile.TemporaryDirectory(dir=cache(), prefix=".fetch-") as temp:
            temp = pathlib.Path(temp)
            options = apt_config(temp, *SUITES)
            # As if nothing were installed
            (temp / "status").touch()
            options += ["-o", f"Dir::State::status={temp}/status", "-o", "Debug::NoLocking=1"]
            say(f"downloading {PACKAGE} of {SUITES[-1]}")
            run_logged(["apt-get", *options, "update"], temp / "log")
            run_logged(["apt-get", *options, "install", "-y", "--download-only", "--no-install-recommends",
                        "-t", SUITES[-1], PACKAGE], temp / "log")
            for deb in (temp / "archives").glob("*.deb"):
                run_logged(["dpkg-deb", "-x", deb, temp / "x"], temp / "log")
            version = next((temp / "archives").glob(f"{PACKAGE}_*.deb")).name.split("_")[1].replace("%3a", ":")
            for name in ("doc", "man", "locale"):
                shutil.rmtree(temp / "x/usr/share" / name, ignore_errors=True)
            folder = cache() / f"qemu_{version.partition(':')[2] or version}"
            os.rename(temp / "x", folder)
        (folder / "ok").touch()
        return folder


def find():
    if not folders():
        raise LabError(f"--pt emulated needs a newer QEMU, which this fetches: {HERE}/lab qemu")
    return folders()[-1]


def plugin(folder):
    """The path of the plugin; built when it is not."""
    need("gcc")
    built = folder / f"ptemu_{digest(*[p.read_bytes() for p in SOURCES + HEADERS])}.so"
    with locked("ptemu"):
        if not built.exists():
            temporary = built.with_suffix(f".{os.getpid()}")
            run_logged(["gcc", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
                        f"-I{HERE}/ptemu/include", f"-I{HERE}/ptsim", "-o", temporary, *SOURCES], folder / "log")
            os.rename(temporary, built)
    return built


def command(folder, log, single, icount):
    """What QEMU is started with: its own loader and libraries, firmware and the plugin."""
    libraries = folder / LIBRARIES
    options = [f"log={log}"] if log else []
    if single:
        options.append("single=on" if icount is None else f"icount={icount}")
    return [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries), str(folder / "usr/bin/qemu-system-x86_64"),
            "-L", str(folder / "usr/share/seabios"), "-L", str(folder / "usr/share/qemu"),
            "-plugin", ",".join([str(plugin(folder)), *options])]


def environment(folder):
    return {**os.environ, "QEMU_MODULE_DIR": str(folder / LIBRARIES / "qemu")}
