#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Failures print one line with the option and the value, return the right exit code, and leave
nothing behind."""
import contextlib
import glob
import os
import platform
import subprocess

import common

FAILED = 1
USAGE = 2
NOBODY = 65534


class ErrorTest(common.HostTest):
    def start(self, *args, cpu=None, prefix=(), output=None):
        cpu = str(self.cpu) if cpu is None else cpu
        # At most a second, if it starts in spite of the error.
        return common.run_ctl("start", "--cpu", cpu, "--output", output or self.output,
                              *common.NO_SPIKES, "--duration", "1s", *args, prefix=prefix)

    def need_run(self, prefix):
        """Copies the program and its library to where the user nobody may run them."""
        os.chmod(self.folder, 0o1777)
        if subprocess.run([*prefix, common.CTL, "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("nobody cannot run programs of this build folder")

    def assert_usage(self, result, *parts):
        self.assert_fails(result, USAGE, *parts)
        self.assertFalse(os.path.exists(self.output))


class Words(ErrorTest):
    """Malformed values; unit tests try the values of each option."""

    def test_options(self):
        self.assert_usage(self.start("--bogus"), "--bogus", "no such option")
        self.assert_usage(self.start("--period", "9us"), "period", "10us")
        self.assert_usage(common.run_ctl("bogus"), "'bogus'")
        self.assert_usage(common.run_ctl("check", "--cpu", "x"), "--cpu 'x'", "isolated")
        self.assert_fails(common.run_ctl("check", "--cpu", "8191"), FAILED, "CPU 8191 is not")

    def test_names_are_those_of_the_command_line(self):
        for words, said in ((["--cpu", "8191"], "--cpu 8191: does not exist"),
                            (["-c8191"], "--cpu 8191: does not exist"),
                            (["--trig=wakeup"], "--trigger wakeup: needs --task"),
                            (["--function", "no_such"], "--function 'no_such'"),
                            (["-e", "no:such"], "--event 'no:such'")):
            cpu = [] if "8191" in words[-1] else ["--cpu", str(self.cpu)]
            result = common.run_ctl("start", *cpu, "--output", self.output, *words)
            self.assert_usage(result, "perf-poke-ctl: " + said)

    def test_help_is_no_error(self):
        for args in (["start", "--help"], ["check", "--help"]):
            with self.subTest(args=args):
                result = common.run_ctl(*args)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(result.stdout)

    def test_json_says_it_too(self):
        result = self.start("--json", "--function", "no_such_symbol")
        self.assertEqual(result.returncode, USAGE)
        self.assert_one_line(result.stderr, "function", "'no_such_symbol'")
        lines = common.parse_lines(result.stdout)
        self.assertEqual([line["type"] for line in lines], ["error"])
        self.assertIn(lines[0]["message"], result.stderr)


class Kernel(ErrorTest):
    """Names and filters unknown to this kernel."""

    def test_no_memory_for_its_types(self):
        self.assert_fails(self.start(prefix=["prlimit", f"--data={8 << 20}"]), FAILED, common.BTF,
                          "Cannot allocate memory", "RLIMIT_DATA")

    def test_event(self):
        for name in ("sched:no_such_event", "nosuch:event", "sched:no_such_*",
                     "../sched:sched_switch", "sched:../sched/sched_switch"):
            with self.subTest(name=name):
                self.assert_usage(self.start("-e", name), "event", name)

    def test_filter(self):
        for text in ("no_such_field==1", "pid==", "((", "pid=~1"):
            with self.subTest(filter=text):
                self.assert_usage(self.start("-e", "sched:sched_wakeup", "--filter", text),
                                  "sched:sched_wakeup", "filter '%s'" % text)

    def test_recorder(self):
        if os.path.exists("/sys/bus/event_source/devices/intel_pt"):
            self.skipTest("this machine has Intel PT")
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                "--recorder", "pt")
        self.assert_fails(result, FAILED, "recorder pt", "no Intel PT")

    def test_cpu_that_is_offline(self):
        switch = "/sys/devices/system/cpu/cpu%d/online" % self.cpu
        if self.cpu == 0 or not os.path.exists(switch):
            self.skipTest("CPU %d cannot be taken offline" % self.cpu)
        try:
            write(switch, "0")
        except OSError as error:
            self.skipTest("CPU %d cannot be taken offline: %s" % (self.cpu, error))
        try:
            result = self.start()
        finally:
            write(switch, "1")
        self.assert_usage(result, "cpu", str(self.cpu), "offline")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@contextlib.contextmanager
def cpuset_of(cpus):
    """A cpuset of these CPUs, cgroup v1 or v2. Gives the file to enter it by."""
    name = "perf-poke-test-%d" % os.getpid()
    mems, entrance = None, "cgroup.procs"
    if os.path.exists("/sys/fs/cgroup/cpuset/cpuset.cpus"):
        folder, mems = "/sys/fs/cgroup/cpuset/" + name, "/sys/fs/cgroup/cpuset/cpuset.mems"
    else:
        folder = "/sys/fs/cgroup/" + name
        write("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset")
    os.mkdir(folder)
    try:
        if mems:
            write(os.path.join(folder, "cpuset.mems"), common.read(mems))
        write(os.path.join(folder, "cpuset.cpus"), common.cpu_list(cpus))
        yield os.path.join(folder, entrance)
    finally:
        common.wait_for(lambda: not common.is_closing(), "tracepoints are closed")
        os.rmdir(folder)


class Cpuset(ErrorTest):
    def test_cpu_outside(self):
        inside, outside = common.find_cpus(2)
        with contextlib.ExitStack() as stack:
            try:
                entrance = stack.enter_context(cpuset_of([inside]))
            except OSError as error:
                self.skipTest("no cpuset can be made: %s" % error)
            enter = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', entrance]
            self.assert_usage(self.start(cpu=str(outside), prefix=enter), "cpu", str(outside),
                              "cpuset")
            self.assertEqual(self.start(cpu=str(inside), prefix=enter).returncode, 3)
            # Without our own threads nothing needs to run there.
            self.assertEqual(
                self.start("--workload", "none", cpu=str(outside), prefix=enter).returncode, 3)


class Output(ErrorTest):
    def check(self, output, *parts, prefix=()):
        self.assert_fails(self.start(output=output, prefix=prefix), FAILED, "output",
                          "'%s'" % output, *parts)

    def test_missing_parent(self):
        self.check(os.path.join(self.folder, "no", "such"))

    def test_read_only_mount(self):
        place = os.path.join(self.folder, "read-only")
        os.mkdir(place)
        mount = common.unshared('mount -t tmpfs -o ro tmpfs "%s"' % place)
        self.check(place, "Read-only", prefix=mount)
        self.check(os.path.join(place, "captures"), "Read-only", prefix=mount)

    def test_folder_of_somebody_else(self):
        place = os.path.join(self.folder, "closed")
        os.mkdir(place, 0o500)
        os.chown(place, NOBODY, NOBODY)
        without = common.setpriv("--bounding-set", "-dac_override,-dac_read_search")
        self.check(place, "Permission denied", prefix=without)


class Absent(ErrorTest):
    """What a trigger needs and is not there is told before anything is opened, with a remedy."""

    def check(self, trigger, span, *parts, code=USAGE):
        words = ["--trigger", trigger, *(["--span", span] if span else [])]
        with self.subTest(trigger=trigger, span=span):
            self.assert_fails(self.start(*words), code, *parts)
            self.assertFalse(os.path.exists(self.output))

    def test_names(self):
        program = os.path.realpath("/bin/sh")
        self.check("event=tp:no:such", None, "trigger event", "no:such", "perf list")
        self.check("x=1h", "x=tp:no:entry..tp:sched:sched_switch", "span x", "no:entry",
                   "perf list")
        self.check("x=1h", "x=tp:sched:sched_switch..tp:no:exit", "span x", "no:exit")
        self.check("x=1h", "x=fn:no_such_function", "span x", "no_such_function", "kallsyms")
        self.check("x=1h", "x=uprobe:/no/such/file:main", "span x", "/no/such/file",
                   "No such file")
        self.check("x=1h", "x=uprobe:%s:no_such_function" % program, "span x", program,
                   "no_such_function", "nm -C")
        self.check("x=1h", "x=usdt:/no/such/file:p:n..usdt:/no/such/file:p:m", "span x",
                   "/no/such/file")
        self.check("user=1h", None, "trigger user", "--workload user")

    def test_no_uprobes(self):
        prefix = common.unshared("mount -t tmpfs tmpfs /sys/bus/event_source/devices")
        result = self.start("--trigger", "x=1h", "--span", "x=uprobe:/bin/sh:main", prefix=prefix)
        self.assert_fails(result, FAILED, "span x", "CONFIG_UPROBE_EVENTS", "--trigger report")
        self.assertFalse(os.path.exists(self.output))

    def test_kernel(self):
        rows = {row["name"]: row for row in common.of_type(
            common.parse_lines(common.run_ctl("check", "--json").stdout), "capability")}
        if not rows["osnoise"]["have"]:
            self.check("noise=1ms", None, "trigger noise", "CONFIG_OSNOISE_TRACER", "-rt",
                       code=FAILED)
            self.assert_fails(self.start("--workload", "osnoise"), FAILED, "workload osnoise",
                              "CONFIG_OSNOISE_TRACER", "-rt")
        if not rows["timerlat"]["have"]:
            self.assert_fails(self.start("--workload", "timerlat"), FAILED, "workload timerlat",
                              "--workload cyclic")
        if not rows["marker"]["have"]:
            self.check("marker=x", None, "trigger marker", "report-late", code=FAILED)
        self.assertFalse(os.path.exists(self.output))


class Privileges(ErrorTest):
    def test_not_root(self):
        become = common.setpriv("--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
        self.need_run(become)
        self.assert_fails(self.start(prefix=become), FAILED, "not allowed", "root", "CAP_BPF",
                          "CAP_PERFMON")
        check = common.run_ctl("check", prefix=become)
        self.assertEqual(check.returncode, FAILED)
        self.assertIn("sudo perf-poke-ctl check", check.stdout.splitlines()[-1])
        check = common.run_ctl("check", "--json", prefix=become)
        rows = {row["name"]: row
                for row in common.of_type(common.parse_lines(check.stdout), "capability")}
        # What depends on privileges is not said to be missing, nor to be there.
        for name in ("trigger", "tracefs", "hardware", "span", "marker", "events", "ftrace",
                     "timerlat", "osnoise", "task_work", "fasync", "tracepoint"):
            self.assertEqual((name, rows[name]["have"], rows[name]["unknown"]),
                             (name, False, True))
        self.assertEqual((rows["privileges"]["have"], rows["privileges"]["unknown"]),
                         (False, False))
        self.assertTrue(rows["btf"]["have"])
        self.assertFalse(any(row["unknown"] for row in rows.values() if row["have"]))

    def test_missing_capability(self):
        for drop, name in (("-sys_admin,-bpf", "CAP_BPF"), ("-sys_admin,-perfmon", "CAP_PERFMON"),
                           ("-sys_nice", "CAP_SYS_NICE")):
            with self.subTest(name=name):
                result = self.start(prefix=common.setpriv("--bounding-set", drop))
                self.assert_fails(result, FAILED, "not allowed", name)
                self.assertEqual(result.stderr.count("CAP_"), 1, result.stderr)

    def test_real_time_priority_is_for_the_workload(self):
        """Without a workload, real-time priority is not requested; a controller without it causes a
        warning."""
        result = self.start("--workload", "none",
                            prefix=common.setpriv("--bounding-set", "-sys_nice"))
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("real-time priority", result.stderr)


class Missing(ErrorTest):
    """Kernels without some feature, as far as a mount namespace can simulate it."""

    def test_no_btf(self):
        release = platform.release()
        elsewhere = [path for pattern in ("/boot/vmlinux-%s", "/lib/modules/%s/vmlinux-%s",
                                          "/lib/modules/%s/build/vmlinux",
                                          "/usr/lib/modules/%s/kernel/vmlinux",
                                          "/usr/lib/debug/boot/vmlinux-%s*")
                     for path in glob.glob(pattern.replace("%s", release))]
        if elsewhere:
            self.skipTest("BTF is in %s too" % elsewhere[0])
        prefix = common.unshared("mount -t tmpfs tmpfs /sys/kernel/btf")
        self.assert_fails(self.start(prefix=prefix), FAILED, "BTF", "CONFIG_DEBUG_INFO_BTF")
        check = common.run_ctl("check", "--json", prefix=prefix)
        self.assertEqual(check.returncode, FAILED)
        lines = common.parse_lines(check.stdout)
        self.assertFalse(lines[-1]["can_start"])
        missing = {line["name"] for line in common.of_type(lines, "capability")
                   if line["required"] and not line["have"]}
        self.assertIn("btf", missing)
        self.assertNotIn("events", missing)

    def test_no_tracefs(self):
        """The program mounts tracefs for itself if needed, which takes CAP_SYS_ADMIN."""
        away = common.unshared("for place in /sys/kernel/tracing /sys/kernel/debug; do\n"
                        "while mountpoint -q $place; do umount -l $place; done; done")
        self.assertEqual(self.start(prefix=away).returncode, 3)
        self.assert_fails(
            self.start(prefix=[*away, *common.setpriv("--bounding-set", "-sys_admin")]), FAILED,
            "no tracefs", "mount -t tracefs", "CAP_SYS_ADMIN")

    def test_few_capabilities(self):
        """With tracefs mounted, root needs only these; another user also needs permission to read
        it."""
        if int(common.read("/proc/sys/kernel/perf_event_paranoid")) > 2:
            self.skipTest("kernel.perf_event_paranoid is above 2: perf events need CAP_SYS_ADMIN")
        few = "-all,+bpf,+perfmon,+sys_nice"
        mounted = common.unshared(
            "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing")
        few_of_root = [*mounted, *common.setpriv("--inh-caps", few, "--bounding-set", few)]
        self.assertEqual(self.start(prefix=few_of_root).returncode, 3)
        become = [
            *few_of_root, "--ambient-caps", few, "--reuid",
            str(NOBODY), "--regid",
            str(NOBODY), "--clear-groups"
        ]
        self.need_run(become)
        self.assert_fails(self.start(prefix=become), FAILED, "tracefs", "CAP_DAC_READ_SEARCH")


class Check(common.HostTest):
    def test_check(self):
        """A session can start wherever the other tests run."""
        result = common.run_ctl("check", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = common.parse_lines(result.stdout)
        self.assertEqual(lines[-1], {"type": "check", "can_start": True})
        rows = common.of_type(lines, "capability")
        self.assertEqual(len(rows), len(lines) - 1)
        self.assertTrue(all(row["have"] for row in rows if row["required"]))
        for row in rows:
            self.assertTrue(row["purpose"] and row["remedy"], row)
        text = common.run_ctl("check")
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        for row in rows:
            self.assertIn(row["name"], text.stdout)


if __name__ == "__main__":
    common.main()
