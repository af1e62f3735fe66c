// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/ptsim/cpuN/ has what was traced on that CPU since the module was loaded, how
 * often each call came, and `log`: a line of NAME=NUMBER fields for each of the last calls, the
 * oldest first. programs/NAME/ tells what one iteration is.
 */
#include "program.h"
#include "ptsim.h"

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

static struct dentry *top;

static const char *const what_names[] = {
	[PTSIM_START] = "start",
	[PTSIM_STOP] = "stop",
	[PTSIM_PAUSE] = "pause",
	[PTSIM_RESUME] = "resume",
	[PTSIM_SNAPSHOT] = "snapshot",
	[PTSIM_TRUNCATED] = "truncated",
	[PTSIM_FAILED_START] = "failed_start",
};
static_assert(ARRAY_SIZE(what_names) == PTSIM_WHATS);

void ptsim_log(struct ptsim_log *log, enum ptsim_what what, struct ptsim_moment at,
	       const struct ptsim_stream *s)
{
	struct ptsim_log_entry *e = &log->entries[log->count % PTSIM_LOG_SIZE];

	e->what = what;
	e->tsc = at.tsc;
	e->mono_ns = at.mono_ns;
	e->head = s->aux ? s->aux->head : 0;
	e->written = s->aux ? s->aux->written : 0;
	e->totals = s->totals;
	log->counts[what]++;
	/* Readers on other CPUs see whole entries. */
	smp_store_release(&log->count, log->count + 1);
}

static int log_show(struct seq_file *file, void *unused)
{
	const struct ptsim_log *log = file->private;
	u64 count = smp_load_acquire(&log->count);

	for (u64 i = count > PTSIM_LOG_SIZE ? count - PTSIM_LOG_SIZE : 0; i < count; i++) {
		const struct ptsim_log_entry *e = &log->entries[i % PTSIM_LOG_SIZE];

		seq_printf(file,
			   "%s tsc=%llu mono_ns=%llu head=%llu written=%llu bytes=%llu "
			   "iterations=%llu branches=%llu\n",
			   what_names[e->what], e->tsc, e->mono_ns, e->head, e->written,
			   e->totals.bytes, e->totals.iterations, e->totals.branches);
	}
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(log);

static void report_cpu(int cpu)
{
	struct ptsim_totals *totals = &ptsim_stream_of(cpu)->totals;
	struct ptsim_log *log = ptsim_log_of(cpu);
	char name[16];
	struct dentry *dir;

	snprintf(name, sizeof(name), "cpu%d", cpu);
	dir = debugfs_create_dir(name, top);
	debugfs_create_u64("iterations", 0444, dir, &totals->iterations);
	debugfs_create_u64("instructions", 0444, dir, &totals->instructions);
	debugfs_create_u64("branches", 0444, dir, &totals->branches);
	debugfs_create_u64("entered", 0444, dir, &totals->entered);
	debugfs_create_u64("left", 0444, dir, &totals->left);
	debugfs_create_u64("bytes", 0444, dir, &totals->bytes);
	debugfs_create_u64("skipped", 0444, dir, &totals->skipped);
	debugfs_create_u64("overflows", 0444, dir, &totals->overflows);
	debugfs_create_u64("cycles", 0444, dir, &totals->cycles);
	debugfs_create_u64("unexplained", 0444, dir, &totals->unexplained);
	for (int what = 0; what < PTSIM_WHATS; what++)
		debugfs_create_u64(what_names[what], 0444, dir, &log->counts[what]);
	debugfs_create_file("log", 0444, dir, log, &log_fops);
}

static void report_program(struct ptsim_program *program, struct dentry *programs)
{
	struct dentry *dir = debugfs_create_dir(program->name, programs);
	struct ptsim_counts *counts = &program->counts;

	debugfs_create_u32("instructions", 0444, dir, &counts->instructions);
	debugfs_create_u32("cycles", 0444, dir, &counts->cycles);
	debugfs_create_u32("branches", 0444, dir, &counts->branches);
	debugfs_create_u32("calls", 0444, dir, &counts->calls);
	debugfs_create_u32("returns", 0444, dir, &counts->returns);
	debugfs_create_u32("jumps", 0444, dir, &counts->jumps);
	debugfs_create_u32("conditional", 0444, dir, &counts->conditional);
	debugfs_create_u32("taken", 0444, dir, &counts->taken);
	debugfs_create_u32("indirect", 0444, dir, &counts->indirect);
	debugfs_create_u32("interrupts", 0444, dir, &counts->interrupts);
	debugfs_create_u32("irets", 0444, dir, &counts->irets);
	debugfs_create_u32("depth", 0444, dir, &counts->depth);
}

int ptsim_report_init(void)
{
	struct dentry *programs;
	int cpu;

	top = debugfs_create_dir("ptsim", NULL);
	if (IS_ERR(top))
		return PTR_ERR(top);
	for_each_possible_cpu(cpu) report_cpu(cpu);
	programs = debugfs_create_dir("programs", top);
	for (unsigned int i = 0; i < ptsim_program_count; i++)
		report_program(&ptsim_programs[i], programs);
	return 0;
}

void ptsim_report_exit(void)
{
	debugfs_remove_recursive(top);
}
