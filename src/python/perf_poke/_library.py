# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""libperfpoke as ctypes sees it: perf_poke.h documents each function and struct.

Structs of the library may be longer than here, never shorter: tests/unit/python.py compares them. Of the options only the
head is known; the rest are zero bytes that perf_poke__opts_set() fills.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_bool, c_char, c_char_p, c_double, c_int, c_size_t, c_uint8, c_uint64, c_void_p

OPTS_SIZE = 4096
UNKNOWN = 2**64 - 1
AXIS_TRIGGER = 1
LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG = range(4)


class Choice(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_int), ("help", c_char_p)]


class Option(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("letter", c_char), ("metavar", c_char_p), ("help", c_char_p), ("axis", c_int),
                ("required", c_bool), ("repeatable", c_bool)]


class Frame(ctypes.Structure):
    _fields_ = [("address", c_uint64), ("symbol", c_char_p), ("file", c_char_p), ("offset", c_uint64), ("user", c_bool),
                ("build_id_size", c_size_t), ("build_id", c_uint8 * 20)]


class Spike(ctypes.Structure):
    _fields_ = [("sz", c_size_t), ("sequence", c_uint64), ("time_ns", c_uint64), ("latency_ns", c_uint64),
                ("expected_ns", c_uint64), ("actual_ns", c_uint64), ("function", c_uint64), ("timer", c_uint64),
                ("function_name", c_char_p), ("cpu", c_int), ("pid", c_int), ("tid", c_int), ("comm", c_char * 16),
                ("idle", c_bool), ("poked", c_bool), ("rtla", c_bool), ("kind", c_int), ("threshold_ns", c_uint64),
                ("irq_ns", c_uint64), ("thread_ns", c_uint64), ("user_ns", c_uint64), ("has_noise", c_bool),
                ("noise_irq_ns", c_uint64), ("noise_softirq_ns", c_uint64), ("noise_thread_ns", c_uint64),
                ("noise_nmi_ns", c_uint64), ("ran_cpu", c_int), ("ran_watched", c_bool),
                ("stack", POINTER(POINTER(Frame))), ("stack_pid", c_int), ("stack_tid", c_int), ("nr_frames", c_size_t),
                ("branches", c_void_p), ("nr_branches", c_size_t), ("irqs_off", c_int), ("policy", c_int),
                ("rt_priority", c_int), ("nice", c_int), ("label", c_char * 64), ("noise_most_ns", c_uint64),
                ("holder", POINTER(POINTER(Frame))), ("holder_pid", c_int), ("holder_tid", c_int),
                ("nr_holder_frames", c_size_t), ("holder_interrupted", c_bool)]


class Bucket(ctypes.Structure):
    _fields_ = [("low_ns", c_uint64), ("high_ns", c_uint64), ("count", c_uint64)]


class Capture(ctypes.Structure):
    _fields_ = [("sz", c_size_t), ("error", c_int), ("path", c_char_p), ("spike", POINTER(Spike)), ("wall_ns", c_uint64),
                ("recorder", c_char_p), ("skid_ns", c_uint64), ("blind_ns", c_uint64), ("history_ns", c_uint64),
                ("events", c_uint64), ("lost", c_uint64), ("size", c_uint64), ("trace_bytes", c_uint64),
                ("bytes_after_spike", c_uint64), ("bytes_after_spike_exact", c_bool), ("kernel", c_char_p),
                ("hostname", c_char_p), ("buckets", POINTER(Bucket)), ("nr_buckets", c_size_t), ("control", c_bool)]


class Stats(ctypes.Structure):
    _fields_ = [("sz", c_size_t), ("count", c_uint64), ("min_ns", c_uint64), ("max_ns", c_uint64), ("sum_ns", c_uint64),
                ("spikes", c_uint64), ("unarmed", c_uint64), ("missed", c_uint64), ("last_ns", c_uint64), ("not_entered", c_uint64),
                ("reentered", c_uint64), ("thread_died", c_uint64), ("no_room", c_uint64)]


class Report(ctypes.Structure):
    _fields_ = [("sz", c_size_t), ("expected_ns", c_uint64), ("actual_ns", c_uint64), ("tid", c_int), ("cpu", c_int),
                ("label", c_char_p)]


LogFn = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
CaptureFn = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Capture))
PathFn = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class OptsHead(ctypes.Structure):
    _fields_ = [("sz", c_size_t), ("log", LogFn), ("log_ctx", c_void_p), ("on_capture", CaptureFn), ("on_removed", PathFn),
                ("capture_ctx", c_void_p), ("owned", c_void_p)]


class Opts(ctypes.Structure):
    _fields_ = [("head", OptsHead), ("rest", c_char * (OPTS_SIZE - ctypes.sizeof(OptsHead)))]


# Of each function: what it returns, and its parameters.
_FUNCTIONS: dict[str, tuple[type | None, list[type]]] = {
    "opts_set": (c_int, [POINTER(Opts), c_char_p, c_char_p]),
    "opts_release": (None, [POINTER(Opts)]),
    "option": (POINTER(Option), [c_size_t]),
    "new": (c_int, [POINTER(c_void_p), POINTER(Opts)]),
    "free": (None, [c_void_p]),
    "start": (c_int, [c_void_p]),
    "stop": (c_int, [c_void_p]),
    "poll": (c_int, [c_void_p, c_int]),
    "fd": (c_int, [c_void_p]),
    "poke": (c_int, [c_void_p]),
    "arm": (None, [c_void_p]),
    "disarm": (None, [c_void_p]),
    "report": (c_int, [c_void_p, POINTER(Report)]),
    "stats": (c_int, [c_void_p, c_int, c_int, POINTER(Stats)]),
    "percentile": (c_int, [c_void_p, c_int, c_int, c_double, POINTER(c_uint64)]),
    "name": (c_char_p, [c_int, c_int]),
    "choice": (POINTER(Choice), [c_int, c_size_t]),
    "last_error": (c_char_p, []),
    "version": (c_char_p, []),
    "captures": (c_int, [c_char_p, PathFn, c_void_p]),
    "capture_open": (c_int, [POINTER(POINTER(Capture)), c_char_p]),
    "capture_close": (None, [POINTER(Capture)]),
    "capture_number": (c_int, [POINTER(Capture), c_char_p, POINTER(c_uint64)]),
    "capture_text": (c_char_p, [POINTER(Capture), c_char_p]),
}

_library = ctypes.CDLL(os.environ.get("PERF_POKE_LIBRARY_PATH", "libperfpoke.so.0"))
for _name, (_returns, _takes) in _FUNCTIONS.items():
    _function = getattr(_library, "perf_poke__" + _name)
    _function.restype = _returns
    _function.argtypes = _takes


def call(name: str, *arguments: object) -> int:
    """Calls a function that returns an int."""
    return int(getattr(_library, "perf_poke__" + name)(*arguments))


def do(name: str, *arguments: object) -> None:
    """Calls a function that returns nothing."""
    getattr(_library, "perf_poke__" + name)(*arguments)


def text(value: bytes | None) -> str | None:
    """Of the library, which promises no encoding."""
    return None if value is None else os.fsdecode(value)


def text_of(name: str, *arguments: object) -> str | None:
    """Calls a function that returns a string."""
    return text(getattr(_library, "perf_poke__" + name)(*arguments))


def option(i: int) -> Option | None:
    found = _library.perf_poke__option(i)
    return found.contents if found else None


def trigger_kind(name: str) -> int | None:
    """The enum's value, or None."""
    i = 0
    while row := _library.perf_poke__choice(AXIS_TRIGGER, i):
        if text(row.contents.name) == name:
            return int(row.contents.value)
        i += 1
    return None
