# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""libperfpoke as ctypes sees it: perf_poke.h documents each function and struct.

Structs of the library may be longer than here, never shorter: tests/unit/python.py compares them.
Of the options only the head is known; the rest are zero bytes that perf_poke__opts_set() fills.
"""
from __future__ import annotations

import ctypes
import json
import os
from typing import Any
from ctypes import POINTER, c_bool, c_char, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p

OPTS_SIZE = 4096
AXIS_TRIGGER = 1
LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG = range(4)


class Choice(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_int), ("help", c_char_p)]


class Option(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("letter", c_char), ("metavar", c_char_p), ("help", c_char_p),
                ("axis", c_int), ("required", c_bool), ("repeatable", c_bool)]


class Capture(ctypes.Structure):
    """The head; capture_json() has the rest."""

    _fields_ = [("sz", c_size_t), ("error", c_int)]


class Stats(ctypes.Structure):
    _fields_ = [("sz", c_size_t), ("count", c_uint64), ("min_ns", c_uint64), ("max_ns", c_uint64),
                ("sum_ns", c_uint64), ("spikes", c_uint64), ("unarmed", c_uint64),
                ("missed", c_uint64), ("last_ns", c_uint64), ("not_entered", c_uint64),
                ("reentered", c_uint64), ("thread_died", c_uint64), ("no_room", c_uint64)]


class Report(ctypes.Structure):
    _fields_ = [("sz", c_size_t), ("expected_ns", c_uint64), ("actual_ns", c_uint64),
                ("tid", c_int), ("cpu", c_int), ("label", c_char_p)]


LogFn = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
CaptureFn = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Capture))
PathFn = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class OptsHead(ctypes.Structure):
    _fields_ = [("sz", c_size_t), ("log", LogFn), ("log_ctx", c_void_p), ("on_capture", CaptureFn),
                ("on_removed", PathFn), ("capture_ctx", c_void_p), ("owned", c_void_p)]


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
    "capture_json": (c_void_p, [POINTER(Capture)]),
    "capture_number": (c_int, [POINTER(Capture), c_char_p, POINTER(c_uint64)]),
    "capture_text": (c_char_p, [POINTER(Capture), c_char_p]),
}

_library = ctypes.CDLL(os.environ.get("PERF_POKE_LIBRARY_PATH", "libperfpoke.so.0"))
for _name, (_returns, _takes) in _FUNCTIONS.items():
    _function = getattr(_library, "perf_poke__" + _name)
    _function.restype = _returns
    _function.argtypes = _takes
_free = ctypes.CDLL(None).free
_free.argtypes = [c_void_p]


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


def fields(capture: ctypes._Pointer[Capture]) -> dict[str, Any]:
    """Those of capture_json(), which is freed."""
    found = _library.perf_poke__capture_json(capture)
    if not found:
        raise MemoryError
    try:
        return dict(json.loads(ctypes.string_at(found)))
    finally:
        _free(found)


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
