// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On this machine: what it does not count, or does not let this user count, is not known. */
#include "hardware/hardware.h"

#include <sched.h>

#include <json-c/json.h>

#include "test.h"

#define UNKNOWN UINT64_MAX

static struct hardware *open_on(int cpu)
{
	struct hardware *hardware;

	assert_int_equal(hardware_open(&hardware, &cpu, 1), 0);
	return hardware;
}

TEST(counts_from_arming_on)
{
	const int cpu = sched_getcpu();
	struct hardware *hardware = open_on(cpu);
	struct hardware_counts first, second;

	hardware_arm(hardware, -1);
	first = hardware_take(hardware, cpu);
	second = hardware_take(hardware, cpu);
	assert_true(first.time_ns > 0);
	assert_true(second.time_ns > first.time_ns);
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

	hardware_arm(hardware, -1);
	for (int other = -1; other < 2; other += 2) {
		counts = hardware_take(hardware, other < 0 ? -1 : cpu + other);
		assert_int_equal(counts.time_ns, 0);
		for (int i = 0; i < HARDWARE_NR; i++)
			assert_true(counts.counts[i] == UNKNOWN);
		assert_null(hardware_json(&counts, cpu));
	}
	hardware_free(hardware);
}

TEST(is_json)
{
	struct hardware_counts counts = { 9, { 2, UNKNOWN, 0, UNKNOWN }, 100, UNKNOWN };
	struct json_object *json;

	/* Not known at the spike. */
	hardware_narrow(&counts, UNKNOWN);
	json = hardware_json(&counts, 100000);
	assert_string_equal(json_object_to_json_string_ext(json, 0),
			    "{\"since_ns\":9,\"smis\":2,\"steal_ns\":null,\"nmis\":0,"
			    "\"throttles\":null,\"late_steal_ns\":null,\"idle_states\":[]}");
	json_object_put(json);
	hardware_narrow(&counts, 70);
	assert_int_equal(counts.late_steal_ns, 30);
}
