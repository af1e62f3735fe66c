/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* BPF arrays that user space may map (BPF_F_MMAPABLE): reading one is no system call. */
#ifndef LIB_BASE_MAP_MEMORY_H
#define LIB_BASE_MAP_MEMORY_H

#include <stddef.h>

struct bpf_map;

/* `size` in whole pages, as it is mapped. */
size_t map_memory_pages(size_t size);

/* Of all values of the map. */
size_t map_memory_size(const struct bpf_map *map);

/* *ret is map_memory_size() long, the caller's to unmap. A negative errno of mmap(). */
int map_memory(void **ret, const struct bpf_map *map);

#endif
