/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reads untrusted JSON: accepts strict JSON only, and checks values. */
#ifndef SHARED_JSON_FILE_H
#define SHARED_JSON_FILE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "text.h"

#define JSON_FILE_MAX_SIZE (1 << 20)

/* Functions that return int return 0, -ENOMEM, or another negative errno with *why, the error's
 * text (allocated, may be NULL). */

/* text[size] is NUL. */
int json_file_parse(json_object **json, const char *text, size_t size, char **why) _must_check_;
/* Reads a regular file of at most JSON_FILE_MAX_SIZE. */
int json_file_read(json_object **json, int dirfd, const char *name, char **why) _must_check_;

/* Looks up a dotted path, where a number is an index into a list. NULL: missing, null, or of
 * another type. */
json_object *json_find(json_object *from, const char *path);
json_object *json_find_typed(json_object *from, const char *path, json_type type);
/* "" if missing. */
const char *json_text_of(json_object *from, const char *path);

/* A non-negative integer. */
bool json_number(json_object *value, uint64_t *number);
/* A task id. */
bool json_task(json_object *value, int *id);

/* Nanoseconds since 1970 of a date such as 2026-11-21T07:01:43.881833Z. Missing: unchanged. */
int json_read_date(json_object *json, const char *path, uint64_t *wall_ns, char **why);

static inline void json_putp(json_object **object)
{
	json_object_put(*object);
}
#define _cleanup_json_ __attribute__((cleanup(json_putp)))

#endif
