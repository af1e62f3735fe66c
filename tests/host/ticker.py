# SPDX-License-Identifier: GPL-2.0-only
"""ticker.py CPU PERIOD_US [CLOCK]: sleeps to each multiple of the period, so tickers of several
CPUs wake together."""
import ctypes
import os
import sys
import time

TIMER_ABSTIME = 1
NS_PER_S = 1000000000


class Timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]


def main():
    cpu, period_ns = int(sys.argv[1]), int(sys.argv[2]) * 1000
    clock = time.CLOCK_REALTIME if sys.argv[3:] == ["realtime"] else time.CLOCK_MONOTONIC
    libc = ctypes.CDLL(None)

    os.sched_setaffinity(0, [cpu])
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
    while True:
        wake_ns = (time.clock_gettime_ns(clock) // period_ns + 1) * period_ns
        libc.clock_nanosleep(clock, TIMER_ABSTIME,
                             ctypes.byref(Timespec(wake_ns // NS_PER_S, wake_ns % NS_PER_S)), None)


main()
