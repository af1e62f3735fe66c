/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * capture/: the folder on disk, with perf.data/ and capture.json. It appears under its name once it
 * is complete. May include delivery/, hardware/, recorder/, trigger/, options/ and base/.
 */
#ifndef LIB_CAPTURE_H
#define LIB_CAPTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture/output.h"
#include "capture/symbols.h"
#include "delivery/delivery.h"
#include "machine/hardware.h"
#include "options/config.h"
#include "recorder/recorder.h"
#include "tree.h"
#include "trigger/trigger.h"

struct capture_stack {
	struct perf_poke_frame *frames;
	size_t nr;
	const struct perf_poke_frame *rows[TRIGGER_KERNEL_FRAMES + TRIGGER_USER_FRAMES];
};

struct capture {
	struct capture *next;
	struct perf_poke_spike spike;	 /* function_name points to the copy below */
	struct snapshot *snapshot;	 /* owned; freed after writing */
	uint64_t still_ns;		 /* when the trace was stopped */
	uint64_t armed_ns;		 /* when the session was re-armed */
	struct hardware_counts hardware; /* up to the spike */
	struct stats_snapshot stats;	 /* at the spike */
	uint64_t floor_ns;		 /* minimum latency worth a capture; 0: none */
	/* Set by capture_write(): */
	int error;
	char *path;
	char *note; /* a note for the user, or NULL */
	dev_t dev;  /* identify its folder */
	ino_t ino;
	struct tree_size size; /* while the session owns data that its captures share */
	char function_name[128];
	struct capture_stack stack, holder; /* of the spike */
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

/* What is told of it, which refers to it. */
struct perf_poke_capture capture_told(const struct capture_env *env, const struct capture *capture);

/* Sets capture->error, and path on success. Any thread. */
void capture_write(const struct capture_env *env, struct capture *capture);

/* Writes capture.json, see perf-poke-capture(5), into the folder dirfd. */
int capture_json_write(const struct capture_env *env, const struct capture *capture, int dirfd);

void capture_free(const struct capture_env *env, struct capture *capture);

#endif
