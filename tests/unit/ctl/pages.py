#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The pages of `causes --html` and `export --html --normal` in headless Chromium: charts, flame
charts, what a click tells, themes.

usage: pages.py CTL SPIKE.TAR.ZST [FOLDER]; FOLDER takes a screenshot of each. 77 where there is no
Chromium.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from browser import browser as started, check, equal  # noqa: E402
from made import frame, stack_capture as capture  # noqa: E402

CTL, SAMPLE = sys.argv[1:3]
SHOTS = sys.argv[3:]
# Of WCAG 2: what normal text needs.
CONTRAST = 4.5
FRAMES = "[...document.querySelectorAll('#flame button')]"
# The least contrast of a frame's name, and how far the content is wider than the window.
LOOKS = """(() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const light = (colour) => {
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((byte) => {
            const c = byte / 255;
            return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const contrast = (frame) => {
        const style = getComputedStyle(frame);
        const [a, b] = [light(style.color), light(style.backgroundColor)];
        return Math.max(a, b) / Math.min(a, b);
    };
    const wide = [document.documentElement, ...document.querySelectorAll(".wide")]
        .map((part) => part.scrollWidth - part.clientWidth);
    return [Math.min(21, ...%s.map(contrast)), Math.max(...wide)];
})()""" % FRAMES


def ctl(*args):
    subprocess.run([CTL, *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True,
                   timeout=120)


def text(browser, selector):
    return browser.run(f"document.querySelector('{selector}').textContent")


# What is drawn outside of the chart, as [text, x, width]; and how wide the page is, at least.
CUT = """(() => {
    const kind = CanvasRenderingContext2D.prototype, old = kind.fillText, cut = [];
    const before = { left: 0, center: 0.5, right: 1 };
    kind.fillText = function (text, x, y) {
        const room = this.measureText(text).width;
        const left = x - room * (before[this.textAlign] || 0);
        if (left < 0 || left + room > this.canvas.clientWidth) cut.push([text, left, room]);
        old.call(this, text, x, y);
    };
    dispatchEvent(new Event("resize"));
    kind.fillText = old;
    return cut;
})()"""
# The width of the page beyond the window, and the most lines of a cell with numbers.
NARROW = """(() => {
    const lines = [...document.querySelectorAll("table:not(#facts) th, table:not(#facts) td")]
        .filter((cell) => cell.className === "" && cell.closest("tr").className.indexOf("why"))
        .map((cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getClientRects().length;
        });
    const names = [...document.querySelectorAll("td.name")].map((cell) => cell.clientWidth);
    const wider = document.documentElement.scrollWidth - innerWidth;
    return [wider, Math.max(0, ...lines), Math.min(...names)];
})()"""


def check_narrow(browser, page):
    """A telephone's: nothing is out of sight, but what its table scrolls."""
    for width in (420, 1200):
        browser.resize(width)
        equal(browser.run(CUT), [], f"{page.name}, {width} pixels: cut")
        wider, lines, name = browser.run(NARROW)
        check(wider <= 0, f"{page.name}: {wider} pixels wider than {width}")
        check(lines < 2, f"{page.name}: a number takes {lines} lines")
        check(name > 30, f"{page.name}: a name has {name} pixels")
        browser.chart()
        for folder in SHOTS:
            pathlib.Path(folder, f"{page.stem}.{width}.png").write_bytes(browser.screenshot())


def check_looks(browser, page):
    shots = []
    check_narrow(browser, page)
    for theme in ("light", "dark"):
        browser.theme(theme)
        contrast, wider = browser.run(LOOKS)
        check(contrast >= CONTRAST, f"{theme}: a frame's name has a contrast of {contrast:.2f}")
        check(wider <= 0, f"{theme}: {wider} pixels are out of sight")
        browser.chart()
        shots.append(browser.screenshot())
        for folder in SHOTS:
            pathlib.Path(folder, f"{page.stem}.{theme}.png").write_bytes(shots[-1])
    check(shots[0] != shots[1], "light is as dark")
    browser.check_harmless(page.name)
    browser.events.clear()


def fill(folder):
    for i in range(3):
        capture(folder / f"20261121-0930{i:02}.000-cpu1-83us", latency_us=80 + i, second=i)
    capture(folder / "20261121-093010.000-cpu2-50us", "acme_drain", 50, 2, second=10)


def check_causes(browser, folder):
    """A point for each capture; a click on a cause hides its own."""
    fill(folder / "plain")
    page = folder / "plain.html"
    ctl("causes", folder / "plain", "--html", page)
    browser.open(page)
    equal(text(browser, "#title"), "2 causes of 4 captures", "title")
    equal(browser.run("places.map((place) => place.cause.count)"), [3, 3, 3, 1], "points")
    browser.run("document.querySelector('tr.link').click()")
    equal(browser.run("places.map((place) => place.cause.count)"), [1], "points after a click")
    equal(browser.run("[...document.querySelectorAll('tr.off')].map((row) => row.className)"),
          ["link off", "why off"], "hidden rows")
    x, y = browser.run(
        "(() => { const box = canvas.getBoundingClientRect(); return [places[0].x + box.x, "
        "places[0].y + box.y]; })()"
    )
    browser.mouse("mouseMoved", x, y)
    check(
        re.match(r"irqs-off/acme_drain:\w+: 50us at 2026-11-2\d \d\d:30:10, one, CPU 2: "
                 r".*-cpu2-50us$", text(browser, "#details")), text(browser, "#details"))
    # Dates as the command prints them; a link to each capture, from where the page is.
    for printed in re.findall(r"2026-11-\S+ \S+", subprocess.run(
            [CTL, "causes", folder / "plain"], capture_output=True, text=True,
            check=True).stdout):
        check(printed in text(browser, "#causes"), printed)
    links = browser.run("[...document.querySelectorAll('a')].map((link) => link.href)")
    equal(len(links), 7, "links: of the point, of the worst of each, and of all")
    for path in (folder / "plain").iterdir():
        check(path.resolve().as_uri() in links, f"{path}: {links}")
    check_looks(browser, page)


def check_normal(browser, folder):
    """Of the sample: late_timer_spin, by itself, is what took longer."""
    ctl("open", "-q", SAMPLE, "-o", folder / "spike")
    about = folder / "spike/capture.json"
    told = json.loads(about.read_text())
    told["hardware"] = {"since_ns": 2000000000, "nmis": 3, "steal_ns": 190000}
    told["spike"]["stack"] = [frame("acme_flush"), frame("acme_write"), frame("vfs_write")]
    about.chmod(0o600)
    about.write_text(json.dumps(told))
    page = folder / "export.html"
    ctl("export", "-q", folder / "spike", "--html", page, "--normal")
    browser.open(page)
    browser.wait("document.body.dataset.painted > 0")
    check(not browser.run("document.getElementById('normal').hidden"), "the comparison is hidden")
    # What the report says of the capture.
    printed = subprocess.run([CTL, "report", folder / "spike"], capture_output=True, text=True,
                             check=True).stdout
    facts = text(browser, "#facts")
    for name in "fingerprint", "hardware":
        row = re.search(rf"^  {name} +(\S.*)$", printed, re.MULTILINE)
        check(row and row[1] in facts, f"{name}: {row and row[1]}: {facts}")
    stack = re.search(r"^what the timer's interrupt hit\n((?:  .*\n?)+)", printed, re.MULTILINE)
    equal(browser.run("[...document.querySelectorAll('#stacks li')].map((item) => item.innerText)"),
          [line.strip() for line in stack[1].splitlines()], "stack")
    equal(text(browser, "#stacks h2"), "What the timer's interrupt hit", "title of the stack")
    check("(median of 15, p99 148us); here 227us more" in text(browser, "#normal_sentence"),
          text(browser, "#normal_sentence"))
    check("expiry to interrupt" in text(browser, "#normal_steps"), text(browser, "#normal_steps"))
    names = browser.run(f"{FRAMES}.map((frame) => frame.title)")
    check(names[:1] == ["worker_thread"] and "late_timer_spin" in names, f"frames: {names}")
    browser.run(f"{FRAMES}.find((frame) => frame.title === 'late_timer_spin').click()")
    found = text(browser, "#normal_details")
    check(
        re.match(
            r"late_timer_spin, function: here 22\d\.\dus, normally 0ns; .*\+22\d\.\dus; .* of 15 "
            r"normal activations have it$",
            found), found)
    browser.run("document.getElementById('normal').scrollIntoView()")
    check_looks(browser, page)

    page = folder / "alone.html"
    ctl("export", "-q", folder / "spike", "--html", page)
    browser.open(page)
    browser.wait("document.body.dataset.painted > 0")
    check(browser.run("document.getElementById('normal').hidden"),
          "there is a comparison without --normal")
    browser.check_harmless(page.name)


def main():
    with tempfile.TemporaryDirectory(prefix="perf-poke-pages-") as folder, started() as browser:
        for test in (check_causes, check_normal):
            test(browser, pathlib.Path(folder))


main()
