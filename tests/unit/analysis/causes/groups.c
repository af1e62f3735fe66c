// SPDX-License-Identifier: GPL-2.0-only
#include "causes/causes.h"

#include <string.h>

#include "made_fingerprint.h"
#include "test.h"

#define HEAD "{ \"version\": 5, \"causes\": [\n"
#define ID "\"fingerprint\": \"irqs-off/acme_flush:0db23299\""
#define SEEN "acme_flush<acme_write<[write]"

static int parse(struct known *known, const char *text, char **why)
{
	return known_causes_parse(known, text, strlen(text), why);
}

TEST(says_which_cause_is_wrong)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "{\n\"version\": 5,\n\"causes\": [,]\n}",
		  "not JSON: unexpected character in line 3" },
		{ "{\n\"version\": 5 // of ours\n}", "not JSON: " },
		{ HEAD, "not JSON: " },
		{ "[]", "not an object with version and causes" },
		{ "{ \"causes\": [] }", "version: missing, or not 5" },
		{ "{ \"version\": 1, \"causes\": [] }", "version: missing, or not 5" },
		{ "{ \"version\": 5, \"causes\": {} }", "causes: missing, or not a list" },
		{ HEAD "{ " ID " }, 7 ] }", "cause 2: not an object" },
		{ HEAD "{ " ID " }, {} ] }", "cause 2: fingerprint is missing" },
		{ HEAD "{ \"fingerprint\": 7 } ] }", "cause 1: fingerprint is not a string" },
		{ HEAD "{ \"fingerprint\": \"\" } ] }", "cause 1: fingerprint is missing" },
		{ HEAD "{ " ID ", \"expire\": \"2027-01-31\" } ] }",
		  "cause 1: expire: no such member" },
		{ HEAD "{ " ID ", \"expires\": \"2027-02-30\" } ] }",
		  "cause 1: expires is not a date" },
		{ HEAD "{ " ID ", \"expires\": \"2027-1-31\" } ] }",
		  "cause 1: expires is not a date" },
		{ HEAD "{ " ID ", \"worst\": \"fast\" } ] }", "cause 1: worst is not a time" },
		{ HEAD "{ " ID ", \"worst\": \"0us\" } ] }", "cause 1: worst is not a time" },
		{ HEAD "{ " ID ", \"count\": \"1\" } ] }", "cause 1: count is not a number" },
		{ HEAD "{ " ID ", \"comment\": [] } ] }", "cause 1: comment is not a string" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *why = NULL;
		struct known known;

		assert_int_equal(parse(&known, rows[i].text, &why), -EINVAL);
		assert_non_null(why);
		if (strncmp(why, rows[i].why, strlen(rows[i].why)))
			fail_msg("%s: %s, not %s", rows[i].text, why, rows[i].why);
		assert_null(strchr(why, '\n'));
	}
}

TEST(takes_what_people_write)
{
	_cleanup_(known_causes_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;

	assert_int_equal(parse(&known,
			       HEAD "{ " ID ", \"worst\": \"1.5ms\", \"expires\": \"2028-02-29\", "
				    "\"comment\": \"see http://acme/7 // 8\", \"count\": null },\n"
				    "{ \"fingerprint\": \"thread/*\" } ] }",
			       &why),
			 0);
	assert_int_equal(known.nr, 2);
	assert_int_equal(known.nr_patterns, 1);
	assert_string_equal(known.causes[0].name, "thread/*");
	assert_string_equal(known.causes[1].name, "irqs-off/acme_flush:0db23299");
	assert_int_equal(known.causes[1].worst_ns, 1500000);
	assert_string_equal(known.causes[1].expires, "2028-02-29");
	assert_string_equal(known.causes[1].comment, "see http://acme/7 // 8");
}

static void see(struct causes *causes, const char *kind, const char *chain, uint64_t latency_ns,
		uint64_t wall_ns, int cpu, const char *host)
{
	const struct fingerprint fingerprint = made(kind, chain);
	_cleanup_free_ char *path = NULL;

	assert_true(asprintf(&path, "folder/%zu", causes->nr) > 0);
	assert_int_equal(causes_add_sighting(causes,
					     &(struct sighting){
						     .path = path,
						     .host = host,
						     .sentence = chain,
						     .wall_ns = wall_ns,
						     .latency_ns = latency_ns,
						     .cpu = cpu,
					     },
					     &fingerprint),
			 0);
}

TEST(groups_what_is_equal)
{
	_cleanup_(causes_release) struct causes causes = { 0 };
	const struct group *group;

	see(&causes, "irqs-off", SEEN, 40000, 3000, 1, "b");
	see(&causes, "thread", "task:stress", 90000, 1000, 2, "a");
	see(&causes, "irqs-off", SEEN, 60000, 2000, 3, "a");
	see(&causes, "irqs-off", SEEN, 50000, 9000, 1, "a");
	see(&causes, "irqs-off", "acme_flush<acme_write<[ioctl]", 50000, 9000, 1, "a");
	assert_int_equal(causes_sort_groups(&causes), 0);
	assert_int_equal(causes.nr, 5);
	assert_int_equal(causes.nr_groups, 3);
	group = causes.groups[0];
	assert_int_equal(group->count, 3);
	assert_string_equal(group->fingerprint.id, "irqs-off/acme_flush:0db23299");
	assert_ptr_equal(causes_find_group(&causes, "irqs-off/acme_flush:0db23299"), group);
	assert_null(causes_find_group(&causes, "irqs-off/acme_flush:00000000"));
	assert_int_equal(group->worst->latency_ns, 60000);
	assert_string_equal(group->worst->path, "folder/2");
	assert_int_equal(group->p50_ns, 50000);
	assert_int_equal(group->first_ns, 2000);
	assert_int_equal(group->last_ns, 9000);
	assert_int_equal(group->nr_hosts, 2);
	assert_string_equal(group->hosts[0], "a");
	assert_int_equal(group->nr_cpus, 2);
	assert_int_equal(group->cpus[1], 3);
	assert_int_equal(causes.groups[1]->count, 1);
}

static enum known_state judged(const char *known_text, const char *chain, uint64_t latency_ns)
{
	_cleanup_(causes_release) struct causes causes = { 0 };
	_cleanup_(known_causes_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;
	const struct known_cause *cause;
	struct known_judge judge = {
		.known = &known,
		.worse_percent = 25,
		.today = "2026-11-21",
	};

	assert_int_equal(parse(&known, known_text, &why), 0);
	see(&causes, "irqs-off", chain, latency_ns, 1000, 1, "a");
	assert_int_equal(causes_sort_groups(&causes), 0);
	return known_judge_group(&judge, causes.groups[0], &cause);
}

TEST(tells_new_from_known)
{
	assert_int_equal(judged(HEAD "] }", SEEN, 40000), KNOWN_NEW);
	assert_int_equal(judged(HEAD "{ " ID "} ] }", SEEN, 40000), KNOWN_FINE);
	assert_int_equal(judged(HEAD "{ " ID "} ] }", "acme_flush<acme_write<[ioctl]", 40000),
			 KNOWN_NEW);
	/* A new culprit that a known chain called. */
	assert_int_equal(judged(HEAD "{ " ID "} ] }", "new_bug<" SEEN, 40000), KNOWN_NEW);
	assert_int_equal(judged(HEAD "{ \"fingerprint\": \"irqs-off/acme_*\" } ] }", SEEN, 40000),
			 KNOWN_FINE);
	assert_int_equal(judged(HEAD "{ \"fingerprint\": \"thread/*\" } ] }", SEEN, 40000),
			 KNOWN_NEW);
}

TEST(tells_what_got_worse)
{
	assert_int_equal(judged(HEAD "{ " ID ", \"worst\": \"40us\" } ] }", SEEN, 50000),
			 KNOWN_FINE);
	assert_int_equal(judged(HEAD "{ " ID ", \"worst\": \"40us\" } ] }", SEEN, 50001),
			 KNOWN_WORSE);
	/* The most generous entry counts. */
	assert_int_equal(judged(HEAD "{ " ID ", \"worst\": \"40us\" }, { \"fingerprint\": "
				     "\"irqs-off/*\", \"worst\": \"60us\" } ] }",
				SEEN, 50001),
			 KNOWN_FINE);
	assert_int_equal(judged(HEAD "{ " ID ", \"worst\": \"40us\" }, { " ID
				     ", \"worst\": \"60us\" } ] }",
				SEEN, 50001),
			 KNOWN_FINE);
}

TEST(forgets_what_has_expired)
{
	assert_int_equal(judged(HEAD "{ " ID ", \"expires\": \"2026-11-20\" } ] }", SEEN, 40000),
			 KNOWN_NEW);
	assert_int_equal(judged(HEAD "{ " ID ", \"expires\": \"2026-11-21\" } ] }", SEEN, 40000),
			 KNOWN_FINE);
}

TEST(writes_what_it_reads)
{
	_cleanup_(causes_release) struct causes causes = { 0 };
	_cleanup_(known_causes_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;
	_cleanup_free_ char *text = NULL;
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
	see(&causes, "irqs-off", SEEN, 83412, 3000, 1, "b");
	see(&causes, "thread", "task:stress", 90000, 1000, 2, "a");
	assert_int_equal(causes_sort_groups(&causes), 0);
	assert_int_equal(known_causes_write(file, &known, &causes), 0);
	fclose(file);
	assert_string_equal(text, "{\n"
				  "  \"version\": 5,\n"
				  "  \"causes\": [\n"
				  "    {\n"
				  "      \"fingerprint\": \"irqs-off/acme_flush:0db23299\",\n"
				  "      \"worst\": \"83.412us\",\n"
				  "      \"count\": 1,\n"
				  "      \"expires\": \"2027-01-31\",\n"
				  "      \"comment\": \"say \\\"when\\\"\"\n"
				  "    },\n"
				  "    {\n"
				  "      \"fingerprint\": \"thread/stress:2a9171df\",\n"
				  "      \"worst\": \"90.000us\",\n"
				  "      \"count\": 1\n"
				  "    },\n"
				  "    {\n"
				  "      \"fingerprint\": \"thread/*\"\n"
				  "    },\n"
				  "    {\n"
				  "      \"fingerprint\": \"nmi:12345678\"\n"
				  "    }\n"
				  "  ]\n"
				  "}\n");
}
