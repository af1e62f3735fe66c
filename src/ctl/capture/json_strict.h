/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_CAPTURE_JSON_STRICT_H
#define CTL_CAPTURE_JSON_STRICT_H

/* What of a text that json-c could parse is not JSON all the same; NULL if it is JSON. */
const char *json_strict(const char *text);

#endif
