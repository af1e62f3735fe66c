/* SPDX-License-Identifier: GPL-2.0-only */
/* All that a report says of a capture, for people and for machines. */
#ifndef REPORT_ACCOUNT_H
#define REPORT_ACCOUNT_H

#include <json-c/json.h>
#include <stdio.h>

#include "cause.h"
#include "statistics.h"

struct account {
	const char *capture; /* its folder */
	struct facts facts;
	struct statistics statistics; /* for a page */
	uint64_t window_ns;	      /* before the spike */
	uint64_t errors;	      /* of decoding */
	struct senders *senders;      /* NULL: none are recorded */
	struct spans *spans;
	struct findings findings;
	struct cause cause;
	char *sentence;
};

/* With capture, facts, window and spans there: all the rest. Returns 0 or -ENOMEM. */
int account_finish(struct account *account) _must_check_;
void account_release(struct account *account);

/* At most 100 columns, with so many functions. */
void account_print(FILE *file, const struct account *account, size_t top);

/* NULL if there is no memory. */
json_object *account_json(const struct account *account, size_t top);

#endif
