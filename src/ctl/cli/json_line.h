/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects of --json. Times are nanoseconds, in keys that end in _ns. */
#ifndef CTL_CLI_JSON_LINE_H
#define CTL_CLI_JSON_LINE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "util.h"

json_object *json_line(const char *type);
json_object *json_error(const char *message);

/* Invalid UTF-8 is replaced. NULL if there is no memory. */
json_object *json_new_string(const char *value);

void json_add_number(json_object *object, const char *key, uint64_t value);
void json_add_bool(json_object *object, const char *key, bool value);
/* NULL becomes null. */
void json_add_string(json_object *object, const char *key, const char *value);
/* An empty name becomes null. */
void json_add_name(json_object *object, const char *key, const char *name);

/* One line that is safe on a terminal, with its newline, for the caller to free, or NULL. Takes the
 * object. */
char *json_line_text(json_object *object) _must_check_;

#endif
