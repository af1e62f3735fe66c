/* SPDX-License-Identifier: GPL-2.0-only */
/* A fuzz target: for libFuzzer, and for files whose names tell the expected result. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Aborts if an invariant is broken. Returns 0 if the input was accepted, or a negative errno. */
int fuzz_one(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding for the fuzzer. */
static inline void must(bool holds)
{
	if (!holds)
		abort();
}

/* A file of the input, at its beginning. */
static inline int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return fd;
}

#endif
