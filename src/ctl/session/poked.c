// SPDX-License-Identifier: GPL-2.0-only
#include "session/poked.h"

#include <signal.h>
#include <string.h>

#include "cpulist.h"

/* Above normal tasks, as in placement.c. perf copies gigabytes at this priority and must not delay
 * threaded interrupts (50). perf record --realtime sets another. */
#define PRIORITY 10

const struct poked poked_none = {
	.child = { .pidfd = -1, .control = -1, .ack = -1, .gate = -1 },
};

static int prepare_child(struct poked *poked, const struct perf_poke_opts *opts)
{
	const struct target_args *args = poked->args;
	size_t nr_watched;
	int r;

	poked->config = child_defaults;
	poked->config.record = args->record;
	poked->config.signal = opts->signal ?: SIGUSR2;
	poked->config.priority = PRIORITY;
	r = cpulist_parse(opts->cpus, &poked->watched, &nr_watched);
	if (!r && opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT) {
		poked->config.wake = poked->wake;
		r = perf_record_make_wake(poked->wake);
	}
	if (!r && args->record.output)
		r = perf_files_find(&poked->before, args->record.output);
	if (r) {
		console_error(poked->con, "%s: %s", args->command[0], strerror(-r));
		return r;
	}
	poked->config.watched = poked->watched;
	poked->config.nr_watched = nr_watched;
	return child_prepare(&poked->child, &poked->config, poked->con);
}

int poked_prepare(struct poked *poked, const struct target_args *args, struct console *con,
		  struct perf_poke_opts *opts)
{
	size_t nr = opts->nr_targets;
	int r;

	*poked = poked_none;
	poked->args = args;
	poked->con = con;
	for (size_t i = 0; i < nr; i++)
		poked->targets[i] = opts->targets[i];
	if (args->command) {
		r = prepare_child(poked, opts);
		if (r)
			return r;
		poked->targets[nr++] = (struct perf_poke_target){
			.pid = poked->child.pid,
			.wake = poked->config.wake,
		};
	}
	opts->targets = nr ? poked->targets : NULL;
	opts->nr_targets = nr;
	opts->target_sz = sizeof(*poked->targets);
	return 0;
}

int poked_start(struct poked *poked, int interrupt)
{
	int r;

	if (poked->child.pidfd < 0)
		return 0;
	r = child_start(&poked->child, interrupt);
	poked->started = !r;
	return r;
}

static int find_data(struct poked *poked, struct perf_files *data)
{
	const char *output = poked->args->record.output;
	int r = output ? perf_files_find(data, output) : 0;

	if (r)
		console_error(poked->con, "'%s': %s", output, strerror(-r));
	perf_files_subtract(data, &poked->before);
	return r;
}

int poked_finish(struct poked *poked, int signals, struct result_perf *result)
{
	int r;

	if (poked->child.pidfd < 0)
		return 0;
	result->status = child_stop(&poked->child, signals);
	result->pid = poked->child.pid;
	result->command = poked->child.argv;
	r = find_data(poked, &result->data);
	return r ? r : result->status ? -ECHILD : 0;
}

void poked_release(struct poked *poked)
{
	/* If the session failed, let perf write what it has recorded. */
	if (poked->started && !poked->child.ended)
		child_stop(&poked->child, -1);
	child_release(&poked->child);
	perf_files_release(&poked->before);
	free(poked->watched);
}
