/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_CAPTURE_JSON_STRICT_H
#define CTL_CAPTURE_JSON_STRICT_H

/* Says why text that json-c accepted is not JSON; NULL if it is. */
const char *json_strict(const char *text);

#endif
