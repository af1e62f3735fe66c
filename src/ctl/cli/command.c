// SPDX-License-Identifier: GPL-2.0-only
#include "cli/command.h"

#include <perf_poke.h>
#include <signal.h>
#include <string.h>

static void print_usage(FILE *file, const struct command *const *commands)
{
	fputs("Usage: perf-poke-ctl COMMAND [OPTIONS]\n\n"
	      "Catch the timer that fires late, and keep what the CPU did before.\n\nCommands:\n",
	      file);
	for (; *commands; commands++) {
		if ((*commands)->summary)
			fprintf(file, "  %-8s %s\n", (*commands)->name, (*commands)->summary);
	}
	fputs("\nperf-poke-ctl COMMAND --help tells more; --version prints the version.\n", file);
}

static void print_help(FILE *file, const struct command *cmd)
{
	fprintf(file, "Usage: perf-poke-ctl %s %s\n\n%s\n\nOptions:\n", cmd->name, cmd->arguments,
		cmd->summary);
	options_help(file, cmd->options, cmd->nr_options);
	fprintf(file, "\n%s", cmd->notes);
}

int command_options(const struct command *cmd, struct console *con, int argc, char **argv,
		    void *target)
{
	_cleanup_free_ char *error = NULL;
	int r;

	r = options_parse(cmd->options, cmd->nr_options, argc - 1, argv + 1, target, &error);
	if (r > 0)
		print_help(con->out, cmd);
	else if (r < 0)
		console_error(con, "%s", error ?: strerror(-r));
	return r;
}

enum exit_code command_options_exit(int r)
{
	if (r > 0)
		return EXIT_FINE;
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static enum exit_code unknown_command(struct console *con, const struct command *const *commands,
				      const char *name)
{
	_cleanup_free_ char *names = NULL;
	size_t size;
	FILE *file = open_memstream(&names, &size);

	if (!file)
		return EXIT_FAILED;
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->summary)
			fprintf(file, "%s%s", i ? ", " : "", commands[i]->name);
	}
	if (fclose(file))
		return EXIT_FAILED;
	console_error(con, "'%s': no such command (use %s)", name, names);
	return EXIT_USAGE;
}

static enum exit_code dispatch(struct console *con, const struct command *const *commands, int argc,
			       char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		print_usage(con->err, commands);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		print_usage(con->out, commands);
		return EXIT_FINE;
	}
	if (!strcmp(name, "--version")) {
		fprintf(con->out, "perf-poke-ctl %s\n", perf_poke__version());
		return EXIT_FINE;
	}
	for (size_t i = 0; commands[i]; i++) {
		if (!strcmp(name, commands[i]->name))
			return commands[i]->run(con, argc, argv);
	}
	return unknown_command(con, commands, name);
}

enum exit_code command_dispatch(const struct command *const *commands, int argc, char **argv)
{
	struct console con = { .out = stdout, .err = stderr };
	enum exit_code code;

	/* A reader that went away is a write error like any other: it is reported, and sessions end
	 * well. */
	signal(SIGPIPE, SIG_IGN);
	code = dispatch(&con, commands, argc, argv);
	logger_release(&con.log);
	if (con.log.failed) {
		con.json = false;
		console_error(&con, "the log could not be written");
		return EXIT_FAILED;
	}
	if (fflush(con.out) || ferror(con.out)) {
		con.json = false;
		console_error(&con, "standard output could not be written");
		return EXIT_FAILED;
	}
	return code;
}
