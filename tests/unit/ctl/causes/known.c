// SPDX-License-Identifier: GPL-2.0-only
#include "causes/known.h"

#include <string.h>

#include "made_fingerprint.h"
#include "test.h"

#define HEAD "{ \"version\": 2, \"causes\": [\n"
#define CHAIN "\"chain\": [\"acme_flush\", \"acme_write\", \"[write]\"]"
#define ID "\"fingerprint\": \"irqs-off/acme_flush:f78fc1ce\""

static int parse(struct known *known, const char *text, char **why)
{
	return known_parse(known, text, strlen(text), why);
}

TEST(says_in_which_line_a_file_is_wrong)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "{\n\"version\": 2,\n\"causes\": [,]\n}", "line 3: not JSON: " },
		{ "// a\n/* b\n */ {\n\"version\": 2 x\n}", "line 4: not JSON: " },
		{ "{ \"version\": 2, \"causes\": [\n] /* not closed\n", "line 2: not JSON: " },
		{ "[]", "line 1: not an object with only version and causes" },
		{ "{ \"version\": 2, \"causes\": [], \"cause\": [] }",
		  "line 1: not an object with only version and causes" },
		{ "{ \"causes\": [] }", "line 1: version: missing, or not 2" },
		{ "{ \"version\": 1, \"causes\": [] }", "line 1: version: missing, or not 2" },
		{ "{ \"version\": 2, \"causes\": {} }", "line 1: causes: missing, or not a list" },
		{ HEAD "{ " ID " },\n 7 ] }", "a cause is not an object" },
		{ HEAD "{ " ID " },\n{\n \"comment\": \"{ [\\\" {\" } ] }",
		  "line 3: fingerprint: missing" },
		{ HEAD "{ " ID " },\n{\n \"fingerprint\": 7 } ] }",
		  "line 4: fingerprint: not a string" },
		{ HEAD "{ " ID ",\n\"expire\": \"2027-01-31\" } ] }",
		  "line 3: expire: no such member" },
		{ HEAD "{ " ID ",\n\"expires\": \"2027-02-30\" } ] }",
		  "line 3: expires: not a date" },
		{ HEAD "{ " ID ",\n\"expires\": \"2027-1-31\" } ] }",
		  "line 3: expires: not a date" },
		{ HEAD "{ " ID ",\n\"worst\": \"fast\" } ] }", "line 3: worst: not a time" },
		{ HEAD "{ " ID ",\n\"worst\": \"0us\" } ] }", "line 3: worst: not a time" },
		{ HEAD "{ " ID ",\n\"count\": -1 } ] }",
		  "line 3: count: not a non-negative integer" },
		{ HEAD "{ " ID ",\n\n\"chain\": [7] } ] }",
		  "line 4: chain: not a list of functions" },
		{ HEAD "{ \"fingerprint\": \"irqs-off/*\",\n" CHAIN "} ] }",
		  "line 3: chain: needs fingerprint with all 8 digits" },
		{ HEAD "{ \"fingerprint\": \"irqs-off/acme_flush:00000000\",\n" CHAIN "} ] }",
		  "line 2: fingerprint: does not match chain and sender" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *why = NULL;
		struct known known;

		assert_int_equal(parse(&known, rows[i].text, &why), -EINVAL);
		assert_non_null(why);
		if (!strstr(why, rows[i].why))
			fail_msg("%s: %s, not %s", rows[i].text, why, rows[i].why);
		assert_null(strchr(why, '\n'));
	}
}

TEST(takes_what_people_write)
{
	_cleanup_(known_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;

	assert_int_equal(parse(&known,
			       "// of the release test\n" HEAD "{ " ID ", /* ticket 7 */ " CHAIN
			       ",\n\"sender\": null, \"worst\": \"1.5ms\", \"expires\": "
			       "\"2028-02-29\",\n\"comment\": \"see http://acme/7 // 8\" },\n"
			       "{ \"fingerprint\": \"thread/*\" } ] } // end",
			       &why),
			 0);
	assert_int_equal(known.nr, 2);
	assert_string_equal(known.causes[0].id, "irqs-off/acme_flush:f78fc1ce");
	assert_int_equal(known.causes[0].worst_ns, 1500000);
	assert_string_equal(known.causes[0].expires, "2028-02-29");
	assert_string_equal(known.causes[0].comment, "see http://acme/7 // 8");
	assert_null(known.causes[1].id);
}

static void see(struct causes *causes, const char *kind, const char *chain, uint64_t latency_ns,
		uint64_t wall_ns, int cpu, const char *host)
{
	const struct fingerprint fingerprint = made(kind, chain);
	_cleanup_free_ char *path = NULL;

	assert_true(asprintf(&path, "folder/%zu", causes->nr) > 0);
	assert_int_equal(causes_add(causes,
				    &(struct sighting){
					    .path = path,
					    .host = host,
					    .wall_ns = wall_ns,
					    .latency_ns = latency_ns,
					    .cpu = cpu,
				    },
				    &fingerprint, chain),
			 0);
}

TEST(groups_what_is_near)
{
	_cleanup_(causes_release) struct causes causes = { 0 };
	const struct group *group;

	see(&causes, "irqs-off", "acme_flush<acme_write<[write]", 40000, 3000, 1, "b");
	see(&causes, "thread", "task:stress", 90000, 1000, 2, "a");
	see(&causes, "irqs-off", "acme_flush<acme_write<[write]", 60000, 2000, 3, "a");
	see(&causes, "irqs-off", "acme_flush<acme_write<[ioctl]", 50000, 9000, 1, "a");
	assert_int_equal(causes_group(&causes, 0.7), 0);
	assert_int_equal(causes.nr_groups, 2);
	group = &causes.groups[0];
	assert_int_equal(group->count, 3);
	assert_int_equal(group->nr_seen, 2);
	assert_string_equal(group_seen(&causes, group, 0)->fingerprint.id,
			    "irqs-off/acme_flush:f78fc1ce");
	assert_int_equal(group->worst_ns, 60000);
	assert_int_equal(group->p50_ns, 50000);
	assert_int_equal(group->first_ns, 2000);
	assert_int_equal(group->last_ns, 9000);
	assert_int_equal(group->nr_hosts, 2);
	assert_string_equal(group->hosts[0], "a");
	assert_int_equal(group->nr_cpus, 2);
	assert_int_equal(group->cpus[1], 3);
	assert_string_equal(causes.sightings[group->example].path, "folder/2");
	assert_int_equal(causes.groups[1].count, 1);
}

TEST(groups_equals_alone_if_told_so)
{
	_cleanup_(causes_release) struct causes causes = { 0 };

	see(&causes, "irqs-off", "acme_flush<acme_write<[write]", 40000, 3000, 1, "b");
	see(&causes, "irqs-off", "acme_flush<acme_write<[ioctl]", 50000, 9000, 1, "a");
	assert_int_equal(causes_group(&causes, 1), 0);
	assert_int_equal(causes.nr_groups, 2);
}

static enum known_state judged(const char *known_text, const char *chain, uint64_t latency_ns)
{
	_cleanup_(causes_release) struct causes causes = { 0 };
	_cleanup_(known_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;
	const struct known_cause *cause;
	struct known_judge judge = {
		.known = &known,
		.similarity = 0.7,
		.worse_percent = 25,
		.today = "2026-11-21",
	};

	assert_int_equal(parse(&known, known_text, &why), 0);
	see(&causes, "irqs-off", chain, latency_ns, 1000, 1, "a");
	assert_int_equal(causes_group(&causes, 0.7), 0);
	return known_judge(&judge, &causes, &causes.groups[0], &cause);
}

TEST(tells_new_from_known)
{
	const char *const seen = "acme_flush<acme_write<[write]";

	assert_int_equal(judged(HEAD "] }", seen, 40000), KNOWN_NEW);
	assert_int_equal(judged(HEAD "{ " ID "} ] }", seen, 40000), KNOWN_FINE);
	assert_int_equal(judged(HEAD "{ " ID "} ] }", "acme_flush<acme_write<[ioctl]", 40000),
			 KNOWN_NEW);
	/* With its chain, similar causes are known too. */
	assert_int_equal(
		judged(HEAD "{ " ID ", " CHAIN "} ] }", "acme_flush<acme_write<[ioctl]", 40000),
		KNOWN_FINE);
	assert_int_equal(
		judged(HEAD "{ " ID ", " CHAIN "} ] }", "acme_drain<acme_write<[write]", 40000),
		KNOWN_NEW);
	assert_int_equal(judged(HEAD "{ \"fingerprint\": \"irqs-off/acme_*\" } ] }", seen, 40000),
			 KNOWN_FINE);
	assert_int_equal(judged(HEAD "{ \"fingerprint\": \"thread/*\" } ] }", seen, 40000),
			 KNOWN_NEW);
}

TEST(tells_what_got_worse)
{
	const char *const seen = "acme_flush<acme_write<[write]";

	assert_int_equal(judged(HEAD "{ " ID ", \"worst\": \"40us\" } ] }", seen, 50000),
			 KNOWN_FINE);
	assert_int_equal(judged(HEAD "{ " ID ", \"worst\": \"40us\" } ] }", seen, 50001),
			 KNOWN_WORSE);
	/* The most generous entry counts. */
	assert_int_equal(judged(HEAD "{ " ID ", \"worst\": \"40us\" }, { \"fingerprint\": "
				     "\"irqs-off/*\", \"worst\": \"60us\" } ] }",
				seen, 50001),
			 KNOWN_FINE);
}

TEST(forgets_what_has_expired)
{
	const char *const seen = "acme_flush<acme_write<[write]";

	assert_int_equal(judged(HEAD "{ " ID ", \"expires\": \"2026-11-20\" } ] }", seen, 40000),
			 KNOWN_NEW);
	assert_int_equal(judged(HEAD "{ " ID ", \"expires\": \"2026-11-21\" } ] }", seen, 40000),
			 KNOWN_FINE);
}

TEST(writes_what_it_reads)
{
	_cleanup_(causes_release) struct causes causes = { 0 };
	_cleanup_(known_release) struct known known = { 0 }, again = { 0 };
	_cleanup_free_ char *why = NULL;
	_cleanup_free_ char *text = NULL;
	struct known_judge judge = { .known = &known, .similarity = 0.7, .today = "2026-11-21" };
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_int_equal(
		parse(&known,
		      HEAD "{ " ID ", \"worst\": \"40us\", \"expires\": \"2027-01-31\", "
			   "\"comment\": \"say \\\"when\\\"\" },\n"
			   "{ \"fingerprint\": \"thread/*\" }, { \"fingerprint\": \"nmi:12345678\" "
			   "} ] }",
		      &why),
		0);
	see(&causes, "irqs-off", "acme_flush<acme_write<[write]", 83412, 3000, 1, "b");
	see(&causes, "thread", "task:stress", 90000, 1000, 2, "a");
	assert_int_equal(causes_group(&causes, 0.7), 0);
	assert_int_equal(known_write(file, &judge, &causes), 0);
	fclose(file);
	assert_int_equal(parse(&again, text, &why), 0);
	assert_int_equal(again.nr, 4);
	assert_string_equal(again.causes[0].id, "irqs-off/acme_flush:f78fc1ce");
	assert_int_equal(again.causes[0].worst_ns, 83412);
	assert_string_equal(again.causes[0].comment, "say \"when\"");
	assert_string_equal(again.causes[0].expires, "2027-01-31");
	assert_int_equal(again.causes[0].fingerprint.nr, 3);
	assert_string_equal(again.causes[2].pattern, "thread/*");
	assert_string_equal(again.causes[3].id, "nmi:12345678");
}
