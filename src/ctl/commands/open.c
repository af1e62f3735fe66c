// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <string.h>

#include "archive/archive.h"
#include "text.h"
#include "units.h"
#include "util.h"

#define TARGET(member) .offset = offsetof(struct open_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, .required = true, TARGET(file), .metavar = "FILE",
	  .help = "output of archive or selftest; - for standard input" },
	{ "output", 'o', OPTION_STRING, TARGET(output), .metavar = "DIR",
	  .help = "folder to create (the capture's name, in this folder)" },
	{ "max-size", 0, OPTION_SIZE, READER_MAX_SIZE, TARGET(max_size),
	  .help = READER_MAX_SIZE_HELP },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "print warnings and errors only" },
};

static const char notes[] =
	"Needs no root. The archive is not trusted: only files that belong to a capture or a\n"
	"selftest are unpacked, into a new folder. Prints the name of the folder.\n"
	"\n"
	"Exit codes: 0 folder created, 1 failed (no folder), 2 usage.\n";

int open_parse_args(struct open_args *args, struct console *con, int argc, char **argv)
{
	*args = (struct open_args){ 0 };
	return command_options(&command_open, con, argc, argv, args);
}

struct opening {
	struct console *con;
	const struct open_args *args;
	struct progress progress;
	int fd; /* of the archive */
	struct temporary temporary;
	char *top;
	char *why;
};

/* The capture must be readable, by perf too. `name` is below the new folder. */
static int check_unpacked_capture(struct opening *o, const char *name)
{
	_cleanup_free_ char *path = strfmt("%s/%s", o->temporary.path, name);
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	_cleanup_free_ char *why = NULL, *data = NULL;
	int err = path ? capture_file_open(&file, path, &why) : -ENOMEM;

	if (err)
		return say_why(&o->why, -EINVAL,
			       "not an archive of a capture: " CAPTURE_FILE_NAME ": %s",
			       why ?: strerror(-err));
	if (!facts_have_trace(&file.facts))
		return 0;
	data = strfmt("%s/%s", name, facts_trace_file(&file.facts));
	if (!data)
		return -ENOMEM;
	return faccessat(o->temporary.fd, data, F_OK, AT_SYMLINK_NOFOLLOW)
		       ? say_why(&o->why, -EINVAL, "not an archive of a capture: no %s",
				 facts_trace_file(&file.facts))
		       : 0;
}

/* A selftest may have failed before its first capture. */
static int check_unpacked_selftest(struct opening *o)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	int err = opendir_at(&dir, o->temporary.fd, ".");

	if (!err && faccessat(o->temporary.fd, "selftest.json", F_OK, AT_SYMLINK_NOFOLLOW))
		err = say_why(&o->why, -EINVAL, "not an archive of a selftest: no selftest.json");
	while (!err && (entry = readdir(dir))) {
		if (layout_is_capture_name(entry->d_name))
			err = check_unpacked_capture(o, entry->d_name);
	}
	return err;
}

static bool is_selftest_archive(const struct opening *o)
{
	return !strcmp(o->top, LAYOUT_SELFTEST);
}

static int unpack_and_check(struct opening *o)
{
	const struct unpack_limits limits = {
		.max_size = o->args->max_size,
		.max_entries = UNPACK_ENTRIES_MAX,
	};
	const struct unpack_source source = {
		.fd = o->fd,
		.any_top = o->args->output,
		.progress = progress_add,
		.ctx = &o->progress,
	};
	const int dirfd = o->temporary.fd;
	int err;

	err = unpack_archive(&source, dirfd, &limits, &o->top, &o->why);
	if (err)
		return err;
	return is_selftest_archive(o) ? check_unpacked_selftest(o) : check_unpacked_capture(o, ".");
}

static void print_next_command(const struct opening *o, const char *output)
{
	_cleanup_free_ char *word = NULL;

	if (!text_shell_word(output, &word))
		console_info(o->con, "next: perf-poke-ctl %s %s",
			     is_selftest_archive(o) ? "list --why" : "report", word);
}

/* rename() replaces nothing but an empty folder. */
static int publish_unpacked(struct opening *o)
{
	const char *output = o->args->output ?: o->top;
	int err = 0;

	if (output_file_exists(output))
		err = -EEXIST;
	err = err ?: temporary_publish(&o->temporary, output, false);
	if (err) {
		console_error(o->con, "'%s': %s", output,
			      err == -EEXIST ? "exists; not overwriting (use another --output)"
					     : strerror(-err));
		return err;
	}
	fprintf(o->con->out, "%s\n", output);
	if (!o->args->quiet)
		print_next_command(o, output);
	return 0;
}

static int unpack_and_publish(struct opening *o)
{
	int err;

	/* Fail early; publish_unpacked() checks again. */
	if (o->args->output && output_file_exists(o->args->output)) {
		console_error(o->con, "--output '%s': exists; not overwriting", o->args->output);
		return -EEXIST;
	}
	/* Next to the final folder, on the same file system. */
	err = temporary_folder_new(&o->temporary, o->args->output ?: "");
	if (err) {
		console_error(o->con, "--output '%s': %s", o->args->output ?: ".", strerror(-err));
		return err;
	}
	err = unpack_and_check(o);
	if (err)
		console_error(o->con, "'%s' cannot be opened: %s", o->args->file,
			      o->why ?: reader_strerror(err));
	else
		err = publish_unpacked(o);
	return err;
}

static int open_archive_file(struct opening *o)
{
	if (!strcmp(o->args->file, "-"))
		o->fd = dup(STDIN_FILENO);
	else
		o->fd = open(o->args->file, O_RDONLY | O_CLOEXEC);
	if (o->fd >= 0)
		return 0;
	console_error(o->con, "'%s': %s", o->args->file, strerror(errno));
	return -errno;
}

static enum exit_code run_open(struct console *con, int argc, char **argv)
{
	struct open_args args;
	struct opening o = { .con = con, .args = &args, .fd = -1, .temporary = temporary_none };
	int err;

	err = open_parse_args(&args, con, argc, argv);
	if (err)
		return command_options_exit(err);
	if (reader_begin(con, args.max_size, ": nothing is written"))
		return EXIT_FAILED;
	err = open_archive_file(&o);
	if (!err) {
		progress_begin(&o.progress, con, "opening", 0);
		err = unpack_and_publish(&o);
		temporary_release(&o.temporary);
		progress_end(&o.progress);
	}
	closep(&o.fd);
	free(o.top);
	free(o.why);
	return err ? EXIT_FAILED : EXIT_FINE;
}

const struct command command_open = {
	.name = "open",
	.summary = "Unpack an archive to read it, without root.",
	.arguments = "FILE [-o DIR]",
	.example = "perf-poke-ctl open spike.tar.zst",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_open,
};
