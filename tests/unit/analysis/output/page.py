# SPDX-License-Identifier: GPL-2.0-only
"""The page of `export --html` in headless Chromium: it draws, describes what is clicked, searches,
and makes no network requests.

usage: page.py PAGE [SCREENSHOT]; PAGE is the program that writes one. 77 where there is no
Chromium.
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from browser import browser as started, check, equal  # noqa: E402

SLICES = 200000
ACTIVATIONS = 12


def text_of(browser, name):
    return browser.run(f"document.getElementById('{name}').textContent")


def open_page(browser, page):
    browser.open(page)
    browser.wait("document.body.dataset.painted > 0")
    equal(int(browser.run("document.body.dataset.spans")), SLICES + 2 + ACTIVATIONS, "slices")
    print(
        f"{SLICES} slices, {page.stat().st_size} bytes: painted after "
        f"{browser.run('document.body.dataset.painted')} ms"
    )


def check_click(browser):
    """Clicks in the middle of the time axis, in the first row of functions: below the tasks and
    interrupts off."""
    box = browser.run(
        "(({x, y, width}) => [x, y, "
        "width])(document.getElementById('chart').getBoundingClientRect())"
    )
    browser.run("document.getElementById('all').click()")
    before = browser.chart()
    # Until the slice is wide enough to hit.
    for _ in range(60):
        browser.mouse("mouseWheel", box[0] + box[2] / 2, box[1] + 80, deltaX=0, deltaY=-200)
    check(browser.chart() != before, "zooming changes nothing")
    row = 22 + 2 * (14 + 17 + 2) + 14 + 8
    for step in range(60):
        browser.click(box[0] + box[2] / 2 + 10 * step, box[1] + row)
        if text_of(browser, "details"):
            break
    found = text_of(browser, "details")
    check(
        found.startswith("function_") and "5 instructions" in found and "900ns" in found,
        f"clicked on: {found!r}")
    # The middle of the time is in that slice, within a pixel of the zoom.
    number = int(found.split("function_")[1].split("functions")[0])
    check(abs(number - SLICES // 4 % 997) <= SLICES / 2 / box[2], f"clicked on: {found!r}")


def check_search(browser):
    browser.run("document.getElementById('search').focus()")
    browser.call("Input.insertText", text="function_12")
    # 12 and 120 to 129 of 997, each of 900 ns.
    wanted = [n for n in range(SLICES // 2) if str(n % 997).startswith("12")]
    found = text_of(browser, "found")
    check(found.startswith(f"{len(wanted)} found, "), f"searched for: {found!r}")
    before = browser.chart()
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter",
                 windowsVirtualKeyCode=13)
    check(browser.chart() != before, "the next one is not shown")
    check(text_of(browser, "details").startswith("function_12"), text_of(browser, "details"))
    browser.run("document.getElementById('search').value = ''; "
                "document.getElementById('search').dispatchEvent(new Event('input'))")
    equal(text_of(browser, "found"), "", "after the search")


def check_histogram(browser):
    """The bar of the spike has its own color in each theme, with the rest to its left."""
    equal(text_of(browser, "latencies_title"), "Latencies up to this spike, of CPU 1",
          "above the histogram")
    check("190926" in text_of(browser, "statistics") and "98us" in text_of(browser, "statistics"),
          text_of(browser, "statistics"))
    check(
        "190926" in browser.run("document.getElementById('histogram').getAttribute('aria-label')"),
        "it is not told in words")
    # How many pixels have the colors of the spike and of the other bars, and where the first and
    # the last of them are
    found = browser.run(
        "(() => { const c = document.getElementById('histogram'), of = (name) => {"
        "const e = document.createElement('i'); e.style.color = `var(--${name})`; "
        "document.body.append(e);"
        "const rgb = getComputedStyle(e).color.match(/[0-9]+/g).slice(0, 3).map(Number); "
        "e.remove(); return rgb; };"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "return ['late', 'bar'].map((name) => { const w = of(name); let nr = 0, first = c.width, "
        "last = 0;"
        "for (let i = 0; i < d.length; i += 4) if (d[i] === w[0] && d[i + 1] === w[1] && d[i + 2] "
        "=== w[2]) {"
        "const x = i / 4 % c.width; nr++; first = Math.min(first, x); last = Math.max(last, x); } "
        "return [nr, first / c.width, last / c.width]; });"
        "})()")
    (late, _, late_last), (bars, bars_first, bars_last) = found
    check(
        late > 50 and bars > 1000 and bars_first < 0.2 and bars_last < late_last
        and late_last > 0.8, f"what is drawn: {found}")


def check_normal(browser):
    """The flame chart of the late activation beside the normal ones: what took longer is wide and
    red; what is clicked is told in numbers."""
    check(not browser.run("document.getElementById('normal').hidden"), "the comparison is hidden")
    found = text_of(browser, "normal_sentence")
    check(
        found.startswith("normally 100ns") and f"median of {ACTIVATIONS}" in found
        and "here 98.9us more" in found, found)
    check(
        "expiry to interrupt" in text_of(browser, "normal_steps")
        and "+98.9us" in text_of(browser, "normal_steps"), text_of(browser, "normal_steps"))
    frames = "[...document.querySelectorAll('#flame button')]"
    late = browser.run(f"{frames}.map((f) => [f.title, parseFloat(f.style.width)])")
    check(
        len(late) > 50 and sum(wide for name, wide in late if name.startswith("function_")) > 95,
        f"frames: {late}")
    browser.run(f"{frames}.find((f) => f.title.startsWith('function_')).click()")
    found = text_of(browser, "normal_details")
    check(
        "here 900ns, normally 0ns" in found
        and f" of {ACTIVATIONS} normal activations have it" in found, f"clicked on: {found!r}")
    browser.run("document.getElementById('normal_width').click()")
    normal = browser.run(f"{frames}.map((f) => f.title)")
    equal(normal, ["inner"], "what is normal")
    browser.run("document.getElementById('normal_width').click()")
    equal(len(browser.run(f"{frames}.map((f) => f.title)")), len(late), "frames after returning")


def check_themes(browser):
    shots, backgrounds = [], []
    for theme in ("light", "dark"):
        browser.theme(theme)
        browser.run("document.getElementById('spike').click()")
        browser.chart()
        check_histogram(browser)
        shots.append(browser.screenshot())
        backgrounds.append(browser.run("getComputedStyle(document.body).backgroundColor"))
        colors = browser.run(
            "(() => { const c = document.getElementById('chart'); const seen = new Set();"
            "const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, "
            "c.height).data.buffer);"
            "for (const p of d) seen.add(p); return seen.size; })()")
        check(colors > 10, f"{theme}: only {colors} colors")
    check(backgrounds[0] != backgrounds[1] and shots[0] != shots[1],
          f"light is as dark: {backgrounds}")
    return shots


def check_harmless(browser):
    """Names are shown as text, and nothing but the page was requested."""
    check("<img src=x" in text_of(browser, "facts"), "the hostile name is not shown")
    equal(browser.run("document.querySelectorAll('img').length"), 0, "images")
    check(
        browser.run("document.title").startswith("perf-poke: IRQ latency"), "the title was changed")
    browser.check_harmless("page.html")


def main():
    with tempfile.TemporaryDirectory(prefix="perf-poke-page-") as folder, started() as browser:
        page = pathlib.Path(folder, "page.html")
        subprocess.run([sys.argv[1], page, str(SLICES)], check=True)
        open_page(browser, page)
        check_click(browser)
        check_search(browser)
        check_normal(browser)
        shots = check_themes(browser)
        check_harmless(browser)
    for theme, shot in zip(("light", "dark"), shots):
        if len(sys.argv) > 2:
            pathlib.Path(f"{sys.argv[2]}.{theme}.png").write_bytes(shot)


main()
