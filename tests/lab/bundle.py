# SPDX-License-Identifier: GPL-2.0-only
"""Compares what commands show of a capture: where it was taken, and elsewhere from its archive."""
import os
import pathlib
import subprocess

NOBODY = 65534
# If the tests do not run as root, the guest's user must not be root either.
AS_NOBODY = [
    "setpriv", "--reuid",
    str(NOBODY), "--regid",
    str(NOBODY), "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"
]
if os.geteuid():
    AS_NOBODY = []
NAMES = ("pt", "events")
# Files that exist only where a capture is taken
PROGRAM = pathlib.Path("/var/lib/acme-of-the-guest")
FIELDS = "comm,tid,cpu,time,flags,ip,sym,symoff,addr"


def run(command, folder, before=()):
    result = subprocess.run([*before, *map(str, command)], cwd=folder, stdin=subprocess.DEVNULL,
                            capture_output=True, check=False,
                            env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)})
    if result.returncode:
        raise SystemExit(
            f"FAILED: {command}: exit status {result.returncode}: {result.stderr.decode()}")
    return result.stdout


def stock_perf(folder, name):
    """perf script, as in the README."""
    binaries = ["--buildid-dir", f"{name}/buildid"] if (folder / name / "buildid").is_dir() else []
    decode = ["--itrace=be", "-F", FIELDS] if name == "pt" else []
    return ["perf", *binaries, "script", "-i", f"{name}/perf.data", "--ns", *decode]


def shown(ctl, folder, name, before=()):
    """Output of each command for the capture `name` in the folder."""
    commands = {
        "report": [ctl, "report", name], "script": [ctl, "script", name, "--quiet", "--all"],
        "perf": stock_perf(folder, name)
    }
    found = {kind: run(command, folder, before) for kind, command in commands.items()}
    kind, option = ("fxt", "-o") if name == "pt" else ("html", "--html")
    run([ctl, "export", name, "--quiet", option, f"{name}.{kind}"], folder, before)
    return {**found, kind: (folder / f"{name}.{kind}").read_bytes()}


def save(found, folder, name):
    folder.mkdir(exist_ok=True)
    for kind, data in found.items():
        (folder / f"{name}.{kind}").write_bytes(data)


def opened(ctl, archives, folder):
    """Opens all archives as user nobody in `folder`, which is created for that user."""
    folder.mkdir()
    if AS_NOBODY:
        os.chown(folder, NOBODY, NOBODY)
    found = {}
    for name in NAMES:
        with open(archives / f"{name}.tar.zst", "rb") as file:
            subprocess.run([*AS_NOBODY, ctl, "open", "-", "-o", name, "-q"], stdin=file, cwd=folder,
                           stdout=subprocess.DEVNULL, check=True)
        found[name] = shown(ctl, folder, name, AS_NOBODY)
    return found
