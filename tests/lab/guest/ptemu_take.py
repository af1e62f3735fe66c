# SPDX-License-Identifier: GPL-2.0-only
"""Leaves a capture of a late timer for the host. usage: ptemu_take.py PERF_POKE_CTL FOLDER, in a guest with --pt emulated"""
import shutil
import sys

import capture
import common
import ptemu

ptemu.load()
common.load("late_timer")
taken = capture.take(sys.argv[1], "/tmp/ptemu_take", buffer="1M")[0]
common.equal(common.counter("unexplained"), 0, "steps that no packet tells")
shutil.copytree(taken.folder, f"{sys.argv[2]}/capture")
