// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <limits.h>
#include <string.h>

#include "causes/collect.h"
#include "json_add.h"
#include "json_file.h"
#include "printable.h"

#define VALUE_MAX 65536

struct reading {
	struct causes *causes;
	struct console *con;
	FILE *file;
	const char *name;
	json_object *entry; /* its fields that start with PERF_POKE_, and the host */
};

/* Fields used by collect_journal(). */
static bool is_wanted(const char *key)
{
	return !strncmp(key, "PERF_POKE_", strlen("PERF_POKE_")) || !strcmp(key, "_HOSTNAME") ||
	       !strcmp(key, "__REALTIME_TIMESTAMP");
}

static int complain(const struct reading *r, const char *why)
{
	console_error(r->con, "%s: %s", r->name, why);
	r->causes->unreadable++;
	return 0;
}

/* The size precedes a value with newlines. */
static int read_binary(const struct reading *r, const char *key)
{
	_cleanup_free_ char *value = NULL;
	uint64_t size;

	if (fread(&size, sizeof(size), 1, r->file) != 1)
		return -EINVAL;
	size = le64toh(size);
	if (is_wanted(key) && size <= VALUE_MAX) {
		value = calloc(1, size + 1);
		if (!value)
			return -ENOMEM;
		if (fread(value, 1, size, r->file) != size)
			return -EINVAL;
		json_add_text(r->entry, key, value);
		size = 0;
	}
	while (size && getc(r->file) != EOF)
		size--;
	return !size && getc(r->file) == '\n' ? 0 : -EINVAL;
}

/* Time of the spike, or of the entry. */
static uint64_t read_time(json_object *entry)
{
	_cleanup_free_ char *why = NULL;
	uint64_t wall_ns = 0;

	if (json_read_date(entry, "PERF_POKE_TIME", &wall_ns, &why) || !wall_ns)
		wall_ns = strtoull(json_text_of(entry, "__REALTIME_TIMESTAMP"), NULL, 10) * 1000;
	return wall_ns;
}

static int take_entry(const struct reading *r)
{
	json_object *entry = r->entry;
	const char *id = json_text_of(entry, "PERF_POKE_FINGERPRINT");
	const char *cpu = json_text_of(entry, "PERF_POKE_CPU");
	char sentence[512], path[PATH_MAX], host[128];
	struct fingerprint fingerprint;
	struct sighting sighting = {
		.path = path,
		.host = host,
		.wall_ns = read_time(entry),
		.latency_ns = strtoull(json_text_of(entry, "PERF_POKE_LATENCY_NS"), NULL, 10),
		.cpu = *cpu ? (int)strtol(cpu, NULL, 10) : -1,
	};
	int ret;

	if (!*id)
		return 0;
	ret = fingerprint_from_text(&fingerprint, json_text_of(entry, "PERF_POKE_CAUSE"));
	if (ret == -ENOMEM)
		return ret;
	if (ret || strcmp(fingerprint.id, id))
		return complain(r, "an entry whose PERF_POKE_CAUSE and _FINGERPRINT do not match");
	printable_copy(sentence, sizeof(sentence), json_text_of(entry, "PERF_POKE_SENTENCE"));
	printable_copy(path, sizeof(path), json_text_of(entry, "PERF_POKE_CAPTURE"));
	printable_copy(host, sizeof(host), json_text_of(entry, "_HOSTNAME"));
	printable_copy(sighting.trigger, sizeof(sighting.trigger),
		       json_text_of(entry, "PERF_POKE_TRIGGER"));
	printable_copy(sighting.task, sizeof(sighting.task), json_text_of(entry, "PERF_POKE_TASK"));
	return causes_add(r->causes, &sighting, &fingerprint, sentence);
}

/* Ends the entry, which may have no fields. */
static int end_entry(struct reading *r)
{
	int ret = take_entry(r);

	json_object_put(r->entry);
	r->entry = json_object_new_object();
	return ret ?: r->entry ? 0 : -ENOMEM;
}

static int take_line(struct reading *r, char *line)
{
	char *value = strchr(line, '=');

	if (!*line)
		return end_entry(r);
	if (!value)
		return read_binary(r, line);
	*value++ = '\0';
	if (is_wanted(line))
		json_add_text(r->entry, line, value);
	return 0;
}

int collect_journal(struct causes *causes, struct console *con, FILE *file, const char *name)
{
	struct reading r = { causes, con, file, name, json_object_new_object() };
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t length;
	int ret = r.entry ? 0 : -ENOMEM;

	while (!ret && (length = getline(&line, &room, file)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		ret = take_line(&r, line);
	}
	if (!ret)
		ret = end_entry(&r);
	json_object_put(r.entry);
	return ret == -EINVAL ? complain(&r, "not a journal in export format") : ret;
}
