// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <string.h>

#include "array.h"
#include "text.h"

void session_list_add(void *ctx, const struct perf_poke_session *session)
{
	struct session_list *list = ctx;
	struct session_entry entry = {
		.name = strdup(session->name),
		.alive = session->alive,
		.pid = session->pid,
		.last_sequence = session->last_sequence,
		.only_cpu = session->nr_cpus == 1 ? session->cpus[0] : -1,
		.output = strdup(session->output),
	};

	if (!entry.name || !entry.output || array_grow(&list->entries, list->nr, sizeof(entry))) {
		free(entry.name);
		free(entry.output);
		list->out_of_memory = true;
		return;
	}
	list->entries[list->nr++] = entry;
}

void session_list_release(struct session_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		free(list->entries[i].name);
		free(list->entries[i].output);
	}
	free(list->entries);
	*list = (struct session_list){ 0 };
}

void session_list_print_error(struct console *con, int error)
{
	if (error == -EPERM || error == -EACCES)
		console_error(con, "cannot list sessions: needs root");
	else
		console_error(con, "cannot list sessions: %s", strerror(-error));
}

int session_list_read(struct session_list *list, struct console *con)
{
	int err;

	*list = (struct session_list){ 0 };
	err = perf_poke__sessions(session_list_add, list);
	if (err >= 0 && list->out_of_memory)
		err = -ENOMEM;
	if (err >= 0)
		return 0;
	session_list_release(list);
	session_list_print_error(con, err);
	return err;
}

const struct session_entry *session_list_find(const struct session_list *list, const char *name)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (!strcmp(list->entries[i].name, name))
			return &list->entries[i];
	}
	return NULL;
}

static enum exit_code session_list_refuse_many(const struct session_list *list, struct console *con)
{
	_cleanup_free_ char *names = NULL;

	for (size_t i = 0; i < list->nr; i++) {
		if (list->entries[i].alive)
			text_list_append(&names, list->entries[i].name);
	}
	console_error(con, "SESSION is required: several are alive (use %s)", names);
	return EXIT_USAGE;
}

enum exit_code session_list_choose(const struct session_list *list, struct console *con,
				   const char *name, const struct session_entry **chosen)
{
	const struct session_entry *only = NULL;

	if (name) {
		*chosen = session_list_find(list, name);
		if (*chosen)
			return EXIT_FINE;
		console_error(con, "no session named '%s' (perf-poke-ctl status lists sessions)",
			      name);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < list->nr; i++) {
		if (!list->entries[i].alive)
			continue;
		if (only)
			return session_list_refuse_many(list, con);
		only = &list->entries[i];
	}
	if (!only) {
		console_error(con, "no session is alive");
		return EXIT_FAILED;
	}
	*chosen = only;
	return EXIT_FINE;
}

enum exit_code session_list_pick(struct session_list *list, struct console *con, const char *name,
				 const struct session_entry **chosen)
{
	return session_list_read(list, con) ? EXIT_FAILED
					    : session_list_choose(list, con, name, chosen);
}
