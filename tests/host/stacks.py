#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The stack at a spike is in capture.json, in the report, and in the output of stock perf."""
import json
import os
import re
import shutil
import subprocess
import unittest

import common

# It is nearly always in one kernel function, called from libc.
READER = "import os\nfd = os.open('/dev/zero', os.O_RDONLY)\n" \
         "os.sched_setaffinity(0, {%d})\nb = bytearray(1 << 20)\nwhile True: os.readv(fd, [b])"

ON_ARM64 = os.uname().machine == "aarch64"
# Where the kernel takes system calls
ENTRY = "el0t_64_sync" if ON_ARM64 else "entry_SYSCALL_64_after_hwframe"
# Tells of interrupts from other CPUs
CALLS = "ipi:ipi_entry" if ON_ARM64 else "irq_vectors:call_function*"
# With the default events, which include senders.
SPIKES = ["--threshold", "5ms", "--recorder", "events"]


class Stacks(common.HostTest):
    def capture(self, cpu):
        """The capture of a spike during a read of the task; on a busy machine others come too."""
        with subprocess.Popen(["python3", "-c", READER % cpu]) as reader, common.late(cpu), \
                common.Session([cpu], self.output, *common.SPIKES, "--count", "100000") as session:
            try:
                for line in iter(session.read_capture, None):
                    spike = common.facts(line["path"])["spike"]
                    if spike["tid"] == reader.pid and spike["stack"] and "symbol" in spike["stack"][
                            0]:
                        return line["path"], spike
            finally:
                reader.kill()
        return self.fail("no spike while the task read")

    def test_names(self):
        folder, spike = self.capture(common.find_cpus(1)[0])
        symbols = [frame["symbol"] for frame in spike["stack"] if not frame["user"]]
        files = [frame["file"] for frame in spike["stack"] if frame["user"]]
        # The interrupt's frames are left out; the stack is that of the system call, up to its
        # entry.
        self.assertFalse(
            [name for name in symbols if name and "hrtimer" in name or name and "sysvec" in name],
            symbols)
        self.assertIn(ENTRY, symbols)
        self.assertTrue(files and "libc" in files[0], files)
        self.assertEqual(len(spike["stack"][len(symbols)]["build_id"]), 40)
        self.assertEqual((spike["policy"], spike["priority"], spike["nice"]),
                         ("other", 0, os.nice(0)))
        report = json.loads(common.run_ctl("report", "--json", folder).stdout)
        self.assertEqual([frame["name"] for frame in report["stack"]][:len(symbols)], symbols)

    @unittest.skipUnless(os.uname().machine in ("x86_64", "aarch64"), "no registers are kept")
    def test_without_frame_pointers(self):
        """The callers are found by the unwind tables, through a library without frame pointers."""
        cpu = common.find_cpus(1)[0]
        program = ["taskset", "-c", str(cpu), common.FRAMELESS]
        with common.running(program) as process, common.Session(
                [cpu], self.output, *common.ANY_TIMER, "--count", "1000") as session:
            for line in iter(session.read_capture, None):
                facts = common.facts(line["path"])
                if facts["spike"]["tid"] == process.pid and len(facts["spike"]["stack"]) and \
                        facts["spike"]["stack"][0]["user"]:
                    break
            else:
                self.fail("no spike while the program ran")
            path = line["path"]
        if "user_stack" not in facts:
            self.skipTest("the kernel has no bpf_task_pt_regs()")
        report = json.loads(common.run_ctl("report", "--json", path).stdout)
        names = [frame["name"] for frame in report["stack"]]
        self.assertEqual(names[:2], ["innermost", "compare"])
        self.assertTrue(names[2:-5] or names[2:], names)
        at = names.index("middle")
        self.assertEqual(names[at:at + 3], ["middle", "outer", "main"])
        self.assertEqual(report["stack"][at]["source"].split(":")[0], "frameless.c")
        self.assertGreater(len(names), len(facts["spike"]["stack"]))

    def test_none(self):
        """Without stacks it is still known who ran."""
        cpu = common.find_cpus(1)[0]
        with common.busy(cpu), common.late(cpu), common.Session(
            [cpu], self.output, *SPIKES, "--no-stack", "--count", "1") as session:
            spike = common.facts(session.read_capture()["path"])["spike"]
        self.assertEqual((spike["stack"], spike["holder"]), (None, None))
        self.assertEqual(spike["stack_tid"], spike["tid"])

    @unittest.skipUnless(os.path.exists("/proc/sys/kernel/ns_last_pid"),
                         "the kernel does not let a PID be chosen (CONFIG_CHECKPOINT_RESTORE)")
    def test_pid_namespace(self):
        """The files of a task are not those of the task that has its PID in the namespace."""
        cpu = common.find_cpus(1)[0]
        program = "setarch -R python3 -c 'import time\nwhile True: %s'"
        with common.running(["taskset", "-c", str(cpu), "sh", "-c",
                             "exec " + program % "pass"]) as process:
            command = "echo %d >/proc/sys/kernel/ns_last_pid; %s & exec \"$@\"" % (
                process.pid - 1, program % "time.sleep(1)")
            result = common.run_ctl(
                "start", "--json", "--cpu", str(cpu), "--output", self.output, "--recorder",
                "none", "--threshold", "1us", "--workload", "cyclic", "--count", "5", prefix=[
                    "unshare", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", command, "-"
                ])
        lines = common.parse_lines(result.stdout)
        stacks = [common.facts(line["path"])["spike"]["stack"]
                  for line in common.of_type(lines, "capture")]
        frames = [frame for stack in stacks for frame in stack if frame["user"]]
        self.assertTrue(frames, result.stderr)
        self.assertEqual({frame["file"] for frame in frames}, {None})

    @unittest.skipUnless(shutil.which("perf"), "no perf")
    def test_perf(self):
        """Stock perf has the same frames in the sample of the event `spike`."""
        folder, spike = self.capture(common.find_cpus(1)[0])
        data = os.path.join(folder, "perf.data")
        out = subprocess.run(["perf", "script", "-i", data, "-F", "event,ip,sym"],
                             capture_output=True, text=True, check=True).stdout
        seen = out.split("spike:")[1].split("\n\n")[0].split("\n")[1:]
        expected = [frame["symbol"] for frame in spike["stack"] if not frame["user"]]
        self.assertEqual([line.split()[1] for line in seen][:len(expected)], expected)
        self.assertEqual(len(seen), len(spike["stack"]))
        out = subprocess.run(["perf", "report", "-i", data, "--stdio", "-g", "none"],
                             capture_output=True, text=True, check=True).stdout
        self.assertIn("of event 'spike'", out)
        self.assertIn(expected[0], out.split("of event 'spike'")[1])


# The kernel calls a function on all CPUs when this changes.
SWITCH = "/sys/kernel/tracing/events/xdp/xdp_exception/enable"


# Reading it queues work on each CPU.
STAT_REFRESH = "/proc/sys/vm/stat_refresh"


def ask_all_cpus():
    before = common.read(SWITCH).strip()
    for value in ("1" if before == "0" else "0", before):
        with open(SWITCH, "w") as file:
            file.write(value)


class Senders(common.HostTest):
    @unittest.skipUnless(
        shutil.which("perf") and os.path.exists(SWITCH), "no perf, or not this kernel's")
    def test_records_what_is_sent(self):
        """Who called a function on one CPU, or on several; with --event too."""
        cpu = common.find_cpus(1)[0]
        os.sched_setaffinity(0, os.sched_getaffinity(0) - {cpu})
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0) | {cpu})
        # A polling CPU needs no interrupt.
        with common.busy(cpu), common.Session([cpu], self.output, "--recorder", "events",
                                              "--threshold", "1h", "--count", "1", "-e",
                                              CALLS, "-e",
                                              "workqueue:workqueue_execute_start") as session:
            ask_all_cpus()
            common.read(STAT_REFRESH)
            self.assertEqual(common.run_ctl("poke", session.name).returncode, 0)
            data = os.path.join(session.read_capture()["path"], "perf.data")
        out = subprocess.run(["perf", "script", "-i", data, "-F", "tid,event,trace,ip,sym"],
                             capture_output=True, text=True, check=True).stdout
        mine = re.findall(rf"^ *{os.getpid()} +(\S+): (.*)\n((?:\t.*\n)*)", out, re.MULTILINE)
        queued = [
            stack for name, fields, stack in mine
            if name == "workqueue:workqueue_queue_work" and fields.endswith(f" cpu={cpu}")
        ]
        self.assertTrue(queued, mine[-3:])
        # The first event ever that is enabled queues work to make ftrace's rings larger.
        self.assertIn("schedule_on_each_cpu", queued[-1])
        if os.path.exists("/sys/kernel/tracing/events/ipi/ipi_send_cpu"):
            expected = "ipi:ipi_send_cpumask" if os.cpu_count() > 2 else "ipi:ipi_send_cpu"
            calls = [stack for name, _, stack in mine if name == expected]
            self.assertTrue(calls, mine[-3:])
            self.assertIn("ksys_write", calls[0])

    @unittest.skipUnless(os.path.exists("/sys/kernel/tracing/events/csd/csd_queue_cpu"),
                         "this kernel does not tell of calls between CPUs (Linux 6.4)")
    def test_names_the_sender(self):
        """The timer was late because of a call from another CPU: from which task and function."""
        cpu = common.find_cpus(1)[0]
        with common.late(cpu), common.Session([cpu], self.output, *SPIKES, "--count",
                                              "100000") as session:
            for line in iter(session.read_capture, None):
                cause = json.loads(common.run_ctl("report", "--json", line["path"]).stdout)["cause"]
                if cause["name"].startswith(
                        "call_function") and cause["time_ns"] > common.SPIN_US * 500:
                    break
            self.assertTrue(cause["sender"], cause)
            self.assertEqual(cause["sender"]["comm"], "late")
            self.assertNotEqual(cause["sender"]["cpu"], cpu)
            self.assertIn("__sys_bpf", cause["sender"]["callers"])
            self.assertEqual(cause["mostly"], cause["sender"]["function"])


# Its parent wakes it through a pipe, from another CPU. It runs until the trace is recorded again.
WAITER = """
import ctypes, os, time
os.sched_setaffinity(0, [%d])
ctypes.CDLL(None).prctl(15, b"pp-waiter", 0, 0, 0)
while os.read(0, 1):
    end = time.monotonic() + 0.05
    while time.monotonic() < end: pass
"""


@unittest.skipUnless(shutil.which("perf"), "no perf")
class Wakers(common.HostTest):
    def capture(self, cpu):
        """The capture of a wakeup, and the process that was woken. The CPU is never idle, where the
        kernel may drop events."""
        with subprocess.Popen(["python3", "-c", WAITER % cpu], stdin=subprocess.PIPE,
                              bufsize=0) as waiter, common.busy(cpu):
            def waits():
                return "(pp-waiter) S " in common.read("/proc/%d/stat" % waiter.pid)

            common.wait_for(waits, "the waiter waits")
            with common.Session([cpu], self.output, "--recorder", "events",
                                "--workload", "none", "--trigger", "wakeup=1us", "--task",
                                str(waiter.pid), "--count", "2") as session:
                # When the session began, it slept already.
                for _ in range(2):
                    common.wait_for(waits, "the waiter waits again")
                    waiter.stdin.write(b"x")
                    path = session.read_capture()["path"]
            waiter.stdin.close()
        return path, waiter.pid

    def test_records_waits_and_wakers(self):
        """Where the late thread gave up the CPU, in its own code too, and who woke it."""
        other, cpu = common.find_cpus(2)
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, {other})
        path, pid = self.capture(cpu)
        thread = common.facts(path)["spike"]["thread"]
        self.assertEqual(
            thread, {
                "pid": pid, "tid": pid, "comm": "pp-waiter", "policy": "other", "priority": 0,
                "nice": os.nice(0)
            })
        data = os.path.join(path, "perf.data")
        out = self.perf("script", "-i", data, "-F", "trace:comm,tid,event,trace,ip,sym")
        waking = re.findall(
            rf"^ *\S+ +(\d+) +sched:sched_waking: (?=.*pid={pid} ).*\n((?:\t.*\n)*)", out,
            re.MULTILINE)[-1]
        self.assertEqual(waking[0], str(os.getpid()))
        self.assertIn("pipe_write", waking[1])
        self.assertIn("ksys_write", waking[1])
        sleep = re.findall(
            rf"^pp-waiter +{pid} +sched:sched_switch: .*prev_state=S .*\n((?:\t.*\n)*)", out,
            re.MULTILINE)
        self.assertTrue(sleep, re.findall(rf"^.*{pid}.*$", out, re.MULTILINE))
        self.assertIn("pipe_read", sleep[-1])
        self.assertRegex(sleep[-1], rf"{ENTRY}\n.* (__libc_|__)?read\b")
        rows = self.perf("sched", "timehist", "--no-call-graph", "-w", "-n", "--state", "-i", data)
        self.assertRegex(rows, rf"python3?\S*\[{os.getpid()}\] +awakened: pp-waiter\[{pid}\]")


if __name__ == "__main__":
    common.main()
