#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""start --on-capture, --metrics and --log journal, with promtool, journald and journalctl as
witnesses."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import common

ANY = [*common.ANY_TIMER, "--cooldown", "100ms"]


class Fleet(common.HostTest):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.output).parent

    def find(self, program, path=None):
        found = shutil.which(program, path=path)
        if not found:
            self.skipTest(f"needs {program} (tests/install-deps --fleet)")
        return found

    def arguments(self, *options):
        return ("start", "--json", "--cpu", str(self.cpu), "--output", self.output, *ANY, *options)

    def start(self, *options, code=0):
        result = common.run_ctl(*self.arguments(*options))
        self.assertEqual(result.returncode, code, result.stderr)
        return common.parse_lines(result.stdout), result.stderr

    def test_a_command_for_each_capture(self):
        log = self.folder / "log"
        lines, _ = self.start(
            "--count", "3", "--on-capture",
            f'{{ cat; env | grep ^PERF_POKE_; taskset -pc $$; chrt -p $$; echo .; }} > {log}.$$; '
            f'echo out'
        )
        captures = {line["path"]: line for line in lines if line["type"] == "capture"}
        self.assertEqual(len(captures), 3)
        told = [path.read_text().splitlines() for path in self.folder.glob("log.*")]
        self.assertEqual(len(told), 3)
        causes = {
            line["example"]: line for line in common.parse_lines("".join(
                common.run_ctl("causes", "--json", path).stdout for path in captures))
            if line["type"] == "cause"
        }
        for about, *rest in told:
            about = json.loads(about)
            self.assertEqual({key: about[key] for key in captures[about["path"]]},
                             captures[about["path"]])
            cause, values = causes[about["path"]], dict(
                line.split("=", 1) for line in rest if line.startswith("PERF_POKE_"))
            self.assertEqual((about["cause"]["fingerprint"], about["cause"]["first_ns"]),
                             (cause["fingerprint"], cause["first_ns"]))
            facts = json.loads(pathlib.Path(about["path"], "capture.json").read_text())
            expected = {
                "PERF_POKE_CAPTURE": about["path"], "PERF_POKE_CPU": str(self.cpu),
                "PERF_POKE_LATENCY_NS": str(about["latency_ns"]), "PERF_POKE_TRIGGER": "irq",
                "PERF_POKE_TASK": about["comm"], "PERF_POKE_FINGERPRINT": cause["fingerprint"],
                "PERF_POKE_CAUSE": cause["cause"], "PERF_POKE_SENTENCE": cause["sentence"],
                "PERF_POKE_TIME": facts["spike"]["wall_time"],
                "PERF_POKE_SESSION": lines[0]["session"]
            }
            self.assertEqual({key: values.get(key) for key in expected}, expected)
            allowed = next(line for line in rest if "affinity" in line).split(": ")[1]
            if len(os.sched_getaffinity(0)) > 1:
                self.assertNotIn(str(self.cpu), re.split("[,-]", allowed))
            self.assertIn("SCHED_OTHER", "".join(rest))

    def test_commands_that_fail_are_warnings(self):
        _, messages = self.start("--count", "2", "--on-capture", "exit 3")
        self.assertEqual(messages.count("--on-capture: exit code 3 for '"), 2)

    def test_a_second_signal_kills_commands(self):
        with common.Session([self.cpu], self.output, *ANY, "--count", "1000", "--on-capture",
                            "sleep 302") as session:
            session.read_capture()
            time.sleep(1)
            session.process.send_signal(signal.SIGINT)
            time.sleep(1)
            self.assertIsNone(session.process.poll())
            self.assertEqual(session.finish(signal.SIGINT), 0)
        self.assertIn("--on-capture: interrupted for ", session.stderr)
        self.assertNotEqual(
            subprocess.run(["pgrep", "-xf", "sleep 302"], check=False,
                           stdout=subprocess.DEVNULL).returncode, 0)

    def test_known_causes_that_got_worse(self):
        known = self.folder / "known.json"
        known.write_text('{"version": 5, "causes": [{"fingerprint": "*", "worst": "1ns"}]}')
        self.start("--count", "1", "--known", str(known), code=4)
        known.write_text('{"version": 5, "causes": [{"fingerprint": "*", "worst": "1h"}]}')
        self.start("--duration", "1s", "--count", "3", "--known", str(known), code=0)

    def test_metrics(self):
        promtool, file = self.find("promtool"), self.folder / "perf.prom"
        known = self.folder / "known.json"
        known.write_text('{"version": 5, "causes": []}')
        lines, _ = self.start("--count", "2", "--metrics", str(file), "--session", "night",
                              "--known", str(known), code=4)
        text, summary = file.read_text(), lines[-1]
        checked = subprocess.run([promtool, "check", "metrics"], input=text, text=True,
                                 capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""), text)
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        self.assertEqual(values['perf_poke_session_armed{session="night"}'], "0")
        self.assertEqual(int(values['perf_poke_captures_total{session="night"}']),
                         summary["captures"])
        row = f'session="night",cpu="{self.cpu}",kind="irq"'
        self.assertEqual(int(values[f"perf_poke_spikes_total{{{row}}}"]), summary["all"]["spikes"])
        self.assertEqual(int(values[f'perf_poke_latency_seconds_bucket{{{row},le="+Inf"}}']),
                         summary["all"]["count"])
        self.assertEqual(
            int(values[f'perf_poke_latency_seconds_bucket{{{row},le="1.024e-06"}}']),
            sum(count for _, high, count in summary["all"]["histogram"] if high and high <= 1024))
        causes = {key: int(value) for key, value in values.items() if "cause_captures" in key}
        self.assertEqual(sum(causes.values()), summary["captures"])
        for key in causes:
            self.assertRegex(key, r'fingerprint="[a-z-]+(/\S+)?:[0-9a-f]{8}"')
        self.assertEqual(file.stat().st_mode & 0o777, 0o644)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir() if "prom" in path.name),
                         ["perf.prom"])

    def test_metrics_that_cannot_be_written(self):
        _, messages = self.start("--count", "2", "--metrics", f"{self.folder}/no/file.prom")
        self.assertEqual(messages.count("--metrics '"), 1)

    def test_an_entry_of_the_journal(self):
        """With a journald of its own, in a mount namespace."""
        journald = self.find("systemd-journald", path="/lib/systemd:/usr/lib/systemd")
        self.find("unshare"), self.find("journalctl")
        script = f"""
            mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal || exit 77
            {journald} & journald=$!
            for i in $(seq 100); do [ -S /run/systemd/journal/socket ] && break; sleep 0.1; done
            "$@" --log journal; code=$?
            sleep 1; kill $journald; wait $journald
            journalctl -D /run/log/journal -o json PERF_POKE_CPU={self.cpu} > {self.folder}/entries
            exit $code"""
        result = subprocess.run([
            "unshare", "--mount", "--fork", "sh", "-c", script, "sh", common.CTL,
            *self.arguments("--count", "2")
        ], capture_output=True, text=True, check=False, timeout=120)
        if result.returncode == 77 or "built without libsystemd" in result.stdout + result.stderr:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result)
        captures = {
            line["path"]: line for line in common.parse_lines(result.stdout)
            if line["type"] == "capture"
        }
        entries = {
            entry["PERF_POKE_CAPTURE"]: entry
            for entry in map(json.loads, (self.folder / "entries").read_text().splitlines())
        }
        self.assertEqual(set(entries), set(captures))
        for path, entry in entries.items():
            cause = common.parse_lines(common.run_ctl("causes", "--json", path).stdout)[0]
            self.assertEqual([
                entry[f"PERF_POKE_{key}"]
                for key in ("FINGERPRINT", "CAUSE", "SENTENCE", "LATENCY_NS")
            ], [str(cause[key]) for key in ("fingerprint", "cause", "sentence", "worst_ns")])
            self.assertEqual((entry["MESSAGE"], entry["MESSAGE_ID"]),
                             (cause["sentence"], "8007c63591964d50a2e0b619d45c61b6"))


if __name__ == "__main__":
    common.main()
