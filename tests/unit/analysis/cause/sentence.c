// SPDX-License-Identifier: GPL-2.0-only
/* Why a timer was late, of a program for struct calls (see feeder.h), for culprits.py.
 * usage: sentence CPU EXPECTED ACTUAL TIME [thread] [sender=TIME] [steal=TIME,OF]: prints kind,
 * name, sentence, and the fingerprint's text, a line each. A sender asks for acme_ipi() in
 * acme_kick(). */
#include "analysis/calls/feeder.h"
#include "cause/account.h"
#include "facts/spans.h"

static int read_spans(struct account *account)
{
	_cleanup_(track_spans_freep) struct track_spans *sink = NULL;
	static struct feeder feeder;
	const struct facts *facts = &account->facts;
	struct timeline_opts timeline = {
		.begin = facts->spike.time_ns -
			 2 * (facts->spike.time_ns - facts->spike.expected_ns),
		.end = facts->spike.time_ns,
		.ops = &track_spans_ops,
	};
	struct calls_opts calls = {
		.spike = facts->spike.time_ns,
		.expected = facts->spike.expected_ns,
		.spike_cpu = facts->spike.cpu,
	};
	int r = spans_new(&account->spans)
			?: track_spans_new(&sink, account->spans, facts->spike.cpu);

	if (r)
		return r;
	timeline.sink = sink;
	feeder.names = account->spans->names;
	return feeder_run(&feeder, &calls, &timeline, false);
}

int main(int argc, char **argv)
{
	_cleanup_(account_release) struct account account = { .capture = "capture" };
	static struct senders senders;
	_cleanup_free_ char *text = NULL;
	int r;

	if (argc < 5)
		return 2;
	account.facts = (struct facts){
		.recorder = PERF_POKE_RECORDER_PT,
		.spike = {
			.cpu = atoi(argv[1]),
			.expected_ns = strtoull(argv[2], NULL, 10),
			.actual_ns = strtoull(argv[3], NULL, 10),
			.time_ns = strtoull(argv[4], NULL, 10),
		},
	};
	account.facts.spike.latency_ns =
		account.facts.spike.actual_ns - account.facts.spike.expected_ns;
	account.facts.hardware.late_steal_ns = UINT64_MAX;
	for (int i = 5; i < argc; i++) {
		struct sender *sender = &senders.rows[senders.nr];

		if (!strcmp(argv[i], "thread"))
			account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		else if (sscanf(argv[i], "steal=%" SCNu64 ",%" SCNu64,
				&account.facts.hardware.steal_ns,
				&account.facts.hardware.since_ns) == 2)
			continue;
		else if (sscanf(argv[i], "sender=%" SCNu64, &sender->time) == 1)
			*sender = (struct sender){
				.time = sender->time,
				.tid = 5,
				.task = "poller",
				.function = "acme_ipi",
				.callers = { "acme_kick" },
				.nr_callers = 1,
			};
		else
			return 2;
		senders.nr += sender->time > 0;
	}
	account.facts.senders = &senders;
	account.window_ns = findings_window(&account.facts);
	r = read_spans(&account) ?: account_finish(&account);
	if (r) {
		fprintf(stderr, "sentence: %s\n", strerror(-r));
		return 1;
	}
	text = fingerprint_text(&account.fingerprint);
	printf("%s\n%s\n%s\n%s\n", cause_kind_name(account.cause.kind),
	       names_get(account.spans->names, account.cause.name), account.sentence, text ?: "");
	return 0;
}
