#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A tracepoint is the spike: that of the process that hits it, on the watched CPU, and no other."""
import json
import os
import subprocess

import common

EVENT = "sched:sched_process_exec"


class Event(common.HostTest):
    def session(self, cpu, event, *args):
        return common.Session([cpu], self.output, "--trigger", "event=tp:" + event, "--workload", "auto", *args)

    def execute(self, cpu, program):
        subprocess.run([program], preexec_fn=lambda: os.sched_setaffinity(0, [cpu]), check=True)

    def test_who_hits_it(self):
        cpu = common.find_cpus(1)[0]
        path = os.path.join(self.folder, "the-program")
        with open(path, "w") as file:
            file.write("#!/bin/true\n")
        os.chmod(path, 0o755)
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
        # The stack is that of who executed it.
        self.assertIn("execve", " ".join(frame.get("symbol") or "" for frame in facts["spike"]["stack"]))
        text = common.run_ctl("report", capture["path"]).stdout
        self.assertTrue(text.startswith("%s, in %s/" % (EVENT, capture["comm"])), text)

    def test_what_there_is_not(self):
        cpu = common.find_cpus(1)[0]
        for event, code, words in (("nothing:such", 2, ["nothing:such"]), ("syscalls:sys_enter_write", 2, ["sys_enter_write"])):
            result = common.run_ctl("start", "--cpu", str(cpu), "--output", self.output, "--trigger", "event=tp:" + event)
            self.assert_fails(result, result.returncode, *words)
            self.assertIn(result.returncode, (1, code))
        self.assert_fails(common.run_ctl("start", "--cpu", str(cpu), "--trigger", "event=sched"), 2, "event=tp:SYS:NAME")


if __name__ == "__main__":
    common.main()
