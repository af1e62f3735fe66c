/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * trace.dat, the file of trace-cmd and KernelShark, version 6: a head with the formats of events
 * and the names of functions and tasks, then the pages of the kernel's ring buffers as they are.
 */
#ifndef TRACE_DAT_H
#define TRACE_DAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata.h"

/* Appends the start of the head: the formats of these tracepoints (`sys:event`, duplicates are
 * allowed), and with ftrace_too of the tracers' own events. version: "6", or "0.6" in perf.data.
 * Returns 0, -EINVAL: malformed name, -ENOENT: no such tracepoint, or the error of reading it. */
int trace_dat_put_formats(struct perfdata_buf *head, const char *version, int tracefs_fd,
			  const char *const *names, size_t nr, bool ftrace_too);

/* Appends the kernel's functions, from kallsyms. root_fd: of "/". */
int trace_dat_put_functions(struct perfdata_buf *functions, int root_fd);

/* Appends the rest of the head: functions, which may be NULL, and names of tasks. root_fd: of "/",
 * for all tasks; negative: only those whose names the kernel has saved. */
int trace_dat_put_names(struct perfdata_buf *head, int tracefs_fd,
			const struct perfdata_buf *functions, int root_fd);

/* Bytes before the events of a page. */
#define TRACE_DAT_PAGE_HEADER 16

/* Pages of a CPU's ring buffer, oldest first. */
struct trace_dat_ring {
	int cpu;
	uint8_t *pages;
	size_t size; /* whole pages */
};

struct trace_dat {
	const struct perfdata_buf *formats, *names; /* the head */
	const char *clock;			    /* contents of trace_clock */
	const char *version;			    /* of this program */
	const struct trace_dat_ring *rings;
	size_t nr_rings;
	int nr_cpus; /* more than any CPU of the rings */
};

/* Creates the file. Returns 0 or a negative errno. */
int trace_dat_write(int dirfd, const char *name, const struct trace_dat *dat, uint64_t *size);

/* What pages of a ring buffer hold. */
struct trace_dat_facts {
	uint64_t first_ns, last_ns; /* 0: no event */
	uint64_t events;
	uint64_t lost; /* between the oldest and the newest event; 1 also stands for some */
};

/* Walks the events. Stops at a page that makes no sense. */
struct trace_dat_facts trace_dat_ring_facts(const struct trace_dat_ring *ring);

/* Drops the pages before the newest gap. The kernel keeps the page that was read last apart from
 * the ring, and writes to it until it is full: what follows it in the ring may be much younger. */
void trace_dat_ring_drop_gap(struct trace_dat_ring *ring);

/* A page with one event of the format ftrace:print, type `id`. page: of the system's size. */
void trace_dat_make_marker(uint8_t *page, uint16_t id, uint64_t time_ns, const char *text);

#endif
