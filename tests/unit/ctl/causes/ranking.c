// SPDX-License-Identifier: GPL-2.0-only
#include "causes/ranking.h"

#include "made_fingerprint.h"
#include "test.h"

/* A capture of up to two functions, the first of which calls the second, and a task. */
struct row {
	const char *cause; /* NULL: a control */
	const char *names[2];
	uint64_t ns[2];
	const char *task;
	uint64_t task_ns;
};

static void add(struct causes *causes, size_t nr, const struct row *row)
{
	struct profile_node nodes[3] = { { { 0 } } };
	struct profile_row task = { .ns = row->task_ns };
	struct profile profile = { .nodes = nodes, .nr_nodes = 1 };
	const struct sighting sighting = { .path = "", .host = "", .latency_ns = 100 };
	struct fingerprint fingerprint = { 0 };

	for (; profile.nr_nodes < 3 && row->names[profile.nr_nodes - 1]; profile.nr_nodes++) {
		struct profile_node *node = &nodes[profile.nr_nodes];

		snprintf(node->name, sizeof(node->name), "%s", row->names[profile.nr_nodes - 1]);
		node->parent = profile.nr_nodes - 1;
		node->self_ns = row->ns[profile.nr_nodes - 1];
	}
	if (row->task) {
		snprintf(task.name, sizeof(task.name), "%s", row->task);
		profile.tasks = (struct profile_rows){ &task, 1 };
	}
	if (row->cause)
		fingerprint = made("irqs-off", row->cause);
	while (nr--) {
		if (row->cause)
			assert_int_equal(causes_add(causes, &sighting, &fingerprint, ""), 0);
		assert_int_equal(profiles_add(&causes->profiles, &profile,
					      row->cause ? causes->nr - 1 : PROFILES_CONTROL),
				 0);
	}
}

#define ADD(causes, nr, ...) add(causes, nr, &(const struct row){ __VA_ARGS__ })

static void check(const struct causes *causes, size_t group, const char *wanted)
{
	_cleanup_(ranking_release) struct ranking ranking;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(ranking_make(&ranking, causes, group), 0);
	text = WRITTEN(file, ranking_print(file, causes, &ranking, 2));
	assert_string_equal(text, wanted);
}

/* Recall 19/20, 1/50 of controls: 2 * 0.95 / (0.95 + 0.02 + 1) = 0.964. The task runs in all of
 * them; for at least 90ns in all spikes and 10/50 of controls: 2 / (1 + 0.2 + 1) = 0.909. */
TEST(counts_more_often_and_longer)
{
	_cleanup_(causes_release) struct causes causes = { 0 };

	ADD(&causes, 19, "a", { "acme_flush" }, { 310000 }, "stress", 90);
	ADD(&causes, 1, "a", { "other" }, { 100 }, "stress", 90);
	ADD(&causes, 1, NULL, { "acme_flush" }, { 4000 }, "stress", 5);
	ADD(&causes, 39, NULL, { "other" }, { 100 }, "stress", 5);
	ADD(&causes, 10, NULL, { NULL }, { 0 }, "stress", 95);
	assert_int_equal(causes_group(&causes, 0.7), 0);
	assert_int_equal(ranking_prepare(&causes), 0);
	check(&causes, 0,
	      "            function   acme_flush: in 19 of 20 spikes, 1 of 50 controls; mean "
	      "310us, "
	      "in controls 4us (F1 0.96)\n"
	      "            task       stress: at least 90ns in 20 of 20 spikes, 10 of 50 controls; "
	      "mean 90ns, in controls 23ns (F1 0.91)\n");
}

/* Also with few controls and many spikes, where mere counts would have the F1 score 0.99. */
TEST(leaves_out_what_all_captures_have)
{
	_cleanup_(causes_release) struct causes causes = { 0 };

	ADD(&causes, 500, "a", { "common" }, { 100 }, "stress", 90);
	ADD(&causes, 10, NULL, { "common" }, { 100 }, "stress", 90);
	assert_int_equal(causes_group(&causes, 0.7), 0);
	assert_int_equal(ranking_prepare(&causes), 0);
	check(&causes, 0, "");
}

/* Each cause by itself, and half of all spikes: 2 * 0.5 / (0.5 + 0 + 1) = 0.667 says nothing. */
TEST(ranks_each_cause_and_all)
{
	_cleanup_(causes_release) struct causes causes = { 0 };

	ADD(&causes, 2, "a", { "vfs_write", "acme_a" }, { 100, 80000 });
	ADD(&causes, 2, "b", { "vfs_write", "acme_b" }, { 100, 90000 });
	ADD(&causes, 4, NULL, { "vfs_read" }, { 100 });
	assert_int_equal(causes_group(&causes, 0.7), 0);
	assert_int_equal(ranking_prepare(&causes), 0);
	check(&causes, 0,
	      "            function   acme_a: in 2 of 2 spikes, 0 of 4 controls; mean 80us (F1 "
	      "1.00)\n"
	      "            function   vfs_write: in 2 of 2 spikes, 0 of 4 controls; mean 80.1us "
	      "(F1 "
	      "1.00)\n");
	check(&causes, 1,
	      "            function   acme_b: in 2 of 2 spikes, 0 of 4 controls; mean 90us (F1 "
	      "1.00)\n"
	      "            function   vfs_write: in 2 of 2 spikes, 0 of 4 controls; mean 90.1us "
	      "(F1 "
	      "1.00)\n");
	check(&causes, RANKING_ALL,
	      "            function   vfs_write: in 4 of 4 spikes, 0 of 4 controls; mean 85.1us "
	      "(F1 "
	      "1.00)\n");
}

TEST(counts_the_time_of_a_recursive_function_once)
{
	_cleanup_(causes_release) struct causes causes = { 0 };

	ADD(&causes, 1, "a", { "walk", "walk" }, { 1000, 2000 });
	ADD(&causes, 1, NULL, { NULL });
	assert_int_equal(causes_group(&causes, 0.7), 0);
	assert_int_equal(ranking_prepare(&causes), 0);
	check(&causes, 0,
	      "            function   walk: in 1 of 1 spike, 0 of 1 control; mean 3us (F1 1.00)\n");
}

TEST(ranks_nothing_without_controls)
{
	_cleanup_(causes_release) struct causes causes = { 0 };
	_cleanup_(ranking_release) struct ranking ranking;

	ADD(&causes, 2, "a", { "acme_a" }, { 80000 });
	assert_int_equal(causes_group(&causes, 0.7), 0);
	assert_int_equal(ranking_prepare(&causes), 0);
	assert_int_equal(ranking_make(&ranking, &causes, 0), 0);
	assert_int_equal(ranking.nr, 0);
	assert_null(ranking_json(&causes, &ranking));
}

/* A file could say so. */
TEST(merges_what_is_there_twice)
{
	_cleanup_(causes_release) struct causes causes = { 0 };
	struct profile_node nodes[] = { { { 0 } },
					{ .name = "a", .self_ns = 10 },
					{ .name = "a", .self_ns = 20 } };
	const struct profile profile = { .nodes = nodes, .nr_nodes = ARRAY_SIZE(nodes) };

	assert_int_equal(profiles_add(&causes.profiles, &profile, PROFILES_CONTROL), 0);
	assert_int_equal(causes.profiles.nr_stays, 1);
	assert_int_equal(causes.profiles.stays[0].self_ns, 30);
}
