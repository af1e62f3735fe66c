/* SPDX-License-Identifier: GPL-2.0-only */
/* What a machine is and how it is tuned, for a reader elsewhere. */
#ifndef CTL_BUNDLE_HOST_H
#define CTL_BUNDLE_HOST_H

#include <json-c/json.h>

#include "bundle/pack.h"
#include "capture/capture_file.h"

/* What is not known is null. rootfd is the root folder. Says whether this is the machine and the
 * kernel of the capture, which may be NULL. */
json_object *host_facts(int rootfd, const struct capture_file *capture);

/* Facts of this machine, and whether the capture, which may be NULL, is of it. Returns as
 * pack_text(). */
int host_pack(struct pack *pack, const struct capture_file *capture, bool *same,
	      char **why) _must_check_;

#endif
