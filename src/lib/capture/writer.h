/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The thread that writes captures, so that a slow disk does not keep the session from its next
 * spike. */
#ifndef LIB_CAPTURE_WRITER_H
#define LIB_CAPTURE_WRITER_H

#include "capture/capture.h"
#include "capture/removal.h"

struct writer;

/* env must outlive the writer. */
int writer_start(struct writer **ret, const struct capture_env *env);

/* Readable when writer_take() has something. */
int writer_fd(const struct writer *writer);

/* Takes over the capture. */
void writer_give(struct writer *writer, struct capture *capture);

/* Takes over one that is to go: when there is nothing to write. */
void writer_remove(struct writer *writer, struct removal *removal);

/* A capture that is written, or failed; the caller's. NULL: none now. */
struct capture *writer_take(struct writer *writer);

/* Waits until everything given is written, and ends the thread; writer_take() still works. */
void writer_finish(struct writer *writer);

/* NULL does nothing; what was not taken is dropped (its folder stays). */
void writer_free(struct writer *writer);

#endif
