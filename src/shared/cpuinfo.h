/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The first processor of /proc/cpuinfo, which stands for all: the file is slow on large machines.
 */
#ifndef SHARED_CPUINFO_H
#define SHARED_CPUINFO_H

#include <stdbool.h>
#include <stddef.h>

#define CPUINFO_SIZE 8192

/* Reads the processor's entry from the file in this root. Returns 0 or -errno, with an empty
 * entry. */
int cpuinfo_read(int rootfd, char entry[CPUINFO_SIZE]);

/* Copies the value of a key such as "flags". Returns whether the entry has the key. */
bool cpuinfo_find(const char *entry, const char *key, char *value, size_t size);

/* Copies the model's name, with single spaces, or the numbers that arm64 has instead, such as
 * "implementer 0x41, part 0xd08". Returns whether there is either. */
bool cpuinfo_describe(const char *entry, char *text, size_t size);

#endif
