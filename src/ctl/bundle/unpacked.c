// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/bundle.h"

#include "text.h"

#define MAX_ENTRIES 100000

/* Stops in order, so that the folder is removed. */
static int stop_if_asked(void *ctx, uint64_t bytes)
{
	return ending_asked ? -EINTR : 0;
}

int unpacked_open(struct unpacked *unpacked, int fd, uint64_t max_size, char **why)
{
	const struct unpack_limits limits = { max_size, MAX_ENTRIES };
	const struct unpack_source source = {
		.fd = fd,
		.any_top = true,
		.progress = stop_if_asked,
	};
	_cleanup_free_ char *beside = strfmt("%s/perf-poke", getenv("TMPDIR") ?: "/tmp");
	_cleanup_free_ char *top = NULL;
	int r;

	unpacked->partial = partial_none;
	ending_catch(&unpacked->ending);
	r = beside ? partial_folder(&unpacked->partial, beside) : -ENOMEM;
	return r ? r : unpack(&source, unpacked->partial.fd, &limits, &top, why);
}

void unpacked_close(struct unpacked *unpacked)
{
	partial_release(&unpacked->partial);
	ending_release(&unpacked->ending);
}
