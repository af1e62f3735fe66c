# SPDX-License-Identifier: GPL-2.0-only
"""Opens what bundle_take.py has archived on another kernel, without any right. usage:
bundle_open.py PERF_POKE_CTL FOLDER"""
import os
import pathlib
import sys

import guest

CTL, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import bundle  # noqa: E402  # pylint: disable=wrong-import-position

guest.need_root()
pathlib.Path("/proc/sys/kernel/perf_event_paranoid").write_text("3")
pathlib.Path("/proc/sys/kernel/kptr_restrict").write_text("2")
guest.check(not bundle.PROGRAM.exists(), "the program that was traced is here")
for name, found in bundle.opened(CTL, FOLDER, pathlib.Path("/var/tmp/opened")).items():
    bundle.save(found, FOLDER / "there", name)
