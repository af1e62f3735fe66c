#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""start --known keeps only captures of new causes."""
import json
import os
import signal

import common

ANY = [*common.ANY_TIMER, "--cooldown", "100ms"]


class Known(common.HostTest):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(os.path.dirname(self.output), "known.json")

    def know(self, *causes):
        with open(self.file, "w") as file:
            json.dump({"version": 5, "causes": causes}, file)

    def start(self, code, *options):
        result = common.run_ctl("start", "--json", "--cpu", str(self.cpu), "--output", self.output,
                                "--known", self.file, *ANY, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return common.parse_lines(result.stdout)

    def folders(self):
        """The session removes the folder that it made if it is empty."""
        return super().folders() if os.path.exists(self.output) else []

    def test_known_ones_go(self):
        self.know({"fingerprint": "*"})
        lines = self.start(0, "--duration", "2s")
        taken = [line["path"] for line in lines if line["type"] == "capture"]
        self.assertEqual([line["path"] for line in lines if line["type"] == "removed"], taken)
        self.assertEqual((lines[-1]["known"], lines[-1]["new"], lines[-1]["unjudged"]),
                         (len(taken), 0, 0))
        self.assertEqual((self.folders(), lines[-1]["kept"]), ([], []))

    def test_new_ones_stay(self):
        self.know()
        summary = self.start(4, "--count", "2", "--duration", "60s")[-1]
        self.assertGreaterEqual(summary["new"], 2)
        self.assertEqual((summary["known"], summary["unjudged"], len(summary["kept"])),
                         (0, 0, summary["new"]))
        self.assertEqual(len(self.folders()), summary["new"])
        # From now on they are known, with any latency.
        self.know(*(
            {"fingerprint": line["fingerprint"]}
            for line in common.parse_lines(common.run_ctl("causes", "--json", self.output).stdout)
            if line["type"] == "cause"))
        self.assertEqual(common.run_ctl("causes", self.output, "--known", self.file).returncode, 0)

    def test_a_signal_waits_for_verdicts(self):
        self.know({"fingerprint": "*"})
        with common.Session([self.cpu], self.output, "--known", self.file, "--count", "1000",
                            *ANY) as session:
            session.read_capture()
            code = session.finish(signal.SIGINT)
        self.assertEqual((code, self.folders()), (0, []))
        self.assertEqual(session.lines[-1]["unjudged"], 0)

    def test_mistakes_are_found_before_it_begins(self):
        self.know({"fingerprint": "*", "expires": "soon"})
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output, "--known",
                                self.file)
        self.assertEqual(result.returncode, 2)
        self.assertIn("cause 1: expires is not a date", result.stderr)
        self.know()
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output, "--known",
                                self.file, "--keep-worst", "2")
        self.assertEqual(result.returncode, 2)
        self.assertFalse(os.path.exists(self.output))


if __name__ == "__main__":
    common.main()
