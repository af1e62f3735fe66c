/* SPDX-License-Identifier: GPL-2.0-only */
/* The objects of --json. */
#ifndef CTL_SESSION_JSON_H
#define CTL_SESSION_JSON_H

#include <json-c/json.h>

#include "session/results.h"

json_object *json_armed(const int *cpus, size_t nr, const struct perf_poke_opts *opts,
			const char *session, const char *recorder, const char *workload,
			const char *delivery);
json_object *json_detached(const char *session, int pid, const char *log);
json_object *json_capture(const struct perf_poke_capture *capture);
json_object *json_removed(const char *path);
json_object *json_summary(const struct results *results);
json_object *json_capability(const struct perf_poke_capability *capability);
json_object *json_check(bool can_start);
json_object *json_session(const struct perf_poke_session *session);

#endif
