// SPDX-License-Identifier: GPL-2.0-only
#include "capture/captures.h"

#include <perf_poke.h>
#include <string.h>

#include "util.h"

struct search {
	uint64_t poked; /* sequence number of a poke; 0: any capture */
	uint64_t wall_ns;
	char *path; /* of the newest so far */
	bool out_of_memory;
};

/* The time comes from capture.json: the folder's own changes when it is copied. */
static bool is_better(const struct search *search, const struct perf_poke_capture *capture)
{
	if (search->poked && (!capture->spike->poked || capture->spike->sequence != search->poked))
		return false;
	return capture->wall_ns >= search->wall_ns;
}

static void compare(void *ctx, const char *path)
{
	const struct perf_poke_capture *capture;
	struct search *search = ctx;

	if (perf_poke__capture_open(&capture, path))
		return;
	if (is_better(search, capture)) {
		free(search->path);
		search->path = strdup(path);
		search->wall_ns = capture->wall_ns;
		search->out_of_memory |= !search->path;
	}
	perf_poke__capture_close(capture);
}

static int find(const char *folder, struct search *search, char **path)
{
	int r = perf_poke__captures(folder, compare, search);

	if (r < 0 || search->out_of_memory) {
		free(search->path);
		return r < 0 ? r : -ENOMEM;
	}
	if (!search->path)
		return -ENOENT;
	*path = search->path;
	return 0;
}

int folder_poked(const char *folder, uint64_t sequence, char **path)
{
	return find(folder, &(struct search){ .poked = sequence }, path);
}

int folder_choose(struct console *con, const char *word, char **path)
{
	int r = find(word ?: FOLDER_DEFAULT, &(struct search){ 0 }, path);

	/* Reading the named folder reports its errors. */
	if (r && r != -ENOMEM && word) {
		*path = strdup(word);
		r = *path ? 0 : -ENOMEM;
	}
	if (r == -ENOENT)
		console_error(con, "CAPTURE is required: no capture in " FOLDER_DEFAULT);
	else if (r)
		console_error(con, "'%s': %s", word ?: FOLDER_DEFAULT, strerror(-r));
	return r;
}
