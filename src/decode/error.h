/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DECODE_ERROR_H
#define DECODE_ERROR_H

#include <stddef.h>
#include <stdint.h>

/* What is wrong, as a line without its end. error: of libipt, negative; ip: where it was met, 0:
 * not known. Longer texts are cut. */
void decode_error_text(int error, uint64_t ip, char *text, size_t size);

#endif
