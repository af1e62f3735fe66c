// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <dirent.h>
#include <stddef.h>
#include <string.h>

#include "io.h"
#include "session/session.h"
#include "text.h"

static const struct command command_complete, command_help;

const struct command *const commands[] = {
	&command_start,	 &command_run,	    &command_status,
	&command_stop,	 &command_poke,	    &command_report_late,
	&command_list,	 &command_report,   &command_causes,
	&command_script, &command_export,   &command_archive,
	&command_open,	 &command_check,    &command_selftest,
	&command_help,	 &command_complete, NULL,
};

static void offer_completion(struct console *con, const char *word, const char *name,
			     const char *help)
{
	if (!strncmp(name, word, strlen(word)))
		fprintf(con->out, "%s\t%.*s\n", name, (int)strcspn(help, "\n"), help);
}

static void offer_command_names(struct console *con, const char *word)
{
	for (const struct command *const *cmd = commands; *cmd; cmd++) {
		if ((*cmd)->summary)
			offer_completion(con, word, (*cmd)->name, (*cmd)->summary);
	}
}

static void offer_session_names(struct console *con, const char *word)
{
	_cleanup_(session_list_release) struct session_list list = { 0 };

	if (session_list_read(&list, con))
		return;
	for (size_t i = 0; i < list.nr; i++)
		offer_completion(con, word, list.entries[i].name,
				 list.entries[i].alive ? "" : "dead");
}

/* Of processes; a task may have any name. */
static void offer_task_names(struct console *con, const char *word)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300], name[64];

	while (proc && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "%s/comm", entry->d_name);
		if (read_text_at(dirfd(proc), path, name, sizeof(name)))
			continue;
		name[strcspn(name, "\n")] = '\0';
		offer_completion(con, word, text_make_printable(name), entry->d_name);
	}
}

/* Those that this user may read. */
static void offer_tracepoints(struct console *con, const char *word)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/kernel/tracing/available_events", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		offer_completion(con, word, text_make_printable(line), "tracepoint");
	}
}

static void offer_option_values(struct console *con, const char *word,
				const struct option_spec *spec)
{
	const struct perf_poke_choice *choice;

	for (size_t i = 0; (choice = options_get_choice(spec, i)); i++)
		offer_completion(con, word, choice->name, choice->help ?: "");
	if (!spec->metavar)
		return;
	if (!strcmp(spec->metavar, "LIST") && spec->kind == OPTION_SESSION) {
		offer_completion(con, word, "all", "the CPUs that are online");
		offer_completion(con, word, "isolated", "those that the kernel isolates");
	}
	/* There are too many to begin with. */
	if (*word && !strcmp(spec->metavar, "TASK"))
		offer_task_names(con, word);
	else if (*word && !strcmp(spec->metavar, "EVENT,..."))
		offer_tracepoints(con, word);
	else if (!strcmp(spec->metavar, "SESSION"))
		offer_session_names(con, word);
	else if (!strcmp(spec->metavar, "COMMAND"))
		offer_command_names(con, word);
	else if (!strcmp(spec->metavar, "FILE") || !strcmp(spec->metavar, "DIR|ARCHIVE"))
		fputs(":files\n", con->out);
	else if (!strcmp(spec->metavar, "DIR") || !strcmp(spec->metavar, "CAPTURE"))
		fputs(":folders\n", con->out);
}

static void offer_option_names(struct console *con, const char *word, const struct command *cmd)
{
	for (size_t i = 0; i < cmd->nr_options; i++) {
		char name[64];

		if (!cmd->options[i].name)
			continue;
		snprintf(name, sizeof(name), "--%s", cmd->options[i].name);
		offer_completion(con, word, name, cmd->options[i].help);
	}
	offer_completion(con, word, "--help", "print the help");
}

/* The option whose value is the word after this one. */
static const struct option_spec *find_option_of_word(const struct command *cmd, const char *word)
{
	for (size_t i = 0; i < cmd->nr_options; i++) {
		const struct option_spec *spec = &cmd->options[i];
		bool is_long =
			spec->name && !strncmp(word, "--", 2) && !strcmp(word + 2, spec->name);
		bool is_short = spec->short_name && word[0] == '-' && word[1] == spec->short_name &&
				!word[2];

		if ((is_long || is_short) && spec->metavar)
			return spec;
	}
	return NULL;
}

static void offer_argument_values(struct console *con, const char *word, const struct command *cmd)
{
	for (size_t i = 0; i < cmd->nr_options; i++) {
		if (cmd->options[i].kind == OPTION_WORD)
			offer_option_values(con, word, &cmd->options[i]);
	}
}

static void offer_words_of(struct console *con, const struct command *cmd, int nr, char **words)
{
	const char *word = words[nr - 1];
	const struct option_spec *option = nr > 1 ? find_option_of_word(cmd, words[nr - 2]) : NULL;

	for (int i = 0; i < nr - 1; i++) {
		if (!strcmp(words[i], "--")) {
			fputs(":files\n", con->out);
			return;
		}
	}
	if (option)
		offer_option_values(con, word, option);
	else if (word[0] == '-')
		offer_option_names(con, word, cmd);
	else
		offer_argument_values(con, word, cmd);
}

static void offer_words_for(struct console *con, const struct command *cmd, int nr, char **words)
{
	struct command all = *cmd;
	_cleanup_free_ struct option_spec *options =
		options_expand_rows(cmd->options, cmd->nr_options, &all.nr_options);

	all.options = options;
	if (options)
		offer_words_of(con, &all, nr, words);
}

/*
 * Prints the completions of the last word, one a line, each with a tab and its description. For the
 * lines `:files` and `:folders` the shell completes names itself. See completion/.
 */
static enum exit_code run_complete(struct console *con, int argc, char **argv)
{
	if (argc < 3)
		return EXIT_USAGE;
	for (const struct command *const *cmd = commands; *cmd; cmd++) {
		if (!(*cmd)->summary)
			continue;
		if (argc == 3)
			offer_completion(con, argv[2], (*cmd)->name, (*cmd)->summary);
		else if (!strcmp(argv[2], (*cmd)->name))
			offer_words_for(con, *cmd, argc - 3, argv + 3);
	}
	return EXIT_FINE;
}

static const struct command command_complete = {
	.name = "complete",
	.run = run_complete,
};

struct help_args {
	const char *command; /* NULL: all of them */
};

static const struct option_spec help_options[] = {
	{ NULL, 0, OPTION_WORD, .offset = offsetof(struct help_args, command), .metavar = "COMMAND",
	  .help = "print its options (all commands)" },
};

static enum exit_code run_help(struct console *con, int argc, char **argv)
{
	struct help_args args = { 0 };
	int err = command_options(&command_help, con, argc, argv, &args);

	if (err)
		return command_options_exit(err);
	if (!args.command) {
		commands_print_usage(con->out, commands);
		return EXIT_FINE;
	}
	for (const struct command *const *cmd = commands; *cmd; cmd++) {
		char *words[] = { argv[0], (char *)args.command, (char *)"--help", NULL };

		if ((*cmd)->summary && !strcmp(args.command, (*cmd)->name))
			return (*cmd)->run(con, 3, words);
	}
	return command_explain_unknown(con, commands, args.command);
}

static const struct command command_help = {
	.name = "help",
	.summary = "Print the options of a command.",
	.arguments = "[COMMAND]",
	.example = "perf-poke-ctl help start",
	.notes = "Exit codes: 0 fine, 2 no such command.\n",
	COMMAND_OPTIONS(help_options),
	.run = run_help,
};
