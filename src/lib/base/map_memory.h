/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* BPF arrays mapped into user space (BPF_F_MMAPABLE) and read without system calls. */
#ifndef LIB_BASE_MAP_MEMORY_H
#define LIB_BASE_MAP_MEMORY_H

#include <stddef.h>

struct bpf_map;

/* `size` rounded up to whole pages. */
size_t map_memory_pages(size_t size);

/* The caller unmaps the *size bytes at *ret. */
int map_memory(void **ret, size_t *size, const struct bpf_map *map);

#endif
