# SPDX-License-Identifier: GPL-2.0-only
"""What commands show of an archived capture: the same on the machine that took it and on one of
another architecture."""
import json
import pathlib
import subprocess

from bundle import run

COMMANDS = {
    "report": ["report"], "json": ["report", "--json"], "causes": ["causes"],
    "html": ["export", "--quiet", "--html", "page.html"]
}


def shown(ctl, archive, folder):
    """Output of each command for what is in the archive, by name."""
    name = archive.name.partition(".")[0]
    folder.mkdir()
    run([ctl, "open", archive, "-o", name, "-q"], folder)
    found = {kind: run([ctl, words[0], name, *words[1:]], folder)
             for kind, words in COMMANDS.items()}
    found["html"] = (folder / "page.html").read_bytes()
    return found


def save(found, folder):
    folder.mkdir()
    for kind, data in found.items():
        (folder / kind).write_bytes(data)


def take(ctl, folder, archive, *options):
    """The capture is late by what the machine does anyway."""
    argv = [ctl, "start", "--json", "--threshold", "1us", "--count", "1", "--duration", "60s",
            "--buffer", "256K", "--output", folder, *options]
    out = subprocess.run([*map(str, argv)], stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    path, = [pathlib.Path(line["path"]) for line in lines if line["type"] == "capture"]
    subprocess.run([ctl, "archive", path, "-o", archive], check=True)
