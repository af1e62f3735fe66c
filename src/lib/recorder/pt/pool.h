/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Memory for ring copies, faulted in beforehand: page faults take much longer than the copy, and
 * the session is blind until it is done. */
#ifndef LIB_RECORDER_PT_POOL_H
#define LIB_RECORDER_PT_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pt_pool;

/* Keeps nr (0 or more) buffers of `size` bytes. */
int pt_pool_new(struct pt_pool **ret, size_t nr, size_t size);

/* A kept buffer; a new one if all are in use. NULL: no memory. */
uint8_t *pt_pool_take(struct pt_pool *pool);

/* Any thread, even while another takes. NULL is ignored. */
void pt_pool_give(struct pt_pool *pool, uint8_t *buffer);

/* All buffers must have been given back. NULL is ignored. */
void pt_pool_free(struct pt_pool *pool);

#endif
