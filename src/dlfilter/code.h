/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of addresses of code. Perf is asked once for most of them. */
#ifndef DLFILTER_CODE_H
#define DLFILTER_CODE_H

#include "calls.h"

struct code {
	uint64_t ip;
	int pid; /* -1: of the kernel */
	bool used;
	bool has_insn;
	const struct symbol *symbol;
	enum irq_change irqs;
	uint8_t length;
	bool place_has_insn;
	uint32_t place; /* of stream_place() */
};

struct code_cache;

int code_cache_new(struct code_cache **ret, struct names *names) _must_check_;
void code_cache_free(struct code_cache *cache);

/* The entry of an address: another one's before, if `used` is false. */
struct code *code_find(struct code_cache *cache, uint64_t ip, int pid);

/* Kept for good, once each. NULL if there is no memory. */
const struct symbol *code_symbol(struct code_cache *cache, const char *name, uint64_t start,
				 uint64_t end, bool kernel);

/* Whether an instruction turns interrupts off or on. */
enum irq_change code_irqs(const uint8_t *bytes, size_t length);

#endif
