/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * capture/: the folder on disk, with perf.data/ and capture.json. It appears under its name
 * complete, or not at all. May include delivery/, hardware/, recorder/, trigger/, options/ and
 * base/.
 */
#ifndef LIB_CAPTURE_H
#define LIB_CAPTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture/output.h"
#include "capture/symbols.h"
#include "delivery/poke.h"
#include "hardware/hardware.h"
#include "options/config.h"
#include "recorder/recorder.h"
#include "tree.h"
#include "trigger/stats.h"

struct capture_stack {
	struct perf_poke_frame *frames;
	size_t nr;
	const struct perf_poke_frame *rows[TRIGGER_KERNEL_FRAMES + TRIGGER_USER_FRAMES];
};

struct capture {
	struct capture *next;
	struct perf_poke_spike spike;	 /* function_name points to the copy below */
	struct snapshot *snapshot;	 /* owned; freed after writing */
	uint64_t still_ns;		 /* when the trace stood still */
	uint64_t armed_ns;		 /* when the session was armed again */
	struct hardware_counts hardware; /* up to the spike */
	struct stats_snapshot stats;	 /* at that time */
	uint64_t floor_ns;		 /* minimum latency worth a capture; 0: none */
	/* Set by capture_write(): */
	int error;
	char *path;
	char *note; /* a note for the user, or NULL */
	dev_t dev;  /* of its folder, as is `dirfd` */
	ino_t ino;
	struct tree_size size; /* while the session owns data shared by its captures */
	char function_name[128];
	struct capture_stack stack, holder; /* of the spike, as the branches */
	struct perf_poke_branch branches[TRIGGER_BRANCHES];
	struct snapshot_facts facts;
};

/* Shared by all captures of a session. */
struct capture_env {
	const struct config *config;
	struct recorder *recorder;
	struct output *output;
	const struct poke *poke;	 /* NULL: no targets */
	struct capture_symbols *symbols; /* NULL: not kept */
	const struct trigger *trigger;
	const char *workload; /* its name */
};

/* How much of the past the capture covers before its spike; UINT64_MAX: unknown. */
uint64_t capture_history_ns(const struct capture *capture);

/* Sets capture->error, and path on success. Any thread. */
void capture_write(const struct capture_env *env, struct capture *capture);

/* Writes capture.json into the folder dirfd: man perf-poke-capture documents it. */
int capture_json_write(const struct capture_env *env, const struct capture *capture, int dirfd);

/* SCHED_... by its name there; -1: unknown. */
int capture_json_policy(const char *name);

void capture_free(const struct capture_env *env, struct capture *capture);

#endif
