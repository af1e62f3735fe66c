// SPDX-License-Identifier: GPL-2.0-only
#include "archive/archive.h"

#include <string.h>
#include <sys/stat.h>

#include "commands/commands.h"
#include "text.h"
#include "units.h"

#define TARGET(member) .offset = offsetof(struct archive_args, member)

static int parse_archive_word(void *target, const char *value, char **why)
{
	struct archive_args *args = target;

	if (!strcmp(value, "-"))
		args->output = value;
	else if (args->capture)
		return say_why(why, -EINVAL, "one capture at a time");
	else
		args->capture = value;
	return 0;
}

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, .repeatable = true, .parse = parse_archive_word,
	  .metavar = "CAPTURE", .help = FOLDER_CAPTURE_HELP "; - means --output -" },
	{ "output", 'o', OPTION_STRING, TARGET(output), .metavar = "FILE",
	  .help = "output file, such as spike.tar.zst; in a folder, a file\n"
		  "named by its content; - for standard output" },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "no-binaries", 0, OPTION_FLAG, TARGET(no_binaries),
	  .help = "leave out the traced programs and libraries" },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "print warnings and errors only" },
};

static const char notes[] =
	"Run this on the machine of the capture: it adds facts of this machine and the traced\n"
	"files. Any other machine reads the archive with perf-poke-ctl open FILE, without root.\n"
	"\n"
	"Exit codes: 0 archive written, 1 failed (no file), 2 usage.\n";

int archive_parse_args(struct archive_args *args, struct console *con, int argc, char **argv)
{
	int err;

	*args = (struct archive_args){ 0 };
	err = command_options(&command_archive, con, argc, argv, args);
	if (!err && !args->output) {
		console_error(con, "--output FILE is required");
		err = -EINVAL;
	}
	return err;
}

/* Of a folder: the archive in it. Prints errors. */
static int choose_archive_path(struct console *con, struct archive_args *args, char **output)
{
	_cleanup_free_ char *name = NULL;
	struct stat st;
	int err;

	if (stat(args->output, &st) || !S_ISDIR(st.st_mode))
		return 0;
	err = archive_file_name(args->capture, &name);
	if (!err) {
		*output = strfmt("%s%s%s", args->output, has_suffix(args->output, "/") ? "" : "/",
				 name);
		err = *output ? 0 : -ENOMEM;
	}
	if (err)
		console_error(con, "'%s' cannot be archived: %s", args->capture, strerror(-err));
	else
		args->output = *output;
	return err;
}

static void print_archive_written(struct console *con, const struct archive_args *args,
				  const struct capture_pack *pack, uint64_t size)
{
	if (args->quiet)
		return;
	if (pack->nr_binaries)
		console_info(con, "%s: %s, with %zu traced files", args->output, FORMAT_SIZE(size),
			     pack->nr_binaries);
	else
		console_info(con, "%s: %s", args->output, FORMAT_SIZE(size));
}

static int write_capture_archive(struct console *con, const struct archive_args *args,
				 struct capture_pack *pack, char **why)
{
	struct progress progress;
	struct pack_sink sink = {
		.fd = STDOUT_FILENO,
		.progress = progress_add,
		.ctx = &progress,
	};
	struct output_file file;
	struct stat st = { 0 };
	int err;

	progress_begin(&progress, con, "archiving", pack->size);
	if (!strcmp(args->output, "-")) {
		err = capture_pack_write(pack, &sink, why);
		progress_end(&progress);
		return err;
	}
	err = output_file_open(&file, args->output, args->force);
	sink.fd = file.fd;
	if (!err)
		err = capture_pack_write(pack, &sink, why);
	if (!err) {
		fstat(file.fd, &st);
		err = output_file_publish(&file);
	}
	progress_end(&progress);
	if (err && !*why)
		err = failure_explain(why, err, "--output '%s': %s", args->output,
				      output_file_strerror(err));
	if (!err)
		print_archive_written(con, args, pack, (uint64_t)st.st_size);
	output_file_close(&file);
	return err;
}

static enum exit_code run_archive(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL, *output = NULL, *why = NULL;
	struct analysis_hooks hooks;
	struct archive_args args;
	struct capture_pack pack = { .hooks = &hooks };
	int err = archive_parse_args(&args, con, argc, argv);

	if (err)
		return command_options_exit(err);
	if (!strcmp(args.output, "-") && isatty(STDOUT_FILENO)) {
		console_error(con, "--output '-': standard output is a terminal (use a file or a "
				   "pipe)");
		return EXIT_USAGE;
	}
	if (reader_begin(con, 0,
			 strcmp(args.output, "-") ? ": nothing is written"
						  : ": the archive is incomplete"))
		return EXIT_FAILED;
	reader_hooks(con, &hooks);
	err = capture_folder_choose(args.capture, &folder, &why);
	args.capture = folder;
	if (!err && choose_archive_path(con, &args, &output))
		return EXIT_FAILED;
	pack.folder = folder;
	pack.no_binaries = args.no_binaries;
	if (!err) {
		err = capture_pack_open(&pack, &why);
		if (!err)
			err = write_capture_archive(con, &args, &pack, &why);
		capture_pack_close(&pack);
	}
	if (!err)
		return EXIT_FINE;
	console_error(con, "%s", why ?: strerror(ENOMEM));
	return EXIT_FAILED;
}

const struct command command_archive = {
	.name = "archive",
	.summary = "Pack a capture into one file that other machines can read.",
	.arguments = "[CAPTURE] -o FILE|DIR|- [OPTIONS]",
	.example = "perf-poke-ctl archive -o spike.tar.zst",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_archive,
};
