// SPDX-License-Identifier: GPL-2.0-only
#include "causes/print.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "causes_files.h"
#include "cli/cli.h"
#include "clock.h"
#include "cpulist.h"
#include "json_file.h"
#include "output/output.h"
#include "text.h"
#include "units.h"

#define HOSTS_SHOWN 3
#define SENTENCE_MAX 4096

static double share(const struct causes *causes, const struct group *group)
{
	return 100.0 * (double)group->count / (double)causes->nr;
}

/* Local time, as in the names of captures. */
static const char *format_time(char *text, size_t size, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm tm;

	if (!wall_ns || !localtime_r(&seconds, &tm) ||
	    !strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, size, "-");
	return text;
}

static void print_places(FILE *out, const struct group *group)
{
	_cleanup_free_ char *cpus = NULL;

	fprintf(out, "          on ");
	for (size_t i = 0; i < group->nr_hosts && i < HOSTS_SHOWN; i++)
		fprintf(out, "%s%s", i ? ", " : "", CLEAN(group->hosts[i]));
	if (!group->nr_hosts)
		fputs("an unknown host", out);
	if (group->nr_hosts > HOSTS_SHOWN)
		fprintf(out, " and %zu more hosts", group->nr_hosts - HOSTS_SHOWN);
	if (group->nr_cpus && !cpulist_format(group->cpus, group->nr_cpus, &cpus))
		fprintf(out, ", CPU%s %s", group->nr_cpus > 1 ? "s" : "", cpus);
	fputc('\n', out);
}

static void print_state(FILE *out, const struct group *group, const struct known_judge *judge)
{
	const struct known_cause *cause;
	enum known_state state = known_judge(judge, group, &cause);

	fprintf(out, "          %s", known_state_name(state));
	if (state == KNOWN_WORSE)
		fprintf(out, ": %s was the worst so far", FORMAT_TIME(cause->worst_ns));
	else if (state == KNOWN_NEW && cause)
		fprintf(out, ": was known until %s, today is %s", cause->expires, judge->today);
	if (cause && *cause->comment)
		fprintf(out, " (%s)", CLEAN(cause->comment));
	fputc('\n', out);
}

static void print_group(FILE *out, const struct causes *causes, const struct group *group,
			const struct known_judge *judge)
{
	char first[32], last[32];

	fprintf(out, "%6zu %5.1f%% %8s %8s  %-19s  %-19s  %s\n", group->count, share(causes, group),
		FORMAT_TIME(group->worst->latency_ns), FORMAT_TIME(group->p50_ns),
		format_time(first, sizeof(first), group->first_ns),
		format_time(last, sizeof(last), group->last_ns),
		CLEAN_TO(FINGERPRINT_ID_SIZE, group->fingerprint.id));
	if (judge)
		print_state(out, group, judge);
	print_places(out, group);
	fprintf(out, "          worst: %s\n", CLEAN_TO(SENTENCE_MAX, group->worst->sentence));
	fprintf(out, "                 %s\n", CLEAN_TO(PATH_MAX, group->worst->path));
}

static void add_places(json_object *object, const struct group *group)
{
	json_object *hosts = json_object_new_array(), *cpus = json_object_new_array();

	for (size_t i = 0; i < group->nr_hosts; i++)
		json_object_array_add(hosts, json_text(group->hosts[i]));
	for (size_t i = 0; i < group->nr_cpus; i++)
		json_object_array_add(cpus, json_object_new_int(group->cpus[i]));
	json_add(object, "hosts", hosts);
	json_add(object, "cpus", cpus);
}

static void add_state(json_object *object, const struct group *group,
		      const struct known_judge *judge)
{
	const struct known_cause *cause = NULL;
	enum known_state state = judge ? known_judge(judge, group, &cause) : KNOWN_NEW;

	json_add_text(object, "state", judge ? known_state_name(state) : NULL);
	json_add_known(object, "known_worst_ns", cause ? cause->worst_ns : 0, 0);
	json_add_name(object, "expires", cause ? cause->expires : NULL);
	json_add_name(object, "comment", cause ? cause->comment : NULL);
}

static json_object *new_group(const struct causes *causes, const struct group *group,
			      const struct known_judge *judge)
{
	static const char *const parts[] = { "kind", "chain", "sender" };
	_cleanup_json_ json_object *fingerprint = fingerprint_json(&group->fingerprint);
	_cleanup_free_ char *text = fingerprint_text(&group->fingerprint);
	json_object *object = json_typed_object("cause");

	json_add_text(object, "fingerprint", group->fingerprint.id);
	json_add_text(object, "cause", text);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		json_add(object, parts[i], json_object_get(json_find(fingerprint, parts[i])));
	json_add_u64(object, "count", group->count);
	json_add(object, "share", json_object_new_double(share(causes, group)));
	json_add_u64(object, "worst_ns", group->worst->latency_ns);
	json_add_u64(object, "p50_ns", group->p50_ns);
	json_add_known(object, "first_ns", group->first_ns, 0);
	json_add_known(object, "last_ns", group->last_ns, 0);
	add_places(object, group);
	json_add_text(object, "example", group->worst->path);
	json_add_text(object, "sentence", group->worst->sentence);
	add_state(object, group, judge);
	return object;
}

static void count_states(const struct causes *causes, const struct known_judge *judge,
			 uint64_t states[KNOWN_FINE + 1])
{
	const struct known_cause *cause;

	for (size_t i = 0; judge && i < causes->nr_groups; i++)
		states[known_judge(judge, causes->groups[i], &cause)]++;
}

static json_object *new_summary(const struct causes *causes, const struct known_judge *judge)
{
	json_object *object = json_typed_object("summary");
	uint64_t states[KNOWN_FINE + 1] = { 0 };

	count_states(causes, judge, states);
	json_add_u64(object, "captures", causes->nr);
	json_add_u64(object, "without", causes->without);
	json_add_u64(object, "unreadable", causes->unreadable);
	json_add_u64(object, "causes", causes->nr_groups);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		json_add(object, known_state_name((enum known_state)i),
			 judge ? json_object_new_uint64(states[i]) : NULL);
	return object;
}

static void print_end(FILE *out, const struct causes *causes, const struct known_judge *judge)
{
	uint64_t states[KNOWN_FINE + 1] = { 0 };

	count_states(causes, judge, states);
	fprintf(out, "%s of %s", FORMAT_COUNT(causes->nr_groups, "cause", "causes"),
		FORMAT_COUNT(causes->nr, "capture", "captures"));
	for (size_t i = 0; judge && i < ARRAY_SIZE(states); i++)
		fprintf(out, "%s %" PRIu64 " %s", i ? "," : ":", states[i],
			known_state_name((enum known_state)i));
	if (causes->without)
		fprintf(out, "; %s without a spike",
			FORMAT_COUNT(causes->without, "capture", "captures"));
	if (causes->unreadable)
		fprintf(out, "; %zu unreadable", causes->unreadable);
	fputc('\n', out);
}

void causes_print(struct console *con, const struct causes *causes, const struct known_judge *judge)
{
	if (con->json) {
		for (size_t i = 0; i < causes->nr_groups; i++)
			json_print_line(con, new_group(causes, causes->groups[i], judge));
		json_print_line(con, new_summary(causes, judge));
		return;
	}
	if (causes->nr_groups)
		fprintf(con->out, "%6s %6s %8s %8s  %-19s  %-19s  %s\n", "COUNT", "SHARE", "WORST",
			"P50", "FIRST SEEN", "LAST SEEN", "CAUSE");
	for (size_t i = 0; i < causes->nr_groups; i++)
		print_group(con->out, causes, causes->groups[i], judge);
	print_end(con->out, causes, judge);
}

/* [milliseconds since 1970, latency in ns, CPU, host, path] each */
static json_object *new_points(const struct group *group)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < group->count; i++) {
		const struct sighting *sighting = &group->sightings[i];
		json_object *row = json_object_new_array();

		json_push_u64(row, sighting->wall_ns / 1000000);
		json_push_u64(row, sighting->latency_ns);
		json_object_array_add(row, json_object_new_int(sighting->cpu));
		json_push_text(row, sighting->host);
		json_push_text(row, sighting->path);
		json_object_array_add(list, row);
	}
	return list;
}

int causes_page(FILE *file, const struct causes *causes, const struct known_judge *judge)
{
	json_object *list = json_object_new_array();
	int r;

	for (size_t i = 0; i < causes->nr_groups; i++) {
		const struct group *group = causes->groups[i];
		json_object *object = new_group(causes, group, judge);

		json_add(object, "points", new_points(group));
		json_object_array_add(list, object);
	}
	r = html_page_write(file, causes_html, &list);
	json_object_put(list);
	return r;
}
