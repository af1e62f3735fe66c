# SPDX-License-Identifier: GPL-2.0-only
"""Synthetic programs in which something makes a timer late: the report names it each time.

usage: culprits.py SENTENCE
"""
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "calls"))
SENTENCE = sys.argv[-1]
# pylint: disable-next=wrong-import-position
from program import INSN, IRET, OFF, ON, SYSCALL, SYSRET, Program  # noqa: E402

TIMES = 20  # of each kind
TIMER = "asm_sysvec_apic_timer_interrupt"


class Machine:
    """A program with a timer; the caller makes it late."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.p = Program()
        self.p.time = 1000000
        self.p.begin("main_loop", 8)
        self.noise(self.random.randrange(20, 60))
        self.chain = [f"level_{n}" for n in range(self.random.randrange(1, 5))]
        self.backs = [self.enter(name) for name in self.chain]
        self.begun = self.expected = 0

    def enter(self, name):
        self.p.run(self.random.randrange(1, 4))
        return self.p.call(name)

    def noise(self, calls):
        """Short calls, some with interrupts off for a while, some interrupted."""
        for _ in range(calls):
            back = self.p.call(f"helper_{self.random.randrange(8)}")
            self.p.run(self.random.randrange(1, 5))
            self.p.time += self.random.randrange(0, 300)
            what = self.random.randrange(6)
            if what == 0:
                self.p.run(1, OFF)
                self.p.time += self.random.randrange(0, 500)
                self.p.run(1, ON)
            elif what == 1:
                inside = self.p.interrupt("asm_common_interrupt")
                self.p.run(2)
                self.p.iret(inside)
            self.p.ret(back)

    def linger(self):
        """The culprit's time: in pieces, with short calls."""
        self.begun = self.p.time
        pieces = self.random.randrange(1, 6)
        for _ in range(pieces):
            self.p.time += self.random.randrange(20000, 60000)
            back = self.p.call("cpu_relax")
            self.p.run(1)
            self.p.ret(back)
        # The timer was to expire soon after the culprit's begin.
        self.expected = self.begun + self.random.randrange(0, (self.p.time - self.begun) // 4)

    def expire(self):
        """The timer's interrupt, and what the trigger sees."""
        self.p.run(1)
        back = self.p.interrupt(TIMER)
        self.p.run(2)
        inside = self.p.call("hrtimer_interrupt")
        self.p.run(2)
        self.actual = self.p.time
        self.p.time += 500
        self.p.run(1)
        self.spike = self.p.time
        self.p.run(1)
        self.p.ret(inside)
        self.p.iret(back)
        self.p.end()

    def lines(self):
        return "\n".join(sorted(self.p.lines,
                                key=lambda line: not line.startswith("symbol"))) + "\n"


def tell(times, lines, *args):
    """Returns kind, name, sentence and fingerprint of the cause."""
    result = subprocess.run([SENTENCE, "1", *map(str, times), *args], input=lines,
                            capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    return result.stdout.splitlines()


class Culprits(unittest.TestCase):
    def check(self, injure, kind, name, *parts):
        for seed in range(TIMES):
            machine = Machine(seed)
            injure(machine)
            machine.expire()
            found = tell((machine.expected, machine.actual, machine.spike), machine.lines())
            with self.subTest(seed=seed, found=found):
                self.assertEqual(found[:2], [kind, name])
                for part in parts:
                    self.assertIn(part, found[2])
                callers = " < ".join(f"{name}()"
                                     for name in [*reversed(machine.chain), "main_loop"][:3])
                if kind in ("irqs_off", "interrupt", "nmi", "exception"):
                    self.assertIn(callers, found[2])

    def test_interrupts_off(self):
        def injure(m):
            m.enter("acme_flush")
            m.p.run(1, OFF)
            m.linger()
            m.p.run(1, ON)

        self.check(injure, "irqs_off", "acme_flush",
                   "in acme_flush() with interrupts off, called from ")

    def test_a_lock_that_turns_interrupts_off(self):
        def injure(m):
            m.enter("acme_flush")
            back = m.p.call("_raw_spin_lock_irqsave")
            m.p.run(1)
            m.p.run(1, OFF)
            m.p.run(1)
            m.p.ret(back)
            m.linger()
            m.p.call("_raw_spin_unlock_irqrestore")
            m.p.run(1, ON)

        self.check(injure, "irqs_off", "acme_flush",
                   "in acme_flush() with interrupts off, called from ")

    def test_interrupt(self):
        def injure(m):
            back = m.p.interrupt("asm_sysvec_call_function_single")
            m.p.run(2)
            inside = m.p.call("acme_ipi")
            m.linger()
            m.p.ret(inside)
            m.p.iret(back)

        self.check(injure, "interrupt", "asm_sysvec_call_function_single",
                   "most of it in acme_ipi()", "interrupting ")

    def test_softirq(self):
        """After an interrupt, with interrupts on: no cause either."""
        def injure(m):
            back = m.p.interrupt("asm_common_interrupt")
            m.p.run(2)
            inside = m.p.call("handle_softirqs")
            m.p.run(1, ON)
            action = m.p.call("acme_poll")
            m.linger()
            m.p.ret(action)
            m.p.run(1, OFF)
            m.p.ret(inside)
            m.p.iret(back)

        self.check(injure, "none", "handle_softirqs",
                   "nothing in the window explains it: interrupts were on",
                   "acme_poll() < handle_softirqs()")

    def test_nmi(self):
        def injure(m):
            m.p.run(1, OFF)
            back = m.p.interrupt("asm_exc_nmi")
            m.p.run(2)
            m.linger()
            m.p.iret(back)
            m.p.run(1, ON)
        self.check(injure, "nmi", "asm_exc_nmi", "interrupting ")

    def test_exception(self):
        def injure(m):
            back = m.p.interrupt("asm_exc_page_fault")
            m.p.run(2)
            inside = m.p.call("acme_fault")
            m.linger()
            m.p.ret(inside)
            m.p.iret(back)
        self.check(injure, "exception", "asm_exc_page_fault", "most of it in acme_fault()")

    def test_idle(self):
        """The CPU waits with interrupts off."""
        def injure(m):
            m.p.pid = m.p.tid = 0
            m.p.begin("do_idle", 8)
            m.p.run(1, OFF)
            back = m.p.call("intel_idle")
            m.p.run(2)
            m.begun = m.p.time
            m.expected = m.begun + m.random.randrange(1000, 50000)
            m.p.time = m.expected + m.random.randrange(30000, 200000)
            m.p.run(2)
            m.p.ret(back)
            m.p.run(1, ON)
        self.check(injure, "idle", "intel_idle", "slow to wake up")

    def test_long_system_call(self):
        """With interrupts on, it is no cause."""
        def injure(m):
            m.p.call("entry_SYSCALL_64", SYSCALL)
            m.p.run(1)
            m.p.run(1, ON)
            m.p.call("acme_write")
            m.linger()

        self.check(injure, "none", "task 11",
                   "nothing in the window explains it: interrupts were on", "acme_write()")

    def test_code_that_is_not_traced(self):
        """Kernel-only trace: the CPU returns to user space and comes back with the timer's
        interrupt."""
        def injure(m):
            m.begun = m.p.time
            m.p.end(SYSRET)
            m.expected = m.begun + m.random.randrange(0, 10000)
            m.p.time = m.expected + m.random.randrange(40000, 200000)
            m.p.begin(TIMER)
        self.check(injure, "untraced", "[not traced]", "in code without a trace")

    def test_lost(self):
        def injure(m):
            m.begun = m.p.time
            m.p.ip += 4
            m.expected = m.begun + m.random.randrange(0, 10000)
            m.p.time = m.expected + m.random.randrange(40000, 200000)
            m.p.begin(m.chain[-1], 100)
        self.check(injure, "lost", "[lost]", "of that is missing")


class Kernel(unittest.TestCase):
    """Of a kernel-only trace."""

    def late(self, entry, function, *args, path="acme_entry_path", after=None):
        """A handler takes long. Returns what is told."""
        p = Program()
        p.time = 100000
        p.play(
            "begin entry_SYSCALL_64; run 1 ON; back = call sys_read; ret back; end SYSRET; wait "
            "1000"
        )
        p.begin(entry)
        p.run(2)
        self.expected = p.time
        outer = p.call(path)
        p.run(1)
        if after:
            after(p)
        back = p.call(function)
        p.run(1)
        p.wait(80000)
        p.ret(back)
        p.ret(outer)
        p.end(IRET)
        return self.finish(p, *args)

    def finish(self, p, *args):
        p.wait(10)
        p.begin(TIMER)
        p.run(2)
        self.actual = p.time
        p.run(1)
        self.spike = p.time
        p.end()
        lines = sorted(p.lines, key=lambda line: not line.startswith("symbol"))
        self.program = "\n".join(lines) + "\n"
        return self.again(*args)

    def again(self, *args):
        return tell((self.expected, self.actual, self.spike), self.program, *args)


class UserSpace(Kernel):
    """What hits it is named as well, as events do."""

    def test_sent_interrupt(self):
        kind, name, sentence, fingerprint = self.late("asm_sysvec_call_function_single", "acme_ipi",
                                                      "sender=101000")
        self.assertEqual((kind, name), ("interrupt", "asm_sysvec_call_function_single"))
        self.assertIn(
            "in interrupt asm_sysvec_call_function_single(), most of it in acme_ipi() < "
            "acme_entry_path(), sent by CPU 0, "
            "task 5 poller, from acme_kick()", sentence)
        self.assertEqual(fingerprint,
                         "v5 interrupt acme_entry_path<[call_function_single] from acme_kick")

    def test_each_entry(self):
        for entry, kind, token in (("asm_common_interrupt", "interrupt", "irq"),
                                   ("irq_entries_start", "interrupt", "irq"),
                                   ("__irqentry_text_start", "interrupt", "irq"),
                                   ("asm_exc_nmi", "nmi", "nmi"),
                                   ("asm_exc_page_fault", "exception", "page_fault")):
            found = self.late(entry, "handle")
            self.assertEqual((found[0], found[3]), (kind, f"v5 {kind} acme_entry_path<[{token}]"),
                             found[2])

    def test_fred(self):
        """There all of them have one entry; what it calls shows which it was."""
        def call_function(p):
            p.call("fred_extint")
            p.ret(p.call("irqentry_enter"))
            p.call("fred_sysvec_call_function")

        kind, name, sentence, fingerprint = self.late("asm_fred_entrypoint_user", "acme_ipi",
                                                      "sender=101000", path="fred_entry_from_user",
                                                      after=call_function)
        self.assertEqual((kind, name, fingerprint),
                         ("interrupt", "asm_sysvec_call_function",
                          "v5 interrupt acme_ipi<[call_function] from acme_kick"), sentence)
        for callee, kind, token in (("common_interrupt", "interrupt", "irq"),
                                    ("fred_exc_nmi", "nmi", "nmi"), ("exc_page_fault", "exception",
                                                                     "page_fault")):
            found = self.late("asm_fred_entrypoint_kernel", "acme_fault",
                              path="fred_entry_from_kernel", after=lambda p: p.call(callee))
            self.assertEqual((found[0], found[3]), (kind, f"v5 {kind} acme_fault<[{token}]"),
                             found[2])

    def test_handlers_differ(self):
        def handler(name, microseconds):
            p = Program()
            p.time = 100000
            p.play(
                "begin entry_SYSCALL_64; run 1 ON; end SYSRET; wait 1000; begin "
                "asm_common_interrupt; run 2"
            )
            self.expected = p.time
            backs = [p.call(function) for function in ("common_interrupt", "handle_edge_irq", name)]
            p.wait(1000 * microseconds)
            p.ret(backs.pop())
            p.wait(20000)
            for back in reversed(backs):
                p.ret(back)
            p.end(IRET)
            return self.finish(p)[3]

        self.assertEqual(
            [handler("nvme_irq", 80),
             handler("nvme_irq", 40),
             handler("mlx5_eq_async_int", 80)],
            ["v5 interrupt nvme_irq<[irq]"] * 2 + ["v5 interrupt mlx5_eq_async_int<[irq]"])
        self.assertEqual(handler("nvme_irq", 10), "v5 interrupt [irq]")

    def test_after_sync_core(self):
        """The interrupt goes on after an iret to the next instruction."""
        def sync_core(p):
            back = p.call("do_sync_core")
            p.run(1)
            p.branch(p.ip + INSN, IRET)
            p.run(1)
            p.ret(back)
        found = self.late("asm_sysvec_call_function", "acme_ipi", after=sync_core)
        self.assertEqual(found[3], "v5 interrupt acme_entry_path<[call_function]", found[2])

    def test_way_back(self):
        """What the kernel does for the task on the way back from an interrupt is the task's."""
        p = Program()
        p.time = 100000
        p.play(
            "begin entry_SYSCALL_64; run 1 ON; end SYSRET; wait 1000; begin "
            "asm_sysvec_reschedule_ipi; run 2; "
            "back = call irqentry_exit_to_user_mode; run 1 ON")
        self.expected = p.time
        p.play("inner = call do_coredump; wait 80000; ret inner; run 1 OFF; ret back; end IRET")
        kind, name, _, fingerprint = self.finish(p, "thread")
        self.assertEqual((kind, name), ("thread", "task 11"), fingerprint)
        sentence = self.again("thread", "steal=70000,600000")[2]
        self.assertIn("either blocking thread task 11 ran for ", sentence)
        self.assertIn(
            ", or the hypervisor ran something else; 70us of steal time in the 600us before",
            sentence)
        self.assertNotIn("hypervisor", self.again("thread", "steal=70000,800000")[2])


class Unproved(Kernel):
    """Interrupts were off only where something shows it."""

    def test_lost_sti(self):
        p = Program()
        p.time = 100000
        p.play(
            "begin sys_write; run 2 ON; back = call _raw_spin_lock_irqsave; run 1 OFF; ret back; "
            "run 1; wait 2000; "
            "begin copy_loop")
        self.expected = p.time
        for _ in range(3):
            p.play(
                "run 2; wait 26000; back = interrupt asm_sysvec_apic_timer_interrupt; run 3; iret "
                "back"
            )
        p.play("run 2; end SYSRET")
        found = self.finish(p, "thread")
        self.assertEqual(found[:2], ["thread", "task 11"], found[2])
        found = self.finish(p)
        self.assertIn("nothing in the window explains it: interrupts were on for ", found[2])
        self.assertEqual(found[3], "v5 outside")

    def test_nothing_shows_it(self):
        p = Program()
        p.time = 100000
        p.play("begin sys_write; run 1 OFF; wait 2000; begin copy_loop")
        self.expected = p.time
        p.play("run 2; wait 80000; run 2; end SYSRET")
        found = self.finish(p)
        self.assertIn(
            "the trace does not show whether interrupts were on for 80us of that, and task 11 ran",
            found[2])
        self.assertEqual(found[3], "v5 unknown")

    def test_user_space_after_iret_from_a_system_call(self):
        p = Program()
        p.time = 100000
        p.play(
            "begin u_main; run 2; back = call entry_SYSCALL_64 SYSCALL; run 1 ON; i = call "
            "sys_sigreturn; ret i; "
            "run 1 OFF; iret u_main+40")
        self.expected = p.time
        p.play("run 2; wait 80000; run 2; interrupt asm_exc_nmi")
        self.assertIn("interrupts were on for 80us of that", self.finish(p)[2])

    def test_indirect_recursion(self):
        """A function that calls itself by another counts once."""
        p = Program()
        p.time = 100000
        p.play(
            "begin entry_SYSCALL_64; run 1 ON; end SYSRET; wait 100; begin "
            "asm_sysvec_call_function; run 2"
        )
        self.expected = p.time
        p.play(
            "one = call other; wait 50000; ret one; a = call walk; wait 5000; b = call visit; wait "
            "5000; c = call walk; wait 30000; "
            "ret c; ret b; ret a; end IRET")
        self.assertNotIn("most of it", self.finish(p)[2])


if __name__ == "__main__":
    unittest.main()
