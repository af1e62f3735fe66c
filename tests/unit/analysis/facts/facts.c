// SPDX-License-Identifier: GPL-2.0-only
#include "facts/facts.h"

#include <stdlib.h>

#include "test.h"
#include "util.h"

/* Written at 1000 us, with a latency of 100 us. */
TEST(a_marks_latency_ends_before_it_is_written)
{
	static const struct {
		enum perf_poke_trigger_kind kind;
		uint64_t due, expected, actual;
	} rows[] = {
		{ PERF_POKE_TRIGGER_MARKER, 880000, 880000, 980000 },
		{ PERF_POKE_TRIGGER_MARKER, 900000, 900000, 1000000 },
		/* No timer; another one; or it did more before it wrote. */
		{ PERF_POKE_TRIGGER_MARKER, 0, 900000, 1000000 },
		{ PERF_POKE_TRIGGER_MARKER, 910000, 900000, 1000000 },
		{ PERF_POKE_TRIGGER_MARKER, 870000, 900000, 1000000 },
		{ PERF_POKE_TRIGGER_SPAN, 880000, 900000, 1000000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct facts facts = {
			.spike = { .kind = rows[i].kind,
				   .expected_ns = 900000,
				   .actual_ns = 1000000,
				   .time_ns = 1000000,
				   .latency_ns = 100000 },
		};

		facts_end_mark(&facts, rows[i].due);
		assert_int_equal(facts.spike.expected_ns, rows[i].expected);
		assert_int_equal(facts.spike.actual_ns, rows[i].actual);
	}
}

#define US UINT64_C(1000)
#define EXPECTED (100 * US)

static const struct hardware_facts nothing = {
	.smis = UINT64_MAX,
	.steal_ns = UINT64_MAX,
	.late_steal_ns = UINT64_MAX,
	.nmis = UINT64_MAX,
	.throttles = UINT64_MAX,
	.states = { { "POLL", 0 }, { "C6", 133 * US } },
	.nr_states = 2,
};

static void check(const struct hardware_facts *facts, const struct power *power,
		  const char *expected)
{
	_cleanup_free_ char *text =
		WRITTEN(file, hardware_put_causes(file, facts, power, EXPECTED, 200 * US));

	assert_string_equal(text, expected);
}

TEST(says_what_rose)
{
	struct hardware_facts facts = nothing;
	const struct power none = { 0 };

	check(&facts, &none, "");
	facts.since_ns = 2000000 * US;
	check(&facts, &none, "");
	facts.smis = facts.steal_ns = facts.nmis = facts.throttles = 0;
	check(&facts, &none, "");
	/* Less than half of it explains nothing. */
	facts.steal_ns = 100 * US - 1;
	check(&facts, &none, "");
	facts.steal_ns = 190 * US;
	check(&facts, &none, "; 190us of steal time in the 2s before");
	/* Steal time during the latency is more precise. */
	facts.late_steal_ns = 100 * US;
	check(&facts, &none, "; up to 100us of that is steal time");
	facts.late_steal_ns = 250 * US;
	check(&facts, &none, "; up to 200us of that is steal time");
	facts.late_steal_ns = 0;
	check(&facts, &none, "");
	facts.steal_ns = 0;
	facts.smis = 2;
	check(&facts, &none, "; 2 SMIs in the 2s before");
	facts.smis = 1;
	facts.throttles = 1;
	check(&facts, &none, "; 1 SMI in the 2s; throttled for heat 1 time in the 2s before");
}

TEST(blames)
{
	struct hardware_facts facts = nothing;

	facts.smis = 1;
	assert_string_equal(hardware_blamed_name(&facts, 200 * US), "");
	facts.since_ns = 2000 * US;
	assert_string_equal(hardware_blamed_name(&facts, 200 * US), "smi");
	facts.late_steal_ns = 100 * US;
	assert_string_equal(hardware_blamed_name(&facts, 200 * US), "steal");
	facts.late_steal_ns = facts.smis = 0;
	assert_string_equal(hardware_blamed_name(&facts, 200 * US), "");
}

static void check_counts(const struct hardware_facts *facts, const char *expected)
{
	_cleanup_free_ char *text = WRITTEN(file, hardware_put_counts(file, facts, "hardware "));

	assert_string_equal(text, expected);
}

TEST(shows_what_was_counted)
{
	struct hardware_facts facts = nothing;

	check_counts(&facts, "");
	facts.since_ns = 3000 * US;
	check_counts(&facts, "");
	facts.steal_ns = 7 * US;
	check_counts(&facts, "hardware steal 7us in the 3ms before\n");
	facts.steal_ns = UINT64_MAX;
	facts.nmis = 5;
	check_counts(&facts, "hardware 5 NMIs in the 3ms before\n");
	facts.steal_ns = facts.smis = facts.throttles = 0;
	check_counts(&facts,
		     "hardware 0 SMIs, 5 NMIs, 0 times throttled for heat, steal 0ns in the "
		     "3ms before\n");
}

TEST(says_what_the_cpu_left)
{
	const struct power c6 = { .state = 1, .left = EXPECTED + 180 * US };
	const struct power soon = { .state = 1, .left = EXPECTED + 50 * US };
	const struct power before = { .state = 1, .left = EXPECTED - 1 };
	const struct power again = { .state = 1,
				     .entered = EXPECTED + 100 * US,
				     .left = EXPECTED + 180 * US };
	const struct power idles = { .state = 1 };
	const struct power unknown = { .state = 2, .left = EXPECTED + 180 * US };

	check(&nothing, &again, "");
	check(&nothing, &c6, "; the CPU left C6 after 180us of that (exit latency 133us)");
	check(&nothing, &soon, "");
	check(&nothing, &before, "");
	check(&nothing, &idles, "");
	check(&nothing, &unknown, "");
}

TEST(is_json)
{
	const struct power power = { .state = 1, .left = 5, .frequency_khz = 800000 };
	const struct power none = { 0 };
	struct hardware_facts facts = { .since_ns = 9, .nmis = 3, .smis = UINT64_MAX };
	json_object *json = hardware_facts_json(&facts, &none);

	assert_string_equal(json_object_to_json_string_ext(json, 0),
			    "{\"since_ns\":9,\"smis\":null,\"steal_ns\":0,"
			    "\"late_steal_ns\":0,\"nmis\":3,"
			    "\"throttles\":0,\"idle_state\":null,\"exit_latency_ns\":null,"
			    "\"idle_left_ns\":null,\"frequency_khz\":null}");
	json_object_put(json);
	json = hardware_facts_json(&nothing, &power);
	assert_string_equal(json_object_to_json_string_ext(json, 0),
			    "{\"since_ns\":null,\"smis\":null,\"steal_ns\":null,"
			    "\"late_steal_ns\":null,\"nmis\":null,"
			    "\"throttles\":null,\"idle_state\":\"C6\",\"exit_latency_ns\":133000,"
			    "\"idle_left_ns\":5,\"frequency_khz\":800000}");
	json_object_put(json);
}
