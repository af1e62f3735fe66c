// SPDX-License-Identifier: GPL-2.0-only
/* Why a timer was late, from a file of export, for culprits.py.
 * usage: sentence FILE.fxt CPU EXPECTED ACTUAL TIME: prints kind, name and sentence, a line each */
#include "account.h"
#include "fxt_spans.h"

int main(int argc, char **argv)
{
	_cleanup_(account_release) struct account account = { .capture = "capture" };
	_cleanup_fclose_ FILE *file = argc == 6 ? fopen(argv[1], "r") : NULL;
	_cleanup_free_ char *why = NULL;
	int r;

	if (!file)
		return 2;
	account.facts = (struct facts){
		.pt = true,
		.cpu = atoi(argv[2]),
		.expected_ns = strtoull(argv[3], NULL, 10),
		.actual_ns = strtoull(argv[4], NULL, 10),
		.time_ns = strtoull(argv[5], NULL, 10),
	};
	account.facts.latency_ns = account.facts.actual_ns - account.facts.expected_ns;
	account.window_ns = findings_window(&account.facts);
	r = spans_new(&account.spans);
	if (!r)
		r = fxt_spans_read(file, account.facts.cpu, account.spans, &why);
	if (!r)
		r = account_finish(&account);
	if (r) {
		fprintf(stderr, "sentence: %d %s\n", r, why ?: "");
		return 1;
	}
	printf("%s\n%s\n%s\n", cause_kind_name(account.cause.kind),
	       names_get(account.spans->names, account.cause.name), account.sentence);
	return 0;
}
