// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The requested events and their filters; rings are replaced at link time. */
#include "recorder/recorder.h"

#include "helpers.h"
#include "util.h"

#define CPUS_MAX 2000

static struct {
	struct ring_event *events;
	size_t nr, nr_cpus, size;
	const int *cpus;
} asked;

int __wrap_rings_open(struct rings **ret, struct ring_event *events, size_t nr, const int *cpus,
		      size_t nr_cpus, size_t pages, const struct log *log)
{
	assert_true(cpus && nr_cpus && pages && log);
	asked.events = events;
	asked.nr = nr;
	asked.cpus = cpus;
	asked.nr_cpus = nr_cpus;
	asked.size = pages * sysconf(_SC_PAGESIZE);
	*ret = (struct rings *)&asked;
	return 0;
}

void __wrap_rings_free(struct rings *rings)
{
	assert_true(!rings || rings == (struct rings *)&asked);
}

static struct senders *opened_what(const int *cpus, size_t nr_cpus, unsigned int what)
{
	const struct recorder_config config = { .cpus = cpus, .nr_cpus = nr_cpus };
	const struct perf_event_attr attr = { .sample_id_all = 1 };
	struct senders *senders = NULL;

	asked.nr = 0;
	assert_int_equal(senders_open(&senders, &attr, &config, what, folder->fd, &(struct log){}),
			 0);
	return senders;
}

static struct senders *opened(const int *cpus, size_t nr_cpus)
{
	return opened_what(cpus, nr_cpus, SENDERS_REQUESTS);
}

TEST_IN_FOLDER(asks_for_what_is_sent_to_watched_cpus)
{
	static const int cpus[] = { 1, 3, 4 };
	struct senders *senders;

	put_file(folder->fd, "events/ipi/ipi_send_cpu/id", "11\n");
	put_file(folder->fd, "events/ipi/ipi_send_cpumask/id", "12\n");
	senders = opened(cpus, ARRAY_SIZE(cpus));
	assert_int_equal(asked.nr, 2);
	assert_string_equal(asked.events[0].name, "ipi:ipi_send_cpu");
	assert_string_equal(asked.events[0].filter, "cpu==1||(cpu>=3&&cpu<=4)");
	assert_string_equal(asked.events[1].filter, "cpumask & CPUS{1,3-4}");
	for (size_t i = 0; i < asked.nr; i++) {
		assert_true(asked.events[i].needs_filter && asked.events[i].optional);
		assert_true(asked.events[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN);
		assert_int_equal(asked.events[i].attr.config, 11 + i);
	}
	senders_free(senders);
}

/* In a larger ring, because there are many. */
TEST_IN_FOLDER(asks_for_wakeups_of_tasks_of_watched_cpus)
{
	static const int cpus[] = { 0, 1, 2, 7 };
	struct senders *senders;
	size_t few;

	put_file(folder->fd, "events/csd/csd_queue_cpu/id", "13\n");
	put_file(folder->fd, "events/sched/sched_waking/id", "14\n");
	senders = opened(cpus, 4);
	assert_int_equal(asked.nr, 1);
	assert_string_equal(asked.events[0].name, "csd:csd_queue_cpu");
	few = asked.size;
	senders_free(senders);
	senders = opened_what(cpus, 4, SENDERS_WAKERS);
	assert_int_equal(asked.nr, 1);
	assert_string_equal(asked.events[0].name, "sched:sched_waking");
	assert_string_equal(asked.events[0].filter,
			    "(target_cpu>=0&&target_cpu<=2)||target_cpu==7");
	assert_int_equal(asked.events[0].attr.config, 14);
	assert_true(asked.events[0].attr.exclude_callchain_user);
	assert_int_equal(asked.events[0].attr.sample_regs_user, RECORDS_USER_REGS);
	assert_in_range(asked.events[0].attr.sample_max_stack, 1, 24);
	assert_true(asked.size > few);
	senders_free(senders);
	senders = opened_what(cpus, 4, SENDERS_WAKERS | SENDERS_REQUESTS);
	assert_int_equal(asked.nr, 2);
	senders_free(senders);
}

/* Also of what another CPU fetches. */
TEST_IN_FOLDER(asks_for_migrations_from_and_to_watched_cpus)
{
	static const int cpus[] = { 1, 3, 4 };
	struct senders *senders;

	put_file(folder->fd, "events/sched/sched_migrate_task/id", "16\n");
	senders = opened_what(cpus, ARRAY_SIZE(cpus), SENDERS_WAKERS | SENDERS_MIGRATIONS);
	assert_int_equal(asked.nr, 1);
	assert_string_equal(asked.events[0].name, "sched:sched_migrate_task");
	assert_string_equal(asked.events[0].filter, "orig_cpu==1||(orig_cpu>=3&&orig_cpu<=4)||"
						    "dest_cpu==1||(dest_cpu>=3&&dest_cpu<=4)");
	assert_int_equal(asked.events[0].attr.config, 16);
	assert_false(asked.events[0].attr.sample_type & PERF_SAMPLE_REGS_USER);
	senders_free(senders);
}

/* With user frames, on the watched CPUs. */
TEST_IN_FOLDER(asks_for_switches_of_watched_cpus)
{
	static const int cpus[] = { 1000, 1001 };
	struct senders *senders;

	put_file(folder->fd, "events/sched/sched_waking/id", "14\n");
	put_file(folder->fd, "events/sched/sched_switch/id", "15\n");
	senders = opened_what(cpus, 2, SENDERS_SWITCHES);
	assert_int_equal(asked.nr, 1);
	assert_string_equal(asked.events[0].name, "sched:sched_switch");
	assert_null(asked.events[0].filter);
	assert_false(asked.events[0].needs_filter || asked.events[0].attr.exclude_callchain_user);
	assert_int_equal(asked.events[0].attr.sample_regs_user, RECORDS_USER_REGS);
	assert_int_equal(asked.nr_cpus, 2);
	assert_memory_equal(asked.cpus, cpus, sizeof(cpus));
	senders_free(senders);
}

static struct records_facts in_ring(const struct ring_copy *copy)
{
	return (struct records_facts){ .samples = copy->size, .lost = (uint64_t)copy->cpu };
}

/* CPU 7 has a ring that cannot be read. */
int __wrap_records_write_ring(struct perfdata *pd, const struct ring_copy *copy,
			      struct records_facts *facts)
{
	facts->samples += in_ring(copy).samples;
	facts->lost += in_ring(copy).lost;
	return copy->cpu == 7 ? -EIO : 0;
}

/* Each row of IDs belongs to an opened event. */
TEST_IN_FOLDER(describes_what_was_opened)
{
	static const int cpus[] = { 1, 3 };
	struct perfdata_event described[SENDERS_EVENTS_MAX] = {};
	uint64_t ids[4];
	const struct ring_copies copy = { .ids = ids };
	struct senders *senders;

	put_file(folder->fd, "events/ipi/ipi_send_cpu/id", "11\n");
	put_file(folder->fd, "events/ipi/ipi_send_cpumask/id", "12\n");
	put_file(folder->fd, "events/csd/csd_queue_cpu/id", "13\n");
	senders = opened(cpus, ARRAY_SIZE(cpus));
	assert_int_equal(asked.nr, 3);
	asked.events[0].opened = asked.events[2].opened = true;
	assert_int_equal(senders_describe(senders, &copy, described), 2);
	assert_string_equal(described[0].name, "ipi:ipi_send_cpu");
	assert_string_equal(described[1].name, "csd:csd_queue_cpu");
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(described[i].attr.config, i ? 13 : 11);
		assert_ptr_equal(described[i].ids, ids + 2 * i);
		assert_int_equal(described[i].nr_ids, 2);
	}
	senders_free(senders);
}

TEST(counts_what_it_writes)
{
	_cleanup_free_ struct ring_copies *copy =
		calloc(1, sizeof(*copy) + 3 * sizeof(*copy->rings));
	struct snapshot_facts facts = { .events = 100, .lost = 50 };

	copy->nr = 3;
	copy->rings[0] = (struct ring_copy){ .cpu = 1, .size = 10 };
	copy->rings[1] = (struct ring_copy){ .cpu = 3, .size = 20 };
	copy->rings[2] = (struct ring_copy){ .cpu = 4, .size = 40 };
	assert_int_equal(senders_write_records(copy, NULL, &facts), 0);
	assert_int_equal(facts.events, 170);
	assert_int_equal(facts.lost, 58);
	copy->rings[1].cpu = 7;
	assert_int_equal(senders_write_records(copy, NULL, &facts), -EIO);
	assert_int_equal(facts.events, 200);
	assert_int_equal(senders_write_records(NULL, NULL, &facts), 0);
}

/* An older kernel, and one with more CPUs than a filter has room for. */
TEST_IN_FOLDER(does_without)
{
	static int cpus[CPUS_MAX];
	size_t nr = 1;
	struct ring_copies *copy;

	for (int i = 0; i < CPUS_MAX; i++)
		cpus[i] = 2 * i;
	assert_null(opened(cpus, 1));
	put_file(folder->fd, "events/csd/csd_queue_cpu/id", "13\n");
	assert_null(opened(cpus, CPUS_MAX));
	assert_int_equal(asked.nr, 0);
	assert_null(senders_ring_events(NULL, &nr));
	assert_int_equal(nr, 0);
	assert_int_equal(senders_copy_rings(NULL, &copy), 0);
	assert_null(copy);
	assert_int_equal(senders_describe(NULL, NULL, NULL), 0);
	assert_int_equal(senders_cpu_online(NULL, 1), 0);
	senders_free(NULL);
}
