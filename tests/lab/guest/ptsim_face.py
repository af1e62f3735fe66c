# SPDX-License-Identifier: GPL-2.0-only
"""ptsim looks like Intel PT in sysfs, and accepts and refuses what hardware does.
Usage: ptsim_face.py PATH_OF_AUX_EVENTS"""
import errno
import subprocess
import sys

import guest
from guest import CONFIG, check, equal

SIZE = 64 << 10
FORMAT = {"pt": "config:0", "cyc": "config:1", "pwr_evt": "config:4", "fup_on_ptw": "config:5", "mtc": "config:9",
          "tsc": "config:10", "noretcomp": "config:11", "ptw": "config:12", "branch": "config:13",
          "mtc_period": "config:14-17", "cyc_thresh": "config:19-22", "psb_period": "config:24-27",
          "event": "config:31", "notnt": "config:55"}
CAPS = {"max_subleaf": "1", "cr3_filtering": "1", "psb_cyc": "1", "ip_filtering": "1", "mtc": "1", "ptwrite": "0",
        "power_event_trace": "0", "event_trace": "0", "tnt_disable": "0", "topa_output": "1",
        "topa_multiple_entries": "1", "single_range_output": "1", "output_subsys": "0", "payloads_lip": "0",
        "num_address_ranges": "2", "mtc_periods": "249", "cycle_thresholds": "3fff", "psb_periods": "3f"}
BASE = CONFIG["pt"] | CONFIG["branch"] | CONFIG["tsc"]
TAKEN = [0, BASE, CONFIG["pt"], BASE | CONFIG["mtc"] | 9 << 14, BASE | 5 << 24, BASE | CONFIG["cyc"] | 13 << 19]
REFUSED = {
    "branch without pt": CONFIG["branch"], "ptw": BASE | 1 << 12, "fup_on_ptw": BASE | 1 << 5, "pwr_evt": BASE | 1 << 4,
    "event": BASE | 1 << 31, "notnt": BASE | 1 << 55, "a bit that is nothing": BASE | 1 << 60,
    "mtc_period=1": BASE | CONFIG["mtc"] | 1 << 14, "mtc_period=12": BASE | CONFIG["mtc"] | 12 << 14,
    "psb_period=6": BASE | 6 << 24, "cyc_thresh=14": BASE | 14 << 19,
}


def events(config=BASE):
    return guest.AuxEvents(sys.argv[1], SIZE, config, siblings=False)


def files(folder):
    return {f.name: f.read_text().strip() for f in (guest.PMU / folder).iterdir()}


def check_sysfs():
    equal(files("format"), FORMAT, "format")
    equal(files("caps"), CAPS, "caps")
    equal((guest.PMU / "nr_addr_filters").read_text(), "2\n", "nr_addr_filters")
    ratio = int((guest.PMU / "max_nonturbo_ratio").read_text())
    check(ratio > 0, f"max_nonturbo_ratio {ratio}")
    n, d = map(int, (guest.PMU / "tsc_art_ratio").read_text().split(":"))
    check(n > 0 and d > 0, f"tsc_art_ratio {n}:{d}")


def check_configs():
    for config in TAKEN:
        with events(config) as one:
            equal(one.answer, ["ready"], f"answer to config {config:#x}")
    for name, config in REFUSED.items():
        with events(config) as one:
            equal(one.answer, ["refused", "leader", str(errno.EINVAL)], f"answer to {name}")


def check_exclusive():
    with events() as first, events() as second:
        equal(first.answer, ["ready"], "answer to the first")
        equal(second.answer, ["refused", "leader", str(errno.EBUSY)], "answer to the second on one CPU")


def check_fail_start():
    """Makes the second start fail, and the next one succeed."""
    failed = guest.counter("failed_start")
    with events() as one:
        guest.set_parameter("fail_start", 2)
        one.do("enable")
        one.do("disable")
        equal(guest.counter("failed_start"), failed, "failed starts")
        one.do("enable")
        equal(guest.counter("failed_start"), failed + 1, "failed starts")
        # Newer kernels retry by themselves.
        one.do("disable")
        starts = guest.counter("start")
        one.do("enable")
        guest.wait_for(lambda: guest.counter("start") > starts, "start after the one that failed")


def takes_filter(text):
    return not subprocess.run(["perf", "record", "-e", "intel_pt//k", "--filter", text, "-C", "1", "-o", "/tmp/filtered", "true"],
                              capture_output=True, check=False).returncode


def check_filters():
    one = "filter 0xffffffff81000000/0x1000"
    check(takes_filter(one), "an address filter was refused")
    check(takes_filter(f"{one},{one}"), "two address filters were refused")
    for text in (f"{one},{one},{one}", "filter 0x1000/0x1000", "start 0xffffffff81000000", "stop 0xffffffff81000000",
                 "tracestop 0xffffffff81000000/0x1000"):
        check(not takes_filter(text), f"this was taken: {text}")


guest.load("ptsim")
check_sysfs()
check_configs()
check_exclusive()
check_fail_start()
check_filters()
guest.unload("ptsim")
