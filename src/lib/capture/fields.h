/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The fields of a capture: one row each, for capture.json, lines of --json, and bindings. */
#ifndef LIB_CAPTURE_FIELDS_H
#define LIB_CAPTURE_FIELDS_H

#include <json-c/json.h>

#include "perf_poke.h"

/* Adds them to the object of capture.json. */
void fields_write(struct json_object *json, const struct perf_poke_capture *capture);

/* Checks and bounds the values, for fields_release(), also on failure. Strings belong to json. *why
 * is the reason of -EINVAL and -ENOTSUP. */
int fields_read(struct json_object *json, struct perf_poke_capture *capture,
		struct perf_poke_spike *spike, char **why);
void fields_release(struct perf_poke_spike *spike);

#endif
