# SPDX-License-Identifier: GPL-2.0-only
"""The lab's cache, and what is needed to fill it."""
import contextlib
import ctypes
import fcntl
import hashlib
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys


class LabError(Exception):
    pass


def say(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def cache():
    path = os.environ.get("PERF_POKE_LAB_CACHE")
    if not path:
        path = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "perf-poke-lab")
    folder = pathlib.Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest(*parts):
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part if isinstance(part, bytes) else str(part).encode())
        sha.update(b"\0")
    return sha.hexdigest()[:12]


@contextlib.contextmanager
def locked(name):
    """Only one process at a time makes a thing in the cache."""
    with open(cache() / f".{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_logged(argv, log, **kwargs):
    with open(log, "ab") as out:
        out.write(f"$ {shlex.join(map(str, argv))}\n".encode())
        out.flush()
        if subprocess.run(argv, stdout=out, stderr=out, stdin=subprocess.DEVNULL, check=False,
                          preexec_fn=die_with_parent, **kwargs).returncode:
            tail = pathlib.Path(log).read_text(errors="replace").splitlines()[-15:]
            raise LabError(f"{shlex.join(map(str, argv[:4]))} ... failed, see {log}:\n" + "\n".join(tail))


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        raise LabError(f"missing: {' '.join(missing)} (tests/install-deps --lab installs what the lab needs)")


def apt_config(folder, *suites):
    """Options that make apt use these suites of the mirror that it is set up for, without touching the system."""
    out = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)|$(RELEASE)|$(REPO_URI)"],
                         capture_output=True, text=True, check=True).stdout
    uris = [line.split("|")[2] for line in out.splitlines() if "security" not in line.split("|")[1]]
    if not uris:
        raise LabError("apt knows no mirror: run apt-get update first")
    for sub in ("lists/partial", "archives/partial"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "sources.list").write_text("".join(f"deb [signed-by={keyring}] {uris[0]} {suite} main\n" for suite in suites))
    return ["-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
            "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache::archives={folder}/archives",
            "-o", f"Dir::Cache::pkgcache={folder}/pkgcache.bin", "-o", f"Dir::Cache::srcpkgcache={folder}/srcpkgcache.bin",
            "-o", "APT::Sandbox::User=root"]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, linux/prctl.h
