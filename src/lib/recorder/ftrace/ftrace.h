/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The recorder `ftrace`: a tracing instance of its own, whose rings the kernel itself stops, or
 * swaps, at the message of a spike. ftrace_instance.c and ftrace_tracer.c set it up,
 * ftrace_senders.c records the other CPUs, ftrace_recorder.c records, ftrace_snapshot.c copies the
 * rings and writes trace.dat, and ftrace_probe.c tells what it costs.
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

struct ftrace_cpu {
	int cpu;
	int fd; /* of its pages: trace_pipe_raw or snapshot_raw */
};

struct ftrace_recorder {
	struct recorder base;
	int tracefs, root_fd;
	char dir[64]; /* path of tracefs for libtracefs */
	struct journal *journal;
	struct tracefs_instance *instance;
	enum perf_poke_freeze freeze; /* not AUTO */
	struct ftrace_tracer tracer;
	uint64_t buffer_size;
	bool call_graph;
	struct event_list list;
	struct event_list sender_list;	/* of all CPUs: see ftrace_senders.c */
	struct ftrace_senders *senders; /* NULL: no CPUs but those that are watched */
	struct perfdata_buf formats;
	struct perfdata_buf functions; /* read before they are traced, which slows that down */
	uint16_t marker_id;	       /* of the event ftrace:print */
	uint64_t late_swaps;	       /* spikes at which the session had to swap or stop */
	size_t nr_cpus;
	struct ftrace_cpu cpus[];
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
int ftrace_instance_write(struct tracefs_instance *instance, const char *file, const char *text);
/* Makes one that is removed with the session, even if that is killed. suffix: of its name. Logs
 * errors. */
int ftrace_instance_make(struct ftrace_recorder *ftrace, struct tracefs_instance **instance,
			 const char *session, const char *suffix, const struct log *log);
/* Sets rings, clock and CPUs. Logs errors. */
int ftrace_instance_set_rings(struct tracefs_instance *instance, const int *cpus, size_t nr_cpus,
			      uint64_t ring_size, const struct log *log);
/* with_stack: of the kernel, at each of the events. Logs errors. */
int ftrace_instance_enable_event(struct tracefs_instance *instance, const struct event *event,
				 bool with_stack, const struct log *log);
/* Opens the file of the CPU's pages. Returns 0 or a negative errno. */
int ftrace_instance_open_ring(struct tracefs_instance *instance, struct ftrace_cpu *cpu,
			      const char *file);
/* Takes all pages from the ring. Room for one more page is left behind them. */
int ftrace_ring_read(const struct ftrace_cpu *cpu, uint64_t ring_size, struct trace_dat_ring *ring);

/* Finds the events. Returns 0 or a negative errno. */
int ftrace_senders_list(struct ftrace_recorder *ftrace, const struct recorder_config *config);
/* Makes the instance of the other CPUs. Logs errors. */
int ftrace_senders_open(struct ftrace_recorder *ftrace, const struct recorder_config *config,
			const struct log *log);
/* These accept NULL. */
int ftrace_senders_start(const struct ftrace_senders *senders);
size_t ftrace_senders_count(const struct ftrace_senders *senders);
int ftrace_senders_copy(const struct ftrace_senders *senders, struct trace_dat_ring *rings);
void ftrace_senders_close(struct ftrace_senders *senders);

/* See struct recorder_ops. */
int ftrace_copy_rings(struct recorder *recorder, struct snapshot **ret);
int ftrace_copy_rest(struct recorder *recorder, struct snapshot *snapshot);
int ftrace_write_capture(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
			 const struct perf_poke_spike *spike, struct snapshot_facts *facts);
void ftrace_snapshot_free(struct snapshot *snapshot);

/* Bytes of a CPU's ring. */
#define FTRACE_BUFFER_DEFAULT (4ULL << 20)

/* senders: record those as well. Logs errors. */
int ftrace_recorder_open(struct recorder **ret, const struct recorder_config *config, bool senders,
			 const struct log *log);
void ftrace_recorder_free(struct recorder *recorder);

/* See struct probe. */
int ftrace_probe_recorder(struct probe_detail *detail);
int ftrace_probe_swap(struct probe_detail *detail);
int ftrace_probe_traceoff(struct probe_detail *detail);

#define FTRACE_FREEZES 2
extern const struct recorder_freeze ftrace_freezes[FTRACE_FREEZES];

#endif
