# SPDX-License-Identifier: GPL-2.0-only
"""The table of reasons: how each is made, how it is captured, and the truth.

`make` are shell scripts that run in the background until the captures are there. Their words:
{late} the program late_request, {cpu} the watched CPU, {other} another one, {tmp} a folder on disk.
$1 of a script after the first is the process of the first."""
import collections

# part: running, runnable, asleep or irq. what: the tokens or functions of which one is right, as a
# pattern; who: the waker, the rival or the sender, as a pattern. None: any, or none. With NOBODY
# for who, each name is wrong.
Truth = collections.namedtuple("Truth", "part what who", defaults=(None, None))
# short: also in the short run. needs: programs, and conditions of harness.CONDITIONS
NOBODY = "^$"
Row = collections.namedtuple("Row", "name make trigger truth needs short", defaults=((), False))

REQUEST = ("--span", "req=uprobe:{late}:request", "--trigger")
TIMER = "timer|swapper"


def request(threshold="20ms", *options):
    return (*REQUEST, "req=" + threshold, *options)


def calls(comm, numbers, threshold="10ms", *options):
    """System calls of a program that is not ours."""
    filters = 'comm == "%s" && (%s)' % (comm, " || ".join("id == %d" % number
                                                          for number in numbers))
    return ("--span", 'req=tp:raw_syscalls:sys_enter/%s/..tp:raw_syscalls:sys_exit/comm == "%s"/' %
            (filters, comm), "--trigger", "req=" + threshold, *options)


def call(comm, number, *args):
    return calls(comm, (number,), *args)


def late(mode, ms=30, every=200):
    return "exec {late} %s {cpu} {other} %d %d {tmp}" % (mode, ms, every)


def waits(mode, what, who="partner", **kwargs):
    return Row(mode, [late(mode)], request(), Truth("asleep", what, who), **kwargs)


def stopped_pair(stressor, what, numbers, **kwargs):
    """Two processes of a stressor that talk to each other: the one is stopped for a while, the
    other waits for it."""
    comm = ("stress-ng-" + stressor)[:15]
    action = (
        "sleep 1; set -- $(pgrep -x '%s'); [ $# -ge 2 ] || exit 1; taskset -pc {cpu} $1; taskset "
        "-pc {other} $2; while sleep .3; do "
        "kill -STOP $2; sleep .04; kill -CONT $2; done" % comm)
    return Row("stress-ng " + stressor, ["exec stress-ng --quiet --%s 1" % stressor, action],
               calls(comm, numbers, "20ms"), Truth("asleep", what, comm), ("stress-ng", "pgrep"),
               **kwargs)


COMPUTE = late("compute", 20, 1)
SLOW = request("80ms")
SAMPLED = request("20ms", "-e", "cpu-clock")


def rival(name, script, who, what=None, compute=COMPUTE, trigger=SLOW, **kwargs):
    return Row(name, [compute, script], trigger, Truth("runnable", what, who), **kwargs)


def stopped(name, script, who, **kwargs):
    return Row(name, [COMPUTE, script], SLOW, Truth("asleep", "stop|tracer", who), **kwargs)


def runs(mode, what, trigger=SAMPLED, **kwargs):
    return Row(mode, [late(mode).replace("exec", "exec chrt -f 10")], trigger,
               Truth("running", what), **kwargs)


# What stops and continues the hog is on another CPU. It starts once: where programs start slowly, a
# hog that is started anew each time ends before it has run. It takes longer than the request itself
# on a slow CPU.
HOG = "chrt -f %d taskset -c {cpu} yes >/dev/null & while taskset -c {other} sleep .3; do " \
      "kill -STOP $!; sleep .4; kill -CONT $!; done"
HOGGED = request("200ms")
QUOTA = (
    "exec 9>{tmp}/quota; cgroup=$(set_quota 20000 100000) || exit 1; echo $1 "
    ">$cgroup/cgroup.procs; sleep 600"
)

# Else most writes to /dev/kmsg are dropped.
UNLIMITED = (
    "cd /proc/sys/kernel; old=$(cat printk_devkmsg); trap 'echo $old >printk_devkmsg; exit' TERM; "
    "echo on >printk_devkmsg; "
    "while :; do sleep .05; done")

ROWS = [
    # -- It waits for another thread ---------------------------------------------------------------
    waits("mutex", "^futex$", short=True),
    waits("pi", "^futex$|pi_mutex"),
    waits("inversion", "^futex$"),
    waits("rwlock", "^futex$|rwlock", short=True),
    waits("cond", "^futex$|condition"),
    waits("barrier", "^futex$|barrier"),
    waits("semaphore", "^futex$|semaphore"),
    waits("chain", "^futex$"),
    waits("join", "^futex$", "joined"),
    waits("sysv-semaphore", "semaphore"),
    waits("sysv-queue", "queue"),
    waits("posix-queue", "queue"),
    waits("pipe", "pipe", short=True),
    waits("full-pipe", "pipe"),
    waits("socket", "unix_socket"),
    waits("tcp", "tcp_socket"),
    waits("epoll", "poll|epoll"),
    waits("poll", "poll"),
    waits("eventfd", "eventfd|poll"),
    waits("flock", "lock"),
    waits("child", "child", "child", short=True),
    waits("vfork", "child|vfork", "child"),
    waits("signal", "signal"),
    # -- It waits for the time, or a disk ----------------------------------------------------------
    waits("sleep", "sleep", TIMER, short=True),
    waits("poll-timeout", "poll|sleep", TIMER),
    waits("timerfd", "timerfd|sleep|timer", TIMER),
    waits("fsync", "disk", None, needs=("disk", ), short=True),
    waits("direct", "disk", None, needs=("disk", )),
    Row("fault", [late("fault").replace("exec", "exec chrt -f 10")], request(),
        Truth("asleep", "page.fault|disk"), ("chrt", "disk")),
    # -- Programs that others wrote wait -----------------------------------------------------------
    Row("sleep(1)", ["while :; do taskset -c {cpu} sleep .03; sleep .2; done"], call("sleep", 230),
        Truth("asleep", "sleep", TIMER)),
    Row("sh and its child", ["exec taskset -c {cpu} dash -c 'while :; do sleep .03; done'"],
        call("dash", 61), Truth("asleep", "child", "sleep"), ("dash", )),
    Row("flock(1)", [
        "while :; do flock {tmp}/lock sleep .05; done",
        "while sleep .2; do taskset -c {cpu} flock {tmp}/lock true; done"
    ], call("flock", 73), Truth("asleep", "lock", "flock"), ("flock", )),
    Row("dd oflag=direct", [
        "while :; do taskset -c {cpu} dd if=/dev/zero of={tmp}/dd bs=256M count=1 oflag=direct; "
        "sleep .2; done"
    ], call("dd", 1), Truth("asleep", "disk"), ("disk", )),
    Row("dd conv=fsync", [
        "while :; do taskset -c {cpu} dd if=/dev/zero of={tmp}/dd bs=1M count=128 conv=fsync; "
        "sleep .2; done"
    ], call("dd", 74), Truth("asleep", "disk"), ("disk", )),
    Row("cyclictest", ["exec cyclictest -q -t1 -a{cpu} -p80 -i20000 -D10m"],
        call("cyclictest", 230), Truth("asleep", "sleep", TIMER), ("cyclictest", )),
    Row("ptsematest", ["exec ptsematest -a{cpu} -t1 -p80 -i20000 -D10m"], call("ptsematest", 202),
        Truth("asleep", "futex|lock|semaphore", "ptsematest"), ("ptsematest", ), True),
    Row("svsematest", ["exec $(command -v svsematest) -a{cpu} -t1 -p80 -i20000 -D10m"],
        calls("svsematest", (65, 220)), Truth("asleep", "semaphore", "svsematest"),
        ("svsematest", )),
    Row("sigwaittest", ["exec sigwaittest -a{cpu} -t1 -p80 -i20000 -D10m"],
        call("sigwaittest", 128), Truth("asleep", "signal", "sigwaittest"), ("sigwaittest", )),
    Row("pmqtest", ["exec pmqtest -a{cpu} -t1 -p80 -i20000 -D10m"], call("pmqtest", 243),
        Truth("asleep", "queue", "pmqtest"), ("pmqtest", )),
    Row("membarrier", ["exec taskset -c {cpu} stress-ng --quiet --membarrier 1"],
        call("stress-ng-membarrier"[:15], 324, "5ms"), Truth("asleep", "rcu|lock|completion"),
        ("stress-ng", )),
    stopped_pair("pipe", "pipe", (0, 1, 20), short=True),
    stopped_pair("sock", "socket|poll", (0, 1, 44, 45, 46, 47, 288)),
    stopped_pair("eventfd", "eventfd|poll|pipe", (0, 1)),
    stopped_pair("msg", "queue", (69, 70)),
    stopped_pair("mq", "queue", (242, 243)),
    stopped_pair("sem-sysv", "semaphore", (65, 220)),
    stopped_pair("switch", "pipe", (0, 1)),
    # -- It is stopped -----------------------------------------------------------------------------
    stopped("kill -STOP", "while sleep .3; do kill -STOP $1; sleep .1; kill -CONT $1; done", "sh",
            short=True),
    stopped("gdb -p",
            "while sleep .3; do gdb -q -nx -batch -p $1 -ex 'shell sleep .1' -ex detach; done",
            "gdb|^sh", needs=("gdb", )),
    # -- Others run --------------------------------------------------------------------------------
    rival("FIFO hog", HOG % 50, "yes", trigger=HOGGED, needs=("chrt", ), short=True),
    rival("FIFO hog over FIFO", HOG % 90, "yes",
          compute="exec chrt -f 80 {late} compute {cpu} {other} 10 30", trigger=HOGGED,
          needs=("chrt", )),
    rival("nice", "exec taskset -c {cpu} nice -n -5 yes >/dev/null", "yes",
          compute="exec nice -n 5 {late} compute {cpu} {other} 20 1"),
    rival("stress-ng cpu", "exec taskset -c {cpu} stress-ng --quiet --cpu 6", "stress-ng-cpu",
          needs=("stress-ng", )),
    rival("stress-ng vm", "exec taskset -c {cpu} stress-ng --quiet --vm 6 --vm-bytes 16M",
          "stress-ng-vm", needs=("stress-ng", )),
    rival("stress-ng matrix", "exec taskset -c {cpu} stress-ng --quiet --matrix 6",
          "stress-ng-matri", needs=("stress-ng", )),
    rival("hackbench", "while :; do taskset -c {cpu} hackbench -g 2 -l 2000; done", "hackbench",
          needs=("hackbench", )),
    rival("cgroup quota", QUOTA, NOBODY, "quota", needs=("quota", ), short=True),
    Row("FIFO throttled", [
        "exec chrt -f 80 {late} sleep {cpu} {other} 1 1",
        "exec chrt -f 50 taskset -c {cpu} yes >/dev/null",
        "exec taskset -c {cpu} nice -n 19 md5sum /dev/zero"
    ], ("--trigger", "wakeup=15ms", "--task", "request"),
        # Until it has executed md5sum, it has the name of what does so.
        Truth("runnable", "throttling|fair.server", "md5sum|nice|taskset"), ("chrt", )),
    Row("wakeup behind a FIFO hog", ["exec chrt -f 80 {late} sleep {cpu} {other} 1 1", HOG % 90],
        ("--trigger", "wakeup=80ms", "--task", "request"), Truth("runnable", None,
                                                                 "yes"), ("chrt", )),
    Row("thread behind a FIFO hog",
        [HOG % 97], ("--trigger", "thread=80ms", "--workload", "cyclic"),
        Truth("runnable", None, "yes"), ("chrt", )),
    # -- It runs -----------------------------------------------------------------------------------
    runs("compute", r"compute", short=True),
    runs("random", "chacha|getrandom|get_random"),
    runs("pages", "clear_page|fault|folio|alloc|page"),
    # Some kernels clear pages inline.
    runs("huge-pages",
         "clear_page|clear_highpage|prep_new_page|get_page_from_freelist|huge|fault|folio"),
    runs("unmap", "zap|free|unmap|page|folio|tlb|madvise"),
    runs("fork", "copy_page|copy_p|dup_mm|fork|clone", request("5ms", "-e", "cpu-clock")),
    Row("kmsg", ["exec chrt -f 10 {late} kmsg {cpu} {other} 30 200", UNLIMITED], SAMPLED,
        Truth("running", "console|serial|printk|devkmsg|vprintk|uart"), ("chrt", )),
    Row("zlib in Python", [
        "exec taskset -c {cpu} python3 -c 'import os, time, zlib\nwhile True: "
        "zlib.compress(os.urandom(2 << 20)); time.sleep(.1)'"
    ], ("--span", "req=uprobe:libz.so.1:deflate", "--trigger", "req=20ms", "-e", "cpu-clock"),
        Truth("running", "deflate|longest_match|libz")),
    Row("dd if=/dev/urandom", [
        "while :; do taskset -c {cpu} dd if=/dev/urandom of=/dev/null bs=64M count=1; sleep .2; "
        "done"
    ], call("dd", 0, "20ms", "-e", "cpu-clock"), Truth("running", "chacha|random")),
    # -- An interrupt hits it ----------------------------------------------------------------------
    Row("interrupt", [late("compute", 10, 1), "exec {ipi} {cpu} 40000 300"], request("35ms"),
        Truth("irq", "call_function"), ("bpf", ), True),
]
