# SPDX-License-Identifier: GPL-2.0-only
"""The lab's cache, and helpers to fill it."""
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
        path = os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "perf-poke-lab")
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
    """Lets one process at a time make a thing in the cache."""
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
            raise LabError(f"{shlex.join(map(str, argv[:4]))} ... failed, see {log}:\n" +
                           "\n".join(tail))


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        raise LabError(
            f"missing: {' '.join(missing)} (tests/install-deps --lab installs what the lab needs)")


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, linux/prctl.h
