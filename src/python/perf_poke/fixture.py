# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A pytest plugin: a test whose loop overran fails, and has the capture.

pytest_plugins = ["perf_poke.fixture"]

def test_control_loop(overruns): watched = overruns(cpus="3", threshold="500us") while running:
expected_ns = wait_for_the_next_period() control() watched.report(expected_ns)

The fixture starts a session with the trigger `report`, whose captures, at most 10 unless `count`
says otherwise, are in tmp_path, and ends it when the test has. Where a report reached the threshold
the test fails with its latency; the report of the first capture is a section of the failure, and
the paths of all are properties of the test (`perf-poke-capture` in JUnit XML). Without root, the
test is skipped.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import threading
from typing import Callable, Iterator

import pytest

from . import Capture, Error, Session, Value

Overruns = Callable[..., Session]
_POLL_S = 0.1


class _Watch:
    """A session, and the thread that polls it: only then are rings copied while they still have the
    overrun."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.captures: list[Capture] = []
        self._error: Error | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        session.start()
        self._thread.start()

    def _poll(self) -> None:
        try:
            while not self._ended.is_set():
                self.captures += self.session.poll(_POLL_S)
        except Error as error:
            self._error = error

    def finish(self) -> list[Capture]:
        """Error if the session has ended before."""
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join()
            self.captures += self.session.stop()
            if self._error:
                raise self._error
        return self.captures


_WATCHES = pytest.StashKey["list[_Watch]"]()


def _explain(capture: Capture) -> str:
    """What the capture shows, if the command line is installed."""
    tool = os.environ.get("PERF_POKE_CTL") or shutil.which("perf-poke-ctl")
    if not tool:
        return "perf-poke-ctl is not installed: it reports what the CPU did"
    result = subprocess.run([tool, "report", capture.path], capture_output=True, text=True,
                            check=False)
    return result.stdout or result.stderr


@pytest.fixture
def overruns(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Overruns]:
    """A function (cpus, threshold, options of Session) that returns the session to report to."""
    if os.geteuid():
        pytest.skip("perf-poke needs root")
    watches = request.node.stash.setdefault(_WATCHES, [])

    def watch(cpus: str, threshold: str, **options: Value) -> Session:
        defaults: dict[str, Value] = {
            "output": str(tmp_path / f"perf-poke-{len(watches)}"), "workload": "none", "count": 10
        }
        session = Session(cpus, trigger=f"report={threshold}", **{**defaults, **options})
        watches.append(_Watch(session))
        return session

    yield watch
    for one in watches:
        one.finish()


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """After the test itself, unless it has failed."""
    captures = [capture for watch in item.stash.get(_WATCHES, []) for capture in watch.finish()]
    if not captures:
        return
    for capture in captures:
        item.user_properties.append(("perf-poke-capture", capture.path))
    item.add_report_section("call", "perf-poke", _explain(captures[0]))
    worst = max(capture.spike.latency_ns for capture in captures)
    pytest.fail(
        f"{len(captures)} overrun{'s'[:len(captures) > 1]}, the longest {worst / 1000:g} us: "
        f"{captures[0].path}",
        pytrace=False)
