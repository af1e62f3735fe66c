/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * recorder/: records the trace. The controller opens a recorder, freezes it at a spike, copies its
 * rings and resumes it; the recorder writes the copy as perf.data. Each is a row in recorder.c.
 *
 * Recorders share the files of this folder. Each has a folder of its own and includes none of
 * another. May include base/ and src/perfdata.
 */
#ifndef LIB_RECORDER_H
#define LIB_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/probe.h"
#include "base/recorder_config.h"
#include "perf_poke.h"

struct json_object;

/* A copy of the rings, defined by each recorder. */
struct snapshot;

/* Results of writing a snapshot. */
struct snapshot_facts {
	uint64_t oldest_ns; /* first event of the spike's CPU; 0: none */
	uint64_t events;
	uint64_t lost;
	uint64_t size; /* bytes of perf.data */
	/* Intel PT of the spike's CPU: */
	uint64_t trace_bytes;	    /* 0: none */
	uint64_t bytes_after_spike; /* of trace_bytes; UINT64_MAX: unknown */
	bool bytes_after_spike_exact;
};

struct recorder {
	const struct recorder_ops *ops;
	/* The messages by which the trigger pauses and resumes the trace of its CPU; empty: only
	 * the controller freezes the trace. */
	char pause_message[32];
	char resume_message[32];
	const char *freeze; /* name of the way to freeze; NULL: only one */
};

/* All return 0 or a negative errno. The writer's thread calls `write` and `snapshot_free`. These
 * may use the snapshot, and those parts of the recorder that are constant, safe to share, or used
 * by no other thread. A NULL function does nothing: call it through recorder_freeze() and so on. */
struct recorder_ops {
	struct perf_poke_choice choice;
	struct probe probe;
	/* Whether `freeze`, `freeze_all`, `no_switch_events`, `sample_size` and `history_size`
	 * apply. */
	bool has_aux;
	/* Whether it is a candidate for AUTO; NULL: never. */
	bool (*suits)(const struct recorder_config *config);
	/* Rejects options before anything is opened, and logs why; may be NULL. */
	int (*check)(const struct recorder_config *config, const struct log *log);
	/* NULL, like free: keeps nothing open. */
	int (*open)(struct recorder **ret, const struct recorder_config *config,
		    const struct log *log);
	/* Begins to record, after the last patch of kernel code; NULL: open() begins. */
	int (*start)(struct recorder *recorder, const struct log *log);
	/* Stops the traces that `copy` takes: those of the spike's CPUs, or all. May be NULL, along
	 * with copy, resume, cpu_online and write. */
	int (*freeze)(struct recorder *recorder, const struct perf_poke_spike *spike);
	int (*copy)(struct recorder *recorder, struct snapshot **ret);
	int (*resume)(struct recorder *recorder);
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

extern const struct recorder_ops events_recorder, none_recorder, perf_recorder, pt_recorder;
/* Probes of Intel PT, aux_pause and AUX samples. */
int pt_probe(struct probe_detail *detail);
int pt_probe_pause(struct probe_detail *detail);
int pt_probe_sample(struct probe_detail *detail);

/* In AUTO's order; NULL past the end. */
const struct recorder_ops *recorder_row(size_t i);

/* A way to freeze of recorders with has_aux, in AUTO's order; NULL past the end. */
struct recorder_freeze {
	struct perf_poke_choice choice;
	struct probe probe;
};

const struct recorder_freeze *recorder_freeze_row(size_t i);
/* "auto" for AUTO. */
const char *recorder_freeze_name(enum perf_poke_freeze freeze);

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
int recorder_cpu_online(struct recorder *recorder, int cpu);
int recorder_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		   const struct perf_poke_spike *spike, struct snapshot_facts *facts);
/* snapshot NULL: describes the recorder only. */
void recorder_describe(const struct recorder *recorder, const struct snapshot *snapshot,
		       struct json_object *json);
void recorder_snapshot_free(const struct recorder *recorder, struct snapshot *snapshot);

#endif
