// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "memory.h"

#include <sys/mman.h>

#include "test.h"

#define MIB (UINT64_C(1) << 20)

static bool can_map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at != MAP_FAILED && !munmap(at, size);
}

TEST(fails_beyond_the_bound)
{
	struct rlimit before, nested;

	assert_true(memory_bound(16 * MIB, &before));
	assert_true(can_map(8 * MIB));
	assert_false(can_map(32 * MIB));
	assert_false(memory_bound(64 * MIB, &nested));
	assert_false(can_map(32 * MIB));
	memory_unbound(&before);
	assert_true(can_map(32 * MIB));
}
