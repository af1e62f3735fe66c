# SPDX-License-Identifier: GPL-2.0-only
"""The distribution's rtla runs on the lab's timerlat and sees a timer that is late on purpose."""
import pathlib
import re
import shutil
import subprocess
import threading
import time

import guest
from guest import check, equal

INJECTED_US = 20000

if not shutil.which("rtla"):
    guest.skip("no rtla (Debian: rtla)")
guest.load("late_timer")
timer = threading.Timer(
    2, lambda: pathlib.Path("/sys/kernel/debug/late_timer/irqs_off").write_text(
        f"{guest.CPU} {INJECTED_US}\n"))
timer.start()
begin = time.monotonic()
out = subprocess.run(["rtla", "timerlat", "top", "-q", "-c",
                      str(guest.CPU), "-d", "4s"], capture_output=True, text=True, check=False)
timer.join()
equal(out.returncode, 0, f"exit status of rtla {out.stderr}")
row = re.search(rf"^ *{guest.CPU} #(\d+) +\| +(\d+) +(\d+) +(\d+) +(\d+) \|", out.stdout,
                re.MULTILINE)
check(row, f"no row of CPU {guest.CPU} in {out.stdout}")
print(
    f"rtla: {row[1]} timers, worst {row[5]} us late, with {INJECTED_US} us injected, in "
    f"{time.monotonic() - begin:.0f} s"
)
check(int(row[5]) >= INJECTED_US - 1500, f"the worst is only {row[5]} us")
