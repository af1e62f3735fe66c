/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a recorder is: it holds what the CPUs did, can be frozen, copied out and resumed by the
 * controller, and writes a copy as perf.data. Each kind is a table of these functions. */
#ifndef LIB_RECORDER_H
#define LIB_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "perf_poke.h"

struct json_object;

struct recorder_config {
	const int *cpus;
	size_t nr_cpus;
	const struct perf_poke_event *events; /* NULL: the recorder's own choice */
	size_t nr_events;
	uint64_t buffer_size; /* bytes per CPU; 0: the recorder's own choice */
	enum perf_poke_freeze freeze;
	bool freeze_all, no_switch_events;
	uint64_t sample_size, history_size;
	const char *const *argv;
	size_t argc;
	int work_fd; /* the session's own folder, on the file system of the captures: for what they
			share */
};

/* Bytes copied out; the recorder's own. */
struct snapshot;

/* What writing a snapshot found out about it. */
struct snapshot_facts {
	uint64_t oldest_ns; /* first event of the spike's CPU; 0: there is none */
	uint64_t events;
	uint64_t lost;
	uint64_t size; /* bytes of perf.data */
	/* Of Intel PT, of the spike's CPU: */
	uint64_t trace_bytes;	    /* 0: there is none */
	uint64_t bytes_after_spike; /* of them; UINT64_MAX: not known */
	bool bytes_after_spike_exact;
};

struct recorder {
	const struct recorder_ops *ops;
	/* What BPF prints to stop the trace of its CPU at the spike, and to start it again; empty:
	 * the trace stands still only once the controller has frozen it. */
	char pause_message[32];
	char resume_message[32];
	const char *freeze; /* the name of how it is stopped; NULL: there is but one way */
};

/* All return 0 or a negative errno. `write` is called from the writer's thread, and so is
 * `snapshot_free` after it: what they use is in the snapshot, constant while the recorder runs,
 * used by that thread alone, or safe to share. */
struct recorder_ops {
	const char *name;
	int (*open)(struct recorder **ret, const struct recorder_config *config,
		    const struct log *log);
	/* Begins to record. After this, programs that are traced are not changed any more; NULL:
	 * records since open. */
	int (*start)(struct recorder *recorder, const struct log *log);
	/* Makes the traces of a spike's CPUs stand still, and those of others where they are copied
	 * too. */
	int (*freeze)(struct recorder *recorder, const struct perf_poke_spike *spike);
	int (*copy)(struct recorder *recorder, struct snapshot **ret);
	int (*resume)(struct recorder *recorder);
	/* Records a CPU again, any of the machine, that was offline; never between freeze and
	 * resume. While a CPU is offline, the functions above do with it what they can: what it
	 * recorded before is there to copy. */
	int (*cpu_online)(struct recorder *recorder, int cpu);
	/* Makes perf.data in the folder dirfd. */
	int (*write)(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		     const struct perf_poke_spike *spike, struct snapshot_facts *facts);
	/* Adds what describes the recorder to capture.json. */
	void (*describe)(const struct recorder *recorder, struct json_object *json);
	/* Adds what describes the snapshot; NULL: nothing does. */
	void (*describe_snapshot)(const struct snapshot *snapshot, struct json_object *json);
	void (*snapshot_free)(struct snapshot *snapshot);
	void (*free)(struct recorder *recorder);
};

extern const struct recorder_ops events_recorder;
extern const struct recorder_ops perf_recorder;
extern const struct recorder_ops pt_recorder;

#endif
