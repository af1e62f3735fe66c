// SPDX-License-Identifier: GPL-2.0-only
#include "made_blocks.h"

#include <stdio.h>
#include <string.h>

TEST_WITH(flow, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), TIP(0x007), TNT(1, 1), PGD);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 return 7 @1000\n"
	      "7-7 1 jump 20 @1000\n"
	      "20-21 2 disabled fff @1000\n");
}

TEST_WITH(not_taken, set_up, tear_down)
{
	PUT(PSB(0x007, 1000), TNT(1, 0), TIP(HANDLER), TIP(0x023), FUP(SWITCH_TO), PGD);
	check("begin 7 @1000\n"
	      "7-7 1 on 9 @1000\n"
	      "9-9 1 jump 20 @1000\n"
	      "20-21 2 syscall 200 @1000\n"
	      "200-201 2 iret 23 @1000\n"
	      "23-23 1 call 300 @1000\n"
	      "- async fff from 300 @1000\n");
}

TEST_WITH(interrupts, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000),
	    /* In the middle of straight code, and where a call went. */
	    TSC(1100), FUP(0x001), TIP(HANDLER), TSC(1200), TIP(0x001), TSC(1300), FUP(CALLED),
	    TIP(HANDLER), FUP(0x201), PGD);
	check("begin 0 @1000\n"
	      "0-0 1 interrupt 200 from 1 @1100\n"
	      "200-201 2 iret 1 @1200\n"
	      "1-2 2 call 100 @1200\n"
	      "- interrupt 200 from 100 @1300\n"
	      "200-200 1 async fff from 201 @1300\n");
}

TEST_WITH(times, set_up, tear_down)
{
	PUT(PSB(0x007, 1000), TSC(1100), TNT(1, 1), TSC(1200), TIP(CALLED),
	    /* An earlier time is ignored. */
	    TSC(1150), TIP(0x101), TSC(1900), PGD);
	check("begin 7 @1000\n"
	      "7-7 1 jump 20 @1100\n"
	      "20-21 2 syscall 100 @1200\n"
	      "100-101 2 return 101 @1200\n"
	      "101-101 1 disabled fff @1900\n");
}

/* Code behind an early branch keeps that time, not the interrupt's. */
TEST_WITH(idle, set_up, tear_down)
{
	PUT(PSB(0x007, 1000), TSC(1100), TNT(1, 0), TSC(90000), CBR(10), FUP(0x021), TIP(HANDLER),
	    PGD);
	check("begin 7 @1000\n"
	      "7-7 1 on 9 @1100\n"
	      "9-9 1 jump 20 @1100\n"
	      "20-20 1 interrupt 200 from 21 @90000\n"
	      "200-201 2 disabled fff @90000\n");
}

TEST_WITH(disabled, set_up, tear_down)
{
	PUT(PSB(-1, 1000), TSC(1100), MODE, PGE(0x020), PGD, TSC(1200), PGE(0x100),
	    /* Leaves a traced range */
	    PGD_TO(0x200), TSC(1300), PGE(0x020),
	    /* An interrupt does. */
	    FUP(0x021), PGD_TO(HANDLER));
	check("begin 20 @1100\n"
	      "20-21 2 disabled fff @1100\n"
	      "begin 100 @1200\n"
	      "100-101 2 disabled 200 @1200\n"
	      "begin 20 @1300\n"
	      "20-20 1 async 200 from 21 @1300\n");
}

/* A PSB in untraced code, and an unchanged mode. */
TEST_WITH(no_mode, set_up, tear_down)
{
	PUT(PSB(-1, 1000), TSC(1100), PGE(0x020), PGD, PSB(-1, 2000), PGE(0x100), PSB(0x101, 3000),
	    PGD);
	check("begin 20 @1100\n"
	      "20-21 2 disabled fff @1100\n"
	      "begin 100 @2000\n"
	      "100-100 1 on 101 @2000\n"
	      "101-101 1 disabled fff @3000\n");
}

TEST_WITH(overflow, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), TSC(1100), OVF, TSC(1150), FUP(0x101), TSC(1200), TIP(0x020), PGD);
	check("begin 0 @1000\n"
	      "- overflow fff @1100\n"
	      "begin 101 @1150\n"
	      "101-101 1 return 20 @1200\n"
	      "20-21 2 disabled fff @1200\n");
}

TEST_WITH(transaction, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), TSX(true, false), FUP(0x001), TSX(false, true), FUP(0x101), TIP(0x020),
	    PGD);
	check("begin 0 @1000\n"
	      "0-0 1 on 1 @1000\n"
	      "1-2 2 call 100 @1000\n"
	      "100-100 1 abort 20 from 101 @1000\n"
	      "20-21 2 disabled fff @1000\n");
}

TEST_WITH(missing_code, set_up, tear_down)
{
	PUT(PSB(0x020, 1000), TIP(0x028), TNT(1, 0));
	check("begin 20 @1000\n"
	      "20-21 2 syscall 28 @1000\n"
	      "28-28 1 jump 1000 @1000\n"
	      "code of 0xffffffff81001000 is not in the capture @1000\n");
}

/* Decoding resumes where the trace has an address: at an interrupt's source and in a handler. The
 * return has no matching call. */
TEST_WITH(behind_missing_code, set_up, tear_down)
{
	PUT(PSB(0x020, 1000), TIP(0x1000), TNT(3, 5), TSC(2000), FUP(0x1010), TIP(HANDLER),
	    TIP(0x1010), TSC(3000), TIP(0x100), TNT(1, 1), TSC(4000), TIP(MAIN), TNT(1, 1), PGD);
	check("begin 20 @1000\n"
	      "20-21 2 syscall 1000 @1000\n"
	      "code of 0xffffffff81001000 is not in the capture @1000\n"
	      "begin 1010 @2000\n"
	      "- interrupt 200 from 1010 @2000\n"
	      "200-201 2 iret 1010 @2000\n"
	      "code of 0xffffffff81001010 is not in the capture @2000\n"
	      "begin 100 @3000\n"
	      "100-101 2 lost fff @3000\n"
	      "the trace does not fit the code at 0xffffffff81000101 (compressed return without "
	      "call) @3000\n"
	      "begin 0 @4000\n"
	      "0-2 3 call 100 @4000\n"
	      "100-101 2 return 7 @4000\n"
	      "7-7 1 disabled fff @4000\n");
}

/* A FUP packet of a transaction is no interrupt; one behind an overflow is where it ended.
 */
TEST_WITH(behind_missing_code_elsewhere, set_up, tear_down)
{
	PUT(PSB(0x1000, 1000), TSX(true, false), FUP(0x1010), TIP(0x1020), OVF, FUP(0x020), PGD,
	    PGE(0x100), PGD);
	check("begin 1000 @1000\n"
	      "code of 0xffffffff81001000 is not in the capture @1000\n"
	      "begin 1020 @1000\n"
	      "- overflow fff @1000\n"
	      "begin 20 @1000\n"
	      "20-21 2 disabled fff @1000\n"
	      "begin 100 @1000\n"
	      "100-101 2 disabled fff @1000\n");
}

/* A TNT bit at a return or system call means a wrong path. */
TEST_WITH(wrong_trace, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), TNT(2, 1), PGD);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 lost fff @1000\n"
	      "the trace does not fit the code at 0xffffffff81000101 (bad compressed return) "
	      "@1000\n");
}

/* An interrupt at an unreachable address, and a trace that ends there. */
TEST_WITH(endless, set_up, tear_down)
{
	_cleanup_free_ char *text = NULL;

	PUT(PSB(ENDLESS, 1000), FUP(MAIN), TIP(HANDLER), PSB(ENDLESS, 2000));
	text = decode_all(256);
	assert_non_null(strstr(text, "the trace does not fit the code at 0xffffffff81000340"));
}

/* At the end of the trace nothing untraced is reported. */
TEST_WITH(cut_off, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), TIP(0x007), TNT(1, 0));
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 return 7 @1000\n"
	      "7-7 1 on 9 @1000\n"
	      "9-9 1 jump 20 @1000\n"
	      "20-21 2 lost fff @1000\n");
}

/* Each segment includes all code up to the next one's begin. */
TEST_WITH(joined, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), PSB(0x001, 2000), /* in straight code */
	    PSB(CALLED, 3000), PSB(CALLED, 4000), TSC(4500), TIP(0x007),
	    PSB(0x007, 5000),		 /* behind a packet */
	    TNT(1, 0), PSB(0x021, 6000), /* behind a jump and one more */
	    PGD, PSB(-1, 7000), PSB(-1, 8000), MODE, PGE(0x023), PSB(SWITCH_TO, 9000), PGD);
	check("begin 0 @1000\n"
	      "0-0 1 on 1 @1000\n"
	      "1-2 2 call 100 @2000\n"
	      "100-101 2 return 7 @4500\n"
	      "7-7 1 on 9 @5000\n"
	      "9-9 1 jump 20 @5000\n"
	      "20-20 1 on 21 @5000\n"
	      "21-21 1 disabled fff @6000\n"
	      "begin 23 @8000\n"
	      "23-23 1 call 300 @8000\n"
	      "300-301 2 disabled fff @9000\n");
}

/* An overflow ends at a PSB. */
TEST_WITH(joined_overflow, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), OVF, PSB(CALLED, 2000), TIP(0x020), PGD);
	check("begin 0 @1000\n"
	      "- overflow fff @1000\n"
	      "begin 100 @2000\n"
	      "100-101 2 return 20 @2000\n"
	      "20-21 2 disabled fff @2000\n");
}

TEST_WITH(not_joined, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), PSB(0x001, 2000));
	segments[1].joined = false;
	PUT(TIP(0x007), PGD);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 lost fff @1000\n"
	      "begin 1 @2000\n"
	      "1-2 2 call 100 @2000\n"
	      "100-101 2 return 7 @2000\n"
	      "7-7 1 disabled fff @2000\n");
}

/* The damage is in the next segment's PSB+. */
TEST_WITH(joined_by_damage, set_up, tear_down)
{
	PUT(PSB(MAIN, 1000), PSB(0x001, 2000));
	trace[segments[1].begin - trace + 16] = 0x05;
	PUT(TIP(0x007), PGD);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 lost fff @1000\n"
	      "the trace cannot be decoded (unknown opcode) @2000\n");
}

/* At the branch to __switch_to, although its time comes late in the trace. */
TEST_WITH(switches, set_up, tear_down)
{
	set_task(500, 600, 11);
	set_task(1100, 1300, 21);
	set_task(5000, 5100, 31);
	PUT(PSB(0x023, 1000), TSC(1200), TIP(0x028), PSB(0x023, 3000), TIP(0x023), TSC(5200),
	    TIP(0x020), PGD);
	check("begin 23 @1000 tid 11\n"
	      "23-23 1 call 300 @1000 tid 11\n"
	      "300-301 2 return 28 @1200 tid 21\n"
	      "28-28 1 jump 1000 @1200 tid 21\n"
	      "code of 0xffffffff81001000 is not in the capture @1200 tid 21\n"
	      "begin 23 @3000 tid 21\n"
	      "23-23 1 call 300 @3000 tid 21\n"
	      "300-301 2 return 23 @3000 tid 31\n"
	      "23-23 1 call 300 @3000 tid 31\n"
	      "300-301 2 return 20 @5200 tid 31\n"
	      "20-21 2 disabled fff @5200 tid 31\n");
}

/* A task that may have been switched to runs by the return to user space: IRET or SYSRET. */
TEST_WITH(switches_before_user_space, set_up, tear_down)
{
	static const struct {
		uint16_t at;
		int tid;
		const char *text;
	} ways[] = { { HANDLER, 21, "200-201 2 iret" }, { CALLED, 11, "100-101 2 return" } };
	char expected[300];

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		tear_down(NULL);
		set_up(NULL);
		set_task(500, 600, 11);
		set_task(1100, 1300, 21);
		PUT(PSB(ways[i].at, 1000), TSC(1200), TIP(0x400000 - BASE), PGD);
		snprintf(expected, sizeof(expected),
			 "begin %x @1000 tid 11\n"
			 "%s 7f400000 @1200 tid 11\n"
			 "code of 0x400000 is not in the capture @1200 tid %d\n",
			 ways[i].at, ways[i].text, ways[i].tid);
		check(expected);
	}
}

/* The branch to __switch_to is in the previous segment. */
TEST_WITH(switch_before, set_up, tear_down)
{
	set_task(500, 600, 11);
	set_task(900, 1100, 21);
	PUT(PSB(CALLED, 1000), TIP(CALLED), TSC(1200), TIP(0x020), PGD);
	check("begin 100 @1000 tid 21\n"
	      "100-101 2 return 100 @1000 tid 21\n"
	      "100-101 2 return 20 @1200 tid 21\n"
	      "20-21 2 disabled fff @1200 tid 21\n");
}

TEST_WITH(cycles, set_up, tear_down)
{
	made_pt.fields[PERFDATA_PT_CYC_BIT] = made_pt.config = 2;
	PUT(PSB(0x007, 1000), CYC(5), CYC(6), TNT(1, 1), CYC(7), TIP(0x007), CYC(300), PGD);
	check("begin 7 @1000\n"
	      "7-7 1 jump 20 @1000 11 cycles\n"
	      "20-21 2 syscall 7 @1000 7 cycles\n"
	      "7-7 1 disabled fff @1000 300 cycles\n");
}

/* Cycles before traced code, and between two pieces of it, do not belong to it. */
TEST_WITH(cycles_of_others, set_up, tear_down)
{
	PUT(PSB(-1, 1000), CYC(160), MODE, PGE(0x020), CYC(5), PGD, CYC(4000), PGE(0x100), PGD,
	    PSB(-1, 2000), CYC(4000), MODE, PGE(0x020), CYC(6), PGD);
	check("begin 20 @1000\n"
	      "20-21 2 disabled fff @1000 5 cycles\n"
	      "begin 100 @1000\n"
	      "100-101 2 disabled fff @1000\n"
	      "begin 20 @2000\n"
	      "20-21 2 disabled fff @2000 6 cycles\n");
}

/* The decoder reads ahead, beyond where tracing is enabled again. */
TEST_WITH(cycles_of_what_follows, set_up, tear_down)
{
	PUT(PSB(-1, 1000), MODE, PGE(0x020), CYC(5), PGD, PGE(0x100), CYC(7), TIP(0x020), CYC(8),
	    PGD);
	check("begin 20 @1000\n"
	      "20-21 2 disabled fff @1000 5 cycles\n"
	      "begin 100 @1000\n"
	      "100-101 2 return 20 @1000 7 cycles\n"
	      "20-21 2 disabled fff @1000 8 cycles\n");
}

/* Packets of Event Trace, which libipt knows from 2.1 on: EVD; CFE of a page fault, SMI, RSM,
 * IRET, VM exit, VM entry. */
TEST_WITH(event_trace, set_up, tear_down)
{
	PUT(PSB(0x000, 1000), BYTES("\x02\x53\x00\xaa\x0b\xf0\x00\x00\x00\x00\x00\x02\x13\x01\x0e"),
	    FUP(0x001), TIP(0x200), BYTES("\x02\x13\x03\x00"), FUP(0x201), PGD, TSC(2000),
	    BYTES("\x02\x13\x04\x00"), PGE(0x201), BYTES("\x02\x13\x02\x00"), TIP(0x001),
	    BYTES("\x02\x13\x08\x00"), FUP(0x002), PGD, PGE(0x360), BYTES("\x02\x13\x07\x00"), PGD,
	    PGE(0x100), PGD);
	check("begin 0 @1000\n"
	      "0-0 1 interrupt 200 from 1 @1000\n"
	      "200-200 1 async fff from 201 @1000 SMI\n"
	      "begin 201 @2000\n"
	      "201-201 1 iret 1 @2000\n"
	      "1-1 1 async fff from 2 @2000 hypervisor\n"
	      "begin 360 @2000\n"
	      "360-360 1 disabled fff @2000 guest\n"
	      "begin 100 @2000\n"
	      "100-101 2 disabled fff @2000\n");
}

/* Code of a virtual machine, whose addresses are code here too, is none of this host's. */
TEST_WITH(guest, set_up, tear_down)
{
	PUT(PSB(0x020, 1000), PIP(0), TIP(0x360), TSC(2000), PIP(1), TIP(0x020), TIP(0x100),
	    TNT(1, 1), FUP(0x101), TIP(HANDLER), TSC(3000), FUP(0x201), PIP(0), TIP(0x020), PGD);
	check("begin 20 @1000\n"
	      "20-21 2 syscall 360 @1000\n"
	      "360-360 1 disabled fff @2000 guest\n"
	      "begin 20 @3000\n"
	      "20-21 2 disabled fff @3000\n");
}

/* It runs when the trace begins, and when another segment does. */
TEST_WITH(begins_in_guest, set_up, tear_down)
{
	PUT(PSB_GUEST(0x020, 1000), TIP(0x100), TSC(2000), FUP(0x101), PIP(0), TIP(0x020),
	    TIP(0x360), TSC(3000), PIP(1), TIP(0x020), PSB_GUEST(0x021, 4000), TIP(0x100),
	    TSC(5000), FUP(0x101), PIP(0), TIP(0x020), PGD);
	check("begin 20 @2000\n"
	      "20-21 2 syscall 360 @2000\n"
	      "360-360 1 disabled fff @3000 guest\n"
	      "begin 20 @5000\n"
	      "20-21 2 disabled fff @5000\n");
}

/* Until the host's code is traced again, a loss does not show it. */
TEST_WITH(overflow_in_guest, set_up, tear_down)
{
	PUT(PSB(0x360, 1000), PIP(1), TIP(0x020), OVF, FUP(0x100), TIP(0x020), TSC(2000),
	    FUP(0x021), PIP(0), TIP(0x020), PGD);
	check("begin 360 @1000\n"
	      "360-360 1 disabled fff @1000 guest\n"
	      "begin 20 @2000\n"
	      "20-21 2 disabled fff @2000\n");
}

/* The CPU has erratum SKL014. */
TEST_WITH(address_filter, set_up, tear_down)
{
	strcpy(made_pt.vendor, "GenuineIntel");
	made_pt.family = 6;
	made_pt.model = 0x5e;
	made_pt.ranges[0] = (struct sideband_range){ BASE, BASE + 0xff, false };
	made_pt.nr_ranges = 1;
	PUT(PSB(0x000, 1000), PGD, PGE(0x007), TNT(1, 1), PGD);
	check("begin 0 @1000\n"
	      "0-2 3 disabled fff @1000\n"
	      "begin 7 @1000\n"
	      "7-7 1 jump 20 @1000\n"
	      "20-21 2 disabled fff @1000\n");
}
