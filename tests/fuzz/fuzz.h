/* SPDX-License-Identifier: GPL-2.0-only */
/* A fuzz target: for libFuzzer, and to be run on files that say what is to come of them. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Aborts on what must never be. Returns 0 if the input was accepted, or a negative errno. */
int fuzz_one(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a fuzzer takes for a finding. */
static inline void must(bool holds)
{
	if (!holds)
		abort();
}

#endif
