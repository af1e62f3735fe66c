// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "account_load.h"
#include "events_spans.h"
#include "perf_tool.h"
#include "printable.h"

#define NS_PER_S UINT64_C(1000000000)

/* The last line that perf said, for the caller to free. */
static char *last_line(FILE *file)
{
	char *last = NULL, *line = NULL;
	size_t size = 0;

	rewind(file);
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!*line)
			continue;
		free(last);
		last = strdup(printable(line));
	}
	free(line);
	return last;
}

/* Runs perf, and reads what it prints to its end. *status is as waitpid() has it. */
static int read_output(char *const *argv, FILE *said, uint64_t begin, uint64_t end,
		       struct spans *spans, int *status)
{
	_cleanup_close_ int writer = -1;
	_cleanup_fclose_ FILE *file = NULL;
	int fds[2], r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	writer = fds[1];
	file = fdopen(fds[0], "r");
	if (!file) {
		r = -errno;
		close(fds[0]);
		return r;
	}
	r = perf_tool_spawn(argv, writer, fileno(said), -1, &pid);
	closep(&writer);
	if (r)
		return r;
	r = events_spans_read(file, begin, end, spans);
	/* If it was not read to its end, perf ends by the pipe. */
	fclose(TAKE_PTR(file));
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return r;
}

static int explain(struct console *con, const char *folder, int r, int status, FILE *said)
{
	_cleanup_free_ char *line = last_line(said);

	if (r == -E2BIG)
		console_error(con, "'%s': more than a report can hold: use a shorter --window",
			      folder);
	else if (status)
		console_error(con, "'%s' cannot be read: %s", folder, line ?: "perf failed");
	else if (r == -ENODATA)
		console_error(con, "'%s': there are no events of the spike's CPU", folder);
	else
		console_error(con, "'%s': %s", folder, strerror(-r));
	return r ?: -EIO;
}

static int read_with(struct console *con, const char *folder, const struct view_capture *capture,
		     const char *perf, const char *data, uint64_t begin, struct spans *spans)
{
	_cleanup_fclose_ FILE *said = tmpfile();
	uint64_t end = capture->spike_ns;
	char cpu[16], time[48];
	char *argv[] = { (char *)perf,
			 (char *)"script",
			 (char *)"-i",
			 (char *)data,
			 (char *)"--ns",
			 (char *)"-F",
			 (char *)EVENTS_SPANS_FIELDS,
			 (char *)"--time",
			 time,
			 capture->cpu >= 0 ? (char *)"-C" : NULL,
			 cpu,
			 NULL };
	int status = 0, r;

	snprintf(cpu, sizeof(cpu), "%d", capture->cpu);
	snprintf(time, sizeof(time), ",%" PRIu64 ".%09" PRIu64, end / NS_PER_S, end % NS_PER_S);
	if (!said) {
		r = -errno;
		console_error(con, "'%s': %s", folder, strerror(-r));
		return r;
	}
	r = read_output(argv, said, begin, end, spans, &status);
	return r || status ? explain(con, folder, r, status, said) : 0;
}

int report_events_read(struct console *con, const char *folder, const struct view_capture *capture,
		       const char *data, uint64_t begin, struct spans *spans)
{
	_cleanup_(perf_tool_release) struct perf_tool perf = { 0 };
	_cleanup_free_ char *why = NULL;
	int r = perf_tool_find(&perf, &why);

	if (r) {
		console_error(con, "%s", why ?: strerror(-r));
		return r;
	}
	return read_with(con, folder, capture, perf.path, data, begin, spans);
}
