/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Memory for the copies of rings, there before it is needed: to fault it in takes many times as
 * long as to copy, and would be done while the session is blind. */
#ifndef LIB_RECORDER_PT_POOL_H
#define LIB_RECORDER_PT_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pt_pool;

/* Keeps nr buffers of so many bytes, faulted in; nr may be 0. */
int pt_pool_new(struct pt_pool **ret, size_t nr, size_t size);

/* One that is kept, or, when all are in use, a new one. NULL: no memory. */
uint8_t *pt_pool_take(struct pt_pool *pool);

/* From any thread, while others take. NULL does nothing. */
void pt_pool_give(struct pt_pool *pool, uint8_t *buffer);

/* NULL does nothing; what is taken must have been given back. */
void pt_pool_free(struct pt_pool *pool);

#endif
