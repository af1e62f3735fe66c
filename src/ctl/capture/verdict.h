/* SPDX-License-Identifier: GPL-2.0-only */
/* What a report concludes of a capture. Decoding takes long, so it is kept in the user's cache. */
#ifndef CTL_CAPTURE_VERDICT_H
#define CTL_CAPTURE_VERDICT_H

#include "account/account.h"

struct verdict {
	json_object *json;		/* sentence, cause and fingerprint, as in report --json */
	struct fingerprint fingerprint; /* empty kind: the capture has none */
};

/* Reads what is kept. Returns 0, -ENOENT if there is none, or -ENOMEM. */
int verdict_kept(struct verdict *verdict, const char *folder) _must_check_;

/* Returns 0 or -ENOMEM. */
int verdict_of_account(struct verdict *verdict, const struct account *account) _must_check_;

/* Keeps it, unless decoding had errors or symbols were missing. Failures are ignored: it can be
 * found again. */
void verdict_keep(const struct verdict *verdict, const struct account *account);

void verdict_release(struct verdict *verdict);

/* The sentence, or "". */
const char *verdict_sentence(const struct verdict *verdict);

#endif
