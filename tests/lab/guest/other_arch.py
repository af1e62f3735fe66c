# SPDX-License-Identifier: GPL-2.0-only
"""Takes and archives captures on this architecture, with what commands show of them, and stores
what they show of those that another has taken.

usage: other_arch.py PERF_POKE_CTL FOLDER"""
import os
import pathlib
import sys

import guest

CTL, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import arches  # noqa: E402  # pylint: disable=wrong-import-position

HERE = pathlib.Path("/var/tmp/arches")
HERE.mkdir()
for recorder in ("events", "ftrace"):
    archive = FOLDER / f"guest-{recorder}.tar.zst"
    arches.take(CTL, HERE / recorder, archive, "--recorder", recorder, "--cpu", guest.CPU)
    arches.save(arches.shown(CTL, archive, HERE / f"shown-{recorder}"), FOLDER / f"here-{recorder}")
for archive in FOLDER.glob("host-*.tar.zst"):
    arches.save(arches.shown(CTL, archive, HERE / "host"), FOLDER / "there-host")
