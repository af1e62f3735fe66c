// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On this machine: unavailable counters are unknown. */
#include "machine/base.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "test.h"

#define UNKNOWN UINT64_MAX

#define CPU_OF_TEST 100001

int __real_read_text_at(int dirfd, const char *path, char *text, size_t size);

/* A CPU of the test has two idle states. */
int __wrap_read_text_at(int dirfd, const char *path, char *text, size_t size)
{
	static const char *const files[][2] = {
		{ "state0/name", "POLL" },
		{ "state0/latency", "0" },
		{ "state1/name", "C1" },
		{ "state1/latency", "2" },
	};

	if (!strstr(path, "cpu100001/"))
		return __real_read_text_at(dirfd, path, text, size);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (strstr(path, files[i][0])) {
			strcpy(text, files[i][1]);
			return 0;
		}
	}
	return -ENOENT;
}

static struct hardware *open_on(int cpu)
{
	struct hardware *hardware;

	assert_int_equal(hardware_open(&hardware, &cpu, 1), 0);
	return hardware;
}

TEST(counts_from_the_last_reading_on)
{
	const int cpu = sched_getcpu();
	struct hardware *hardware = open_on(cpu);
	struct hardware_counts first, second;

	hardware_restart_counts(hardware);
	first = hardware_take_rise(hardware, cpu, UNKNOWN);
	second = hardware_take_rise(hardware, cpu, UNKNOWN);
	assert_true(first.time_ns > 0);
	assert_true(second.time_ns > 0);
	for (int i = 0; i < HARDWARE_NR; i++)
		assert_int_equal(first.counts[i] == UNKNOWN, second.counts[i] == UNKNOWN);
	hardware_free(hardware);
	hardware_free(NULL);
}

TEST(knows_nothing_of_other_cpus)
{
	const int cpu = sched_getcpu();
	struct hardware *hardware = open_on(cpu);
	struct hardware_counts counts;

	hardware_restart_counts(hardware);
	for (int other = -1; other < 2; other += 2) {
		counts = hardware_take_rise(hardware, other < 0 ? -1 : cpu + other, 0);
		assert_int_equal(counts.time_ns, 0);
		for (int i = 0; i < HARDWARE_NR; i++)
			assert_true(counts.counts[i] == UNKNOWN);
		assert_null(hardware_json(&counts, cpu));
	}
	hardware_free(hardware);
}

TEST(reads_one_cpu)
{
	static const int cpus[] = { 0, 1 };
	struct hardware *hardware;
	uint64_t before;

	assert_int_equal(hardware_open(&hardware, cpus, 2), 0);
	hardware_restart_counts(hardware);
	usleep(1000);
	before = hardware_take_rise(hardware, 1, 0).time_ns;
	usleep(1000);
	assert_true(hardware_take_rise(hardware, 0, 0).time_ns > before);
	hardware_free(hardware);
}

/* A spike that another CPU took does not know them. */
TEST(counts_smis_that_were_unknown)
{
	const int cpu = sched_getcpu();
	static const uint64_t seen[] = { 2, UNKNOWN, 5, 5 }, rises[] = { 2, UNKNOWN, 3, 0 };
	struct hardware *hardware = open_on(cpu);

	hardware_restart_counts(hardware);
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++)
		assert_int_equal(hardware_take_rise(hardware, cpu, seen[i]).counts[HARDWARE_SMIS],
				 rises[i]);
	hardware_free(hardware);
}

TEST(is_json)
{
	struct hardware_counts counts = { 9, { 2, UNKNOWN, 0, UNKNOWN }, 100, UNKNOWN };
	struct json_object *json;

	/* Not known at the spike. */
	hardware_set_late_steal(&counts, UNKNOWN);
	json = hardware_json(&counts, 100000);
	assert_string_equal(json_object_to_json_string_ext(json, 0),
			    "{\"since_ns\":9,\"smis\":2,\"steal_ns\":null,\"nmis\":0,"
			    "\"throttles\":null,\"late_steal_ns\":null,\"idle_states\":[]}");
	json_object_put(json);
	hardware_set_late_steal(&counts, 70);
	assert_int_equal(counts.late_steal_ns, 30);
}

TEST(lists_idle_states)
{
	const struct hardware_counts counts = { .time_ns = 9 };
	struct json_object *json = hardware_json(&counts, CPU_OF_TEST), *states;

	states = json_object_object_get(json, "idle_states");
	assert_string_equal(json_object_to_json_string_ext(states, 0),
			    "[{\"name\":\"POLL\",\"exit_latency_ns\":0},"
			    "{\"name\":\"C1\",\"exit_latency_ns\":2000}]");
	json_object_put(json);
}
