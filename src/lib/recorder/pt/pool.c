// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/pt/pt.h"

#include <stdbool.h>
#include <sys/mman.h>

#include "util.h"

struct pt_pool {
	size_t nr, size;
	uint8_t *kept; /* nr consecutive buffers */
	bool taken[];
};

/* Not malloc(), which may keep freed memory. No huge pages: copying was no faster, and compaction
 * disturbs watched CPUs. */
static uint8_t *pt_pool_map(size_t size, int flags)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			    -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int pt_pool_new(struct pt_pool **ret, size_t nr, size_t size)
{
	_cleanup_free_ struct pt_pool *pool =
		calloc(1, sizeof(*pool) + nr * sizeof(pool->taken[0]));

	if (!pool)
		return -ENOMEM;
	pool->nr = nr;
	pool->size = size;
	if (nr) {
		pool->kept = pt_pool_map(nr * size, MAP_POPULATE);
		if (!pool->kept)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(pool);
	return 0;
}

uint8_t *pt_pool_take(struct pt_pool *pool)
{
	for (size_t i = 0; i < pool->nr; i++) {
		if (!__atomic_exchange_n(&pool->taken[i], true, __ATOMIC_ACQUIRE))
			return pool->kept + i * pool->size;
	}
	return pt_pool_map(pool->size, 0);
}

void pt_pool_give(struct pt_pool *pool, uint8_t *buffer)
{
	if (!buffer)
		return;
	if (buffer >= pool->kept && buffer < pool->kept + pool->nr * pool->size)
		__atomic_store_n(&pool->taken[(buffer - pool->kept) / pool->size], false,
				 __ATOMIC_RELEASE);
	else
		munmap(buffer, pool->size);
}

void pt_pool_free(struct pt_pool *pool)
{
	if (!pool)
		return;
	if (pool->nr)
		munmap(pool->kept, pool->nr * pool->size);
	free(pool);
}
