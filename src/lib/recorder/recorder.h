/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * recorder/: who holds the trace. A recorder is opened, frozen at a spike, copied out and resumed
 * by the controller, and writes a copy as perf.data. A row of the table in recorder.c describes
 * each.
 *
 * What recorders have in common is here. Each has a folder, which includes no other recorder's. May
 * include base/ and src/perfdata.
 */
#ifndef LIB_RECORDER_H
#define LIB_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/probe.h"
#include "perf_poke.h"

struct json_object;

struct recorder_config {
	const int *cpus;
	size_t nr_cpus;
	const struct perf_poke_event *events; /* NULL: the recorder's own choice */
	size_t nr_events;
	uint64_t buffer_size; /* bytes per CPU; 0: the recorder's own choice */
	enum perf_poke_freeze freeze;
	bool freeze_all, no_switch_events, raw_rings;
	uint64_t sample_size, history_size; /* 0: the recorder's own choice */
	size_t nr_targets;		    /* that the session pokes */
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
 * used by that thread alone, or safe to share. Functions that say so may be NULL, which does
 * nothing: call them through recorder_freeze() and so on. */
struct recorder_ops {
	struct perf_poke_choice choice;
	struct probe probe;
	/* Whether it has what `freeze`, `freeze_all`, `no_switch_events`, `sample_size` and
	 * `history_size` are for. */
	bool has_aux;
	/* Whether AUTO means this one. */
	bool (*suits)(const struct recorder_config *config);
	/* Refuses options before anything is opened, and logs why; may be NULL. */
	int (*check)(const struct recorder_config *config, const struct log *log);
	int (*open)(struct recorder **ret, const struct recorder_config *config,
		    const struct log *log);
	/* Begins to record. After this, programs that are traced are not changed any more; NULL:
	 * records since open. */
	int (*start)(struct recorder *recorder, const struct log *log);
	/* Stops the traces that `copy` takes: those of the spike's CPUs, or of all. May be NULL,
	 * with copy, resume, cpu_online and write. */
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
	/* Adds what describes the recorder to capture.json; may be NULL. */
	void (*describe)(const struct recorder *recorder, struct json_object *json);
	/* Adds what describes the snapshot; may be NULL. */
	void (*describe_snapshot)(const struct snapshot *snapshot, struct json_object *json);
	void (*snapshot_free)(struct snapshot *snapshot);
	void (*free)(struct recorder *recorder);
};

extern const struct recorder_ops events_recorder, perf_recorder, pt_recorder;
/* Of Intel PT, aux_pause and AUX samples, for rows of tables. */
int pt_probe(struct probe_detail *detail);
int pt_probe_pause(struct probe_detail *detail);
int pt_probe_sample(struct probe_detail *detail);

/* In the order in which AUTO tries them; NULL past the end. */
const struct recorder_ops *recorder_row(size_t i);

/* How a recorder with has_aux freezes the trace, in AUTO's order; NULL past the end. */
struct recorder_freeze {
	struct perf_poke_choice choice;
	struct probe probe;
};

const struct recorder_freeze *recorder_freeze_row(size_t i);
/* "auto" for AUTO. */
const char *recorder_freeze_name(enum perf_poke_freeze freeze);

/* Finds the row that is wanted, and checks the options against it. On failure logs why. */
int recorder_choose(const struct recorder_ops **ret, enum perf_poke_recorder wanted,
		    const struct recorder_config *config, const struct log *log);

int recorder_start(struct recorder *recorder, const struct log *log);
int recorder_freeze(struct recorder *recorder, const struct perf_poke_spike *spike);
int recorder_copy(struct recorder *recorder, struct snapshot **ret);
int recorder_resume(struct recorder *recorder);
int recorder_cpu_online(struct recorder *recorder, int cpu);
int recorder_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		   const struct perf_poke_spike *spike, struct snapshot_facts *facts);
/* snapshot: NULL describes the recorder alone. */
void recorder_describe(const struct recorder *recorder, const struct snapshot *snapshot,
		       struct json_object *json);
void recorder_snapshot_free(const struct recorder *recorder, struct snapshot *snapshot);

#endif
