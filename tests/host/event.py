#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A tracepoint is the spike: the hit of one process on the watched CPU, and no other."""
import contextlib
import os
import signal
import subprocess

import common

EVENT = "sched:sched_process_exec"


class Event(common.HostTest):
    def session(self, cpu, event, *args):
        return common.Session([cpu], self.output, "--trigger", "event=tp:" + event, "--workload",
                              "auto", *args)

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
        self.assertEqual(
            (capture["trigger"], capture["label"], capture["cpu"], capture["latency_ns"]),
            ("event", EVENT, cpu, 0))
        facts = common.facts(capture["path"])
        self.assertEqual(facts["trigger"]["event"], EVENT)
        # The stack is that of the task that hit it.
        self.assertIn("execve",
                      " ".join(frame.get("symbol") or "" for frame in facts["spike"]["stack"]))
        text = common.run_ctl("report", capture["path"]).stdout
        self.assertTrue(text.startswith("%s, in %s/" % (EVENT, capture["comm"])), text)

    def test_what_passes_a_filter(self):
        """ftrace with the same filter counted as many."""
        cpu = common.find_cpus(1)[0]
        others = [self.make_program("other-%d" % i) for i in range(3)]
        wanted = self.make_program("wanted")
        text = 'filename ~ "*/wanted" && pid > 0'
        with self.witness(EVENT, text) as witness, self.session(cpu, "%s/%s/" % (EVENT, text),
                                                                "--count", "2") as session:
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
        self.assertEqual(
            common.facts(capture["path"])["trigger"]["event"], "%s/%s/" % (EVENT, text))

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
            yield lambda: len([
                line for line in common.read(instance + "/trace").splitlines()
                if not line.startswith("#")
            ])
        finally:
            with open(os.path.join(folder, "enable"), "w") as file:
                file.write("0")
            os.rmdir(instance)

    @contextlib.contextmanager
    def memory_limit(self, size):
        """A cgroup whose processes may use so much: its file for their IDs."""
        root = os.path.join(self.folder, "cgroup")
        os.mkdir(root)
        if not common.own_mounts() or subprocess.run(["mount", "-t", "cgroup2", "none", root],
                                                     stderr=subprocess.DEVNULL,
                                                     check=False).returncode:
            self.skipTest("cgroup2 cannot be mounted")
        self.addCleanup(subprocess.run, ["umount", root], check=True)
        if "memory" not in common.read(root + "/cgroup.controllers").split():
            self.skipTest("cgroup2 has no controller memory here")
        control = root + "/cgroup.subtree_control"
        before, group = common.read(control).split(), os.path.join(root, "perf-poke-test")
        self.write(control, "+memory")
        os.mkdir(group)
        try:
            self.write(group + "/memory.max", str(size))
            if os.path.exists(group + "/memory.swap.max"):
                self.write(group + "/memory.swap.max", "0")
            yield group + "/cgroup.procs"
        finally:
            os.rmdir(group)
            if "memory" not in before:
                self.write(control, "-memory")

    def write(self, path, text):
        with open(path, "w") as file:
            file.write(text)

    def test_out_of_memory(self):
        """The CPU stops where the kernel chose whom to kill."""
        cpu = common.find_cpus(1)[0]
        code = "import os, sys\nos.sched_setaffinity(0, [%d])\n" \
            "open(sys.argv[1], 'w').write('0')\n" \
            "kept = []\nwhile True: kept.append(bytearray(1 << 20))" % cpu
        with self.memory_limit(64 << 20) as processes, self.session(cpu, "oom:mark_victim",
                                                                    "--count", "1") as session:
            killed = subprocess.run(["python3", "-c", code, processes], check=False)
            self.assertEqual(killed.returncode, -signal.SIGKILL)
            self.assertEqual(session.finish(), 0)
        capture, = session.captures
        self.assertEqual((capture["trigger"], capture["label"], capture["cpu"]),
                         ("event", "oom:mark_victim", cpu))
        self.assertTrue(capture["comm"].startswith("python3"), capture)
        stack = " ".join(
            frame.get("symbol") or "" for frame in common.facts(capture["path"])["spike"]["stack"])
        self.assertIn("oom", stack)

    def test_bad_filters(self):
        cpu = str(common.find_cpus(1)[0])
        for text, words in (("nonsense > 3", ["nonsense > 3", "fields: filename, pid, old_pid"]),
                            ("pid >", ["pid >", "fields:"])):
            result = common.run_ctl("start", "--cpu", cpu, "--output", self.output, "--trigger",
                                    "event=tp:%s/%s/" % (EVENT, text))
            self.assert_fails(result, result.returncode, *words)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_what_there_is_not(self):
        cpu = common.find_cpus(1)[0]
        for event, code, words in (("nothing:such", 2, ["nothing:such"]),
                                   ("syscalls:sys_enter_write", 2, ["sys_enter_write"])):
            result = common.run_ctl("start", "--cpu", str(cpu), "--output", self.output,
                                    "--trigger", "event=tp:" + event)
            self.assert_fails(result, result.returncode, *words)
            self.assertIn(result.returncode, (1, code))


if __name__ == "__main__":
    common.main()
