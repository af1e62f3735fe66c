/* SPDX-License-Identifier: GPL-2.0-only */
/* isolation/: whether the kernel keeps CPUs free of what is not theirs, and what to do about the
 * rest. It only reads files of /proc and /sys, and changes nothing. */
#ifndef CTL_ISOLATION_H
#define CTL_ISOLATION_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

enum isolation_verdict {
	ISOLATION_FINE,
	ISOLATION_NOTE, /* a choice that costs something, or that may matter */
	ISOLATION_BAD,
	ISOLATION_UNKNOWN,
};

struct isolation_finding {
	const char *name;
	enum isolation_verdict verdict;
	const char *file;   /* file or kernel parameter */
	const char *detail; /* what was found */
	const char *remedy; /* "": none is needed */
};

typedef void (*isolation_fn)(void *ctx, const struct isolation_finding *finding);

const char *isolation_verdict_name(enum isolation_verdict verdict);

/* Judges these CPUs, sorted, by the files below root_fd, and calls fn for each finding. Takes
 * interval_ms, in which their interrupts are counted. Returns 0 or -ENOMEM. */
int isolation_judge(int root_fd, const int *cpus, size_t nr_cpus, unsigned int interval_ms,
		    isolation_fn fn, void *ctx);

/* For the files of this folder. */

struct isolation {
	int root_fd;
	const int *cpus;
	size_t nr_cpus;
	char *list; /* of the CPUs */
	unsigned int interval_ms;
	isolation_fn fn;
	void *ctx;
};

/* A set of CPUs beside those that are judged. */
struct cpu_overlap {
	size_t nr;	   /* judged CPUs that are in the set */
	bool has_others;   /* others are in it too */
	char in[128];	   /* the judged CPUs in it, as a list */
	char missing[128]; /* those that it lacks */
};

enum cpu_format { CPUS_LIST, CPUS_MASK };

/* Returns 0, -EINVAL if malformed, or -ENOMEM. `(null)` is an empty list: nohz_full has it. */
int cpu_overlap_parse(const struct isolation *isolation, const char *text, enum cpu_format format,
		      struct cpu_overlap *overlap);
/* Reads a file below the root; its errors too. */
int cpu_overlap_read(const struct isolation *isolation, const char *path, enum cpu_format format,
		     struct cpu_overlap *overlap);

/* Reads a file of one line below the root. */
int isolation_read_text(const struct isolation *isolation, char *text, size_t size,
			const char *format, ...) _printf_(4, 5);

/* `file` and `remedy` may be NULL. */
void isolation_report(const struct isolation *isolation, enum isolation_verdict verdict,
		      const char *name, const char *file, const char *remedy, const char *format,
		      ...) _printf_(6, 7);

/* A file that could not be read. */
void isolation_report_unread(const struct isolation *isolation, const char *name, const char *file,
			     int err);

/* Whether load balancing leaves them out, by isolcpus= or a partition of cpuset: 1, 0 with those
 * that it does not leave out, or a negative errno. */
int isolation_read_domains(const struct isolation *isolation, struct cpu_overlap *isolated);

void isolation_judge_boot(const struct isolation *isolation);
void isolation_judge_irqs(const struct isolation *isolation);
void isolation_judge_workqueues(const struct isolation *isolation);
void isolation_judge_tasks(const struct isolation *isolation);
void isolation_judge_settings(const struct isolation *isolation);
void isolation_judge_hardware(const struct isolation *isolation);

#endif
