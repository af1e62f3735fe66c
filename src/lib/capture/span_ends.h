/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Begin and end of a span as they appear in a trace: functions and events. */
#ifndef LIB_CAPTURE_SPAN_ENDS_H
#define LIB_CAPTURE_SPAN_ENDS_H

#include <json-c/json.h>

/* text: see span_parse(). NULL without a text. */
struct json_object *span_ends_json(const char *text);

#endif
