/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * recorder/: records the trace. The controller opens a recorder, freezes it at a spike, copies its
 * rings and resumes it; the recorder writes the copy as perf.data, or trace.dat. Each is a row in
 * recorder.c.
 *
 * Recorders share the files of this folder. Each has a folder of its own and includes none of
 * another, except that ftrace has the tracepoints of events/. May include base/ and src/perfdata.
 */
#ifndef LIB_RECORDER_H
#define LIB_RECORDER_H

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/base.h"
#include "perf_poke.h"
#include "perfdata.h"

/* Overwrite rings of perf events, one per CPU, opened through libperf. */
/* An event to open on every CPU. */
struct ring_event {
	struct perf_event_attr attr;
	const char *name;
	const char *filter;
	bool optional;	   /* skipped if the kernel refuses it, as for some tracepoints and PMUs */
	bool needs_filter; /* skipped where the kernel refuses the filter */
	bool opened;	   /* set by rings_open() */
};

/* Records of a backward ring, newest first. The oldest may be torn. */
struct ring_copy {
	int cpu;
	char *data;
	size_t size;
	bool spare; /* of rings_reserve_copy() */
};

struct rings;

/* Opens, maps and enables the events. pages: a power of two. The events and what they point to must
 * outlive the rings. */
int rings_open(struct rings **ret, struct ring_event *events, size_t nr, const int *cpus,
	       size_t nr_cpus, size_t pages, const struct log *log);
/* Pages for at least `size` bytes, a power of two. */
size_t rings_pages_for_size(uint64_t size);

/* Those of two CPUs, which may be one; cpu negative: all. */
int rings_pause(struct rings *rings, int cpu, int other);
int rings_resume(struct rings *rings);
/* Keeps memory for the copy of a paused ring. */
int rings_reserve_copy(struct rings *rings);
/* Fills `copies`, one per CPU, of the paused rings. The caller frees each with rings_free_copy(),
 * also on failure. */
int rings_copy_paused(struct rings *rings, struct ring_copy *copies);
/* By any thread. */
void rings_free_copy(struct rings *rings, struct ring_copy *copy);
/* The same for those of the running rings that are not copied yet. Omits the oldest records of a
 * full ring, which the kernel may be overwriting. The caller may free each `data`. */
int rings_copy_running(const struct rings *rings, struct ring_copy *copies);

/* Reopens the events of a CPU that was offline: the kernel has detached the old ones for good. The
 * ring is empty, and stays empty on failure. Ignores CPUs without a ring. */
int rings_reopen_cpu(struct rings *rings, int cpu);
/* The same for rings with one event: the new event continues the old ring. */
int rings_join_cpu(struct rings *rings, int cpu);

/* Copies the kernel's ids, for the caller to free: for each open event a row with one id per CPU,
 * then the ids of records kept by rings_join_cpu(). NULL: no memory. */
uint64_t *rings_ids(const struct rings *rings, size_t *nr);

/* Copies of all rings, one per CPU, with the ids of their records. */
struct ring_copies {
	uint64_t *ids;
	size_t nr_ids;
	size_t nr;
	struct ring_copy rings[];
};

/* nr: CPUs. The rings are not stopped. */
int ring_copies_new(const struct rings *rings, size_t nr, struct ring_copies **ret);
void ring_copies_free(struct ring_copies *copy);

struct json_object;
/* Adds the names and filters of the opened events to a list. */
void rings_describe(const struct ring_event *events, size_t nr, struct json_object *list);

void rings_free(struct rings *rings);

struct json_object;

/* A copy of the rings, defined by each recorder. */
struct snapshot;

/* Results of writing a snapshot. */
struct snapshot_facts {
	uint64_t oldest_ns; /* first event of the spike's CPU; 0: none */
	uint64_t events;
	uint64_t lost;
	uint64_t size; /* bytes of perf.data, or trace.dat */
	/* When the trace ended, if that was later than the session could know; 0: it was not. */
	uint64_t still_ns;
	/* Intel PT of the spike's CPU: */
	uint64_t trace_bytes; /* 0: none */
};

struct recorder {
	const struct recorder_ops *ops;
	/* The messages by which the trigger pauses and resumes the trace of its CPU; empty: only
	 * the controller freezes the trace. */
	char pause_message[32];
	char resume_message[32];
	const char *freeze; /* name of the way to freeze; NULL: only one */
	/* `copy_rest` copies the trace of the spike, which ended by itself: until it has returned,
	 * the trigger must not pause the trace again. */
	bool reads_late;
	/* Set by the session before `freeze`: the trigger has printed the pause message. */
	bool paused;
	/* Set by the session before `stop`, if `can_leave`. */
	bool leaves;
};

/* All return 0 or a negative errno. The writer's thread calls `write` and `snapshot_free`. These
 * may use the snapshot, and those parts of the recorder that are constant, safe to share, or used
 * by no other thread. A NULL function does nothing: call it through recorder_freeze() and so on. */
struct recorder_ops {
	struct perf_poke_choice choice;
	struct probe probe;
	/* Whether it is a candidate for AUTO; NULL: never. */
	bool (*suits)(const struct recorder_config *config);
	/* Rejects options before anything is opened, and logs why; may be NULL. */
	int (*check)(const struct recorder_config *config, const struct log *log);
	/* NULL, like free: keeps nothing open. */
	int (*open)(struct recorder **ret, const struct recorder_config *config,
		    const struct log *log);
	/* Begins to record, after the last patch of kernel code; NULL: open() begins. */
	int (*start)(struct recorder *recorder, const struct log *log);
	/* At the end of the session, before captures are completed: records no more. May be NULL.
	 */
	void (*stop)(struct recorder *recorder);
	/* It can leave what the kernel takes long to remove to perf_poke__restore(). */
	bool can_leave;
	/* Stops the traces that `copy` takes: those of the spike's CPUs, or all. May be NULL, along
	 * with copy, resume, cpu_online and write. */
	int (*freeze)(struct recorder *recorder, const struct perf_poke_spike *spike);
	int (*copy)(struct recorder *recorder, struct snapshot **ret);
	int (*resume)(struct recorder *recorder);
	/* Adds the rings that are never stopped, once the session is armed again; may be NULL. */
	int (*copy_rest)(struct recorder *recorder, struct snapshot *snapshot);
	/* Resumes recording a CPU, watched or not, that was offline. Not called between freeze and
	 * resume. The functions above must accept offline CPUs, whose old records can still be
	 * copied. */
	int (*cpu_online)(struct recorder *recorder, int cpu);
	/* Writes perf.data in the folder dirfd. */
	int (*write)(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		     const struct perf_poke_spike *spike, struct snapshot_facts *facts);
	/* Describes the recorder in capture.json; may be NULL. */
	void (*describe)(const struct recorder *recorder, struct json_object *json);
	/* Describes the snapshot; may be NULL. */
	void (*describe_snapshot)(const struct snapshot *snapshot, struct json_object *json);
	void (*snapshot_free)(struct snapshot *snapshot);
	void (*free)(struct recorder *recorder);
};

extern const struct recorder_ops events_recorder, ftrace_recorder, none_recorder, perf_recorder,
	pt_recorder;

/* In AUTO's order; NULL past the end. */
const struct recorder_ops *recorder_ops_row(size_t i);

/* A way to freeze the trace. */
struct recorder_freeze {
	struct perf_poke_choice choice;
	struct probe probe;
};

/* In AUTO's order; NULL past the end. */
const struct recorder_freeze *recorder_freeze_row(size_t i);

/* Makes the messages for `pause_message` and, unless NULL, `resume_message`. */
int pause_message_make(char *pause, char *resume, size_t size);

/* The file of triggers of the event of these messages, in a tracing instance, and a trigger in it:
 * action is traceoff or snapshot. */
#define PAUSE_MESSAGE_EVENT "events/bpf_trace/bpf_trace_printk/"
void pause_message_trigger(char *text, size_t size, const char *action, const char *message);

/* Finds the requested row and checks its options; logs errors. */
int recorder_choose(const struct recorder_ops **ret, enum perf_poke_recorder wanted,
		    const struct recorder_config *config, const struct log *log);

int recorder_open(struct recorder **ret, const struct recorder_ops *ops,
		  const struct recorder_config *config, const struct log *log);
/* NULL is ignored. */
void recorder_free(struct recorder *recorder);
int recorder_start(struct recorder *recorder, const struct log *log);
int recorder_freeze(struct recorder *recorder, const struct perf_poke_spike *spike);
int recorder_copy(struct recorder *recorder, struct snapshot **ret);
int recorder_resume(struct recorder *recorder);
int recorder_copy_rest(struct recorder *recorder, struct snapshot *snapshot);
int recorder_cpu_online(struct recorder *recorder, int cpu);
int recorder_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		   const struct perf_poke_spike *spike, struct snapshot_facts *facts);
/* snapshot NULL: describes the recorder only. */
void recorder_describe(const struct recorder *recorder, const struct snapshot *snapshot,
		       struct json_object *json);
void recorder_snapshot_free(const struct recorder *recorder, struct snapshot *snapshot);

/* Writes the records of a ring to a perf.data. */

/* The sample_type of all events: by this layout records_write_ring() finds the time, and so does
 * perf in a file with several events. */
#define RECORDS_SAMPLE_TYPE                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU)

/* sched:sched_switch has the stack where a task gave up the CPU: kernel frames first, then those of
 * user space. */
#define RECORDS_SWITCH "sched:sched_switch"
#define RECORDS_SWITCH_FRAMES 32

/* Of the task's system call, its first argument and where it was called, with switches and wakeups:
 * the lowest and the highest bit. */
#if defined(__x86_64__)
#define RECORDS_USER_REGS (1ULL << PERF_REG_X86_DI | 1ULL << PERF_REG_X86_IP)
#elif defined(__aarch64__)
#define RECORDS_USER_REGS (1ULL << PERF_REG_ARM64_X0 | 1ULL << PERF_REG_ARM64_PC)
#else
#define RECORDS_USER_REGS 0ULL
#endif

static inline void records_add_user_regs(struct perf_event_attr *attr)
{
	attr->sample_regs_user = RECORDS_USER_REGS;
	attr->sample_type |= RECORDS_USER_REGS ? PERF_SAMPLE_REGS_USER : 0;
}

/* For sample_max_stack: the kernel refuses more than kernel.perf_event_max_stack. */
uint16_t records_max_stack(uint16_t frames);

/* Results of writing rings. */
struct records_facts {
	uint64_t first_ns, last_ns; /* 0: no record */
	uint64_t samples;
	uint64_t lost;
};

struct records_task {
	uint32_t pid, tid;
};

/* The task before the oldest context switch (PERF_RECORD_SWITCH_CPU_WIDE) of a ring. False: no
 * switch. */
bool records_first_task(const struct ring_copy *copy, struct records_task *task);

/* Writes names of forked kernel threads; call after all rings. */
int records_put_kthreads(struct perfdata_buf *buf, const struct ring_copy *copy, int root_fd);

/* Writes a ring's records, oldest first; adds to `facts`. */
int records_write_ring(struct perfdata *pd, const struct ring_copy *copy,
		       struct records_facts *facts);

/* Writes what perfdata_put_kernel() and its like made, unless one of them failed with `err`.
 * Releases the buffer. */
int records_write_buf(struct perfdata *pd, struct perfdata_buf *buf, int err);

/* Writes the stacks at the spike as samples of an event `spike`, for perf. */

/* attr: of the file's other events, with their clock. */
struct perfdata_event spike_sample_event(const struct perf_event_attr *attr);

/* Writes the holder's stack, then the other; nothing without a stack. time_ns: of the spike on the
 * file's clock. */
int spike_sample_write(struct perfdata *pd, const struct perf_poke_spike *spike, uint64_t time_ns);

/* The processes whose user frames a capture has: of the late thread and of the stacks at the
 * spike. Ends with 0. */
struct spike_processes {
	int pids[4];
};

struct spike_processes spike_processes(const struct perf_poke_spike *spike);

/* Task names for a trace: the tasks at the start of the session and at the time of writing, and all
 * forks, execs and renames in between on every CPU. */
struct task_names;

/* attr: a template with sample_type and clock. root_fd: of "/"; stays the caller's. */
int task_names_open(struct task_names **ret, const struct perf_event_attr *attr, int root_fd,
		    const struct log *log);

/* Resumes recording a CPU that was offline, unless it was offline at the start. */
int task_names_cpu_online(struct task_names *names, int cpu);

/* The rings of all CPUs that were online at the start. */
int task_names_copy(const struct task_names *names, struct ring_copies **ret);

/* The event for the header of the file. Valid as long as both arguments. */
struct perfdata_event task_names_event(const struct task_names *names,
				       const struct ring_copies *copy);

/* Writes kernel maps, task names, maps and build ids of the processes maps_of (a list that ends
 * with 0; NULL: of all), then the rings. Call before writing records with a time. */
int task_names_write(const struct task_names *names, struct perfdata *pd,
		     const struct ring_copies *copy, const int *maps_of);

void task_names_free(struct task_names *names);

/* Records, on all CPUs, who asks the watched CPUs for something: interrupts and function calls
 * between CPUs, queued work, and wakeups of tasks. The kernel filters out requests to other CPUs.
 */
struct senders;

enum senders_what {
	SENDERS_REQUESTS = 1, /* interrupts, calls, work */
	SENDERS_WAKERS = 2,   /* sched:sched_waking of tasks that ran on a watched CPU last */
	/* Alone: RECORDS_SWITCH on the watched CPUs only, with user frames. */
	SENDERS_SWITCHES = 4,
	/* sched:sched_migrate_task from and to the watched CPUs, by any CPU */
	SENDERS_MIGRATIONS = 8,
};

/* Maximum number of events. */
#define SENDERS_EVENTS_MAX 7

/* what: a set. *ret NULL: the kernel has none of the events. attr: clock settings. */
int senders_open(struct senders **ret, const struct perf_event_attr *attr,
		 const struct recorder_config *config, unsigned int what, int tracefs_fd,
		 const struct log *log);
void senders_free(struct senders *senders);
/* Bytes of a CPU's ring. */
size_t senders_ring_size(size_t nr_cpus, unsigned int what);
/* The same events for recorders that do not open perf's; filter NULL: none is needed. Returns 0, or
 * what take() returned. */
int senders_each_tracepoint(const struct recorder_config *config, unsigned int what, int tracefs_fd,
			    int (*take)(void *ctx, const char *name, const char *filter),
			    void *ctx);

/* All functions but senders_open() accept NULL. */
int senders_cpu_online(struct senders *senders, int cpu);
const struct ring_event *senders_ring_events(const struct senders *senders, size_t *nr);
/* *ret is NULL without senders. */
int senders_copy_rings(const struct senders *senders, struct ring_copies **ret);
/* Adds the kinds of the copied events. Returns their number. */
size_t senders_describe(const struct senders *senders, const struct ring_copies *copy,
			struct perfdata_event *described);
/* Adds the numbers of events and lost events to `facts`. */
int senders_write_records(const struct ring_copies *copy, struct perfdata *pd,
			  struct snapshot_facts *facts);

/* Kernel symbols, and kernel code if a trace needs it. A session holds one copy; captures have hard
 * links to it. */
struct kernel_symbols {
	int fd;		 /* folder of the copy; -1: none yet */
	int work_fd;	 /* the session's work folder; stays the caller's */
	bool prepared;	 /* kernel_symbols_prepare() makes the copy */
	int kcore_error; /* why there is no code; 0: there is, or none is needed */
};

void kernel_symbols_init(struct kernel_symbols *symbols, int work_fd);

/* Copies symbols and code. Missing code is no failure: sets kcore_error. */
int kernel_symbols_prepare(struct kernel_symbols *symbols, int root_fd);

/* Links the copy into a perf.data; recreates a missing copy. */
int kernel_symbols_write(struct kernel_symbols *symbols, struct perfdata *pd, int root_fd);

void kernel_symbols_close(struct kernel_symbols *symbols);

/* Writes the vDSO, which no file has, to dirfd/buildid, for perf's --buildid-dir. Returns 0 or a
 * negative errno. */
int kernel_symbols_write_vdso(int dirfd);

#endif
