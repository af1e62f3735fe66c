// SPDX-License-Identifier: GPL-2.0-only
#include "cause/findings.h"

#include <string.h>

#include "analysis/timeline.h"
#include "output/output.h"
#include "test.h"

static const struct usage *find(const struct account *account, const struct usage *usages,
				size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(names_get(account->spans->names, usages[i].name), name))
			return &usages[i];
	}
	fail_msg("no %s", name);
	return NULL;
}

static void check(const struct usage *usage, enum span_kind kind, uint64_t time_ns,
		  uint64_t late_ns, uint64_t count, uint64_t longest_ns)
{
	assert_int_equal(usage->kind, kind);
	assert_int_equal(usage->time_ns, time_ns);
	assert_int_equal(usage->late_ns, late_ns);
	assert_int_equal(usage->count, count);
	assert_int_equal(usage->longest_ns, longest_ns);
}

static int make(struct account *account)
{
	/* The first interrupt ends at the window's begin, the last begins at its end: neither
	 * counts. */
	int r = TIMELINE(account, true, TASK(500, "stress 7"), CALL(500, "foo"), CALL(600, "foo"),
			 ENTER(900, SPAN_INTERRUPT, "irq"), RETURN(1000), OFF(50000, "irq"),
			 ENTER(50000, SPAN_INTERRUPT, "irq"), CALL(60000, "handler"), RETURN(90000),
			 RETURN(90000), ON(90000), ENTER(95000, SPAN_INTERRUPT, "irq"),
			 ENTER(96000, SPAN_NMI, "nmi"), RETURN(116000), RETURN(121000),
			 { LANE_TASKS, 150000, SPAN_THREAD, NULL }, TASK(150000, "other 8"),
			 GAP(160000, SPAN_LOST, "[lost]"), END_GAP(180000),
			 ENTER(201000, SPAN_INTERRUPT, "irq"));

	return r ?: account_finish(account);
}

TEST(every_moment_is_counted_once)
{
	_cleanup_(account_release) struct account account;
	const struct findings *findings = &account.findings;
	uint64_t sum_ns = 0, late_ns = 0;

	assert_int_equal(make(&account), 0);
	/* 200us before the spike, which was detected at 201us. */
	assert_int_equal(findings->begin, 1000);
	assert_int_equal(findings->end, 201000);
	for (size_t i = 0; i < findings->nr_budget; i++) {
		sum_ns += findings->budget[i].time_ns;
		late_ns += findings->budget[i].late_ns;
	}
	assert_int_equal(sum_ns, 200000);
	assert_int_equal(late_ns, 100000);
#define BUDGET(name) find(&account, findings->budget, findings->nr_budget, name)
	check(BUDGET("irq"), SPAN_INTERRUPT, 46000, 5000, 2, 40000);
	check(BUDGET("nmi"), SPAN_NMI, 20000, 16000, 1, 20000);
	check(BUDGET("[lost]"), SPAN_LOST, 20000, 20000, 1, 20000);
	check(BUDGET("stress 7"), SPAN_THREAD, 83000, 29000, 1, 149000);
	check(BUDGET("other 8"), SPAN_THREAD, 31000, 30000, 1, 51000);
#undef BUDGET
	check(find(&account, findings->irqs_off, findings->nr_irqs_off, "irq"), SPAN_IRQS_OFF,
	      40000, 0, 1, 40000);
}

static const struct function *function(const struct account *account, const char *name)
{
	for (size_t i = 0; i < account->findings.nr_functions; i++) {
		const struct function *found = &account->findings.functions[i];

		if (!strcmp(names_get(account->spans->names, found->name), name))
			return found;
	}
	fail_msg("no %s", name);
	return NULL;
}

TEST(functions_in_themselves_count_once)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(make(&account), 0);
	assert_int_equal(function(&account, "foo")->total_ns, 200000);
	assert_int_equal(function(&account, "foo")->self_ns, 200000 - 40000 - 26000);
	assert_int_equal(function(&account, "foo")->count, 2);
	assert_int_equal(function(&account, "handler")->self_ns, 30000);
	assert_int_equal(function(&account, "irq")->total_ns, 66000);
	/* The innermost span at the expected expiry. */
	assert_int_equal(account.spans->lanes[LANE_CODE].spans[account.findings.path].kind,
			 SPAN_NMI);
}

TEST(windows_suit_the_spike)
{
	const struct facts small = { .spike = { .expected_ns = 100, .time_ns = 50100 } };
	const struct facts large = { .spike = { .expected_ns = 100, .time_ns = 4000100 } };

	assert_int_equal(findings_window(&small), 200000);
	assert_int_equal(findings_window(&large), 5000000);
}

static void print_all(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(make(&account), 0);
	account_print(file, &account, 3);
}

GOLDEN(PART(print_all))

/* At most 100 columns, and no control characters. */
TEST(prints_plain_text)
{
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL;
	char name[600];

	memset(name, 'x', sizeof(name));
	memcpy(name, "\x1b[31m\n\xc3", 7);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(TIMELINE(&account, true, TASK(0, name), CALL(0, name), CALL(0, name),
				  ENTER(90000, SPAN_NMI, name), OFF(90000, name)),
			 0);
	snprintf(account.facts.spike.comm, sizeof(account.facts.spike.comm), "\x1b]0;");
	assert_int_equal(account_finish(&account), 0);
	text = WRITTEN(file, account_print(file, &account, 5));
	assert_null(strchr(text, '\x1b'));
	/* The sentence, which comes first, and the fingerprint have uncut names. */
	for (const char *line = strstr(text, "\n\n") + 2; *line; line += strcspn(line, "\n") + 1) {
		if (strncmp(line, "  fingerprint", 13))
			assert_in_range(strcspn(line, "\n"), 0, 100);
	}
}
