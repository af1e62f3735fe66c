// SPDX-License-Identifier: GPL-2.0-only
/* With target.c: whether clang can build a fuzz target here. */
#include "fuzz.h"

int fuzz_one(const uint8_t *data, size_t size)
{
	return data && size;
}
