/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The thread that writes captures, so that a slow disk does not delay the next spike. */
#ifndef LIB_CAPTURE_WRITER_H
#define LIB_CAPTURE_WRITER_H

#include "capture/capture.h"
#include "capture/removal.h"

struct writer;

/* env must outlive the writer. */
int writer_start(struct writer **ret, const struct capture_env *env);

/* Readable when writer_take() has a capture. */
int writer_fd(const struct writer *writer);

/* Takes ownership of the capture. */
void writer_give(struct writer *writer, struct capture *capture);

/* Takes ownership of a removal. Pending captures are written first. */
void writer_remove(struct writer *writer, struct removal *removal);

/* A capture that was written or failed; the caller owns it. NULL: none. */
struct capture *writer_take(struct writer *writer);

/* Waits until all captures are written and ends the thread; writer_take() still works. */
void writer_finish(struct writer *writer);

/* Frees captures that were not taken; their folders stay. NULL is ignored. */
void writer_free(struct writer *writer);

#endif
