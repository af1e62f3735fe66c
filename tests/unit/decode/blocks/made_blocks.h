/* SPDX-License-Identifier: GPL-2.0-only */
/* Short segments, written by libipt's encoder, and what is decoded of them. */
#ifndef TESTS_DECODE_MADE_BLOCKS_H
#define TESTS_DECODE_MADE_BLOCKS_H

#include "blocks/blocks.h"
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

void put(struct pt_packet packet);
void put_ip(enum pt_packet_type type, uint64_t at);
void put_no_ip(enum pt_packet_type type);
void put_tnt(unsigned int size, uint64_t bits);
void put_tsc(uint64_t tsc);
void put_mode(void);
void put_tsx(bool in, bool aborted);
void put_cyc(uint64_t cycles);
void put_bytes(const char *bytes, size_t size);
/* Begins a segment at `at`; negative: tracing is off. */
void put_psb(int at, uint64_t tsc);

/* Who runs from `time` on, or at the latest from `latest` on. */
void set_task(uint64_t time, uint64_t latest, int tid);

/* All segments, in reads of this many items; to be freed. */
char *decode_all(size_t room);
/* Fails unless this is decoded, in reads of any size. */
void check(const char *expected);

#endif
