#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl causes on folders and archives: groups, exit codes, what is kept of them, the page.

usage: causes.py CTL
"""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

from made import stack_capture as capture

CTL = os.path.abspath(sys.argv.pop(1))
OTHERS = {
    name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")
}
FLUSH = "irqs-off/acme_flush:" + f"{zlib.crc32(b'v5 irqs-off acme_flush<acme_write<[write]'):08x}"


class Causes(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.cache = self.folder / "cache"
        self.environment = {"XDG_CACHE_HOME": str(self.cache)}

    def fill(self, host="one"):
        for i in range(3):
            capture(self.folder / f"captures/{host}/20261121-0930{i:02}.000-cpu1-83us",
                    latency_us=80 + i, host=host, second=i)
        capture(self.folder / f"captures/{host}/20261121-093010.000-cpu2-50us", "acme_drain", 50, 2,
                host, 10)

    def ctl(self, *args, code=0):
        result = subprocess.run([CTL, *args], cwd=self.folder, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=60, check=False,
                                env={**OTHERS, **self.environment})
        self.assertEqual(result.returncode, code, result)
        return result

    def lines(self, *args, code=0):
        return [
            json.loads(line)
            for line in self.ctl("causes", "--json", *args, code=code).stdout.splitlines()
        ]

    def test_report_and_list_tell_it(self):
        self.fill()
        one = "captures/one/20261121-093000.000-cpu1-83us"
        self.assertIsNone(
            json.loads(self.ctl("list", "--json",
                                "captures/one").stdout.splitlines()[0])["fingerprint"])
        self.assertEqual(
            json.loads(self.ctl("report", "--json", one).stdout)["fingerprint"]["id"], FLUSH)
        self.assertIn(f"  fingerprint  {FLUSH}\n", self.ctl("report", one).stdout)
        listed = [
            json.loads(line)
            for line in self.ctl("list", "--json", "captures/one").stdout.splitlines()
        ]
        self.assertEqual([line["fingerprint"] for line in listed], [FLUSH, None, None, None])
        self.ctl("list", "--why", "captures/one")
        self.assertIn(FLUSH, self.ctl("list", "captures/one").stdout)

    def kept(self):
        return sorted(path for path in self.cache.rglob("*") if path.is_file())

    def test_keeps_what_it_found_out_of_the_captures(self):
        self.fill()
        self.ctl("list", "--why", "captures/one")
        self.assertEqual(sorted(path.name for path in self.folder.glob("captures/one/*/*")),
                         ["capture.json"] * 4)
        kept = self.kept()
        self.assertEqual(len(kept), 4)
        self.assertEqual({path.stat().st_mode & 0o77 for path in self.cache.rglob("*")}, {0})
        # It is used, by what the capture is and not by where it is.
        for path in kept:
            about = json.loads(path.read_text())
            path.write_text(json.dumps({**about, "sentence": "kept " + "long " * 300 + "end"}))
        shutil.move(self.folder / "captures/one", self.folder / "captures/other")
        for text in self.ctl("list", "--why",
                             "captures/other").stdout, self.ctl("causes", "captures").stdout:
            self.assertIn("kept long ", text)
            self.assertIn(" long end\n", text)
        self.assertIn("kept", self.lines("captures")[0]["sentence"])
        self.assertNotIn("kept",
                         self.ctl("report", "captures/other/20261121-093010.000-cpu2-50us").stdout)
        # Neither a changed capture nor an entry of another decoder.
        path = next(self.folder.glob("captures/*/*-cpu2-*/capture.json"))
        path.write_text(path.read_text().replace("acme_drain", "acme_sink"))
        self.assertEqual(
            [line["fingerprint"].split(":")[0] for line in self.lines("captures")[:-1]],
            ["irqs-off/acme_flush", "irqs-off/acme_sink"])
        for path in self.kept():
            path.write_text(path.read_text().replace("perf-poke ", "perf-poke-"))
        self.assertNotIn("kept", self.ctl("causes", "captures").stdout)

    def test_entries_that_are_broken_are_made_again(self):
        capture(self.folder / "one", "acme_drain")
        found = self.ctl("list", "--why", "one").stdout
        path, = self.kept()
        about = json.loads(path.read_text())
        for wrong in ("", "{", "[]", "null", {**about, "fingerprint": {"kind": 7}
                                              }, {**about, "sentence": 7}, {**about, "key": None},
                      {**about, "fingerprint": {"version": 5, "kind": "a", "chain": ["b<c"]}}):
            path.write_text(wrong if isinstance(wrong, str) else json.dumps(wrong))
            self.assertEqual(self.ctl("list", "--why", "one").stdout, found)
            self.assertEqual(json.loads(path.read_text()), about)

    def test_the_cache_is_bounded(self):
        capture(self.folder / "one", "acme_drain")
        self.ctl("list", "--why", "one")
        path, = self.kept()
        path.unlink()
        for i in range(100):
            path.with_name(f"{i}.json").write_text("{}")
            os.utime(path.with_name(f"{i}.json"), (i, i))
        self.ctl("list", "--why", "one")
        self.assertEqual({path.name for path in self.kept()},
                         {path.name, *(f"{i}.json" for i in range(37, 100))})

    def test_a_cache_is_not_needed(self):
        self.fill()
        found = self.lines("captures")
        shutil.rmtree(self.cache)
        readable = self.folder / "others"
        readable.mkdir()
        readable.chmod(0o777)
        for environment in {}, {"HOME": "/nowhere"}, {"XDG_CACHE_HOME": "relative"
                                                      }, {"XDG_CACHE_HOME": str(readable)
                                                          }, {"XDG_CACHE_HOME": "/dev/null"}:
            self.environment = environment
            self.assertEqual(self.lines("captures"), found, environment)
        self.assertEqual(list(readable.iterdir()), [])

    def test_what_is_named_by_an_address_is_not_kept(self):
        place = {
            "address": "0x401234", "symbol": None, "module": None, "offset": 0x1234, "user": True,
            "file": "/opt/prog", "build_id": "11" * 20
        }
        capture(self.folder / "one", "acme_drain", stack=[place], irqs_off=False)
        self.assertIn("prog+0x1234", self.ctl("list", "--why", "one").stdout)
        self.assertEqual(self.kept(), [])

    def test_a_fingerprint_in_a_capture_is_not_believed(self):
        capture(self.folder / "one", "acme_drain")
        (self.folder / "one/fingerprint.json").write_text(
            json.dumps({
                "version": 5, "fingerprint": {
                    "version": 5, "kind": "irqs-off", "chain": ["harmless"], "sender": None
                }, "sentence": "all good"
            }))
        self.assertIn("irqs-off/acme_drain", self.lines("one")[0]["fingerprint"])

    def test_lists_a_hundred_in_a_second(self):
        """Of CPU time: the machine may be busy."""
        for i in range(100):
            capture(self.folder / f"captures/20261121-093000.{i:03}-cpu1-83us", f"acme_{i}",
                    second=i % 60)
        self.ctl("list", "--why", "captures")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.ctl("list", "--why", "captures")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)

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
        self.assertEqual(
            {line.get("state") for line in self.lines("captures", "--known", "known.json")},
            {"known", None})
        capture(self.folder / "captures/one/20261121-093020.000-cpu1-60us", "acme_new", 60)
        self.assertIn(
            "new",
            [line.get("state") for line in self.lines("captures", "--known", "known.json", code=4)])
        shutil.rmtree(self.folder / "captures/one/20261121-093020.000-cpu1-60us")
        capture(self.folder / "captures/one/20261121-093021.000-cpu1-110us", "acme_flush", 110)
        self.assertIn(
            "worse",
            [line.get("state") for line in self.lines("captures", "--known", "known.json", code=4)])
        self.ctl("causes", "captures", "--known", "known.json", "--worse", "50")
        # New causes are accepted; people's additions are kept.
        text = (self.folder / "known.json").read_text().replace(
            '"count": 3', '"count": 3, "comment": "ticket 7", "expires": "2999-12-31"')
        (self.folder / "known.json").write_text(text)
        self.ctl("causes", "captures", "--known", "known.json", "--save", "known.json", "--force",
                 code=4)
        self.assertRegex((self.folder / "known.json").read_text(),
                         '"expires": "2999-12-31",\n *"comment": "ticket 7"')
        self.ctl("causes", "captures", "--known", "known.json")
        (self.folder / "known.json").write_text(
            (self.folder / "known.json").read_text().replace("2999", "2001"))
        self.assertIn("was known until 2001-12-31",
                      self.ctl("causes", "captures", "--known", "known.json", code=4).stdout)

    def test_a_new_function_below_a_known_chain_is_new(self):
        """However long the chain that called it, and whatever its file still says of it."""
        capture(self.folder / "known/20261121-093000.000-cpu1-40us", "ext4_writepages", 40)
        self.ctl("causes", "known", "--save", "known.json")
        capture(self.folder / "night/20261122-093000.000-cpu1-40us", "brand_new_driver_bug", 40,
                below="ext4_writepages")
        found = self.lines("night", "--known", "known.json", code=4)
        self.assertEqual([(line["fingerprint"].split(":")[0], line["state"])
                          for line in found[:-1]], [("irqs-off/brand_new_driver_bug", "new")])

    def test_hundreds_of_causes_are_saved_at_once(self):
        for i in range(400):
            capture(self.folder / f"captures/20261121-093000.{i:03}-cpu1-83us", f"acme_{i}_flush",
                    second=i % 60)
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
        self.assertIn("20261121-093030.000-cpu1-60us: ",
                      self.ctl("causes", "captures", "--known", "known.json", code=1).stderr)
        self.ctl("causes", "captures", "--save", "other.json", code=1)
        self.assertFalse((self.folder / "other.json").exists())
        capture(self.folder / "captures/one/20261121-093031.000-cpu1-60us", "acme_new", 60)
        self.ctl("causes", "captures", "--known", "known.json", code=4)

    def test_refuses(self):
        (self.folder / "known.json").write_text('{ "version": 5, "causes": [\n{} ] }')
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
            path.write_text(path.read_text().replace("0xffffffffc0000017",
                                                     "0xffffffffa1234567").replace(
                                                         '"pid": 7', '"pid": 4711'))
        begin = time.monotonic()
        self.ctl("causes", "captures", "--save", "b.json")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual((self.folder / "a.json").read_text(), (self.folder / "b.json").read_text())


if __name__ == "__main__":
    unittest.main()
