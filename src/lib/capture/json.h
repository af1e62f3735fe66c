/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_CAPTURE_JSON_H
#define LIB_CAPTURE_JSON_H

struct capture;
struct capture_env;

/* Writes capture.json into the folder dirfd: man perf-poke-capture documents it. */
int capture_json_write(const struct capture_env *env, const struct capture *capture, int dirfd);

/* SCHED_... by its name there; -1: unknown. */
int capture_json_policy(const char *name);

#endif
