// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <perf_poke.h>
#include <signal.h>
#include <string.h>

#include "text.h"

static void print_usage(FILE *file, const struct command *const *commands)
{
	fputs("Usage: perf-poke-ctl COMMAND [OPTIONS]\n\n"
	      "Catch late timers and keep a trace of what the CPU did before.\n\nCommands:\n",
	      file);
	for (; *commands; commands++) {
		if ((*commands)->summary)
			fprintf(file, "  %-11s %s\n", (*commands)->name, (*commands)->summary);
	}
	fputs("\nSee perf-poke-ctl COMMAND --help; --version prints the version.\n", file);
}

static void print_help(FILE *file, const struct command *cmd, const struct option_spec *options,
		       size_t nr)
{
	fprintf(file, "Usage: perf-poke-ctl %s %s\n\n%s\n\nOptions:\n", cmd->name, cmd->arguments,
		cmd->summary);
	options_help(file, options, nr);
	fprintf(file, "\n%s", cmd->notes);
}

int command_options(const struct command *cmd, struct console *con, int argc, char **argv,
		    void *target)
{
	_cleanup_free_ struct option_spec *options = NULL;
	_cleanup_free_ char *error = NULL;
	size_t nr;
	int r;

	options = options_expand(cmd->options, cmd->nr_options, &nr);
	r = options ? options_parse(options, nr, argc - 1, argv + 1, target, &error) : -ENOMEM;
	if (r > 0)
		print_help(con->out, cmd, options, nr);
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

	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->summary)
			explain_list(&names, commands[i]->name);
	}
	console_error(con, "'%s': no such command (use %s)", name, names ?: "--help");
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

	/* A broken pipe is an ordinary write error: it is reported, and sessions end in order. */
	signal(SIGPIPE, SIG_IGN);
	code = dispatch(&con, commands, argc, argv);
	logger_release(&con.log);
	con.json = NULL;
	if (con.log.failed)
		console_error(&con, "cannot write to the log");
	else if (con.deaf || fflush(con.out) || ferror(con.out))
		console_error(&con, "cannot write to standard output");
	else
		return code;
	return EXIT_FAILED;
}
