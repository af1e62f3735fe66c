/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The events of a perf.data or a trace.dat in the order of time: tracepoints, whose fields
 * libtraceevent reads by the formats in the file, and samples of other events.
 *
 *	tracepoints_open(&tracepoints, "perf.data", &window, &why);
 *	while (tracepoints_next(tracepoints, &event))
 *		tracepoint_number(&event, "vec", &vector);
 *	tracepoints_free(tracepoints);
 *
 * The file may be a stranger's: no format, offset or length in it is trusted.
 */
#ifndef DECODE_TRACEPOINTS_H
#define DECODE_TRACEPOINTS_H

#include "perfdata_read.h"
#include "util.h"

/* The feature TRACING_DATA of a perf.data: the kernel's formats of its tracepoints. It is not
 * trusted. Nothing is copied; all pointers stay within the file. */
struct tracing_format {
	const char *system;
	struct perfdata_bytes text; /* from tracefs: events/SYSTEM/NAME/format */
	uint64_t id;		    /* attr.config of the event */
};

/* All zero: not in the file. */
struct tracing_data {
	struct tracing_format *formats; /* sorted by ID */
	size_t nr;
	uint8_t long_size;
	struct perfdata_bytes strings; /* of the kernel's memory: its printk_formats */
};

/* Returns 0, -ENOENT without the feature, -EINVAL if damaged, -ENOTSUP for the other byte order, or
 * -ENOMEM. */
int tracing_data_read(struct tracing_data *data, const struct perfdata_file *file) _must_check_;
void tracing_data_release(struct tracing_data *data);

/* NULL: none. */
const struct tracing_format *tracing_data_find(const struct tracing_data *data, uint64_t id);

/* Copies the string at an address of the kernel, truncated to `size` including its NUL. False, with
 * "": not in the file. */
bool tracing_data_string(const struct tracing_data *data, uint64_t address, char *text,
			 size_t size);

struct event_format;

/* Returns 0, -EINVAL for an invalid format, or -ENOMEM. */
int event_format_new(struct event_format **ret, const struct tracing_data *data,
		     const struct tracing_format *text) _must_check_;
void event_format_free(struct event_format *format);

const char *event_format_name(const struct event_format *format);

/* A numeric field, sign-extended. False: no such field, or outside of `raw`. */
bool event_format_number(const struct event_format *format, const struct perfdata_bytes *raw,
			 const char *field, uint64_t *value);

/* Where a field begins in the record. False: no such field. */
bool event_format_offset(const struct event_format *format, const char *field, uint64_t *offset);

/* Whether the CPU is in a field that is a mask. False: no such field, or outside of `raw`. */
bool event_format_cpu(const struct event_format *format, const struct perfdata_bytes *raw,
		      const char *field, int cpu, bool *is_set);

/* A text field, truncated to `size` including its NUL. False, with "": no such field. */
bool event_format_text(const struct event_format *format, const struct perfdata_bytes *raw,
		       const char *field, char *text, size_t size);

struct tracepoints;

struct sample_window {
	uint64_t begin, end; /* inclusive */
};

/* One kind of event. */
struct tracepoint_kind {
	char *name;		     /* such as `sched:sched_switch`, or `cpu-clock` */
	struct event_format *format; /* NULL: not a tracepoint, or not in the file */
	uint64_t clock_ns;	     /* between samples of a clock; 0: not a clock */
};

struct tracepoint_event {
	const struct tracepoint_kind *kind;
	uint64_t time;	  /* ns on the recorded clock */
	int32_t cpu, pid; /* -1: unknown */
	/* Of a tracepoint that of its own field, which is the same in all PID namespaces; -1:
	 * unknown. */
	int32_t tid;
	/* As in perf's other records, and the only one of other samples: in the PID namespace of
	 * the session; 0: also outside of that. */
	int32_t perf_tid;
	uint64_t ip;
	bool missed;			 /* by a ring, just before it on the CPU */
	struct perfdata_bytes raw;	 /* the fields */
	struct perfdata_bytes callchain; /* as in struct perfdata_sample */
	/* Of the system call of the task, if it is in one: see RECORDS_USER_REGS of the library; 0:
	 * unknown. */
	uint64_t call_argument, call_ip;
};

/* Finds the records of the window in a first pass. `file` must stay valid. Returns 0, or a negative
 * errno with *why (may be NULL), to be freed. */
int tracepoints_new(struct tracepoints **ret, const struct perfdata_file *file,
		    const struct sample_window *window, char **why) _must_check_;

struct trace_dat;

/* Takes `dat`, on failure, too. Returns 0 or -ENOMEM. */
int tracepoints_of_trace_dat(struct tracepoints **ret, struct trace_dat *dat) _must_check_;

/* For a folder: its file `data`, with function names from its kcore_dir/kallsyms. Or for a
 * trace.dat. */
int tracepoints_open(struct tracepoints **ret, const char *folder,
		     const struct sample_window *window, char **why) _must_check_;
void tracepoints_free(struct tracepoints *tracepoints);
static inline void tracepoints_freep(struct tracepoints **tracepoints)
{
	tracepoints_free(*tracepoints);
}

/* Events of a CPU that were lost, by PERF_RECORD_LOST, behind the last one before them. */
struct tracepoint_gap {
	uint64_t begin, end;		    /* times of the events around them */
	const struct tracepoint_kind *kind; /* of the event that follows */
	int cpu;
};

/* Gaps in the order of their begins; those outside of the window among them. */
const struct tracepoint_gap *tracepoints_gaps(const struct tracepoints *tracepoints, size_t *nr);

/* Whether the recorders write events of this kind to rings of their own, which reach further back
 * than those of the others, and which are never paused. */
bool tracepoint_is_of_all_cpus(const struct tracepoint_kind *kind);

enum ring_functions {
	RING_NO_FUNCTIONS,
	RING_ENTRIES, /* ftrace:function: no ends */
	RING_CALLS,   /* ftrace:funcgraph_entry and funcgraph_exit */
};

/* What a trace.dat has of functions. */
enum ring_functions tracepoints_functions(const struct tracepoints *tracepoints);

/* The nth task whose name a trace.dat knows, beside that in events. False: there are fewer. */
bool tracepoints_task(const struct tracepoints *tracepoints, size_t n, int *tid, const char **comm);

/* Whether there is a tracepoint in the file whose fields are known. */
bool tracepoints_have_fields(const struct tracepoints *tracepoints);

/* Gets the next event; equal times keep the order of the file. False: end. */
bool tracepoints_next(struct tracepoints *tracepoints, struct tracepoint_event *event);

/* As in event_format.h. Without a format, there are no fields. */
static inline bool tracepoint_number(const struct tracepoint_event *event, const char *field,
				     uint64_t *value)
{
	return event->kind->format &&
	       event_format_number(event->kind->format, &event->raw, field, value);
}
static inline bool tracepoint_text(const struct tracepoint_event *event, const char *field,
				   char *text, size_t size)
{
	text[0] = '\0';
	return event->kind->format &&
	       event_format_text(event->kind->format, &event->raw, field, text, size);
}

/* Whether the CPU is in a field that is a mask. False: the field cannot be read. */
static inline bool tracepoint_cpu(const struct tracepoint_event *event, const char *field, int cpu,
				  bool *is_set)
{
	return event->kind->format &&
	       event_format_cpu(event->kind->format, &event->raw, field, cpu, is_set);
}

/* Gets the next address of a callchain, innermost first, without context markers; of a caller one
 * in its call, because the code behind a call may be the next function's. *at is 0 at first. False:
 * end. */
bool tracepoints_frame(const struct perfdata_bytes *callchain, uint64_t *at, uint64_t *address);

/* The kernel function at an address, of a folder; NULL: unknown. */
const char *tracepoints_function(struct tracepoints *tracepoints, uint64_t address);

/* The string at an address of the kernel, as tracing_data_string(). A trace.dat has none. */
bool tracepoints_string(const struct tracepoints *tracepoints, uint64_t address, char *text,
			size_t size);

/* The file being read; valid until freed. Of a trace.dat all zero: it has none of its records. */
const struct perfdata_file *tracepoints_file(const struct tracepoints *tracepoints);

#endif
