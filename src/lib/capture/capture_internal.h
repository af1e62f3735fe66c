/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the files of this folder share. */
#ifndef LIB_CAPTURE_INTERNAL_H
#define LIB_CAPTURE_INTERNAL_H

#include <json-c/json.h>

#include "bpf/trigger.h"
#include "capture/capture.h"
#include "perf_poke.h"

/* The fields of a capture: one row each, for capture.json, lines of --json, and bindings. */

/* Adds them to the object of capture.json. */
void capture_fields_write(struct json_object *json, const struct perf_poke_capture *capture);

/* The version of capture.json that is written and read. */
#define CAPTURE_SCHEMA 1

/* Checks schema and values and bounds them, for capture_fields_release(), also on failure. Strings
 * belong to json. *why is the reason of -EINVAL and -ENOTSUP. */
int capture_fields_read(struct json_object *json, struct perf_poke_capture *capture,
			struct perf_poke_spike *spike, char **why);
void capture_fields_release(struct perf_poke_spike *spike);

/* Symbolizes a stack that the trigger took. */

/* Returns *nr frames for capture_stack_free(), or NULL. Omits the frames of the interrupt or of the
 * switch. */
struct perf_poke_frame *capture_stack_new(const struct trigger_stack *stack,
					  struct capture_symbols *symbols, size_t *nr);
/* One frame of user space, for capture_stack_free(). NULL: the process has ended. */
struct perf_poke_frame *capture_stack_user_frame(uint64_t address, uint32_t pid);
/* Of /proc/PID/maps */
struct mapping_line {
	uint64_t start, end, offset;
	char access[5];
	const char *name; /* "": none */
};

/* False: the task has ended, so only the kernel's data remains. */
bool capture_each_mapping(uint32_t pid, void (*take)(void *ctx, const struct mapping_line *line),
			  void *ctx);
/* For unwinding the user stack later; NULL: it was not taken. */
struct json_object *capture_user_json(const struct trigger_user *user, uint32_t pid);
void capture_stack_free(struct perf_poke_frame *frames, size_t nr);

/*
 * Completes a spike with what the record lacks. Call it before the trace is written, while the
 * tasks of the stacks exist, and again afterwards, until it returns true: a late thread has run
 * only then, and only then the noises before it are known. Both are read again by each call but the
 * first.
 */
bool spike_complete(const struct capture_env *env, struct capture *capture);

/* Stores the noises of a spike of the trigger noise, and the largest one as its label. */
void spike_explain_noise(struct perf_poke_spike *spike, const struct trigger_noise_parts *parts);

/* Why the scheduler may keep a runnable thread from the CPU: limits of the system and of the
 * thread's cgroup. */

/* root_fd: of "/". tid: the late thread; 0: none. */
struct json_object *scheduling_json(int root_fd, int tid);

/* Begin and end of a span as they appear in a trace: functions and events. */

/* text: see span_parse_text(). NULL without a text. */
struct json_object *span_ends_json(const char *text);

#endif
