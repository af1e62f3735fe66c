/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of the machine and its tuning, for readers elsewhere. */
#ifndef CTL_BUNDLE_HOST_H
#define CTL_BUNDLE_HOST_H

#include <json-c/json.h>
#include <perf_poke.h>

#include "bundle/pack.h"

/* Reads them below the root folder rootfd; unknown ones are null. "of_capture" says whether the
 * capture, which may be NULL, is of this machine and kernel. */
json_object *host_facts(int rootfd, const struct perf_poke_capture *capture);

/* Adds the facts to an archive. Sets *same to "of_capture". Returns as pack_text(). */
int host_pack(struct pack *pack, const struct perf_poke_capture *capture, bool *same,
	      char **why) _must_check_;

#endif
