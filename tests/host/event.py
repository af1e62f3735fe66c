#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A tracepoint is the spike: the hit of one process on the watched CPU, and no other."""
import contextlib
import json
import os
import subprocess

import common

EVENT = "sched:sched_process_exec"


class Event(common.HostTest):
    def session(self, cpu, event, *args):
        return common.Session([cpu], self.output, "--trigger", "event=tp:" + event, "--workload", "auto", *args)

    def make_program(self, name):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/true\n")
        os.chmod(path, 0o755)
        return path

    def execute(self, cpu, program):
        subprocess.run([program], preexec_fn=lambda: os.sched_setaffinity(0, [cpu]), check=True)

    def test_who_hits_it(self):
        cpu = common.find_cpus(1)[0]
        path = self.make_program("the-program")
        with self.session(cpu, EVENT, *common.EVENTS) as session:
            for other in sorted(os.sched_getaffinity(0) - {cpu})[:1]:
                self.execute(other, path)
            self.execute(cpu, path)
            self.assertEqual(session.finish(), 0)
        capture = session.captures[0]
        self.assertEqual((capture["trigger"], capture["label"], capture["cpu"], capture["latency_ns"]),
                         ("event", EVENT, cpu, 0))
        with open(os.path.join(capture["path"], "capture.json")) as file:
            facts = json.load(file)
        self.assertEqual(facts["trigger"]["event"], EVENT)
        # The stack is that of the task that hit it.
        self.assertIn("execve", " ".join(frame.get("symbol") or "" for frame in facts["spike"]["stack"]))
        text = common.run_ctl("report", capture["path"]).stdout
        self.assertTrue(text.startswith("%s, in %s/" % (EVENT, capture["comm"])), text)

    def test_what_passes_a_filter(self):
        """ftrace with the same filter counted as many."""
        cpu = common.find_cpus(1)[0]
        others = [self.make_program("other-%d" % i) for i in range(3)]
        wanted = self.make_program("wanted")
        text = 'filename ~ "*/wanted" && pid > 0'
        with self.witness(EVENT, text) as witness, self.session(cpu, "%s/%s/" % (EVENT, text), "--count", "2") as session:
            for program in (others[0], wanted, others[1], others[2]):
                self.execute(cpu, program)
            capture = session.read_capture()
            self.execute(cpu, others[0])
            self.execute(cpu, wanted)
            self.assertEqual(session.finish(), 0)
            seen = witness()
        self.assertEqual(seen, 2)
        self.assertEqual(session.summary["triggers"]["event"]["all"]["count"], seen)
        self.assertEqual((capture["label"], capture["comm"]), (EVENT, "wanted"))
        with open(os.path.join(capture["path"], "capture.json")) as file:
            self.assertEqual(json.load(file)["trigger"]["event"], "%s/%s/" % (EVENT, text))

    @contextlib.contextmanager
    def witness(self, event, text):
        """A function that gives the number of hits, from a private tracefs instance."""
        instance = "/sys/kernel/tracing/instances/perf-poke-test"
        folder = os.path.join(instance, "events", *event.split(":"))
        if not os.path.isdir(os.path.dirname(instance)):
            self.skipTest("needs tracefs at /sys/kernel/tracing")
        os.mkdir(instance)
        try:
            for name, value in (("filter", text), ("enable", "1")):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(value)
            yield lambda: len([line for line in common.read(instance + "/trace").splitlines() if not line.startswith("#")])
        finally:
            with open(os.path.join(folder, "enable"), "w") as file:
                file.write("0")
            os.rmdir(instance)

    def test_bad_filters(self):
        cpu = str(common.find_cpus(1)[0])
        for text, words in (("nonsense > 3", ["nonsense > 3", "fields: filename, pid, old_pid"]), ("pid >", ["pid >", "fields:"])):
            result = common.run_ctl("start", "--cpu", cpu, "--output", self.output, "--trigger", "event=tp:%s/%s/" % (EVENT, text))
            self.assert_fails(result, result.returncode, *words)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for text in ("/", "//", "/pid > 3", "/pid > 3/x"):
            result = common.run_ctl("start", "--cpu", cpu, "--output", self.output, "--trigger", "event=tp:%s%s" % (EVENT, text))
            self.assert_fails(result, 2, "between two slashes")

    def test_what_there_is_not(self):
        cpu = common.find_cpus(1)[0]
        for event, code, words in (("nothing:such", 2, ["nothing:such"]), ("syscalls:sys_enter_write", 2, ["sys_enter_write"])):
            result = common.run_ctl("start", "--cpu", str(cpu), "--output", self.output, "--trigger", "event=tp:" + event)
            self.assert_fails(result, result.returncode, *words)
            self.assertIn(result.returncode, (1, code))
        self.assert_fails(common.run_ctl("start", "--cpu", str(cpu), "--trigger", "event=sched"), 2, "event=tp:SYS:NAME")


if __name__ == "__main__":
    common.main()
