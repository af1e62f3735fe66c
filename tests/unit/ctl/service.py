#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""systemd takes the unit without a complaint, and rates its sandbox as OK at least. Usage:
service.py PERF_POKE_CTL UNIT"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXPOSURE_MAX = "40"  # tenths


def analyze(*words):
    result = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True,
                            check=False, env=os.environ | {"LC_ALL": "C.UTF-8"})
    return result.returncode, result.stdout + result.stderr


def main():
    tool, unit = sys.argv[1:]
    if not shutil.which("systemd-analyze"):
        print("skipped: needs systemd-analyze (Debian: systemd)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "perf-poke@name.service")
        text, changed = re.subn(r"^ExecStart=\S+", f"ExecStart={os.path.abspath(tool)}",
                                pathlib.Path(unit).read_text(), flags=re.MULTILINE)
        assert changed == 1, text
        file.write_text(text)
        status, said = analyze("verify", "--man=no", str(file))
        assert not status and not said, said
        status, said = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}",
                               "--no-pager", str(file))
    if "nrecognized option" in said:
        print("skipped: systemd-analyze security has no --offline before systemd 250")
        return 77
    print(said.splitlines()[-1])
    assert not status, said
    return 0


if __name__ == "__main__":
    sys.exit(main())
