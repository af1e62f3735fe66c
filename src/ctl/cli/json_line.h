/* SPDX-License-Identifier: GPL-2.0-only */
/* Output of --json: one object a line. Times are nanoseconds; their keys end in _ns. */
#ifndef CTL_CLI_JSON_LINE_H
#define CTL_CLI_JSON_LINE_H

#include "cli/console.h"
#include "json_add.h"

/* A new object with this "type". */
json_object *json_line(const char *type);

/* Writes and flushes one line, safe for a terminal. Takes the object. */
void json_print(struct console *con, json_object *object);

/* Switches the console to JSON if --json was given. */
void json_use(struct console *con, bool json);

#endif
