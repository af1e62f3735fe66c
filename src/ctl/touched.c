// SPDX-License-Identifier: GPL-2.0-only
#include "touched.h"

#include <string.h>

#include "export.h"
#include "script.h"
#include "temporary.h"
#include "traced.h"

#define FILTER "perf-poke-touched.so"

/* What decodes it, and where the results go. */
struct decoder {
	const char *perf;
	const char *buildid_dir; /* or NULL */
	const char *filter;
	const char *data;
	const char *output;
};

static int run_perf(struct console *con, const struct view_capture *capture,
		    const struct decoder *decoder)
{
	_cleanup_(export_result_release) struct export_result result = { 0 };
	_cleanup_free_ char *output = NULL;
	char progress[32];
	const char *argv[] = { decoder->perf,
			       "--buildid-dir",
			       decoder->buildid_dir,
			       "script",
			       "-i",
			       decoder->data,
			       "--itrace=b",
			       "--dlfilter",
			       decoder->filter,
			       "--dlarg",
			       NULL,
			       "--dlarg",
			       progress,
			       NULL };
	const char **words = argv;
	int r;

	if (asprintf(&output, "output=%s", decoder->output) < 0) {
		output = NULL;
		return -ENOMEM;
	}
	snprintf(progress, sizeof(progress), "progress=%d", EXPORT_PROGRESS_FD);
	argv[10] = output;
	/* Without these two. */
	if (!decoder->buildid_dir) {
		words += 2;
		words[0] = decoder->perf;
	}
	r = export_run(con, capture, (char *const *)words, &result);
	if (r)
		return r;
	if (result.interrupted)
		return -EINTR;
	if (!result.done)
		console_error(con, "'%s' cannot be decoded: %s", decoder->data,
			      result.complaint ?: "perf failed, and did not say why");
	return result.done ? 0 : -EIO;
}

/* What begins and ends each line is the same. */
static int read_lines(const char *path, char **list)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t size = 0;

	if (!file)
		return -errno;
	errno = 0;
	if (getdelim(list, &size, '\0', file) >= 0)
		return 0;
	if (errno)
		return -errno;
	free(*list);
	*list = strdup("");
	return *list ? 0 : -ENOMEM;
}

static int find_with(struct console *con, const struct view_capture *capture,
		     struct decoder *decoder, char **list)
{
	struct temporary temporary;
	int r = temporary_make(&temporary, con, "touched");

	if (r)
		return r;
	decoder->output = temporary.file;
	r = run_perf(con, capture, decoder);
	if (!r)
		r = read_lines(temporary.file, list);
	return temporary_remove(&temporary) ?: r;
}

int touched_find(struct console *con, const char *folder, const struct view_capture *capture,
		 char **list)
{
	_cleanup_(perf_tool_release) struct perf_tool perf = { 0 };
	_cleanup_free_ char *buildid_dir = NULL;
	_cleanup_free_ char *beside = NULL;
	_cleanup_free_ char *filter = NULL;
	_cleanup_free_ char *data = NULL;
	int r = export_find_tools(con, &perf, &beside);

	if (r)
		return r;
	if (asprintf(&data, "%s/perf.data", folder) < 0)
		data = NULL;
	if (asprintf(&filter, "%.*s/" FILTER, (int)(strrchr(beside, '/') - beside), beside) < 0)
		filter = NULL;
	r = data && filter ? script_buildid_dir(folder, &buildid_dir) : -ENOMEM;
	if (!r)
		r = find_with(con, capture,
			      &(struct decoder){ .perf = perf.path,
						 .buildid_dir = buildid_dir,
						 .filter = filter,
						 .data = data },
			      list);
	if (r && r != -EINTR && r != -EIO)
		console_error(con, "'%s': %s", folder, strerror(-r));
	return r;
}

bool touched_has(const char *list, const struct build_id *id)
{
	char hex[TRACED_HEX_SIZE];
	size_t length;

	traced_hex(id, hex);
	length = strlen(hex);
	for (const char *line = list; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, hex, length) && line[length] == '\n')
			return true;
	}
	return false;
}
