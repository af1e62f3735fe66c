/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_CAPTURE_WRITE_H
#define LIB_CAPTURE_WRITE_H

#include "capture/capture.h"

/* Sets capture->error, and path on success. Any thread. */
void capture_write(const struct capture_env *env, struct capture *capture);

#endif
