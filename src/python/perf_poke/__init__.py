# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Catch what is late, and keep what the CPU did before.

import perf_poke

for capture in perf_poke.Session(cpus="3", threshold="50us"): print(capture.path,
capture.spike.latency_ns, capture.spike.comm)

Options are those of `perf-poke-ctl start` that concern the session, with _ for -: options() lists
them. Messages of the library go to the logger "perf_poke". What reads captures needs no privileges;
a session needs root.
"""
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import logging
import os
import types
import weakref
from typing import Any, Callable, Iterator, NamedTuple, Union

from . import _library as lib

__all__ = [
    "Bucket", "Capture", "Error", "Frame", "Holder", "Option", "Session", "Spike", "Stats",
    "captures", "options", "read", "version"
]

Value = Union[str, int, float, bool, "list[str]", None]
_LEVELS = {lib.LOG_ERROR: logging.ERROR, lib.LOG_WARN: logging.WARNING, lib.LOG_INFO: logging.INFO}
_POLL_MS = 1000

logger = logging.getLogger("perf_poke")
logger.addHandler(logging.NullHandler())


class Error(OSError):
    """The library has refused or failed: errno, and its message."""


class Frame(NamedTuple):
    """One of a stack; see struct perf_poke_frame."""

    address: int
    symbol: str | None
    file: str | None
    offset: int
    user: bool


@dataclasses.dataclass(frozen=True)
class Bucket:
    """Of a histogram: `count` latencies of low_ns <= latency < high_ns; None: without a limit."""

    low_ns: int
    high_ns: int | None
    count: int


class Holder(NamedTuple):
    """Who had the CPU when a late thread was to run; `interrupted`: at the timer's interrupt, else
    where it gave up the CPU."""

    pid: int
    tid: int
    interrupted: bool
    stack: tuple[Frame, ...]


class Spike(types.SimpleNamespace):
    """What was late: the fields `spike` of perf_poke__capture_json(), such as latency_ns. Times are
    CLOCK_MONOTONIC."""

    stack: tuple[Frame, ...]
    holder: Holder | None


class Capture(types.SimpleNamespace):
    """A capture: the fields of perf_poke__capture_json(), such as recorder and skid_ns. None: not
    known."""

    path: str
    spike: Spike
    buckets: tuple[Bucket, ...]  # of a capture on disk: latencies up to the spike

    def number(self, path: str) -> int | None:
        """Of capture.json, which it reads again: names joined by dots, such as
        "hardware.idle_states.0.exit_latency_ns", as in perf-poke-capture(5). None: missing, or not
        known.
        """
        value = ctypes.c_uint64()
        with _opened(self.path) as found:
            code = lib.call("capture_number", found, path.encode(), ctypes.byref(value))
        if code and code != -errno.ENOENT:
            raise Error(-code, f"{path}: not a number from 0 on")
        return None if code else value.value

    def text(self, path: str) -> str | None:
        """A text, as number(). None: missing, or not a text. It is not trusted: it may have control
        characters."""
        with _opened(self.path) as found:
            return lib.text_of("capture_text", found, path.encode())


class Option(NamedTuple):
    """An option of Session; `metavar` is None if it takes no value."""

    name: str
    metavar: str | None
    help: str
    repeatable: bool


@dataclasses.dataclass(frozen=True)
class Stats:
    """Latencies so far; see struct perf_poke_stats."""

    count: int
    min_ns: int
    max_ns: int
    sum_ns: int
    spikes: int
    unarmed: int
    # Of the trigger span, what is not measured.
    not_entered: int = 0
    reentered: int = 0
    thread_died: int = 0
    no_room: int = 0


def _raise(code: int, prefix: str = "") -> None:
    message = lib.text_of("last_error") or os.strerror(-code)
    raise Error(-code, prefix + message)


def _stack(frames: list[dict[str, Any]] | None) -> tuple[Frame, ...]:
    return tuple(
        Frame(int(frame["address"], 16), frame.get("symbol"),
              frame["file" if frame["user"] else "module"], frame["offset"] or 0, frame["user"])
        for frame in frames or ())


def _capture(found: ctypes._Pointer[lib.Capture]) -> Capture:
    fields = lib.fields(found)
    spike = fields["spike"]
    spike["stack"] = _stack(spike["stack"])
    spike["holder"] = Holder(spike["holder_pid"], spike["holder_tid"], spike["holder_interrupted"],
                             _stack(spike["holder"])) if "holder" in spike else None
    fields["spike"] = Spike(**spike)
    fields["buckets"] = tuple(Bucket(*row) for row in fields["buckets"])
    return Capture(**fields)


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[ctypes._Pointer[lib.Capture]]:
    found = ctypes.POINTER(lib.Capture)()
    code = lib.call("capture_open", ctypes.byref(found), os.fsencode(path))
    if code:
        _raise(code)
    try:
        yield found
    finally:
        lib.do("capture_close", found)


def _log(_: int | None, level: int, message: bytes) -> None:
    logger.log(_LEVELS.get(level, logging.DEBUG), "%s", os.fsdecode(message))


def _collector(found: list[Capture]) -> Callable[[object, ctypes._Pointer[lib.Capture]], None]:
    def collect(_: object, capture: ctypes._Pointer[lib.Capture]) -> None:
        # What could not be written has been logged.
        if not capture.contents.error:
            found.append(_capture(capture))

    return collect


def _free(session: ctypes.c_void_p, _: object) -> None:
    lib.do("free", session)


def version() -> str:
    """Of the library."""
    return lib.text_of("version") or ""


def options() -> list[Option]:
    """What Session takes, in the order of --help."""
    found: list[Option] = []
    while row := lib.option(len(found)):
        found.append(
            Option(
                lib.text(row.name) or "", lib.text(row.metavar),
                lib.text(row.help) or "", row.repeatable))
    return found


def read(path: str | os.PathLike[str]) -> Capture:
    """A capture on disk; Error if it is not one."""
    with _opened(path) as found:
        return _capture(found)


def captures(folder: str | os.PathLike[str] = "perf-poke.data") -> Iterator[Capture]:
    """Those of a folder, oldest first; what cannot be read is left out, with a message to the
    logger."""
    paths: list[bytes] = []
    code = lib.call("captures", os.fsencode(folder), lib.PathFn(lambda _, path: paths.append(path)),
                    None)
    if code < 0:
        raise Error(-code, os.strerror(-code), os.fspath(folder))
    for path in paths:
        try:
            yield read(os.fsdecode(path))
        except Error as error:
            logger.warning("%s", error.strerror)


class Session:
    """One armed run: an iterator of its captures, and a context manager.

    Iterating starts it, and stops it at the end: after `count` captures (1, or with `keep_worst` no
    limit; pokes do not count), or where the loop is left.
    Within `with`, poll() may be called instead. One thread at a time, but for report(), poke(),
    arm() and disarm().
    """

    def __init__(self, cpus: str, **options: Value) -> None:
        self._pp = ctypes.c_void_p()
        self._found: list[Capture] = []
        self._count: int | None = 1
        self._taken = 0
        opts = lib.Opts()
        opts.head.sz = lib.OPTS_SIZE
        opts.head.log, opts.head.on_capture = callbacks = lib.LogFn(_log), lib.CaptureFn(
            _collector(self._found))
        try:
            chosen: dict[str, Value] = {"cpu": cpus, **options}
            for name, value in chosen.items():
                self._set(opts, name.replace("_", "-"), value)
            if options.get("count") is not None:
                self._count = int(str(options["count"]))
            elif options.get("keep_worst", options.get("keep-worst")) is not None:
                self._count = None
            code = lib.call("new", ctypes.byref(self._pp), ctypes.byref(opts))
            if code:
                _raise(code)
        finally:
            lib.do("opts_release", ctypes.byref(opts))
        # Also where the program ends: kernel settings are to be put back. The library calls the
        # callbacks until then.
        weakref.finalize(self, _free, self._pp, callbacks)

    def _set(self, opts: lib.Opts, name: str, value: Value) -> None:
        if value is None:
            return
        words: list[str | int | float] = [*value] if isinstance(value, list) else [value]
        for one in words:
            word = ("no", "yes")[one] if isinstance(one, bool) else str(one)
            code = lib.call("opts_set", ctypes.byref(opts), name.encode(), os.fsencode(word))
            if code:
                _raise(code, f"{name} '{word}': ")

    def start(self) -> None:
        """Arm."""
        code = lib.call("start", self._pp)
        if code:
            _raise(code)

    def stop(self) -> list[Capture]:
        """Disarm. Returns the captures that nobody has taken yet; statistics stay readable."""
        lib.call("stop", self._pp)
        return self._take()

    def _take(self) -> list[Capture]:
        taken = self._found[:]
        self._found.clear()
        self._taken += sum(not capture.spike.poked for capture in taken)
        return taken

    def poll(self, timeout: float | None = None) -> list[Capture]:
        """Wait, at most so many seconds, and return what captures there are. Another process may
        have ended the session: Error with errno.ECANCELED.
        """
        code = lib.call("poll", self._pp, -1 if timeout is None else int(timeout * 1000))
        if code < 0 and code not in (-errno.EINTR, -errno.EIO):
            _raise(code)
        return self._take()

    def fileno(self) -> int:
        """Readable while poll() has work to do; of a started session."""
        code = lib.call("fd", self._pp)
        if code < 0:
            raise Error(-code, os.strerror(-code))
        return code

    def poke(self) -> None:
        """Take a capture now. Any thread."""
        code = lib.call("poke", self._pp)
        if code:
            raise Error(-code, os.strerror(-code))

    def arm(self) -> None:
        """Take spikes again. Any thread."""
        lib.do("arm", self._pp)

    def disarm(self) -> None:
        """Take no spikes until arm(). Any thread."""
        lib.do("disarm", self._pp)

    def report(self, expected_ns: int, actual_ns: int = 0, *, label: str | None = None,
               cpu: int = -1, tid: int = 0) -> bool:
        """Report what was late, for trigger="report=TIME": times are time.monotonic_ns(), 0 is now.
        Returns whether it is a spike that is captured. Any thread.
        """
        report = lib.Report(ctypes.sizeof(lib.Report), expected_ns, actual_ns, tid, cpu,
                            None if label is None else os.fsencode(label))
        code = lib.call("report", self._pp, ctypes.byref(report))
        if code < 0:
            raise Error(-code, os.strerror(-code))
        return bool(code)

    def stats(self, trigger: str = "irq", cpu: int = -1) -> Stats:
        """Of one trigger, on one CPU or on all together."""
        kind = lib.trigger_kind(trigger)
        stats = lib.Stats(ctypes.sizeof(lib.Stats))
        code = lib.call("stats", self._pp, -1 if kind is None else kind, cpu, ctypes.byref(stats))
        if code:
            raise Error(-code, os.strerror(-code))
        return Stats(*(getattr(stats, field.name) for field in dataclasses.fields(Stats)))

    def __enter__(self) -> Session:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        self.stop()

    def __iter__(self) -> Iterator[Capture]:
        starts = lib.call("fd", self._pp) < 0
        left: list[Capture] = []
        if starts:
            self.start()
        try:
            while self._count is None or self._taken < self._count:
                yield from self.poll(_POLL_MS / 1000)
        except Error as error:
            if error.errno not in (errno.ECANCELED, errno.ESRCH):
                raise
        finally:
            if starts:
                left = self.stop()
        yield from left
