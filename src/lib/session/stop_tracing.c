// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Tracing instances of others, as of trace-cmd, rtla and KernelShark: a trigger on the message of
 * the spike stops them, as it stops the recorder's own. */
#include <string.h>
#include <sys/stat.h>

#include "session/session.h"
#include "text.h"

struct stop_tracing {
	int tracefs;
	struct journal *journal;
};

static int stop_tracing_add(struct stop_tracing *stop, const char *instance, const char *trigger,
			    const struct log *log)
{
	const bool top = !strcmp(instance, "top");
	_cleanup_free_ char *folder = top ? strdup("") : strfmt("instances/%s/", instance);
	_cleanup_free_ char *file =
		folder ? strfmt("%s" PAUSE_MESSAGE_EVENT "trigger", folder) : NULL;
	struct stat st;
	int err;

	if (!file)
		return -ENOMEM;
	if (!top && fstatat(stop->tracefs, folder, &st, 0))
		return log_error(log, -errno,
				 "--stop-tracing '%s': no such tracing instance (ls "
				 "/sys/kernel/tracing/instances; top: the main one)",
				 instance);
	err = journal_add_trigger(stop->journal, file, trigger);
	return err ? log_error(log, err, "--stop-tracing '%s': cannot add a trigger to %s: %s%s",
			       instance, file, tracefs_strerror(err),
			       err == -EEXIST ? " (it has a trigger traceoff already)" : "")
		   : 0;
}

int stop_tracing_open(struct stop_tracing **ret, const struct config *config, const char *message)
{
	struct stop_tracing *stop;
	char trigger[96];
	int err = 0;

	if (!config->opts.nr_stop_tracing)
		return 0;
	stop = calloc(1, sizeof(*stop));
	if (!stop)
		return -ENOMEM;
	pause_message_trigger(trigger, sizeof(trigger), "traceoff", message);
	stop->tracefs = tracefs_open();
	if (stop->tracefs < 0)
		err = log_error(&config->log, stop->tracefs, "--stop-tracing: no tracefs: %s",
				tracefs_strerror(stop->tracefs));
	if (!err)
		err = journal_open(&stop->journal, JOURNAL_DIR, stop->tracefs, &config->log);
	for (size_t i = 0; i < config->opts.nr_stop_tracing && !err; i++)
		err = stop_tracing_add(stop, config->opts.stop_tracing[i], trigger, &config->log);
	if (err)
		stop_tracing_close(stop);
	else
		*ret = stop;
	return err;
}

void stop_tracing_close(struct stop_tracing *stop)
{
	if (!stop)
		return;
	journal_close(stop->journal, false);
	closep(&stop->tracefs);
	free(stop);
}

void stop_tracing_abandon(struct stop_tracing *stop)
{
	if (!stop)
		return;
	journal_abandon(stop->journal);
	closep(&stop->tracefs);
	free(stop);
}
