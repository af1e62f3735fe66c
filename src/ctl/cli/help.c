// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <perf_poke.h>
#include <signal.h>
#include <string.h>
#include <sys/param.h>

#include "text.h"

/* Column of the help texts. */
#define HELP_COLUMN 28

/* Longer names are similar to no word. */
#define SIMILAR_MAX 32

/* The number of letters to insert, remove, replace, or swap with the next one. */
static size_t edit_distance(const char *a, size_t nr_a, const char *b, size_t nr_b)
{
	size_t rows[SIMILAR_MAX + 1][SIMILAR_MAX + 1];

	for (size_t i = 0; i <= nr_a; i++) {
		for (size_t j = 0; j <= nr_b; j++) {
			size_t *cell = &rows[i][j];

			if (!i || !j) {
				*cell = i + j;
				continue;
			}
			*cell = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			*cell = MIN(*cell, rows[i - 1][j] + 1);
			*cell = MIN(*cell, rows[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				*cell = MIN(*cell, rows[i - 2][j - 2] + 1);
		}
	}
	return rows[nr_a][nr_b];
}

void similar_name_try(struct similar_name *similar, const char *name)
{
	size_t length = strlen(name), distance;

	if (similar->length > SIMILAR_MAX || length > SIMILAR_MAX)
		return;
	distance = edit_distance(similar->word, similar->length, name, length);
	if (distance > (length + 2) / 4 || (similar->name && distance >= similar->distance))
		return;
	similar->name = name;
	similar->distance = distance;
}

static void options_print_lines(FILE *file, int width, const char *line)
{
	for (; *line; width = 0) {
		int length = (int)strcspn(line, "\n");

		fprintf(file, "%*s%.*s\n", HELP_COLUMN - width, "", length, line);
		line += length + (line[length] == '\n');
	}
}

static void options_print_choices(FILE *file, const struct option_spec *spec)
{
	const struct perf_poke_choice *choice;

	for (size_t i = 0; (choice = options_get_choice(spec, i)); i++) {
		if (!choice->help)
			continue;
		if (choice->argument)
			fprintf(file, "%*s  %s=%s: %s\n", HELP_COLUMN, "", choice->name,
				choice->argument, choice->help);
		else
			fprintf(file, "%*s  %-13s%s\n", HELP_COLUMN, "", choice->name,
				choice->help);
	}
}

void options_print_help(FILE *file, const struct option_spec *specs, size_t nr)
{
	for (size_t i = 0; i <= nr; i++) {
		const struct option_spec *spec = i < nr ? &specs[i] : &options_help_row;
		int width;

		width = !spec->short_name ? fprintf(file, "      ")
					  : fprintf(file, "  -%c%s", spec->short_name,
						    spec->name ? ", " : "  ");
		width += fprintf(file, "%s%s%s%s", spec->name ? "--" : "", spec->name ?: "",
				 spec->name && spec->metavar ? " " : "", spec->metavar ?: "");
		if (width + 2 > HELP_COLUMN) {
			fputc('\n', file);
			width = 0;
		}
		options_print_lines(file, width, spec->help);
		options_print_choices(file, spec);
	}
}

void commands_print_usage(FILE *file, const struct command *const *commands)
{
	fputs("Usage: perf-poke-ctl COMMAND [OPTIONS]\n\n"
	      "Catch late timers and keep a trace of what the CPU did before.\n\nCommands:\n",
	      file);
	for (; *commands; commands++) {
		if ((*commands)->summary)
			fprintf(file, "  %-11s %s\n", (*commands)->name, (*commands)->summary);
	}
	fputs("\nperf-poke-ctl help COMMAND prints the options; --version prints the version.\n",
	      file);
}

int command_options(const struct command *cmd, struct console *con, int argc, char **argv,
		    void *target)
{
	_cleanup_free_ struct option_spec *options = NULL;
	_cleanup_free_ char *error = NULL;
	size_t nr;
	int err;

	options = options_expand_rows(cmd->options, cmd->nr_options, &nr);
	err = options ? options_parse_argv(options, nr, argc - 1, argv + 1, target, &error)
		      : -ENOMEM;
	if (err > 0) {
		fprintf(con->out,
			"Usage: perf-poke-ctl %s %s\n\n%s\n\nExample:\n  %s\n\nOptions:\n",
			cmd->name, cmd->arguments, cmd->summary, cmd->example);
		options_print_help(con->out, options, nr);
		if (cmd->notes)
			fprintf(con->out, "\n%s", cmd->notes);
	} else if (err < 0) {
		console_error(con, "%s", error ?: strerror(-err));
	}
	return err;
}

enum exit_code command_options_exit(int err)
{
	if (err > 0)
		return EXIT_FINE;
	return err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

enum exit_code command_explain_unknown(struct console *con, const struct command *const *commands,
				       const char *name)
{
	struct similar_name similar = { .word = name, .length = strlen(name) };
	_cleanup_free_ char *names = NULL;

	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->summary)
			continue;
		text_list_append(&names, commands[i]->name);
		similar_name_try(&similar, commands[i]->name);
	}
	if (similar.name)
		console_error(con, "'%s': no such command (did you mean %s?)", name, similar.name);
	else
		console_error(con, "'%s': no such command (use %s)", name, names ?: "--help");
	return EXIT_USAGE;
}

static const struct command *find_command(const struct command *const *commands, const char *name)
{
	for (; *commands; commands++) {
		if (!strcmp(name, (*commands)->name))
			return *commands;
	}
	return NULL;
}

static enum exit_code command_run_named(struct console *con, const struct command *const *commands,
					int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *cmd;

	if (!name) {
		commands_print_usage(con->err, commands);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		commands_print_usage(con->out, commands);
		return EXIT_FINE;
	}
	if (!strcmp(name, "--version")) {
		fprintf(con->out, "perf-poke-ctl %s\n", perf_poke__version());
		return EXIT_FINE;
	}
	cmd = find_command(commands, name);
	if (!cmd)
		return command_explain_unknown(con, commands, name);
	if (cmd->folds)
		console_fold(con);
	return cmd->run(con, argc, argv);
}

enum exit_code command_dispatch(const struct command *const *commands, int argc, char **argv)
{
	struct console con = { .out = stdout, .err = stderr };
	bool deaf, broken;
	enum exit_code code;

	/* Sessions end in order, and temporary files are removed, before the process dies of it. */
	signal(SIGPIPE, SIG_IGN);
	code = command_run_named(&con, commands, argc, argv);
	console_unfold(&con);
	logger_release(&con.log);
	con.json = NULL;
	deaf = con.deaf || fflush(con.out) || ferror(con.out);
	broken = deaf && console_reader_is_gone(&con);
	if (con.log.failed)
		console_error(&con, "cannot write to the log");
	else if (deaf && !broken)
		console_error(&con, "cannot write to standard output");
	if (broken && signal(SIGPIPE, SIG_DFL) != SIG_ERR)
		raise(SIGPIPE);
	return con.log.failed || deaf ? EXIT_FAILED : code;
}
