#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf-poke-ctl causes - reads the journal's export format, also as journalctl writes it.

usage: causes_journal.py CTL
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zlib

import services

CTL = os.path.abspath(sys.argv.pop(1))


def entry(function="acme_flush", host="one", latency_us=80, **more):
    cause = f"v2 irqs-off {function}<acme_write<[write]"
    return {"MESSAGE": "late", "_HOSTNAME": host, "PERF_POKE_CAUSE": cause, "PERF_POKE_CPU": 1, "PERF_POKE_LATENCY_NS": latency_us * 1000,
            "PERF_POKE_FINGERPRINT": f"irqs-off/{function}:{zlib.crc32(cause.encode()):08x}", "PERF_POKE_CAPTURE": "/captures/a=b",
            "PERF_POKE_TIME": "2026-11-21T09:30:15.042000Z", "PERF_POKE_SENTENCE": "it was late", **more}


class Journal(unittest.TestCase):
    def read(self, data, code=0):
        result = subprocess.run([CTL, "causes", "--json", "-"], input=data, capture_output=True, timeout=60, check=False)
        self.assertEqual(result.returncode, code, result)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def check(self, lines):
        self.assertEqual([(line["fingerprint"], line["count"], line["worst_ns"], line["hosts"]) for line in lines[:-1]],
                         [(entry()["PERF_POKE_FINGERPRINT"], 2, 81000, ["one", "two"]),
                          (entry("acme_drain")["PERF_POKE_FINGERPRINT"], 1, 80000, ["one"])])
        self.assertEqual((lines[0]["first_ns"], lines[0]["example"], lines[0]["sentence"]),
                         (1795253415042000000, "/captures/a=b", "it was late"))

    ENTRIES = [entry(), {"MESSAGE": "of others\nin two lines", "_HOSTNAME": "one"}, entry("acme_drain"), entry(host="two", latency_us=81)]

    def test_reads_entries(self):
        self.check(self.read(services.export(self.ENTRIES)))

    def test_reads_what_journalctl_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            services.journal(f"{folder}/all.journal", self.ENTRIES)
            self.check(self.read(services.journalctl(f"{folder}/all.journal", "-o", "export")))

    def test_a_lie_is_counted(self):
        for lie in ({"PERF_POKE_CAUSE": "v2 irqs-off other"}, {"PERF_POKE_CAUSE": "v9 irqs-off acme_flush"}, {"PERF_POKE_CAUSE": ""},
                    {"PERF_POKE_CAUSE": "v2 irqs-off a<" + "b" * 2000}, {"PERF_POKE_CAUSE": "v2 x y from"}):
            lines = self.read(services.export([entry(**lie), entry("acme_drain")]), code=1)
            self.assertEqual((lines[-1]["captures"], lines[-1]["unreadable"]), (1, 1), lie)

    def test_other_data(self):
        self.read(b"", code=3)
        for data in b"\x28\xb5\x2f\xfd\0\0\0", b"KEY\n" + b"\xff" * 8 + b"x", b"KEY\n\1\0\0\0\0\0\0\0xy", b"PERF_POKE_CPU\n\5":
            self.read(data, code=1)
        whole = services.export(self.ENTRIES)
        for size in range(0, len(whole), 7):  # ends anywhere
            result = subprocess.run([CTL, "causes", "--json", "-"], input=whole[:size], capture_output=True, timeout=60, check=False)
            self.assertIn(result.returncode, (0, 1, 3))


if __name__ == "__main__":
    unittest.main()
