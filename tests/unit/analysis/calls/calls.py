#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Call stacks from instructions and branches: the export shows what a synthetic program did.
Usage: calls.py FEED"""
import unittest

from program import CALL, INSN, IRET, LOST, NO_CODE, RETURN, SIZE, SYSCALL, CallsTest


class Stacks(CallsTest):
    def test_calls(self):
        self.play(
            "begin a 8; run 2; back = call b; run 3; inner = call c; ret inner; run 1; ret back; "
            "end"
        )
        self.assertEqual(self.show(), ["a 1001-1012", "  b 1004-1011", "    c 1008-1009"])
        slices = {piece.name: piece for piece in self.trace.check()["task 11"]}
        self.assertEqual(
            slices["b"].args,
            {"time": "0.000001004,0.000001011", "instructions": 7, "cycles": 14, "IPC": 0.5})
        self.assertEqual(slices["a"].args["instructions"], 10)
        self.assertTrue(slices["a"].args["unfinished"])
        self.assertEqual(self.gaps, 0)

    def test_unmatched_returns(self):
        """Returned-to functions began where the trace did."""
        self.play(
            "begin c 8; run 1; ret b+40; run 2; back = call d; ret back; ret a+80; run 1; end")
        self.assertEqual(self.show(),
                         ["a 1001-1010", "  b 1001-1008", "    c 1001-1003", "    d 1006-1007"])
        outer = [piece for piece in self.trace.check()["task 11"] if piece.name == "a"][0]
        self.assertTrue(outer.args["began before the trace"])
        self.assertEqual(outer.args["instructions"], 8)

    def test_tail_call(self):
        self.play("begin a; back = call b; run 1; branch c; run 1; ret back; run 1; end")
        self.assertEqual(self.show(), ["a 1001-1008", "  b 1002-1004", "  c 1004-1006"])

    def test_returns_to_untraced_code(self):
        """The function has ended when the trace begins again in its caller."""
        self.play(
            "begin a; back = call b; run 2; end RETURN; wait 100; begin_at back; it = call c; ret "
            "it; end"
        )
        self.assertEqual(self.show(), ["a 1001-1108", "  b 1002-1005", "  c 1106-1107"])

    def test_begins_in_an_interrupt(self):
        """The interrupted function began where the trace did."""
        self.play("begin irq 8; run 1; iret b+40; run 2; end")
        self.assertEqual(self.names(), ["b", "  irq"])

    def test_jumps_inside(self):
        """Loops and the cold part of a function belong to it."""
        self.play(
            "begin a; back = call b; run 4; branch b+8; branch b.cold+8; run 2; branch b+20; ret "
            "back; end"
        )
        self.assertEqual(self.names(), ["a", "  b"])

    def test_recursion(self):
        p = self.program
        p.begin("a")
        backs = [p.call("b")]
        for _ in range(5):
            p.run(1)
            backs.append(p.call("b"))
        for back in reversed(backs):
            p.ret(back)
        p.end()
        self.assertEqual(self.names(), ["a", *("  " * i + "b" for i in range(1, 7))])

    def test_retpoline(self):
        """A call within the thunk, and a return that jumps to a function's begin."""
        self.play(
            "begin a; back = call thunk; branch thunk+32 CALL; run 1; branch b RETURN; run 2; ret "
            "back; run 1; "
            "end")
        self.assertEqual(self.names(), ["a", "  thunk", "  b"])

    def test_skipped_returns(self):
        """A jump out of several functions, like longjmp()."""
        self.play("begin a; back = call b; call c; call d; ret back; back = call e; ret back; end")
        self.assertEqual(self.names(), ["a", "  b", "    c", "      d", "  e"])

    def test_falls_through(self):
        p = self.program
        p.at("a"), p.at("b")
        p.begin("a", SIZE - 2 * INSN)
        p.run(4)
        p.end()
        self.assertEqual(self.show(), ["a 1001-1004", "b 1004-1006"])

    def test_interrupts(self):
        self.play(
            "begin a; back = call b; run 1; resume = interrupt irq; run 1; inner = call handler; "
            "nested = interrupt nmi; run 1; iret nested; ret inner; iret resume; run 1; ret back; "
            "end"
        )
        self.assertEqual(self.names(), ["a", "  b", "    irq", "      handler", "        nmi"])
        self.assertEqual(self.names(track="CPU 1 interrupts"), ["irq", "  nmi"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["irq 1004-1011"])
        kinds = {piece.name: piece.category for piece in self.trace.check()["task 11"]}
        self.assertEqual(kinds, {
            "a": "kernel", "b": "kernel", "irq": "interrupt", "handler": "kernel",
            "nmi": "interrupt"
        })

    def test_interrupts_that_nothing_returns_from(self):
        """At 100,000 frames the stack is dropped: the function continues as a new slice. Of the
        innermost ones nobody knows whether interrupts were off before."""
        p = self.program
        p.begin("a")
        nr = 100010
        for _ in range(nr):
            p.interrupt("irq")
        self.feed()
        self.assertEqual(
            self.slices,
            3 * nr + len(["task", "a", "a", "irq", "irq", "?", "off", "?", "off", "?", "off"]))

    def test_return_in_interrupt_stays_there(self):
        """An unmatched return in an interrupt does not end the interrupted function."""
        self.play("begin a; resume = interrupt irq; run 1; ret stub+40; iret resume; run 1; end")
        self.assertEqual(self.names(), ["a", "  irq", "  stub"])

    def test_interrupts_off(self):
        self.play(
            "begin a; run 1; run 1 OFF; back = call b; run 2 OFF; ret back; run 1 ON; run 1 ON; "
            "run 1 OFF; "
            "run 1 RESTORED; end")
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["a 1003-1008", "a 1010-1011"])

    def test_interrupts_off_while_halted(self):
        """An idle CPU holds up no interrupt: sti and hlt, or mwait with interrupts off."""
        self.play(
            "begin idle; run 2 OFF; halt 100 ON; resume = interrupt irq; run 1; iret resume; run 1 "
            "OFF; back = call mwait; halt 100; run 2; ret back; run 1 ON; end")
        self.assertEqual(
            self.show(track="CPU 1 interrupts off"),
            ["idle 1002-1003", "irq 1104-1106", "idle 1107-1108", "mwait 1208-1212"])

    def test_system_call(self):
        self.play(
            "begin u_main; run 2; back = call entry SYSCALL; inner = call sys_read; ret inner; ret "
            "back SYSRET; "
            "run 2; end")
        self.assertEqual(self.names(), ["u_main", "  entry", "    sys_read"])
        kinds = {piece.name: piece.category for piece in self.trace.check()["task 11"]}
        self.assertEqual(kinds, {"u_main": "user", "entry": "syscall", "sys_read": "kernel"})

    def test_kernel_only(self):
        """Everything ends at the return to user space; interrupts are off at kernel entry."""
        for _ in range(2):
            self.play("begin entry; run 1 ON; back = call sys_read; ret back; end SYSRET; wait 100")
        self.assertEqual(
            self.show(),
            ["entry 1001-1005", "  sys_read 1003-1004", "entry 1106-1110", "  sys_read 1108-1109"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["entry 1106-1107"])
        self.assertEqual(self.show(track="CPU 1 trace"), ["[not traced] 1005-1106"])
        self.assertEqual(self.gaps, 0)
        # Nothing was below either.
        self.assertEqual(self.show("axis=instructions"),
                         ["entry 0-4", "  sys_read 2-3", "entry 4-8", "  sys_read 6-7"])

    def test_interrupt_of_user_space(self):
        """Of a trace of the kernel alone: it is as one that hits the kernel."""
        self.play(
            "begin entry_SYSCALL_64; run 1 ON; back = call sys_read; ret back; end SYSRET; wait "
            "100; "
            "begin asm_sysvec_call_function_single; run 1; back = call acme_ipi; run 8; ret back; "
            "end IRET; wait 10; "
            "begin asm_exc_nmi; run 2; end IRET; wait 10; begin asm_exc_page_fault; run 1 ON; end "
            "IRET; wait 10; "
            "begin __irqentry_text_start 16; branch asm_common_interrupt; run 1; end")
        kinds = {piece.name: piece.category for piece in self.check_spans()["task 11"]}
        self.assertEqual(
            kinds, {
                "entry_SYSCALL_64": "syscall", "sys_read": "kernel", "acme_ipi": "kernel",
                "asm_sysvec_call_function_single": "interrupt", "asm_exc_nmi": "interrupt",
                "asm_exc_page_fault": "interrupt", "asm_common_interrupt": "interrupt"
            })
        interrupts = [
            "asm_sysvec_call_function_single 1106-1118", "asm_exc_nmi 1129-1132",
            "asm_exc_page_fault 1143-1145", "asm_common_interrupt 1156-1159"
        ]
        self.assertEqual(self.show(track="CPU 1 interrupts"), interrupts)
        self.assertEqual(self.show(track="CPU 1 interrupts off"), [
            "entry_SYSCALL_64 1001-1002", *interrupts[:2], "asm_exc_page_fault 1143-1144",
            interrupts[3]
        ])
        self.assertEqual(self.show(track="CPU 1 interrupts on or off"), [])
        self.assertEqual(self.gaps, 0)

    def test_lost_entry(self):
        """The trace goes on within the kernel: what was lost began in user space, or later."""
        self.play("begin entry; run 1 ON; end SYSRET; wait 100; begin loop 40; run 3; end")
        self.assertEqual(self.show(track="CPU 1 trace"), ["[lost] 1003-1104"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"), [])
        self.assertEqual(self.gaps, 1)

    def test_iret_to_the_next_instruction(self):
        """By which sync_core() serialises the CPU: no interrupt ends."""
        self.play(
            "begin worker; run 2; resume = interrupt asm_sysvec_call_function; run 1; b = call "
            "do_sync_core; run 1"
        )
        self.program.branch(self.program.ip + INSN, IRET)
        self.play("run 1; wait 50; ret b; run 1; iret resume; run 1; end")
        self.assertEqual(self.show(), [
            "worker 1001-1064", "  asm_sysvec_call_function 1004-1062", "    do_sync_core 1006-1060"
        ])
        self.assertEqual(self.show(track="CPU 1 interrupts"),
                         ["asm_sysvec_call_function 1004-1062"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"),
                         ["asm_sysvec_call_function 1004-1062"])

    def test_iret_ends_what_it_returns_to(self):
        """The end of a nested interrupt was lost; an exception's handler returns elsewhere."""
        self.play(
            "begin a; run 2; resume = interrupt asm_sysvec_x; run 1; interrupt asm_exc_nmi; run 1; "
            "iret resume; run 1; "
            "interrupt asm_exc_page_fault; run 1; iret a+100; run 1; end")
        self.assertEqual(self.show(), [
            "a 1001-1014", "  asm_sysvec_x 1004-1008", "    asm_exc_nmi 1006-1008",
            "  asm_exc_page_fault 1010-1012"
        ])

    def test_system_call_that_returns_by_iret(self):
        """As after a signal: interrupts are on in user space."""
        self.play(
            "begin u_main; run 2; back = call entry_SYSCALL_64 SYSCALL; run 1 ON; i = call "
            "sys_sigreturn; ret i; "
            "run 1 OFF; wait 100; iret u_handler+8; wait 5000; run 2; end")
        self.assertEqual(self.show(track="CPU 1 interrupts off"),
                         ["entry_SYSCALL_64 1004-1005", "entry_SYSCALL_64 1008-1109"])
        self.assertEqual(self.names(),
                         ["u_main", "  entry_SYSCALL_64", "    sys_sigreturn", "u_handler"])

    def test_virtual_machine(self):
        """It has the CPU, with interrupts on for the host. Where it exits, the host's code goes
        on."""
        self.play(
            "begin vcpu_enter_guest; run 1 OFF; back = call vmx_vcpu_run; run 1; end VM_ENTRY; "
            "wait 5000; begin vmx_vmexit; "
            "run 1; ret back; run 1; run 1 ON; end")
        self.assertEqual(
            self.show(),
            ["vcpu_enter_guest 1001-6011", "  vmx_vcpu_run 1003-6006", "  vmx_vmexit 6006-6008"])
        self.assertEqual(self.show(track="CPU 1 trace"), ["virtual machine 1005-6006"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"),
                         ["vcpu_enter_guest 1002-1005", "vmx_vmexit 6006-6010"])
        self.assertEqual(self.show(track="CPU 1 interrupts on or off"), ["[not known] 1001-1002"])

    def leave(self, function, how):
        p = self.program
        p.begin(function)
        p.run(1)
        back = p.ip + INSN
        p.end(how)
        p.time += 50
        p.begin_at(back)
        p.run(1)
        p.end()
        self.assertEqual(self.show(), [f"{function} 1001-1055", "  [not traced] 1003-1053"])

    def test_call_out_of_the_filter(self):
        self.leave("a", CALL)

    def test_system_call_of_user_space_alone(self):
        self.leave("u_main", SYSCALL)


class Gaps(CallsTest):
    def test_lost_in_the_same_function(self):
        p = self.program
        p.play("begin a; back = call b; run 1")
        p.ip += 100
        p.play("wait 50; run 1; ret back; run 1; end")
        self.assertEqual(self.names(), ["a", "  b"])
        self.assertEqual(self.show(track="CPU 1 trace"), ["[lost] 1003-1054"])
        self.assertEqual(self.gaps, 1)

    def test_lost_returns(self):
        p = self.program
        p.play("begin a; call b; call c")
        p.ip = p.at("a", 100)
        p.play("run 1; end")
        self.assertEqual(self.show(), ["a 1001-1005", "  b 1002-1004", "    c 1003-1004"])

    def test_lost_all(self):
        """What a gap returns to began after the gap."""
        p = self.program
        p.play("begin a; call b")
        p.ip = p.at("d", 60)
        p.play("wait 10; run 2; ret c+80; run 1; end")
        self.assertEqual(self.show(),
                         ["a 1001-1013", "  b 1002-1013", "c 1014-1017", "  d 1014-1015"])

    def test_overflow(self):
        """The trace begins again without an end."""
        self.play("begin a; call b; run 1; wait 10; begin_at a+200; run 1; end")
        self.assertEqual(self.names(), ["a", "  b"])
        self.assertEqual(self.gaps, 1)

    def test_last_task_goes_on(self):
        """After the trace, as the first one was there before it."""
        self.play("begin a; run 2; switch 12; run 2; switch 11; run 2; end")
        tasks = [
            line.split(" ", 7) for line in self.run_feed("spans=1").splitlines()
            if line.startswith("1 ")
        ]
        self.assertEqual([(task[7], task[6]) for task in tasks],
                         [("task 11", "1"), ("task 12", "0"), ("task 11", "1")])

    def test_why_it_is_lost(self):
        p = self.program
        p.play("begin a; run 2")
        for kind in NO_CODE, LOST, None:
            if kind:
                p.error(kind)
            p.ip += 40
            p.play("wait 10; run 2")
        p.end()
        self.assertEqual(self.names(track="CPU 1 trace"), ["[no code]", "[not decoded]", "[lost]"])
        self.assertEqual(self.gaps, 3)

    def test_lost_in_interrupt(self):
        p = self.program
        p.play("begin a; interrupt irq; run 1")
        p.ip = p.at("a", 40)
        p.play("run 1; end")
        self.assertEqual(self.names(), ["a", "  irq"])
        self.assertEqual(self.names(track="CPU 1 interrupts"), ["irq"])
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["irq 1002-1003"])

    def test_interrupts_are_unknown_after_a_loss(self):
        """Until an interrupt comes: they were on. An NMI comes anyway."""
        self.play(
            "begin sys_write; run 1 ON; back = call lock; run 1 OFF; ret back; run 1; wait 20; "
            "begin_at loop+40; run 2; "
            "wait 30; back = interrupt asm_exc_nmi; run 1; iret back; run 1; "
            "back = interrupt asm_sysvec_apic_timer_interrupt; run 2; iret back; run 2; end")
        self.assertEqual(self.show(track="CPU 1 interrupts off"), [
            "lock 1004-1006", "asm_exc_nmi 1059-1061", "asm_sysvec_apic_timer_interrupt 1063-1066"
        ])
        self.assertEqual(
            self.show(track="CPU 1 interrupts on or off"),
            ["[not known] 1001-1002", "[not known] 1006-1059", "[not known] 1061-1063"])

    def test_an_interrupt_proves_that_interrupts_were_on(self):
        """Whatever the code before it seemed to do."""
        self.play(
            "begin a; run 1 OFF; run 5; back = interrupt asm_common_interrupt; run 1; iret back; "
            "run 5; end"
        )
        self.assertEqual(self.show(track="CPU 1 interrupts off"),
                         ["a 1002-1008", "asm_common_interrupt 1008-1010"])

    def test_lost_in_an_interrupt_that_ends(self):
        """Nobody knows what was before."""
        self.play(
            "begin a; run 1 OFF; back = interrupt asm_exc_nmi; run 1; wait 10; begin asm_exc_nmi "
            "40; run 1; iret back; "
            "run 1; end")
        self.assertEqual(self.show(track="CPU 1 interrupts off"), ["a 1002-1004"])
        self.assertEqual(self.show(track="CPU 1 interrupts on or off"),
                         ["[not known] 1001-1002", "[not known] 1004-1019"])

    def test_returns_that_match_nothing(self):
        """On a deep stack, none of them takes longer."""
        p = self.program
        p.begin("a")
        for i in range(99000):
            p.call("b" if i % 2 else "c")
        for i in range(300000):
            p.branch(p.at("d" if i % 2 else "e"), RETURN)
        p.end()
        self.feed()
        self.assertEqual(self.slices, 2 * (99001 + 300000) + len(["task", "?"]))

    def test_unknown_code(self):
        p = self.program
        p.begin("a")
        back = p.ip + INSN
        p.branch(0xffffffffc0000000, CALL)
        p.run(2)
        p.ret(back)
        p.end()
        self.assertEqual(self.names(), ["a", "  [unknown]"])


if __name__ == "__main__":
    unittest.main()
