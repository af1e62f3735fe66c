#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A long time from an entry to an exit is a spike: system calls, functions of the kernel, of a
library and of Redis, made slow by its own client, and a probe of PostgreSQL. Incomplete spans are
counted."""
import contextlib
import functools
import os
import shutil
import signal
import subprocess

import common

SPANNED = os.environ["PERF_POKE_SPANNED"]
REDIS = "/usr/bin/redis-server"
POSTGRES = "/usr/lib/postgresql/%s/bin/"
NANOSLEEP = "tp:syscalls:sys_enter_clock_nanosleep..tp:syscalls:sys_exit_clock_nanosleep"
# Far above the latencies of a busy machine.
LONG, LONG_NS, LONG_S, SHORT_S = "200ms", 200000000, 0.4, 0.01
NEVER, NEVER_MS = "1h", 3600000


@functools.cache
def span_kinds():
    rows = common.parse_lines(common.run_ctl("check", "--json").stdout)
    return next(row for row in rows if row["name"] == "span")["detail"]


def python_sleeps(cpu, *seconds):
    """Sleeps by usleep(). time.sleep() computes its deadline before the system call, so the call
    can take less than was asked for."""
    code = "import ctypes, os, sys\nos.sched_setaffinity(0, [%d])\n" \
           "for word in sys.argv[1:]: ctypes.CDLL(None).usleep(round(float(word) * 1e6))" % cpu
    subprocess.run(["python3", "-c", code, *map(str, seconds)], check=True)


class SpanTest(common.HostTest):
    def session(self, span, threshold, *args):
        workload = [] if "--workload" in args else ["--workload", "auto"]
        return common.Session([self.cpu], self.output, "--span", "it=" + span, "--trigger",
                              "it=" + threshold, "--recorder", "none", *workload, *args)

    def need(self, kind):
        if kind not in span_kinds():
            self.skipTest("spans here: " + span_kinds())

    def assert_long(self, session, threshold_ns=LONG_NS):
        """The only capture is that of the long span."""
        self.assertEqual(session.finish(), 0, session.__dict__)
        capture, = session.captures
        self.assertEqual((capture["trigger"], capture["label"], capture["cpu"]),
                         ("span", "it", self.cpu))
        self.assertGreater(capture["latency_ns"], threshold_ns)
        facts = common.facts(capture["path"])
        spike = facts["spike"]
        self.assertEqual(spike["actual_ns"] - spike["expected_ns"], capture["latency_ns"])
        self.assertTrue(facts["trigger"]["span"].startswith("it="))
        self.assertFalse(spike["uncertain"])
        self.assertTrue(common.run_ctl("report", capture["path"]).stdout.startswith("it "))
        return capture


class Kernel(SpanTest):
    def sleeps(self, span):
        with self.session(span, LONG, "--count", "1") as session:
            others = os.sched_getaffinity(0) - {self.cpu}
            for other in sorted(others)[:1]:
                python_sleeps(other, LONG_S)
            python_sleeps(self.cpu, SHORT_S, LONG_S)
            return self.assert_long(session, LONG_S * 1e9)

    def test_system_call(self):
        self.assertEqual(self.sleeps(NANOSLEEP)["comm"], "python3")

    def test_keeps_the_worst(self):
        with self.session(NANOSLEEP, "50ms", "--keep-worst", "1") as session:
            for seconds in (0.1, 0.3, 0.2):
                python_sleeps(self.cpu, seconds)
            session.finish(signal.SIGINT)
        kept, = session.summary["kept"]
        self.assertEqual(kept["trigger"], "span")
        self.assertGreater(kept["latency_ns"], 300000000)

    def test_function(self):
        if "fn: no" in span_kinds():
            self.skipTest("spans here: " + span_kinds())
        self.sleeps("fn:hrtimer_nanosleep")

    def test_function_of_a_module(self):
        """A function without a trampoline in the kernel's BTF."""
        with open("/proc/kallsyms") as file:
            if not any(line.split()[2:] == ["ovl_open", "[overlay]"] for line in file):
                self.skipTest("needs the module overlay")
        with self.session("fn:ovl_open", NEVER) as session:
            subprocess.run(["taskset", "-c", str(self.cpu), "true"], check=True)
            session.finish(signal.SIGINT)
        span = session.summary["triggers"]["span"]
        self.assertGreater(span["all"]["count"], 0)
        # One may be under way on each CPU.
        self.assertLessEqual(span["not_entered"] + span["reentered"], os.cpu_count())

    def test_by_field(self):
        with self.session("tp:sched:sched_wakeup..tp:sched:sched_switch,by=pid:next_pid",
                          NEVER) as session:
            python_sleeps(self.cpu, *[SHORT_S] * 10)
            session.finish(signal.SIGINT)
        self.assertGreaterEqual(session.summary["triggers"]["span"]["all"]["count"], 10)

    def test_filters(self):
        """Of the programs that run on all CPUs, only one passes both."""
        programs = [os.path.join(self.folder, name) for name in ("wanted", "other")]
        for path in programs:
            shutil.copy(shutil.which("true"), path)
        with self.session(
                'tp:sched:sched_process_exec/filename ~ '
                '"*/wanted"/..tp:sched:sched_process_exit/comm == "wanted"/',
                NEVER) as session:
            for path in programs * 3:
                subprocess.run(["taskset", "-c", str(self.cpu), path], check=True)
            session.finish(signal.SIGINT)
        span = session.summary["triggers"]["span"]
        self.assertEqual((span["all"]["count"], span["not_entered"], span["reentered"]), (3, 0, 0))

    def test_filter_of_a_system_call(self):
        """With a field as key, too. Python sleeps on another clock."""
        call = 'tp:syscalls:sys_enter_clock_nanosleep/which_clock == %d/..' \
               'tp:syscalls:sys_exit_clock_nanosleep%s'
        code = "import ctypes, os\nos.sched_setaffinity(0, [%d])\n" \
            "for clock in (0, 1, 7, 7):\n" \
            "    ctypes.CDLL(None).clock_nanosleep(clock, 0, (ctypes.c_long * 2)(0, 1000), None)"
        code %= self.cpu
        for clock, count in ((7, 2), (9, 0)):
            with self.subTest(clock), self.session(call % (clock, ""), NEVER) as session:
                subprocess.run(["python3", "-c", code], check=True)
                session.finish(signal.SIGINT)
                self.assertEqual(session.summary["triggers"]["span"]["all"]["count"], count)

    def test_by_field_of_a_system_call(self):
        span = 'tp:syscalls:sys_enter_lseek/offset == 54321/..' \
               'tp:syscalls:sys_exit_lseek/ret == 54321/,by=offset:ret'
        code = "import os, tempfile\nos.sched_setaffinity(0, [%d])\n" \
            "file = tempfile.TemporaryFile()\n" \
            "for offset in (54321, 12345) * 3: os.lseek(file.fileno(), offset, 0)" % self.cpu
        with self.session(span, NEVER) as session:
            subprocess.run(["python3", "-c", code], check=True)
            session.finish(signal.SIGINT)
        span = session.summary["triggers"]["span"]
        self.assertEqual((span["all"]["count"], span["not_entered"], span["reentered"]), (3, 0, 0))

    def test_histogram(self):
        with self.session(NANOSLEEP, NEVER) as session:
            python_sleeps(self.cpu, *[SHORT_S] * 10)
            session.finish(signal.SIGINT)
        span = session.summary["triggers"]["span"]["all"]
        self.assertEqual(sum(row[2] for row in span["histogram"]), span["count"])
        self.assertGreaterEqual(
            sum(number for low, _, number in span["histogram"] if low >= SHORT_S * 1e9 * 63 / 64),
            10)

    def test_top(self):
        with common.python_on(self.cpu, "import time\nwhile True: time.sleep(%g)\n" % SHORT_S):
            result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output,
                                    "--span", "it=" + NANOSLEEP, "--trigger", "it=" + NEVER,
                                    "--recorder", "none", "--top", "--duration", "2.5s")
        lines = result.stdout.splitlines()
        # The last table; columns of a kind: current, minimum, average, p99, maximum, spikes.
        at = max(i for i, line in enumerate(lines) if "| span" in line)
        column = next(i for i, head in enumerate(lines[at].split("|")) if "span" in head)
        span = lines[at + 2].split("|")[column].split()
        self.assertRegex(span[1], r"^[\d.]+(ms|us|s)$")
        self.assertEqual(span[-1], "0")

    def test_by_cpu(self):
        with self.session("tp:irq:softirq_entry..tp:irq:softirq_exit,by=cpu", NEVER) as session:
            python_sleeps(self.cpu, *[SHORT_S] * 10)
            session.finish(signal.SIGINT)
        self.assertGreater(session.summary["triggers"]["span"]["all"]["count"], 0)


class User(SpanTest):
    def setUp(self):
        super().setUp()
        self.need("uprobe, usdt: yes")

    def run_spanned(self, span, mode):
        with self.session(span, NEVER) as session:
            subprocess.run(["taskset", "-c", str(self.cpu), SPANNED, mode], check=True)
            session.finish(signal.SIGINT)
        return session.summary["triggers"]["span"]

    def counts(self, span):
        return [
            span["all"]["count"],
            *(span[name] for name in ("not_entered", "reentered", "thread_died", "no_room"))
        ]

    def test_counts(self):
        """Those that are complete, not entered, entered again, of a thread that died, and beyond
        the room; the longest in ms."""
        pairs = "uprobe:%s:enter..uprobe:%s:leave,by=" % (SPANNED, SPANNED)
        for mode, span, counts, more_ms, less_ms in (
                ("pairs", pairs + "arg1", [2, 0, 0, 0, 0], 20, NEVER_MS),
                # The second entry restarts the span, and the second exit has no entry.
                ("pairs", pairs + "thread", [1, 1, 1, 0, 0], 0, NEVER_MS),
                ("again", pairs + "thread", [1, 0, 1, 0, 0], 0, 50),
                ("left", pairs + "thread", [0, 2, 0, 0, 0], 0, NEVER_MS),
                ("dies", pairs + "thread", [0, 0, 0, 1, 0], 0, NEVER_MS),
                ("recurses", "uprobe:%s:recurse" % SPANNED, [1, 0, 4, 0, 0], 5 * 4, NEVER_MS),
                # A longjmp leaves the function: the next call is measured all the same.
                ("jumps", "uprobe:%s:fail" % SPANNED, [9, 0, 1, 0, 0], 4, NEVER_MS),
                ("recovers", "uprobe:%s:fail" % SPANNED, [3, 0, 3, 0, 0], 2 * 4, NEVER_MS)):
            with self.subTest(mode=mode, span=span):
                seen = self.run_spanned(span, mode)
                self.assertEqual(self.counts(seen), counts)
                self.assertTrue(more_ms * 10**6 <= seen["all"]["max_ns"] < less_ms * 10**6,
                                seen["all"])
        count, not_entered, reentered, died, no_room = self.counts(
            self.run_spanned(pairs + "arg1", "many"))
        self.assertGreaterEqual(no_room, 17000 - 16384)
        self.assertEqual((count + no_room, not_entered, reentered, died), (17000, no_room, 0, 0))

    def test_overrun(self):
        """A span that never ends, of a running thread and of a sleeping one. The workload's timer
        notices it."""
        span = "uprobe:%s:enter..uprobe:%s:leave,overrun" % (SPANNED, SPANNED)
        for mode in ("spins", "sleeps"):
            workload = ["--workload", "cyclic", "--period", "10ms"]
            shutil.rmtree(self.output, ignore_errors=True)
            with self.subTest(mode), \
                    self.session(span, LONG, "--count", "1", *workload) as session, \
                    subprocess.Popen(["taskset", "-c", str(self.cpu), SPANNED, mode]) as process:
                try:
                    capture = self.assert_long(session)
                finally:
                    process.kill()
                self.assertEqual((capture["comm"], capture["tid"]), ("spanned", process.pid))
                self.assertEqual(session.summary["triggers"]["span"]["all"]["count"], 0)

    def test_function_of_a_library(self):
        library = next(
            line.split()[2]
            for line in subprocess.run(["ldd", shutil.which("sleep")], capture_output=True,
                                       text=True, check=True).stdout.splitlines()
            if "libc.so" in line)
        # The library has two versions of this function.
        for name in (library, os.path.basename(library)):
            function = "clock_nanosleep" if "/" in name else "nanosleep"
            with self.subTest(name), self.session("uprobe:%s:%s" % (name, function),
                                                  NEVER) as session:
                code = "import ctypes, os\nos.sched_setaffinity(0, [%d])\nctypes.CDLL(None).%s"
                first = "1, 0, " if "clock" in function else ""
                call = f"{function}({first}(ctypes.c_long * 2)(0, 1000), None)"
                subprocess.run(["python3", "-c", code % (self.cpu, call)], check=True)
                session.finish(signal.SIGINT)
                self.assertGreaterEqual(session.summary["triggers"]["span"]["all"]["count"], 1)

    @contextlib.contextmanager
    def redis(self):
        socket = os.path.join(self.folder, "redis")
        server = [
            "taskset", "-c",
            str(self.cpu), REDIS, "--port", "0", "--unixsocket", socket, "--save", "", "--dir",
            self.folder, "--enable-debug-command", "yes"
        ]

        def ask(*words):
            return subprocess.run(["redis-cli", "-s", socket, *words], capture_output=True,
                                  text=True, check=False).stdout

        with subprocess.Popen(server, stdout=subprocess.DEVNULL) as process:
            try:
                common.wait_for(lambda: "PONG" in ask("ping"), "an answer of Redis")
                yield ask
            finally:
                process.terminate()

    def test_redis(self):
        if not os.path.exists(REDIS) or not shutil.which("redis-cli"):
            self.skipTest("needs redis-server and redis-tools")
        with self.redis() as ask, self.session("uprobe:%s:call" % REDIS, LONG, "--count",
                                               "1") as session:
            self.assertIn("OK", ask("set", "key", "value"))
            ask("debug", "sleep", str(LONG_S))
            capture = self.assert_long(session, LONG_S * 1e9)
        self.assertEqual(capture["comm"], "redis-server")
        self.assertGreaterEqual(session.summary["triggers"]["span"]["all"]["count"], 2)

    @contextlib.contextmanager
    def postgres(self, programs):
        data = os.path.join(self.folder, "data")
        os.chmod(self.folder, 0o755)
        os.mkdir(data)
        shutil.chown(data, "postgres")
        run = ["runuser", "-u", "postgres", "--"]
        subprocess.run([*run, programs + "initdb", "-D", data, "--no-sync", "-A", "trust"],
                       stdout=subprocess.DEVNULL, check=True)

        def ask(query):
            return subprocess.run([*run, programs + "psql", "-h", data, "-Atc", query],
                                  capture_output=True, text=True, check=False).stdout

        server = [
            *run, "taskset", "-c",
            str(self.cpu), programs + "postgres", "-D", data, "-k", data, "-c", "listen_addresses="
        ]
        with subprocess.Popen(server, stderr=subprocess.DEVNULL) as process:
            try:
                common.wait_for(lambda: ask("select 1") == "1\n", "an answer of PostgreSQL")
                yield ask
            finally:
                process.terminate()

    def test_postgres(self):
        if common.EMULATED:
            self.skipTest("a database takes minutes to make in an emulator")
        found = [
            POSTGRES % version for version in range(13, 20)
            if os.path.exists(POSTGRES % version + "postgres")
        ]
        if not found:
            self.skipTest("needs postgresql")
        probe = "usdt:%spostgres:postgresql:query__" % found[0]
        with self.postgres(found[0]) as ask, self.session("%sstart..%sdone" % (probe, probe), LONG,
                                                          "--count", "1") as session:
            self.assertEqual(ask("select 2"), "2\n")
            ask("select pg_sleep(%g)" % LONG_S)
            capture = self.assert_long(session, LONG_S * 1e9)
        self.assertEqual(capture["comm"], "postgres")


class Refused(SpanTest):
    def refuse(self, code, words, *args):
        result = common.run_ctl("start", "--cpu", str(self.cpu), "--output", self.output, *args)
        self.assert_fails(result, code, *words)

    def test_what_there_is_not(self):
        rows = [(2, ["it", "no tracepoint nothing:such"], "tp:nothing:such..tp:sched:sched_switch"),
                (2, ["it", "by=such",
                     "no such field"], "tp:sched:sched_switch..tp:sched:sched_switch,by=such"),
                (2, ["it", "/no/such", "No such file"], "uprobe:/no/such:f"),
                (2, ["it", "no_such_function", "no such function"], "fn:no_such_function"),
                (2, ["it", "'tp'", "tp:SYS:NAME"], "tp:sched"),
                (2, ["it", "no EXIT"], "tp:sched:sched_switch"), ]
        if "uprobe, usdt: yes" in span_kinds():
            rows += [(2, ["it", "'no_such'", "no such function"], "uprobe:%s:no_such" % SPANNED),
                     (2, ["it", "'no:such'",
                          "no such probe"], "usdt:%s:no:such..tp:sched:sched_switch" % SPANNED), ]
        for code, words, span in rows:
            with self.subTest(span):
                self.refuse(code, words, "--trigger", "it=1ms", "--span", "it=" + span)


if __name__ == "__main__":
    common.main()
