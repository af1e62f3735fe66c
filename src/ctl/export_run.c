// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "clock.h"
#include "ending.h"
#include "export_reader.h"
#include "printable.h"

#define NS_PER_S UINT64_C(1000000000)
#define SHOW_AFTER_NS NS_PER_S
#define PATIENCE_S 3
#define ERROR "instruction trace error"
#define TIME " time "
#define COMPLAINT "perf-poke-fxt: "
#define PERF_COMPLAINT "Error: "

void export_result_release(struct export_result *result)
{
	free(result->error);
	free(result->complaint);
	*result = (struct export_result){ 0 };
}

static void take_progress(struct export_reader *reader, char *line)
{
	struct export_result *result = reader->result;

	if (sscanf(line, "at %" SCNu64, &reader->time) == 1)
		return;
	if (sscanf(line, "done %" SCNu64 " %" SCNu64, &result->slices, &result->gaps) == 2)
		result->done = true;
}

static bool is_cause(const char *line)
{
	return !strncmp(line, COMPLAINT, strlen(COMPLAINT)) ||
	       !strncmp(line, PERF_COMPLAINT, strlen(PERF_COMPLAINT));
}

/* Without a time it is of the first slice. */
static bool is_ours(const struct export_reader *reader, const char *line)
{
	const char *at = strstr(line, TIME);
	uint64_t s = 0, ns = 0;

	if (!reader->end)
		return true;
	if (!at || sscanf(at + strlen(TIME), "%" SCNu64 ".%9" SCNu64, &s, &ns) != 2)
		return !reader->begin;
	s = s * NS_PER_S + ns;
	return s >= reader->begin && s < reader->end;
}

void export_take_said(struct export_reader *reader, char *line)
{
	struct export_result *result = reader->result;

	line += strspn(line, " \t");
	if (!strncmp(line, ERROR, strlen(ERROR))) {
		if (is_ours(reader, line) && !result->errors++)
			result->error = strdup(line);
		return;
	}
	/* Much may follow what is the cause. */
	if (!*line || (result->complaint && is_cause(result->complaint)))
		return;
	free(result->complaint);
	result->complaint = strdup(line);
}

bool export_read_lines(struct export_reader *reader)
{
	char bytes[4096];
	ssize_t nr = read(reader->fd, bytes, sizeof(bytes));

	if (nr < 0)
		return errno == EINTR || errno == EAGAIN;
	for (ssize_t i = 0; i < nr; i++) {
		if (bytes[i] != '\n') {
			if (reader->length < sizeof(reader->line) - 1)
				reader->line[reader->length++] = bytes[i];
			continue;
		}
		reader->line[reader->length] = '\0';
		reader->length = 0;
		reader->take(reader, printable(reader->line));
	}
	return nr > 0;
}

static void show(struct console *con, const struct view_capture *capture, uint64_t time)
{
	uint64_t begin = capture->spike_ns - capture->history_ns;
	char text[64];

	if (!console_has_status(con) || time < begin || !capture->history_ns)
		return;
	time -= begin;
	if (time > capture->history_ns)
		time = capture->history_ns;
	snprintf(text, sizeof(text), "exporting: %" PRIu64 "%%", time * 100 / capture->history_ns);
	console_status(con, text);
}

/* Until perf has closed both. */
static void follow(struct console *con, const struct view_capture *capture, pid_t pid,
		   struct export_reader readers[2])
{
	struct pollfd fds[2] = { { readers[0].fd, POLLIN, 0 }, { readers[1].fd, POLLIN, 0 } };
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	int told = 0;

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		/* Perf may be where it does not look at that. */
		if (ending_asked)
			kill(pid, told++ < PATIENCE_S ? SIGINT : SIGKILL);
		if (poll(fds, 2, 1000) < 0)
			continue;
		for (size_t i = 0; i < 2; i++) {
			if (fds[i].fd >= 0 && fds[i].revents && !export_read_lines(&readers[i]))
				fds[i].fd = -1;
		}
		if (clock_ns(CLOCK_MONOTONIC) - begin > SHOW_AFTER_NS)
			show(con, capture, readers[0].time);
	}
	console_clear_status(con);
}

int export_pipe(int *reader, int *writer)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	*reader = fds[0];
	*writer = fcntl(fds[1], F_DUPFD_CLOEXEC, EXPORT_PROGRESS_FD + 1);
	close(fds[1]);
	return *writer < 0 ? -errno : 0;
}

int export_run(struct console *con, const struct view_capture *capture, char *const *argv,
	       struct export_result *result)
{
	struct export_reader readers[2] = {
		{ .fd = -1, .take = take_progress, .result = result },
		{ .fd = -1, .take = export_take_said, .result = result },
	};
	_cleanup_close_ int progress = -1, progress_writer = -1, said = -1, said_writer = -1;
	int status, r;
	pid_t pid;

	r = export_pipe(&progress, &progress_writer);
	if (!r)
		r = export_pipe(&said, &said_writer);
	if (r)
		return r;
	r = perf_tool_spawn(argv, said_writer, said_writer, progress_writer, &pid);
	closep(&progress_writer);
	closep(&said_writer);
	if (!r) {
		readers[0].fd = progress;
		readers[1].fd = said;
		follow(con, capture, pid, readers);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		result->status = status;
		result->done = result->done && WIFEXITED(status) && !WEXITSTATUS(status);
		result->interrupted = ending_asked;
	}
	return r;
}
