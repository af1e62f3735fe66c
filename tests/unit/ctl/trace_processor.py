#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Perfetto's own reader understands an exported capture, and SQL gives the numbers of the report.

usage: trace_processor.py PERF_POKE_CTL SPIKE.TAR.ZST, with trace_processor_shell in the PATH
"""
import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

CTL, SAMPLE = sys.argv[1:]
SHELL = "trace_processor_shell"
SKIP = 77
# Of each function: what it took in the window, by itself, and how often it was called.
FUNCTIONS = """
WITH functions AS (
  SELECT slice.id, slice.name, slice.parent_id, ts, max(ts, {begin_ns}) AS begin,
         min(ts + iif(dur < 0, 1 << 60, dur), {end_ns}) AS end
  FROM slice JOIN track ON track_id = track.id
  WHERE track.name = 'CPU {cpu} functions' AND ts < {end_ns}
        AND (dur < 0 OR ts + dur > {begin_ns})),
children AS (
  SELECT parent_id AS id, sum(end - begin) AS ns FROM functions GROUP BY parent_id)
SELECT name, sum(end - begin) - sum(ifnull(ns, 0)), sum(end - begin), count(*)
FROM functions LEFT JOIN children USING (id) GROUP BY name;
"""
TIMER = """
SELECT ts, dur, extract_arg(arg_set_id, 'debug.latency ns')
FROM slice JOIN track ON track_id = track.id
WHERE track.name = 'CPU {cpu} timer' AND slice.name = 'timer is late';
"""
MACHINE = "SELECT str_value FROM metadata WHERE name = 'system_release';"
ERRORS = "SELECT name, value FROM stats WHERE severity != 'info' AND value > 0;"


def run(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def query(trace, sql):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(sql)
        file.flush()
        rows = list(csv.reader(io.StringIO(run(SHELL, "-q", file.name, trace))))
    return [tuple(int(cell) if cell.lstrip("-").isdigit() else cell for cell in row)
            for row in rows[1:] if row]


def main():
    if not shutil.which(SHELL):
        print(f"skipped: needs {SHELL}")
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as folder:
        spike = pathlib.Path(folder) / "spike"
        trace = pathlib.Path(folder) / "spike.pftrace"
        run(CTL, "open", SAMPLE, "-o", spike, "-q")
        run(CTL, "export", "-q", spike, "-o", trace)
        report = json.loads(run(CTL, "report", "--json", spike))
        words = {**report["window"], "cpu": report["spike"]["cpu"]}
        errors = query(trace, ERRORS)
        assert not errors, errors
        found = {name: row for name, *row in query(trace, FUNCTIONS.format(**words))}
        for said in report["functions"]:
            expected = [said["self_ns"], said["total_ns"], said["calls"]]
            assert found[said["name"]] == expected, (said, found[said["name"]])
        timer = query(trace, TIMER.format(**words))
        said = report["spike"]
        assert timer == [(said["expected_ns"], said["time_ns"] - said["expected_ns"],
                          said["latency_ns"])], (timer, said)
        facts = json.loads((spike / "capture.json").read_text())
        assert query(trace, MACHINE) == [(facts["kernel"]["release"], )], facts["kernel"]
        print(f"{len(report['functions'])} functions, as the report says")


main()
