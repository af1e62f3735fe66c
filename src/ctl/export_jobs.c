// SPDX-License-Identifier: GPL-2.0-only
#include "export_jobs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "args.h"
#include "clock.h"
#include "ending.h"
#include "export_reader.h"
#include "merge.h"

#define SHOW_AFTER_NS NSEC_PER_SEC
/* What is written is copied by one process if it is less. */
#define SHARED_MIN (8 << 20)

enum state {
	WAITING,
	DECODING,
	DECODED,
	WRITING, /* what comes of it */
	DONE,
};

struct slice {
	enum state state;
	pid_t pid;
	int fd; /* of the piece */
	char *events;
	struct export_reader reader;
	struct export_result result;
};

struct run {
	struct console *con;
	const struct export_jobs *jobs;
	struct export_result *result;
	struct slice *slices;
	struct pollfd *fds;
	struct args args;
	struct merge *merge;
	size_t next, next_merged; /* slices */
	unsigned int decoding, writing;
	uint64_t begin_ns;
};

static void end_children(struct run *run)
{
	for (size_t i = 0; i < run->jobs->nr_slices; i++) {
		const struct slice *slice = &run->slices[i];

		if (slice->state == DECODING || slice->state == WRITING)
			kill(slice->pid, SIGKILL);
	}
	for (size_t i = 0; i < run->jobs->nr_slices; i++) {
		const struct slice *slice = &run->slices[i];

		if (slice->state != DECODING && slice->state != WRITING)
			continue;
		while (waitpid(slice->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

static void release(struct run *run)
{
	if (run->slices)
		end_children(run);
	for (size_t i = 0; run->slices && i < run->jobs->nr_slices; i++) {
		closep(&run->slices[i].fd);
		closep(&run->slices[i].reader.fd);
		free(run->slices[i].events);
		export_result_release(&run->slices[i].result);
	}
	free(run->slices);
	free(run->fds);
	merge_free(run->merge);
}

/* What the filter of a perf alone gets, for what the filter would do with it. */
static int parse_args(struct run *run)
{
	char *const *argv = run->jobs->argv;
	_cleanup_free_ char *why = NULL;
	_cleanup_free_ char **words = NULL;
	size_t length = 0;
	int nr = 0;

	while (argv[length])
		length++;
	words = calloc(length + 1, sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < length; i++) {
		if (!strcmp(argv[i], "--dlarg"))
			words[nr++] = argv[i + 1];
	}
	return args_parse(&run->args, nr, words, &why);
}

static int prepare(struct run *run)
{
	const struct export_jobs *jobs = run->jobs;
	int r;

	run->slices = calloc(jobs->nr_slices, sizeof(*run->slices));
	run->fds = calloc(jobs->nr_slices, sizeof(*run->fds));
	if (!run->slices || !run->fds)
		return -ENOMEM;
	for (size_t i = 0; i < jobs->nr_slices; i++)
		run->slices[i].fd = run->slices[i].reader.fd = -1;
	for (size_t i = 0; i < jobs->nr_slices; i++) {
		if (asprintf(&run->slices[i].events, "%s/.events.%zu", jobs->folder, i) >= 0)
			continue;
		run->slices[i].events = NULL;
		return -ENOMEM;
	}
	r = parse_args(run);
	if (r)
		return r;
	run->args.timeline.copying.processes = jobs->nr_jobs;
	run->args.timeline.copying.shared_min = SHARED_MIN;
	run->args.timeline.copying.stopped = &ending_asked;
	return merge_new(&run->merge, &run->args);
}

static int start_perf(struct run *run, struct slice *slice)
{
	const struct export_jobs *jobs = run->jobs;
	const struct trace_slice *cut = &jobs->slices[slice - run->slices];
	_cleanup_(view_free_argv) char **argv = NULL;
	_cleanup_close_ int said = -1;
	int r;

	slice->reader = (struct export_reader){
		.fd = -1,
		.take = export_take_said,
		.result = &slice->result,
		.begin = cut->begin,
		.end = cut->end,
	};
	r = export_slice_argv(jobs->args, jobs->perf, jobs->dlfilter, jobs->data, slice->events,
			      cut, &argv);
	if (!r)
		r = export_pipe(&slice->reader.fd, &said);
	if (!r)
		r = perf_tool_spawn(argv, said, said, -1, &slice->pid);
	if (r)
		return r;
	slice->state = DECODING;
	run->decoding++;
	return 0;
}

/* In a process of its own. Its end of the pipe says that it has ended. */
static _Noreturn void write_piece(struct run *run, FILE *file)
{
	int r = merge_write(run->merge, file);

	_exit(r ? -r : EXIT_SUCCESS);
}

static int start_writer(struct run *run, struct slice *slice)
{
	_cleanup_close_ int end = -1;
	FILE *file;
	int r;

	closep(&slice->reader.fd);
	r = export_pipe(&slice->reader.fd, &end);
	if (!r)
		r = fxt_file_scratch(slice->events, &file);
	if (r)
		return r;
	slice->fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
	slice->pid = slice->fd < 0 ? -1 : fork();
	if (!slice->pid)
		write_piece(run, file);
	r = slice->pid < 0 ? -errno : 0;
	fclose(file);
	if (r)
		return r;
	slice->state = WRITING;
	run->writing++;
	return 0;
}

/* Whose pipe has been closed. */
static int end_slice(struct run *run, struct slice *slice)
{
	int status;

	closep(&slice->reader.fd);
	while (waitpid(slice->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (slice->state == WRITING) {
		slice->state = DONE;
		run->writing--;
		return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
	}
	slice->state = DECODED;
	run->decoding--;
	slice->result.status = status;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	run->result->status = status;
	run->result->complaint = TAKE_PTR(slice->result.complaint);
	return -ECHILD;
}

static void show(struct run *run)
{
	char text[64];

	if (clock_ns(CLOCK_MONOTONIC) - run->begin_ns < SHOW_AFTER_NS ||
	    !console_has_status(run->con))
		return;
	snprintf(text, sizeof(text), "exporting: %zu%%",
		 100 * run->next_merged / run->jobs->nr_slices);
	console_status(run->con, text);
}

/* After an error perf goes on in another way than one that has seen none: in which task it is, it
 * finds out by other means. */
static bool is_on_its_own(const struct run *run, size_t i)
{
	return run->slices[i].result.errors && i + 1 < run->jobs->nr_slices;
}

/* Until something has ended, or some time. */
static int await(struct run *run, int timeout_ms)
{
	int r = 0;

	for (size_t i = 0; i < run->jobs->nr_slices; i++)
		run->fds[i] = (struct pollfd){ run->slices[i].reader.fd, POLLIN, 0 };
	if (poll(run->fds, run->jobs->nr_slices, timeout_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	for (size_t i = 0; i < run->jobs->nr_slices && !r; i++) {
		if (run->fds[i].revents && !export_read_lines(&run->slices[i].reader))
			r = end_slice(run, &run->slices[i]);
		if (!r && is_on_its_own(run, i))
			r = -ESTALE;
	}
	show(run);
	return r;
}

static bool may_merge(const struct run *run)
{
	return run->next_merged < run->jobs->nr_slices &&
	       run->slices[run->next_merged].state == DECODED && run->writing < run->jobs->nr_jobs;
}

static bool may_decode(const struct run *run)
{
	return run->next < run->jobs->nr_slices &&
	       run->decoding + run->writing < run->jobs->nr_jobs;
}

/* That what has ended leaves its CPU to the next one, while this process is busy. */
static int replace_ended(void *arg)
{
	struct run *run = arg;
	int r = await(run, 0);

	while (!r && may_decode(run))
		r = start_perf(run, &run->slices[run->next++]);
	return r;
}

/* The next slice is put to what is there. */
static int merge_next(struct run *run)
{
	struct slice *slice = &run->slices[run->next_merged];
	const struct trace_slice *cut = &run->jobs->slices[run->next_merged];
	bool last = ++run->next_merged == run->jobs->nr_slices;
	int r = merge_slice(run->merge, slice->events, last ? UINT64_MAX : cut[1].from, cut->end);

	/* It has been mapped. */
	unlink(slice->events);
	if (!r)
		r = start_writer(run, slice);
	return r ?: merge_leave_out(run->merge, replace_ended, run);
}

static int do_slices(struct run *run)
{
	int r = 0;

	while (!r && !ending_asked && (run->next_merged < run->jobs->nr_slices || run->writing)) {
		if (may_decode(run))
			r = start_perf(run, &run->slices[run->next++]);
		else if (may_merge(run))
			r = merge_next(run);
		else
			r = await(run, 1000);
	}
	return r;
}

static int finish(struct run *run)
{
	struct export_result *result = run->result;
	int r = 0;

	for (size_t i = 0; i < run->jobs->nr_slices && !r; i++) {
		struct slice *slice = &run->slices[i];

		r = merge_put(run->merge, (int)i, TAKE_FD(slice->fd));
		result->errors += slice->result.errors;
		if (!result->error)
			result->error = TAKE_PTR(slice->result.error);
	}
	if (!r)
		r = merge_finish(run->merge, &result->slices, &result->gaps);
	result->done = !r;
	return r;
}

int export_jobs_run(struct console *con, const struct export_jobs *jobs,
		    struct export_result *result)
{
	struct run run = {
		.con = con,
		.jobs = jobs,
		.result = result,
		.begin_ns = clock_ns(CLOCK_MONOTONIC),
	};
	int r;

	r = prepare(&run);
	if (!r)
		r = do_slices(&run);
	if (!r && !ending_asked)
		r = finish(&run);
	result->interrupted = ending_asked;
	release(&run);
	console_clear_status(con);
	/* What perf says, or its end, is the reason. */
	return result->interrupted || r == -ECHILD ? 0 : r;
}
