/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* JSON: reads untrusted text, of which it accepts strict JSON only and checks values, and adds
 * members to objects. */
#ifndef SHARED_JSON_UTIL_H
#define SHARED_JSON_UTIL_H

#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text.h"
#include "util.h"

#define JSON_FILE_MAX_SIZE (1 << 20)

/* Functions that return int return 0, -ENOMEM, or another negative errno with *why, the error's
 * text (allocated, may be NULL). */

/* text[size] is NUL. */
int json_file_parse(json_object **json, const char *text, size_t size, char **why) _must_check_;
/* Reads a regular file of at most JSON_FILE_MAX_SIZE. */
int json_file_read(json_object **json, int dirfd, const char *name, char **why) _must_check_;

/* Looks up a dotted path, where a number is an index into a list. NULL: missing, null, or of
 * another type. */
json_object *json_find_value(json_object *from, const char *path);
json_object *json_find_typed(json_object *from, const char *path, json_type type);
/* "" if missing. */
const char *json_text_of(json_object *from, const char *path);

/* A non-negative integer. */
bool json_read_number(json_object *value, uint64_t *number);
/* A task id. */
bool json_read_task_id(json_object *value, int *id);

/* Nanoseconds since 1970 of a date such as 2026-11-21T07:01:43.881833Z. Missing: unchanged. */
int json_read_date(json_object *json, const char *path, uint64_t *wall_ns, char **why);

static inline void json_object_putp(json_object **object)
{
	json_object_put(*object);
}
#define _cleanup_json_ __attribute__((cleanup(json_object_putp)))

/* Adds members to objects. Addresses are strings: most readers lose bits of 64-bit numbers. */

/* Replaces invalid UTF-8. NULL becomes null. */
static inline json_object *json_text_value(const char *value)
{
	_cleanup_free_ char *copy = value ? strdup(value) : NULL;

	return copy ? json_object_new_string(utf8_repair_text(copy)) : NULL;
}

/* Takes value. */
static inline void json_add(json_object *object, const char *key, json_object *value)
{
	json_object_object_add(object, key, value);
}

static inline void json_add_text(json_object *object, const char *key, const char *value)
{
	json_add(object, key, json_text_value(value));
}

/* NULL and an empty name become null. */
static inline void json_add_name(json_object *object, const char *key, const char *name)
{
	json_add(object, key, json_text_value(name && *name ? name : NULL));
}

static inline void json_add_bool(json_object *object, const char *key, bool value)
{
	json_add(object, key, json_object_new_boolean(value));
}

static inline void json_add_int(json_object *object, const char *key, int value)
{
	json_add(object, key, json_object_new_int(value));
}

static inline void json_add_u64(json_object *object, const char *key, uint64_t value)
{
	json_add(object, key, json_object_new_uint64(value));
}

/* null if the value is `unknown`. */
static inline void json_add_known(json_object *object, const char *key, uint64_t value,
				  uint64_t unknown)
{
	json_add(object, key, value == unknown ? NULL : json_object_new_uint64(value));
}

static inline json_object *json_address(uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_object_new_string(text);
}

static inline void json_push_text(json_object *list, const char *value)
{
	json_object_array_add(list, json_text_value(value));
}

static inline void json_push_u64(json_object *list, uint64_t value)
{
	json_object_array_add(list, json_object_new_uint64(value));
}

/* [low, high, count]; a high of UINT64_MAX, which has no upper end, becomes null. */
static inline json_object *json_bucket_row(uint64_t low, uint64_t high, uint64_t count)
{
	json_object *row = json_object_new_array();

	json_push_u64(row, low);
	json_object_array_add(row, high == UINT64_MAX ? NULL : json_object_new_uint64(high));
	json_push_u64(row, count);
	return row;
}

#endif
