/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code that a trace is decoded with, and how it changes. A file says so by lines, each with the
 * TSC from when on it holds, in order:
 *
 *	TSC map PID ADDRESS SIZE OFFSET FILE	what is of the kernel is in every process
 *	TSC fork PID PARENT
 *	TSC run PID				on the CPU that is traced
 *	TSC poke ADDRESS BYTES			the kernel changes its code
 *
 * All but TSC and PID is hexadecimal.
 */
#ifndef CODE_H
#define CODE_H

#include <stddef.h>
#include <stdint.h>

struct code;

/* Ends the program if the file is not right. */
struct code *code_read(const char *path);
void code_free(struct code *code);
/* What happened until then is done. Never goes back. */
void code_go_to(struct code *code, uint64_t tsc);
/* Returns how many bytes there are, at most `size`. */
size_t code_bytes(struct code *code, uint64_t address, uint8_t *to, size_t size);

#endif
