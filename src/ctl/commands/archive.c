// SPDX-License-Identifier: GPL-2.0-only
#include "commands/archive.h"

#include <string.h>
#include <sys/stat.h>

#include "bundle/binaries.h"
#include "bundle/host.h"
#include "bundle/pack.h"
#include "bundle/traced.h"
#include "capture/capture_file.h"
#include "capture/decoding.h"
#include "capture/layout.h"
#include "capture/newest.h"
#include "cli/ending.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "commands/commands.h"
#include "regular.h"
#include "tree.h"
#include "units.h"

#define TARGET(member) .offset = offsetof(struct archiving_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE", .help = NEWEST_HELP },
	{ "output", 'o', OPTION_STRING, .required = true, TARGET(output), .metavar = "FILE",
	  .help = "what to write, as spike.tar.zst; - for standard output" },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "no-binaries", 0, OPTION_FLAG, TARGET(no_binaries),
	  .help = "leave out the programs and libraries that were traced" },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "say nothing if all goes well" },
};

static const char notes[] =
	"Archive it on the machine it was taken on: what is added, facts of the machine and the\n"
	"files that were traced, is looked for here. On any other machine, without root:\n"
	"perf-poke-ctl open FILE\n"
	"\n"
	"Exit codes: 0 the file is complete, 1 it is not there, 2 usage.\n";

int archiving_parse(struct archiving_args *args, struct console *con, int argc, char **argv)
{
	*args = (struct archiving_args){ 0 };
	return command_options(&command_archive, con, argc, argv, args);
}

int archiving_top(const char *folder, char **top)
{
	_cleanup_free_ char *path = realpath(folder, NULL);
	const char *name;

	if (!path)
		return -errno;
	name = strrchr(path, '/') + 1;
	*top = strdup(layout_is_name(name) ? name : LAYOUT_ANY_NAME);
	return *top ? 0 : -ENOMEM;
}

struct archiving {
	struct console *con;
	const struct archiving_args *args;
	struct capture_file facts;
	int dirfd; /* of the capture */
	int data;  /* its perf.data/data; -1: whom it poked has the trace */
	struct progress progress;
	struct pack *pack;
	struct build_id *executed; /* files; NULL: all that are named */
	size_t nr_executed;
	size_t nr_binaries;
	char *why;
};

static void skipped(void *ctx, const char *name)
{
	struct progress *progress = ctx;

	console_warn(progress->con, "left out %s: not what a capture consists of", name);
}

static int pack_host(struct archiving *a)
{
	bool same;
	int r = host_pack(a->pack, &a->facts, &same, &a->why);

	if (!r && !same)
		console_warn(a->con,
			     "'%s' is of %s with Linux %s: " LAYOUT_HOST
			     " and what was traced are of this machine",
			     a->args->capture, *a->facts.hostname ? a->facts.hostname : "?",
			     *a->facts.release ? a->facts.release : "?");
	return r;
}

/* What was unpacked has all of this already, of where it was taken. */
static bool was_unpacked(const struct archiving *a)
{
	return !faccessat(a->dirfd, LAYOUT_HOST, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int explain(struct archiving *a, int r)
{
	if (r == -EINTR)
		console_error(a->con, "interrupted: %s",
			      strcmp(a->args->output, "-") ? "nothing is written"
							   : "the archive has no end");
	else if (r)
		console_error(a->con, "'%s' cannot be archived: %s", a->args->capture,
			      a->why ?: strerror(-r));
	return r;
}

static bool has_files(int data)
{
	_cleanup_free_ char *why = NULL;
	struct traced_file *files = NULL;
	size_t nr = 0;
	int r = traced_read(data, &files, &nr, &why);

	traced_free(files, nr);
	return !r && nr;
}

/* Intel PT comes with all that was mapped, by any task; of that, what is in the trace is wanted. */
static int find_executed(struct archiving *a)
{
	struct decoding decoding = {
		.folder = a->args->capture,
		.capture = &a->facts.view,
		.doing = "decoding",
		.cpu = -1,
		.threads = decoding_threads(),
		.end = UINT64_MAX,
	};
	_cleanup_free_ char *data = NULL;
	struct ending ending;
	bool said = false;
	int r;

	if (was_unpacked(a) || a->args->no_binaries || a->facts.view.kind != VIEW_PT ||
	    !has_files(a->data))
		return 0;
	if (asprintf(&data, "%s/perf.data", a->args->capture) < 0) {
		data = NULL;
		return explain(a, -ENOMEM);
	}
	decoding.data = data;
	ending_catch(&ending);
	r = decoding_files(a->con, &decoding, &a->executed, &a->nr_executed, &said);
	ending_release(&ending);
	if (!r || r == -EINTR)
		return explain(a, r);
	if (!said)
		console_error(a->con, "'%s': %s", a->args->capture, strerror(-r));
	console_warn(a->con, "'%s': all files that were mapped are put in, traced or not",
		     a->args->capture);
	return 0;
}

static int add_what_is_here(struct archiving *a)
{
	struct binaries binaries = { .pack = a->pack,
				     .dirfd = a->dirfd,
				     .con = a->con,
				     .executed = a->executed,
				     .nr_executed = a->nr_executed };
	int r;

	if (was_unpacked(a))
		return 0;
	r = pack_host(a);
	if (r || a->args->no_binaries || a->data < 0)
		return r;
	r = binaries_pack(&binaries, a->data, &a->why);
	a->nr_binaries = binaries.nr;
	return r;
}

static int pack_all(struct archiving *a, int fd)
{
	const struct pack_sink sink = {
		.fd = fd,
		.progress = progress_add,
		.wait = progress_wait,
		.ctx = &a->progress,
	};
	_cleanup_free_ char *top = NULL;
	int r = archiving_top(a->args->capture, &top);

	if (!r)
		r = pack_new(&a->pack, &sink, top, &a->why);
	if (!r)
		r = pack_tree(a->pack, a->dirfd, skipped, &a->why);
	if (!r)
		r = add_what_is_here(a);
	if (!r)
		r = pack_finish(a->pack, &a->why);
	pack_free(a->pack);
	return r;
}

static void tell(const struct archiving *a, uint64_t size)
{
	if (a->nr_binaries)
		console_info(a->con, "%s: %s, with %zu of the files that were traced",
			     a->args->output, FORMAT_SIZE(size), a->nr_binaries);
	else
		console_info(a->con, "%s: %s", a->args->output, FORMAT_SIZE(size));
}

static int write_file(struct archiving *a)
{
	struct output_file file;
	struct stat st;
	int r;

	r = output_file_open(&file, a->args->output, a->args->force);
	if (!r) {
		r = explain(a, pack_all(a, file.fd));
		if (r)
			goto out;
		if (fstat(file.fd, &st))
			st.st_size = 0;
		r = output_file_publish(&file);
	}
	if (r)
		console_error(a->con, "--output '%s': %s", a->args->output,
			      output_file_strerror(r));
	else if (!a->args->quiet)
		tell(a, (uint64_t)st.st_size);
out:
	output_file_close(&file);
	return r;
}

static int write_output(struct archiving *a)
{
	if (strcmp(a->args->output, "-"))
		return write_file(a);
	return explain(a, pack_all(a, STDOUT_FILENO));
}

static int read_facts(struct archiving *a)
{
	_cleanup_free_ char *why = NULL;
	int r = a->dirfd < 0 ? -errno : capture_file_read(&a->facts, a->dirfd, &why);

	if (r)
		console_error(a->con, "'%s' is not a capture: %s/" CAPTURE_FILE_NAME ": %s",
			      a->args->capture, a->args->capture, why ?: strerror(-r));
	return r;
}

static int open_data(struct archiving *a)
{
	if (a->facts.view.kind == VIEW_PERF)
		return 0;
	a->data = regular_open(a->dirfd, "perf.data/data");
	if (a->data >= 0)
		return 0;
	console_error(a->con, "'%s' is not a capture: %s/perf.data/data: %s", a->args->capture,
		      a->args->capture, regular_strerror(a->data));
	return a->data;
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL;
	struct archiving_args args;
	struct archiving a = { .con = con, .args = &args, .dirfd = -1, .data = -1 };
	int r;

	r = archiving_parse(&args, con, argc, argv);
	if (r)
		return command_options_exit(r);
	if (!strcmp(args.output, "-") && isatty(STDOUT_FILENO)) {
		console_error(con, "--output '-': standard output is a terminal (use a file, or "
				   "a pipe)");
		return EXIT_USAGE;
	}
	if (newest_choose(con, args.capture, &folder))
		return EXIT_FAILED;
	args.capture = folder;
	a.dirfd = open(args.capture, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = read_facts(&a);
	if (!r)
		r = open_data(&a);
	/* Before signals wait for what is packed. */
	if (!r)
		r = find_executed(&a);
	if (!r) {
		progress_begin(&a.progress, con, "archiving", tree_size(a.dirfd, ".").all);
		r = write_output(&a);
		progress_end(&a.progress);
	}
	free(a.executed);
	free(a.why);
	closep(&a.data);
	closep(&a.dirfd);
	return r ? EXIT_FAILED : EXIT_FINE;
}

const struct command command_archive = {
	.name = "archive",
	.summary = "Put a capture, and what reading it elsewhere needs, into one file.",
	.arguments = "[CAPTURE] -o FILE [OPTIONS]",
	.notes = notes,
	.options = options,
	.nr_options = ARRAY_SIZE(options),
	.run = run,
};
