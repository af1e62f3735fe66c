// SPDX-License-Identifier: GPL-2.0-only
/*
 * A source of packets: the plugin of QEMU in ../ptemu, which sees what this CPU executes and writes
 * packets to the AUX area by itself. Here it is only told when, where and of what.
 */
#include "ptemu.h"
#include "ptsim.h"

#include <asm/desc.h>
#include <asm/tsc.h>
#include <linux/mm.h>
#include <linux/slab.h>

#define EDGE_MAX 256
#define CHUNK_MAX 8192
#define HELLOS 200

static void tell(struct ptemu_block *b, enum ptemu_command command)
{
	b->command = command;
	b->tsc = rdtsc_ordered();
	asm volatile(PTEMU_INSN : : "a"(b) : "memory");
}

bool ptsim_emulated_present(void)
{
	struct ptemu_block *b = kzalloc(sizeof(*b), GFP_KERNEL);
	bool present;

	if (!b)
		return false;
	/* Often, so that the plugin learns how the TSC here differs from the host's. */
	for (int i = 0; i < HELLOS; i++)
		tell(b, PTEMU_HELLO);
	present = b->answer == PTEMU_VERSION;
	kfree(b);
	return present;
}

static int open(struct ptsim_stream *s)
{
	s->private = kzalloc(sizeof(struct ptemu_block), GFP_KERNEL);
	return s->private ? 0 : -ENOMEM;
}

static void close(struct ptsim_stream *s)
{
	kfree(s->private);
}

static void configure(struct ptsim_stream *s)
{
	struct ptemu_block *b = s->private;
	const struct ptsim_config *config = &s->config;

	s->chunk_max = CHUNK_MAX;
	b->kernel = config->packets;
	b->user = config->user_packets;
	b->tsc_on = config->tsc;
	b->mtc_on = config->mtc;
	b->cyc_on = config->cyc;
	b->noretcomp = config->noretcomp;
	b->event = config->event;
	b->long_tnt = ptsim_long_tnt;
	b->pip = ptsim_pip_packets;
	b->mtc_period = config->mtc_period;
	b->cyc_min = config->cyc_min;
	b->psb_bytes = config->psb_bytes;
	b->n = ptsim_clock.n;
	b->d = ptsim_clock.d;
	b->ratio = ptsim_clock.max_nonturbo_ratio;
	b->range_count = config->range_count;
	for (unsigned int i = 0; i < config->range_count; i++) {
		b->ranges[i][0] = config->ranges[i].start;
		b->ranges[i][1] = config->ranges[i].size;
	}
}

static u64 limit(const struct ptsim_stream *s)
{
	return s->aux->overwrite ? U64_MAX : s->aux->room;
}

/* What the plugin has written since `before` */
static void account(struct ptsim_stream *s, const struct ptemu_block *before)
{
	const struct ptemu_block *b = s->private;
	u64 size = b->written - before->written;

	ptsim_aux_written(s->aux, size);
	s->totals.bytes += size;
	s->totals.instructions += b->instructions - before->instructions;
	s->totals.branches += b->branches - before->branches;
	s->totals.cycles += b->cycles - before->cycles;
	s->totals.overflows += b->overflows - before->overflows;
	s->totals.skipped += b->lost - before->lost;
	s->totals.unexplained += b->unexplained - before->unexplained;
}

static void tell_and_account(struct ptsim_stream *s, enum ptemu_command command)
{
	struct ptemu_block *b = s->private;
	struct ptemu_block before = *b;

	tell(b, command);
	account(s, &before);
}

static void start(struct ptsim_stream *s, u64 tsc)
{
	struct ptemu_block *b = s->private;
	struct desc_ptr idt;

	b->pages = (u64)s->aux->pages;
	b->page_count = s->aux->size >> PAGE_SHIFT;
	b->offset = s->aux->head & (s->aux->size - 1);
	b->written = 0;
	b->limit = limit(s);
	b->psb_due = s->psb_due;
	b->logging = READ_ONCE(ptsim_logging);
	store_idt(&idt);
	b->idt = idt.address;
	s->psb_due = false;
	tell(b, PTEMU_START);
}

static void stop(struct ptsim_stream *s, u64 tsc)
{
	tell_and_account(s, PTEMU_STOP);
}

/* The end of the area is not moved while the plugin writes: what is left of it is. */
static bool next(struct ptsim_stream *s, u64 tsc)
{
	struct ptemu_block *b = s->private;

	tell_and_account(s, PTEMU_SYNC);
	b->limit = s->aux->overwrite ? U64_MAX : b->written + s->aux->room;
	tell_and_account(s, PTEMU_SYNC);
	return false;
}

static void overflow(struct ptsim_stream *s, u64 tsc)
{
	tell_and_account(s, PTEMU_OVERFLOW);
}

const struct ptsim_source ptsim_emulated = {
	.name = "emulated",
	.edge_max = EDGE_MAX,
	.by_itself = true,
	.open = open,
	.close = close,
	.configure = configure,
	.start = start,
	.stop = stop,
	.next = next,
	.overflow = overflow,
};
