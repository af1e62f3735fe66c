# SPDX-License-Identifier: GPL-2.0-only
"""Reads a trace.dat by KernelShark's library: how many entries it has, and the last one's time.

usage: kshark.py FILE...; exits with 77 if there is no libkshark"""
import ctypes
import ctypes.util
import sys

SKIP = 77


class Entry(ctypes.Structure):
    """struct kshark_entry of libkshark 2"""
    _fields_ = [("next", ctypes.c_void_p), ("visible", ctypes.c_uint16),
                ("stream_id", ctypes.c_int16), ("event_id", ctypes.c_int16),
                ("cpu", ctypes.c_int16), ("pid", ctypes.c_int32), ("offset", ctypes.c_int64),
                ("ts", ctypes.c_int64)]


def library():
    """None if it is not there."""
    name = ctypes.util.find_library("kshark")
    if not name:
        return None
    kshark = ctypes.CDLL(name)
    kshark.kshark_load_entries.restype = ctypes.c_ssize_t
    return kshark


def read(kshark, path):
    context, rows = ctypes.c_void_p(), ctypes.POINTER(ctypes.POINTER(Entry))()
    if not kshark.kshark_instance(ctypes.byref(context)):
        raise OSError("kshark_instance")
    stream = kshark.kshark_open(context, str(path).encode())
    if stream < 0:
        raise OSError(f"kshark_open: {path}")
    number = kshark.kshark_load_entries(context, stream, ctypes.byref(rows))
    if number <= 0:
        raise OSError(f"kshark_load_entries: {path}: {number}")
    times = [rows[i].contents.ts for i in range(number)]
    kshark.kshark_close(context, stream)
    kshark.kshark_free(context)
    return number, times


def main():
    kshark = library()
    if not kshark:
        print("skipped: no libkshark (libkshark2)")
        sys.exit(SKIP)
    for path in sys.argv[1:]:
        number, times = read(kshark, path)
        print(f"{path}: {number} entries, in order: {times == sorted(times)}, the last at "
              f"{times[-1]}")


if __name__ == "__main__":
    main()
