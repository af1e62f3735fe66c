// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/bundle.h"

#include "text.h"

static int hold(void *ctx, uint64_t bytes)
{
	reader_hold();
	return 0;
}

int unpack_temporary(struct partial *folder, int fd, char **why)
{
	const struct unpack_source source = { .fd = fd, .any_top = true, .progress = hold };
	_cleanup_free_ char *beside = strfmt("%s/perf-poke", getenv("TMPDIR") ?: "/tmp");
	struct unpack_limits limits = { .max_entries = UNPACK_ENTRIES_MAX };
	_cleanup_free_ char *top = NULL;
	int r;

	*folder = partial_none;
	r = beside ? partial_folder(folder, beside) : -ENOMEM;
	if (r)
		return r;
	limits.max_size = reader_unpacked_max(folder->fd);
	return unpack(&source, folder->fd, &limits, &top, why);
}
