#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl causes on folders and archives: groups, exit codes, kept fingerprints, the page.

usage: causes.py CTL
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

from made import stack_capture as capture

CTL = os.path.abspath(sys.argv.pop(1))
FLUSH = "irqs-off/acme_flush:" + f"{zlib.crc32(b'v2 irqs-off acme_flush<acme_write<[write]'):08x}"


class Causes(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def fill(self, host="one"):
        for i in range(3):
            capture(self.folder / f"captures/{host}/20261121-0930{i:02}.000-cpu1-83us", latency_us=80 + i, host=host, second=i)
        capture(self.folder / f"captures/{host}/20261121-093010.000-cpu2-50us", "acme_drain", 50, 2, host, 10)

    def ctl(self, *args, code=0, **more):
        result = subprocess.run([CTL, *args], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                check=False, **more)
        self.assertEqual(result.returncode, code, result)
        return result

    def lines(self, *args, code=0):
        return [json.loads(line) for line in self.ctl("causes", "--json", *args, code=code).stdout.splitlines()]

    def test_report_and_list_tell_it(self):
        self.fill()
        one = "captures/one/20261121-093000.000-cpu1-83us"
        self.assertIsNone(json.loads(self.ctl("list", "--json", "captures/one").stdout.splitlines()[0])["fingerprint"])
        self.assertEqual(json.loads(self.ctl("report", "--json", one).stdout)["fingerprint"]["id"], FLUSH)
        self.assertIn(f"  fingerprint  {FLUSH}\n", self.ctl("report", one).stdout)
        listed = [json.loads(line) for line in self.ctl("list", "--json", "captures/one").stdout.splitlines()]
        self.assertEqual([line["fingerprint"] for line in listed], [FLUSH, None, None, None])
        self.ctl("list", "--why", "captures/one")
        self.assertIn(FLUSH, self.ctl("list", "captures/one").stdout)

    def test_keeps_what_it_found(self):
        self.fill()
        self.ctl("causes", "captures")
        kept = sorted(self.folder.glob("captures/one/*/*"))
        self.assertEqual({path.name for path in kept}, {"capture.json", "fingerprint.json"})
        path = self.folder / "captures/one/20261121-093010.000-cpu2-50us/fingerprint.json"
        about = json.loads(path.read_text())
        # The file is read, but its hash is computed again.
        about["fingerprint"].update(chain=["other"], id="irqs-off/lie:00000000")
        path.write_text(json.dumps(about))
        self.assertEqual(self.lines("captures")[1]["fingerprint"], f"irqs-off/other:{zlib.crc32(b'v2 irqs-off other'):08x}")
        for text in ("", "{", "[]", '{"version": 2}', '{"version": 2, "fingerprint": {"kind": 7}}', '{"version": 99, "fingerprint": null}',
                     '{"version": 2, "fingerprint": {"kind": "a", "chain": ["b<c"]}}'):
            path.write_text(text)
            self.assertIn("acme_drain", self.lines("captures")[1]["fingerprint"], text)
            self.assertIn("acme_drain", path.read_text())

    def test_leaves_a_folder_alone_that_is_read_only(self):
        self.fill()
        folder = self.folder / "captures/one/20261121-093010.000-cpu2-50us"
        folder.chmod(0o555)
        self.assertEqual(len(self.lines("captures")), 3)
        self.assertEqual([path.name for path in folder.iterdir()], ["capture.json"])
        folder.chmod(0o755)

    def test_takes_archives(self):
        self.fill()
        self.ctl("archive", "-q", "captures/one/20261121-093010.000-cpu2-50us", "-o", "one.tar.zst")
        self.assertEqual(self.lines("one.tar.zst")[0]["example"], "one.tar.zst")
        shutil.move(self.folder / "one.tar.zst", self.folder / "captures")
        self.assertEqual(self.lines("captures")[-1]["captures"], 5)
        self.assertEqual(self.lines("captures", "--max-size", "100", code=1)[-1]["unreadable"], 1)
        (self.folder / "captures/broken.tar.zst").write_bytes(b"none")
        self.assertEqual(self.lines("captures", code=1)[-1]["unreadable"], 1)

    def test_known_and_new(self):
        self.fill()
        self.ctl("causes", "captures/one", "--save", "known.json")
        self.assertEqual({line.get("state") for line in self.lines("captures", "--known", "known.json")}, {"known", None})
        capture(self.folder / "captures/one/20261121-093020.000-cpu1-60us", "acme_new", 60)
        self.assertIn("new", [line.get("state") for line in self.lines("captures", "--known", "known.json", code=4)])
        shutil.rmtree(self.folder / "captures/one/20261121-093020.000-cpu1-60us")
        capture(self.folder / "captures/one/20261121-093021.000-cpu1-110us", "acme_flush", 110)
        self.assertIn("worse", [line.get("state") for line in self.lines("captures", "--known", "known.json", code=4)])
        self.ctl("causes", "captures", "--known", "known.json", "--worse", "50")
        # New causes are accepted; people's additions are kept.
        text = (self.folder / "known.json").read_text().replace('"count": 3', '"count": 3, "comment": "ticket 7", "expires": "2999-12-31"')
        (self.folder / "known.json").write_text(text)
        self.ctl("causes", "captures", "--known", "known.json", "--save", "known.json", "--force", code=4)
        self.assertRegex((self.folder / "known.json").read_text(), '"expires": "2999-12-31",\n *"comment": "ticket 7"')
        self.ctl("causes", "captures", "--known", "known.json")
        (self.folder / "known.json").write_text((self.folder / "known.json").read_text().replace("2999", "2001"))
        self.assertIn("was known until 2001-12-31", self.ctl("causes", "captures", "--known", "known.json", code=4).stdout)

    def test_a_new_function_below_a_known_chain_is_new(self):
        """However long the chain that called it, and whatever its file still says of it."""
        capture(self.folder / "known/20261121-093000.000-cpu1-40us", "ext4_writepages", 40)
        self.ctl("causes", "known", "--save", "known.json")
        capture(self.folder / "night/20261122-093000.000-cpu1-40us", "brand_new_driver_bug", 40, below="ext4_writepages")
        found = self.lines("night", "--known", "known.json", code=4)
        self.assertEqual([(line["fingerprint"].split(":")[0], line["state"]) for line in found[:-1]], [("irqs-off/brand_new_driver_bug", "new")])

    def test_hundreds_of_causes_are_saved_at_once(self):
        for i in range(400):
            capture(self.folder / f"captures/20261121-093000.{i:03}-cpu1-83us", f"acme_{i}_flush", second=i % 60)
        self.ctl("causes", "captures", "--save", "known.json")
        begin = time.monotonic()
        self.ctl("causes", "captures", "--known", "known.json", "--save", "known.json", "--force")
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(len(json.loads((self.folder / "known.json").read_text())["causes"]), 400)

    def test_never_passes_without_having_seen_anything(self):
        self.fill()
        self.ctl("causes", "captures", "--save", "known.json")
        self.ctl("causes", "nowhere", "--known", "known.json", code=1)
        (self.folder / "empty").mkdir()
        self.ctl("causes", "empty", "--known", "known.json", code=3)
        self.ctl("causes", "empty", "--save", "other.json", code=3)
        self.assertFalse((self.folder / "other.json").exists())
        # A poke is no spike.
        capture(self.folder / "poked/20261121-093020.000-poke", latency_us=0, poked=True)
        self.ctl("causes", "poked", "--known", "known.json", code=3)
        broken = self.folder / "captures/one/20261121-093030.000-cpu1-60us"
        broken.mkdir()
        self.assertIn("20261121-093030.000-cpu1-60us: ", self.ctl("causes", "captures", "--known", "known.json", code=1).stderr)
        self.ctl("causes", "captures", "--save", "other.json", code=1)
        self.assertFalse((self.folder / "other.json").exists())
        capture(self.folder / "captures/one/20261121-093031.000-cpu1-60us", "acme_new", 60)
        self.ctl("causes", "captures", "--known", "known.json", code=4)

    def test_refuses(self):
        (self.folder / "known.json").write_text('{ "version": 2, "causes": [\n{} ] }')
        result = self.ctl("causes", "captures", "--known", "known.json", code=2)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertIn("--known 'known.json': cause 1: fingerprint is missing", result.stderr)
        self.ctl("causes", "captures", "--known", "nothing.json", code=2)
        self.ctl("causes", "--worse", "20", code=2)

    def test_page(self):
        self.fill()
        self.ctl("causes", "captures", "--html", "page.html")
        page = (self.folder / "page.html").read_text()
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
        self.assertEqual([len(cause["points"]) for cause in data], [3, 1])
        self.assertEqual(data[0]["points"][0][1:4], [80000, 1, "one"])
        self.assertNotRegex(page, r"https?://")

    def test_is_stable(self):
        """The same captures in another order of the folder, and with other pids and addresses."""
        self.fill()
        self.ctl("causes", "captures", "--save", "a.json")
        for path in self.folder.glob("captures/one/*/capture.json"):
            path.write_text(path.read_text().replace("0xffffffffc0000017", "0xffffffffa1234567").replace('"pid": 7', '"pid": 4711'))
        for path in self.folder.glob("captures/one/*/fingerprint.json"):
            path.unlink()
        begin = time.monotonic()
        self.ctl("causes", "captures", "--save", "b.json")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual((self.folder / "a.json").read_text(), (self.folder / "b.json").read_text())


if __name__ == "__main__":
    unittest.main()
