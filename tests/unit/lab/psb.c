// SPDX-License-Identifier: GPL-2.0-only
/* PSB+ of the simulated Intel PT, beside what real CPUs wrote */
#include "psb.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define PSBEND "\x02\x23"
#define SEEDS 1000

struct row {
	struct ptsim_psb psb;
	const char *bytes;
	size_t len;
};

#define BYTES(text) .bytes = (text), .len = sizeof(text) - 1

/* By a Skylake-SP and a Skylake with their kernels' drivers */
static const struct row real[] = {
	/* Of user space, when tracing began */
	{ .psb = { .tsc_on = true,
		   .tma_on = true,
		   .tsc = 0x1d8cf5ca1e012c,
		   .ctc = 0x1a9a,
		   .fast_counter = 0x88,
		   .ratio = 12,
		   .cycles = { 0, 157 } },
	  BYTES(PSB "\x00\x00\x00\x00\xef\x08\x19\x2c\x01\x1e\xca\xf5\x8c\x1d\x00\x00\x00\x00"
		    "\x00\x00\x00\x00\x02\x73\x9a\x1a\x00\x88\x00\x00\x00\x00\x02\x03\x0c\x00"
		    "\x02\x23") },
	/* and later */
	{ .psb = { .tsc_on = true,
		   .tma_on = true,
		   .tsc = 0x0924c2fefa5af2,
		   .ctc = 0x73d,
		   .fast_counter = 0x40,
		   .ratio = 12,
		   .cycles = { 234, 79 },
		   .ip = 0x7f68d5f57319 },
	  BYTES(PSB "\x00\x57\x0e\x99\x20\x99\x01\x7d\x19\x73\xf5\xd5\x68\x7f\x00\x00\x00\x00"
		    "\x00\x00\x7f\x04\x19\xf2\x5a\xfa\xfe\xc2\x24\x09\x00\x00\x00\x00\x00\x00"
		    "\x00\x00\x02\x73\x3d\x07\x00\x40\x00\x00\x00\x00\x02\x03\x0c\x00\x02"
		    "\x23") },
	/* Of the kernel too, without CYC packets */
	{ .psb = { .tsc_on = true,
		   .tma_on = true,
		   .pip_on = true,
		   .tsc = 0xbc4cc2e7b2,
		   .cr3 = 0x3fd43400ULL << 4,
		   .ctc = 0x60cb,
		   .fast_counter = 0xc,
		   .ratio = 29,
		   .ip = 0xffffffffb973c4e2 },
	  BYTES(PSB "\x00\x00\x00\x99\x20\x99\x01\x7d\xe2\xc4\x73\xb9\xff\xff\x00\x00\x00\x00"
		    "\x00\x00\x00\x00\x02\x43\x00\x34\xd4\x3f\x00\x00\x00\x00\x00\x00\x00\x00"
		    "\x00\x00\x19\xb2\xe7\xc2\x4c\xbc\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		    "\x02\x73\xcb\x60\x00\x0c\x00\x00\x00\x00\x02\x03\x1d\x00\x02\x23") },
};

static size_t write_psb(uint8_t *bytes, struct ptsim_psb psb, enum ptsim_psb_order order, u64 place)
{
	struct ptsim_packets p = { .data = bytes, .place = place };

	psb.order = order;
	ptsim_psb_plus(&p, &psb);
	assert_true(p.size <= PTSIM_PSB_MAX);
	return p.size;
}

TEST(writes_what_skylake_does)
{
	uint8_t bytes[PTSIM_PSB_MAX];

	for (size_t i = 0; i < sizeof(real) / sizeof(*real); i++) {
		size_t size = write_psb(bytes, real[i].psb, PTSIM_PSB_SKYLAKE, 4096);

		assert_int_equal(size, real[i].len);
		assert_memory_equal(bytes, real[i].bytes, size);
	}
}

TEST(aligns_skylakes_psb)
{
	uint8_t bytes[PTSIM_PSB_MAX];
	size_t size = write_psb(bytes, real[1].psb, PTSIM_PSB_SKYLAKE, 4096 + 3);

	assert_int_equal(size, real[1].len + 5);
	assert_memory_equal(bytes, "\0\0\0\0", 5);
	assert_memory_equal(bytes + 5, real[1].bytes, real[1].len);
}

TEST(writes_tsc_first_as_broadwell_does)
{
	uint8_t bytes[PTSIM_PSB_MAX];

	write_psb(bytes, real[2].psb, PTSIM_PSB_BROADWELL, 4096);
	assert_memory_equal(bytes, PSB "\x19\xb2\xe7\xc2\x4c\xbc\x00\x00\x02\x73", 26);
}

static const uint8_t *find(const uint8_t *bytes, size_t size, const char *packet, size_t len)
{
	const uint8_t *found = memmem(bytes, size, packet, len);

	assert_non_null(found);
	return found;
}

/* The state of the CPU is all there, and in an order that decoders can read. */
TEST(shuffles_legally)
{
	size_t places[PTSIM_PSB_MAX] = { 0 }, nr_places = 0;

	for (u64 seed = 0; seed < SEEDS; seed++) {
		uint8_t bytes[PTSIM_PSB_MAX];
		struct ptsim_psb psb = real[2].psb;
		const uint8_t *tsc, *exec;
		size_t size;

		psb.tsc += seed << 32;
		psb.cycles[0] = 31;
		psb.cycles[1] = 30;
		size = write_psb(bytes, psb, PTSIM_PSB_SHUFFLED, seed);
		assert_memory_equal(bytes, PSB, 16);
		assert_memory_equal(bytes + size - 2, PSBEND, 2);
		tsc = find(bytes, size, "\x19\xb2\xe7\xc2\x4c", 5);
		exec = find(bytes, size, "\x99\x20\x99\x01", 4);
		find(bytes, tsc - bytes, "\xfb", 1);
		find(bytes, tsc - bytes, "\xf3", 1);
		find(tsc, bytes + size - tsc, "\x02\x73\xcb\x60\x00\x0c", 6);
		find(exec, bytes + size - exec, "\x7d\xe2\xc4\x73\xb9\xff\xff", 7);
		find(bytes, size, "\x02\x43\x00\x34\xd4\x3f", 6);
		find(bytes, size, "\x02\x03\x1d\x00", 4);
		nr_places += !places[tsc - bytes]++;
	}
	assert_true(nr_places > 32);
}
