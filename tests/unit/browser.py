# SPDX-License-Identifier: GPL-2.0-only
"""Headless Chromium, for the tests of pages."""
import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

SKIP = 77
PATIENCE_S = 120
# Without requests of its own.
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync")


def equal(got, expected, what):
    if got != expected:
        sys.exit(f"FAILED: {what}: {got!r}, not {expected!r}")


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


class Browser:
    """Speaks Chromium's protocol over pipes, with NUL-terminated messages."""

    def __init__(self, program, folder):
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()

        def take_pipes():
            # Neither descriptor may be in the other's place.
            pipes = [
                os.dup(fd) if fd > 9 else os.dup2(fd, 20 + n)
                for n, fd in enumerate((to_browser, from_browser))
            ]
            os.dup2(pipes[0], 3)
            os.dup2(pipes[1], 4)

        self.process = subprocess.Popen([
            program, "--headless=new", *FLAGS, "--disable-dev-shm-usage", "--remote-debugging-pipe",
            f"--user-data-dir={folder}", "--window-size=1200,1200", "about:blank"
        ], preexec_fn=take_pipes, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None

    def close(self):
        self.process.kill()
        self.process.wait()

    def message(self):
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self.buffer:
            check(
                select.select([self.reader], [], [], max(end - time.monotonic(), 0))[0],
                "Chromium does not answer")
            data = os.read(self.reader, 1 << 20)
            check(data, "Chromium ended")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.writer, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                check("error" not in answer, f"{method}: {answer}")
                return answer["result"]
            self.events.append(answer)

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def run(self, code):
        result = self.call("Runtime.evaluate", expression=code, returnByValue=True,
                           awaitPromise=True)
        check("exceptionDetails" not in result, f"{code}: {result}")
        return result["result"].get("value")

    def wait(self, code):
        end = time.monotonic() + PATIENCE_S
        while not self.run(code):
            check(time.monotonic() < end, f"still not: {code}")
            time.sleep(0.05)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def screenshot(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def open(self, page):
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait("document.readyState === 'complete' && document.body !== null")

    def resize(self, width, height=1200):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name}])

    def check_harmless(self, name):
        """Nothing but the page of this name was requested, and nothing went wrong."""
        asked = [
            event["params"]["request"]["url"] for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        check(asked and all(url.startswith("file:///") and url.endswith(name) for url in asked),
              f"asked for: {asked}")
        # Only errors: Chromium warns because this test reads the canvas back often.
        said = [
            event for event in self.events
            if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled")
            or event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"
        ]
        equal(said, [], "what the browser complains about")

    def chart(self):
        """The chart's contents, once drawn."""
        return self.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => "
            "done(document.getElementById('chart').toDataURL()))))")


@contextlib.contextmanager
def browser():
    """Ends the test where there is no Chromium."""
    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        print("skipped: no Chromium (tests/install-deps --browser installs it)")
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory(prefix="perf-poke-browser-",
                                     ignore_cleanup_errors=True) as folder:
        found = Browser(program, folder)
        try:
            found.attach()
            yield found
        finally:
            found.close()
