// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

size_t map_memory_pages(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (size + page - 1) & ~(page - 1);
}

static size_t map_memory_size(const struct bpf_map *map)
{
	return map_memory_pages((size_t)bpf_map__max_entries(map) * bpf_map__value_size(map));
}

int map_memory(void **ret, size_t *size, const struct bpf_map *map)
{
	void *mapping = mmap(NULL, map_memory_size(map), PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(map), 0);

	if (mapping == MAP_FAILED)
		return -errno;
	*ret = mapping;
	*size = map_memory_size(map);
	return 0;
}
