/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where a span begins and ends, as a trace shows it: functions, and events. */
#ifndef LIB_CAPTURE_SPAN_ENDS_H
#define LIB_CAPTURE_SPAN_ENDS_H

#include <json-c/json.h>

/* `text` as of span_parse(). NULL without one. */
struct json_object *span_ends_json(const char *text);

#endif
