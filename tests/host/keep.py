#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which captures are kept, how often one is taken, and which thread is watched."""
import contextlib
import json
import os
import signal

import common

ANY = common.ANY_TIMER


def facts_of(capture):
    """None if the capture was removed for a worse one."""
    with contextlib.suppress(FileNotFoundError), open(os.path.join(capture["path"],
                                                                   "capture.json")) as file:
        return json.load(file)


class Keep(common.HostTest):
    def captures(self, *options):
        result = common.run_ctl("start", "--json", "--cpu", str(self.cpu), "--output", self.output,
                                *ANY, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = common.parse_lines(result.stdout)
        return [line for line in lines if line["type"] == "capture"], lines[-1]

    def test_the_worst_stay(self):
        captures, summary = self.captures("--keep-worst", "3", "--duration", "3s")
        self.assertGreater(len(captures), 3)
        worst = sorted(captures, key=lambda c: c["latency_ns"])[-3:]
        # Of equally bad captures the first one stays.
        self.assertEqual(sorted(c["latency_ns"] for c in captures if os.path.exists(c["path"])),
                         [c["latency_ns"] for c in worst])
        self.assertEqual(len(self.folders()), 3)
        # Once three are kept, only worse spikes are captured: far fewer than there are.
        self.assertGreater(summary["all"]["spikes"] - summary["all"]["unarmed"], len(captures))
        self.assertEqual(summary["captures"], len(captures))
        self.assertEqual(sorted(c["path"] for c in summary["kept"]),
                         sorted(os.path.join(self.output, name) for name in self.folders()))
        self.assertEqual({c["latency_ns"] for c in summary["kept"]},
                         {c["latency_ns"] for c in worst})

    def test_what_is_not_ours_stays(self):
        """A folder that is not ours, with the name of a capture to be removed."""
        with common.Session([self.cpu], self.output, *ANY, "--keep-worst", "1", "--cooldown",
                            "1500ms", "--count", "1000") as session:
            first = session.read_capture()
            path = first["path"]
            os.rename(path, path + ".mine")
            os.mkdir(path)
            open(os.path.join(path, "precious"), "w").close()
            # Spikes may come before the first capture is written, so wait for a capture that had to
            # be worse.
            for _ in range(50):
                facts = facts_of(session.read_capture())
                if facts and facts["floor_ns"]:
                    break
            status = common.parse_lines(common.run_ctl("status", "--json", session.name).stdout)[0]
            session.finish(signal.SIGINT)
        self.assertEqual(facts["threshold_ns"], 1000)
        self.assertGreaterEqual(facts["floor_ns"], first["latency_ns"] + 1)
        self.assertGreaterEqual(facts["spike"]["latency_ns"], facts["floor_ns"])
        self.assertGreaterEqual(status["threshold_ns"], facts["floor_ns"])
        self.assertTrue(os.path.exists(os.path.join(path + ".mine", "capture.json")))
        self.assertEqual(os.listdir(path), ["precious"])
        self.assertIn("is not the capture that was written", session.stderr)

    def bytes_of(self, paths):
        """Counts hard links once."""
        files = {}
        for path in paths:
            for top, _, names in os.walk(path):
                for stat in (os.stat(os.path.join(top, name)) for name in names):
                    files[stat.st_ino] = stat.st_size
        return sum(files.values())

    def test_the_disk_is_not_filled(self):
        first, = self.captures("--count", "1")[0]
        limit = self.bytes_of([first["path"]]) + (1 << 20)
        captures, _ = self.captures("--max-disk", str(limit), "--count", "30")
        self.assertEqual(len(captures), 30)
        kept = [c["path"] for c in captures if os.path.exists(c["path"])]
        self.assertTrue(kept)
        self.assertLess(len(kept), 30)
        self.assertLessEqual(self.bytes_of(kept), limit)
        # The sizes in `list` add up to the total.
        listed = common.parse_lines(common.run_ctl("list", "--json", self.output).stdout)
        self.assertAlmostEqual(sum(line["size_bytes"] for line in listed if line["path"] in kept),
                               self.bytes_of(kept), delta=1000)

    def test_what_does_not_fit(self):
        """The kernel's symbols alone exceed the limit."""
        captures, _ = self.captures("--max-disk", "1M", "--count", "2")
        self.assertEqual([c for c in captures if os.path.exists(c["path"])], [])
        self.assertLess(self.bytes_of([self.output]), 1 << 20)

    def test_cooldown(self):
        captures, summary = self.captures("--cooldown", "300ms", "--count", "4")
        times = [c["time_ns"] for c in captures]
        for before, after in zip(times, times[1:]):
            self.assertGreaterEqual(after - before, 300 * 10**6)
        self.assertGreater(summary["all"]["unarmed"], 0)

    def test_the_workloads_thread(self):
        """A thread's latency starts at the expiry of its timer, and is never less than its
        interrupt's."""
        captures, _ = self.captures("--trigger", "thread=1us", "--count", "5")
        for capture in captures:
            self.assertEqual(capture["trigger"], "thread")
            self.assertEqual(capture["function_name"], "hrtimer_wakeup")
            self.assertEqual(capture["latency_ns"], capture["thread_ns"])
            self.assertGreaterEqual(capture["thread_ns"], capture["irq_ns"])
            facts = common.facts(capture["path"])
            self.assertEqual(facts["trigger"]["thresholds_ns"], {"thread": 1000})
            self.assertEqual(facts["spike"]["thread_ns"], capture["thread_ns"])
            self.assertIn("thread-", os.path.basename(capture["path"]))

    def test_any_wakeup(self):
        with common.busy(self.cpu):
            captures, _ = self.captures("--trigger", "wakeup=1us", "--task",
                                        "pp-cyclic/%d" % self.cpu, "--count", "3")
        for capture in captures:
            self.assertEqual(capture["trigger"], "wakeup")
            self.assertIsNone(capture["irq_ns"])
            self.assertEqual(capture["cpu"], self.cpu)


if __name__ == "__main__":
    common.main()
