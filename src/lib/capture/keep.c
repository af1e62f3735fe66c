// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "io.h"
#include "util.h"

struct keep {
	uint64_t worst, max_size;
	uint64_t size; /* of all captures, without shared data */
	struct kept *all;
	size_t nr;
};

int keep_worst_new(struct keep **ret, uint64_t worst, uint64_t max_size)
{
	struct keep *keep = calloc(1, sizeof(*keep));

	if (!keep)
		return -ENOMEM;
	keep->worst = worst;
	keep->max_size = max_size;
	*ret = keep;
	return 0;
}

int keep_add_capture(struct keep *keep, const struct kept *kept)
{
	_cleanup_free_ char *name = strdup(kept->name);

	if (!name || array_grow(&keep->all, keep->nr, sizeof(*kept)))
		return -ENOMEM;
	keep->all[keep->nr] = *kept;
	keep->all[keep->nr++].name = TAKE_PTR(name);
	keep->size += kept->size;
	return 0;
}

static uint64_t keep_count_kind(const struct keep *keep, unsigned int kind)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < keep->nr; i++)
		nr += keep->all[i].kind == kind;
	return nr;
}

/* Among equals the newest is less, so that older captures stay. */
static bool is_less_to_keep(const struct kept *a, const struct kept *b)
{
	return a->latency_ns <= b->latency_ns;
}

/* The smallest latency of a kind over its limit, or of all kinds if over the disk limit. */
static struct kept *keep_find_least(const struct keep *keep)
{
	struct kept *least = NULL;
	uint64_t shared = 0;
	bool too_large;

	for (size_t i = 0; i < keep->nr; i++)
		shared = keep->all[i].shared > shared ? keep->all[i].shared : shared;
	too_large = keep->size + shared > keep->max_size;
	for (size_t i = 0; i < keep->nr; i++) {
		struct kept *kept = &keep->all[i];

		/* This one alone exceeds the limit. */
		if (kept->size + kept->shared > keep->max_size)
			return kept;
		if (!too_large && keep_count_kind(keep, kept->kind) <= keep->worst)
			continue;
		if (!least || is_less_to_keep(kept, least))
			least = kept;
	}
	return least;
}

bool keep_take_least(struct keep *keep, struct kept *dropped)
{
	struct kept *least = keep_find_least(keep);

	if (!least)
		return false;
	*dropped = *least;
	keep->size -= least->size;
	memmove(least, least + 1, (&keep->all[--keep->nr] - least) * sizeof(*least));
	return true;
}

uint64_t keep_floor_of_kind(const struct keep *keep, unsigned int kind)
{
	const struct kept *least = NULL;

	if (keep_count_kind(keep, kind) < keep->worst)
		return 0;
	for (size_t i = 0; i < keep->nr; i++) {
		if (keep->all[i].kind == kind && (!least || is_less_to_keep(&keep->all[i], least)))
			least = &keep->all[i];
	}
	return least ? least->latency_ns + 1 : 0;
}

void keep_free(struct keep *keep)
{
	if (!keep)
		return;
	for (size_t i = 0; i < keep->nr; i++)
		free(keep->all[i].name);
	free(keep->all);
	free(keep);
}

static bool is_kept_folder(const struct stat *st, const struct kept *kept)
{
	return st->st_dev == kept->dev && st->st_ino == kept->ino;
}

#define REMOVED "removed-"

int removal_begin(const struct output *output, const struct kept *kept)
{
	_cleanup_close_ int fd =
		openat(output->fd, kept->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char partial[32];
	struct stat st;

	/* -ESTALE: a link or a file. */
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -ESTALE : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!is_kept_folder(&st, kept))
		return -ESTALE;
	snprintf(partial, sizeof(partial), REMOVED "%" PRIu64, (uint64_t)kept->ino);
	if (renameat(output->fd, kept->name, output->work, partial))
		return -errno;
	if (!fstatat(output->work, partial, &st, AT_SYMLINK_NOFOLLOW) && is_kept_folder(&st, kept))
		return 0;
	/* Another folder took its name in between. */
	renameat(output->work, partial, output->fd, kept->name);
	return -ESTALE;
}

void removals_finish(const struct output *output)
{
	tree_remove_entries(output->work, REMOVED);
}
