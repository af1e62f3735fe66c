# SPDX-License-Identifier: GPL-2.0-only
"""Synthetic programs in which something makes a timer late: the report names it each time.

usage: culprits.py SENTENCE
"""
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "decode/calls"))
SENTENCE = sys.argv[-1]
from program import OFF, ON, SYSCALL, SYSRET, Program  # noqa: E402  # pylint: disable=wrong-import-position

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
        return "\n".join(sorted(self.p.lines, key=lambda line: not line.startswith("symbol"))) + "\n"


class Culprits(unittest.TestCase):
    def tell(self, machine):
        """Returns kind, name and sentence of the cause."""
        result = subprocess.run([SENTENCE, "1", str(machine.expected), str(machine.actual), str(machine.spike)],
                                input=machine.lines(), capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()

    def check(self, injure, kind, name, *parts):
        for seed in range(TIMES):
            machine = Machine(seed)
            injure(machine)
            machine.expire()
            found = self.tell(machine)
            with self.subTest(seed=seed, found=found):
                self.assertEqual(found[:2], [kind, name])
                for part in parts:
                    self.assertIn(part, found[2])
                callers = " < ".join(f"{name}()" for name in [*reversed(machine.chain), "main_loop"][:3])
                if kind in ("irqs_off", "interrupt", "nmi", "exception"):
                    self.assertIn(callers, found[2])

    def test_interrupts_off(self):
        def injure(m):
            m.enter("acme_flush")
            m.p.run(1, OFF)
            m.linger()
            m.p.run(1, ON)
        self.check(injure, "irqs_off", "acme_flush", "in acme_flush() with interrupts off, called from ")

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
        self.check(injure, "irqs_off", "acme_flush", "in acme_flush() with interrupts off, called from ")

    def test_interrupt(self):
        def injure(m):
            back = m.p.interrupt("asm_sysvec_call_function_single")
            m.p.run(2)
            inside = m.p.call("acme_ipi")
            m.linger()
            m.p.ret(inside)
            m.p.iret(back)
        self.check(injure, "interrupt", "asm_sysvec_call_function_single", "most of it in acme_ipi()", "interrupting ")

    def test_softirq(self):
        """After an interrupt, with interrupts on."""
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
        self.check(injure, "softirq", "handle_softirqs", "most of it in acme_poll()")

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
        self.check(injure, "idle", "intel_idle", "slow to leave")

    def test_long_system_call(self):
        """With interrupts on, it is no cause."""
        def injure(m):
            m.p.call("entry_SYSCALL_64", SYSCALL)
            m.p.run(1)
            m.p.run(1, ON)
            m.p.call("acme_write")
            m.linger()
        self.check(injure, "none", "task 11", "nothing in the window explains it: interrupts were on", "acme_write()")

    def test_code_that_is_not_traced(self):
        """Kernel-only trace: the CPU returns to user space and comes back with the timer's interrupt."""
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


if __name__ == "__main__":
    unittest.main()
