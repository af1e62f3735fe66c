// SPDX-License-Identifier: GPL-2.0-only
/* PSB+ of the simulated Intel PT, beside what real CPUs wrote */
#include "psb.h"
#include "test.h"

#include <string.h>

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"

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

static size_t write_psb(uint8_t *bytes, struct ptsim_psb psb, u64 place)
{
	struct ptsim_packets p = { .data = bytes, .place = place };

	ptsim_psb_plus(&p, &psb);
	assert_true(p.size <= PTSIM_PSB_MAX);
	return p.size;
}

TEST(writes_what_skylake_does)
{
	uint8_t bytes[PTSIM_PSB_MAX];

	for (size_t i = 0; i < sizeof(real) / sizeof(*real); i++) {
		size_t size = write_psb(bytes, real[i].psb, 4096);

		assert_int_equal(size, real[i].len);
		assert_memory_equal(bytes, real[i].bytes, size);
	}
}

TEST(aligns_skylakes_psb)
{
	uint8_t bytes[PTSIM_PSB_MAX];
	size_t size = write_psb(bytes, real[1].psb, 4096 + 3);

	assert_int_equal(size, real[1].len + 5);
	assert_memory_equal(bytes, "\0\0\0\0", 5);
	assert_memory_equal(bytes + 5, real[1].bytes, real[1].len);
}
