/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The recorder `ftrace`: a tracing instance of its own, whose rings the kernel itself stops, or
 * swaps, at the message of a spike. ftrace_instance.c and ftrace_tracer.c set it up,
 * ftrace_recorder.c records, ftrace_snapshot.c copies the rings and writes trace.dat, and
 * ftrace_probe.c tells what it costs.
 */
#ifndef LIB_RECORDER_FTRACE_H
#define LIB_RECORDER_FTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/base.h"
#include "recorder/events/events.h"
#include "recorder/recorder.h"
#include "trace_dat.h"

struct tracefs_instance;

/* In the order in which they are tried. */
enum ftrace_tracer_kind { FTRACE_ANY_TRACER, FTRACE_GRAPH, FTRACE_FUNCTION, FTRACE_NOP };

/* What traces functions, as the event function_graph/max-depth=3,notrace=rcu_.../ has it. */
struct ftrace_tracer {
	enum ftrace_tracer_kind kind; /* once the instance is open, not ANY */
	uint64_t max_depth;	      /* 0: no limit */
	char *functions, *notrace;    /* separated by spaces; NULL: not given */
};

/* In ftrace_tracer.c: whether the event names a tracer. */
bool ftrace_tracer_is_name(const char *event);
const char *ftrace_tracer_name(enum ftrace_tracer_kind kind);
/* Parses an event. The caller releases the tracer, also on failure. Logs errors. */
int ftrace_tracer_parse(struct ftrace_tracer *tracer, const char *event, const struct log *log);
void ftrace_tracer_release(struct ftrace_tracer *tracer);
/* Sets up the instance's tracer: the wanted one, or the first that the kernel accepts. Logs errors.
 */
struct ftrace_recorder;
int ftrace_tracer_start(struct ftrace_recorder *ftrace, const struct log *log);

struct ftrace_recorder {
	struct recorder base;
	int tracefs, root_fd;
	char dir[64];	/* path of tracefs for libtracefs */
	char name[128]; /* of the instance */
	struct journal *journal;
	struct tracefs_instance *instance;
	enum perf_poke_freeze freeze; /* not AUTO */
	struct ftrace_tracer tracer;
	uint64_t buffer_size;
	bool call_graph;
	struct event_list list;
	struct perfdata_buf formats;
	struct perfdata_buf functions; /* read before they are traced, which slows that down */
	uint16_t marker_id;	       /* of the event ftrace:print */
	uint64_t late_swaps;	       /* spikes at which the session had to swap or stop */
	size_t nr_cpus;
	struct ftrace_cpu {
		int cpu;
		int fd; /* of its pages: trace_pipe_raw or snapshot_raw */
	} cpus[];
};

static inline struct ftrace_recorder *to_ftrace(struct recorder *recorder)
{
	return (struct ftrace_recorder *)recorder;
}

/* Makes the instance, with everything but tracing_on, and opens the rings. Logs errors. */
int ftrace_instance_open(struct ftrace_recorder *ftrace, const struct recorder_config *config,
			 const struct log *log);
/* Traces no more functions: what follows is not slowed down. Idempotent. */
void ftrace_instance_stop(struct ftrace_recorder *ftrace);
/* Removes it. */
void ftrace_instance_close(struct ftrace_recorder *ftrace);
/* Writes a file of the instance. Returns 0 or a negative errno. */
int ftrace_instance_write(const struct ftrace_recorder *ftrace, const char *file, const char *text);

/* See struct recorder_ops. */
int ftrace_copy_rings(struct recorder *recorder, struct snapshot **ret);
int ftrace_copy_swapped(struct recorder *recorder, struct snapshot *snapshot);
int ftrace_write_capture(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
			 const struct perf_poke_spike *spike, struct snapshot_facts *facts);
void ftrace_snapshot_free(struct snapshot *snapshot);

/* Bytes of a CPU's ring. */
#define FTRACE_BUFFER_DEFAULT (4ULL << 20)

int ftrace_recorder_open(struct recorder **ret, const struct recorder_config *config,
			 const struct log *log);
void ftrace_recorder_free(struct recorder *recorder);

/* See struct probe. */
int ftrace_probe_recorder(struct probe_detail *detail);
int ftrace_probe_swap(struct probe_detail *detail);
int ftrace_probe_traceoff(struct probe_detail *detail);

#define FTRACE_FREEZES 2
extern const struct recorder_freeze ftrace_freezes[FTRACE_FREEZES];

#endif
