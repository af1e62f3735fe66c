/* SPDX-License-Identifier: GPL-2.0-only */
/* Short segments, written by libipt's encoder, and what is decoded of them. */
#ifndef TESTS_DECODE_MADE_BLOCKS_H
#define TESTS_DECODE_MADE_BLOCKS_H

#include "pt/blocks.h"
#include "test.h"

#define BASE 0xffffffff81000000ull
#define TRACE_SIZE 4096

/* Offsets of functions. */
#define MAIN 0x000
#define CALLED 0x100
#define HANDLER 0x200
#define SWITCH_TO 0x300
#define ENDLESS 0x340

extern struct sideband_pt made_pt;
extern uint8_t trace[TRACE_SIZE];
extern struct trace_segment segments[16];

int set_up(void **state);
int tear_down(void **state);

/* What is put into the trace: a packet, bytes, or a PSB+, with which a segment begins. */
struct made_step {
	struct pt_packet packet;
	const char *bytes; /* libipt's encoder of 2.0 does not know all packets */
	size_t nr_bytes;
	int at; /* of PSB+; negative: tracing is off */
	uint64_t tsc;
	bool guest;
};

#define PACKET(kind, ...)                                                                          \
	{                                                                                          \
		.packet = {.type = (kind), .payload = { __VA_ARGS__ } }                            \
	}
#define IP(kind, place) PACKET(kind, .ip = { .ipc = pt_ipc_full, .ip = BASE + (place) })
#define TIP(place) IP(ppt_tip, place)
#define FUP(place) IP(ppt_fup, place)
#define PGE(place) IP(ppt_tip_pge, place)
#define PGD_TO(place) IP(ppt_tip_pgd, place)
#define PGD PACKET(ppt_tip_pgd, .ip = { .ipc = pt_ipc_suppressed })
#define TNT(size, bits) PACKET(ppt_tnt_8, .tnt = { .bit_size = (size), .payload = (bits) })
#define TSC(value) PACKET(ppt_tsc, .tsc = { .tsc = (value) })
#define CBR(value) PACKET(ppt_cbr, .cbr = { .ratio = (value) })
#define CYC(cycles) PACKET(ppt_cyc, .cyc = { .value = (cycles) })
#define MODE PACKET(ppt_mode, .mode = { .leaf = pt_mol_exec, .bits.exec.csl = 1 })
#define PIP(guest) PACKET(ppt_pip, .pip = { .cr3 = 0x1000, .nr = (guest) })
#define TSX(in, aborted)                                                                           \
	PACKET(ppt_mode,                                                                           \
	       .mode = { .leaf = pt_mol_tsx, .bits.tsx = { .intx = (in), .abrt = (aborted) } })
#define OVF PACKET(ppt_ovf)
#define BYTES(text)                                                                                \
	{                                                                                          \
		.bytes = (text), .nr_bytes = sizeof(text) - 1                                      \
	}
#define PSB(place, time)                                                                           \
	{                                                                                          \
		.packet = { .type = ppt_psb }, .at = (place), .tsc = (time)                        \
	}
#define PSB_GUEST(place, time)                                                                     \
	{                                                                                          \
		.packet = { .type = ppt_psb }, .at = (place), .tsc = (time), .guest = true         \
	}
#define PUT(...)                                                                                   \
	do {                                                                                       \
		const struct made_step _steps[] = { __VA_ARGS__ };                                 \
                                                                                                   \
		put_steps(_steps, sizeof(_steps) / sizeof(*_steps));                               \
	} while (0)

void put_steps(const struct made_step *steps, size_t nr);

/* Who runs from `time` on, or at the latest from `latest` on. */
void set_task(uint64_t time, uint64_t latest, int tid);

/* All segments, in reads of this many items; to be freed. */
char *decode_all(size_t room);
/* Fails unless this is decoded, in reads of any size. */
void check(const char *expected);

#endif
