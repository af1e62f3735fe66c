#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl causes --sql, with SQLite and a PostgreSQL server of its own.

usage: causes_sql.py CTL
"""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import zlib

import services
from made import stack_capture as capture

CTL = os.path.abspath(sys.argv.pop(1))
FLUSH = "irqs-off/acme_flush:" + f"{zlib.crc32(b'v2 irqs-off acme_flush<acme_write<[write]'):08x}"
HOSTILE = "'); DROP TABLE perf_poke_causes; --\"$1\\"


class Sql(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def ctl(self, *args, code=0):
        result = subprocess.run([CTL, "causes", *args], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=60, check=False)
        if "built without" in result.stderr:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, code, result)
        return result

    def fill(self, host="one"):
        for i in range(3):
            capture(self.folder / f"captures/one/20261121-0930{i:02}.000-cpu1-83us", latency_us=80 + i, host=host, second=i)
        path = self.folder / "captures/one/20261121-093010.000-cpu2-50us"
        capture(path, "acme_drain", 50, 2, host, 10)
        about = json.loads((path / "capture.json").read_text())
        about["spike"]["comm"] = HOSTILE
        (path / "capture.json").write_text(json.dumps(about))

    def check(self, url, rows):
        """`rows` runs a query."""
        self.fill(HOSTILE)
        for _ in range(2):  # the second time changes nothing
            self.ctl("captures", "--sql", url)
            self.assertEqual(rows("SELECT fingerprint, kind, cause, worst_ns FROM perf_poke_causes ORDER BY worst_ns DESC")[0],
                             [FLUSH, "irqs-off", "v2 irqs-off acme_flush<acme_write<[write]", "82000"])
            self.assertEqual(rows("SELECT count(*), count(DISTINCT fingerprint), min(host), max(host) FROM perf_poke_captures"),
                             [["4", "2", HOSTILE, HOSTILE]])
            self.assertEqual(rows("SELECT task, cpu, capture FROM perf_poke_captures WHERE latency_ns = 50000"),
                             [[HOSTILE[:15], "2", "captures/one/20261121-093010.000-cpu2-50us"]])
        # A worse one of a known cause, from another host.
        capture(self.folder / "more/20261122-093010.000-cpu2-90us", latency_us=90, host="two", second=3)
        self.ctl("more", "--sql", url)
        self.assertEqual(rows(f"SELECT worst_ns, count(*), count(DISTINCT host) FROM perf_poke_causes JOIN perf_poke_captures USING (fingerprint)"
                              f" WHERE fingerprint = '{FLUSH}' GROUP BY fingerprint, worst_ns"), [["90000", "4", "2"]])

    def test_sqlite(self):
        def rows(sql):
            db = sqlite3.connect(self.folder / "o'b.db")
            try:
                return [[str(value) for value in row] for row in db.execute(sql)]
            finally:
                db.close()
        self.check("sqlite:o'b.db", rows)
        self.assertRegex(rows("SELECT min(taken) FROM perf_poke_captures")[0][0], r"^2026-11-2\dT\d\d:\d\d:\d\d\.\d{6}Z$")

    def test_postgresql(self):
        with services.postgresql() as url:
            self.check(url(), lambda sql: services.query(url(), sql))
            result = self.ctl("captures", "--sql", url("nothing") + "&password=secret", code=1)
            self.assertIn("--sql: postgresql: ", result.stderr)
            self.assertIn("nothing is written", result.stderr)
            self.assertNotIn("secret", result.stderr)

    def test_mistakes(self):
        self.fill()
        for url in "mysql://host/db", "sqlite:", "file.db":
            self.assertIn("not a database (use sqlite:FILE or postgresql://HOST/NAME)", self.ctl("captures", "--sql", url, code=2).stderr)
        (self.folder / "text").write_text("no database" * 100)
        self.assertIn("--sql: sqlite: ", self.ctl("captures", "--sql", "sqlite:text", code=1).stderr)
        self.assertIn("--sql: sqlite: ", self.ctl("captures", "--sql", "sqlite:no/folder", code=1).stderr)


if __name__ == "__main__":
    unittest.main()
