// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <string.h>

#include "archive/archive.h"
#include "selftest/selftest.h"
#include "text.h"

static const char *const check_names[] = {
	[CHECK_CAPTURED] = "captured", [CHECK_CULPRIT] = "culprit", [CHECK_PERF] = "perf",
	[CHECK_HISTORY] = "history",   [CHECK_END] = "end",	    [CHECK_SKID] = "skid",
	[CHECK_REARMED] = "re-armed",  [CHECK_SIGNAL] = "signal",   [CHECK_CLEAN] = "clean",
};
_Static_assert(ARRAY_SIZE(check_names) == CHECK_NR, "each has a name");

static const char *const what_names[] = { "recorder", "freeze", "delivery" };

static void print_names(FILE *file, const char *const names[3])
{
	fprintf(file, "%-9s %-7s %-10s", names[0], names[1], names[2]);
}

void row_print_head(FILE *file)
{
	print_names(file, what_names);
	for (size_t i = 0; i < CHECK_NR; i++)
		fprintf(file, " %-8s", check_names[i]);
	fputc('\n', file);
}

/* The reasons follow in lines of their own. */
void row_print(FILE *file, const struct row *row)
{
	static const char *const cells[] = { "-", "ok", "WRONG" };

	print_names(file, row->names);
	for (size_t i = 0; i < CHECK_NR; i++)
		fprintf(file, " %-8s", cells[row->verdicts[i].result]);
	fputc('\n', file);
	for (size_t i = 0; i < CHECK_NR; i++) {
		if (*row->verdicts[i].why)
			fprintf(file, "    %s: %s\n", check_names[i],
				CLEAN_TO(sizeof(row->verdicts[i].why), row->verdicts[i].why));
	}
}

static json_object *new_number(uint64_t value)
{
	return value == UINT64_MAX ? NULL : json_object_new_uint64(value);
}

static json_object *new_capture(const struct row_capture *capture)
{
	const struct perf_poke_capture *told = &capture->told;
	json_object *object = json_object_new_object();

	json_add(object, "latency_ns", new_number(told->spike->latency_ns));
	json_add(object, "history_ns", new_number(told->history_ns));
	json_add(object, "skid_ns", new_number(told->skid_ns));
	json_add(object, "blind_ns", new_number(told->blind_ns));
	json_add(object, "events", new_number(told->events));
	json_add(object, "trace_bytes", new_number(told->trace_bytes));
	json_add(object, "instructions_after_spike", new_number(capture->after_insns));
	json_add(object, "errors", new_number(capture->errors));
	json_add_text(object, "sentence", capture->sentence);
	return object;
}

static json_object *new_verdict(const struct row_verdict *verdict)
{
	json_object *object = json_object_new_object();

	if (verdict->result == RESULT_UNKNOWN)
		json_add(object, "ok", NULL);
	else
		json_add_bool(object, "ok", verdict->result == RESULT_OK);
	json_add_name(object, "why", verdict->why);
	return object;
}

json_object *row_json(const struct row *row)
{
	json_object *object = json_typed_object("row");
	json_object *checks = json_object_new_object();
	json_object *captures = json_object_new_array();

	for (size_t i = 0; i < ARRAY_SIZE(what_names); i++)
		json_add_text(object, what_names[i],
			      strcmp(row->names[i], "-") ? row->names[i] : NULL);
	json_add_bool(object, "ok", row_is_fine(row));
	for (size_t i = 0; i < CHECK_NR; i++)
		json_add(checks, check_names[i], new_verdict(&row->verdicts[i]));
	json_add(object, "checks", checks);
	for (size_t i = 0; i < row->nr; i++)
		json_object_array_add(captures, new_capture(&row->captures[i]));
	json_add(object, "captures", captures);
	return object;
}

static int check_ending(void *ctx, uint64_t bytes)
{
	return ending_asked ? -EINTR : 0;
}

static int pack_capture(struct pack *pack, const char *folder, char **why)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *top = strfmt(LAYOUT_SELFTEST "/%s", strrchr(folder, '/') + 1);
	int r;

	if (fd < 0 || !top)
		return -errno;
	r = pack_begin_folder(pack, top, why);
	return r ? r : pack_add_capture(pack, fd, NULL, NULL, why);
}

static int pack_all(const struct bundle *bundle, int fd, char **why)
{
	const struct pack_sink sink = { .fd = fd, .progress = check_ending };
	struct pack *pack = NULL;
	bool same;
	int r = pack_new_archive(&pack, &sink, LAYOUT_SELFTEST, why);

	if (!r)
		r = pack_add_text(pack, "selftest.json", *bundle->lines, strlen(*bundle->lines),
				  why);
	if (!r)
		r = pack_add_text(pack, "messages", *bundle->messages, strlen(*bundle->messages),
				  why);
	if (!r)
		r = pack_host_facts(pack, NULL, &same, why);
	for (size_t i = 0; i < bundle->nr && !r; i++)
		r = pack_capture(pack, bundle->captures[i], why);
	if (!r)
		r = pack_finish_archive(pack, why);
	pack_free_archive(pack);
	return r;
}

int bundle_write(const struct bundle *bundle, struct console *con, const char *path, bool force)
{
	_cleanup_free_ char *why = NULL;
	struct output_file file;
	int r = output_file_open(&file, path, force);

	if (!r)
		r = pack_all(bundle, file.fd, &why);
	if (!r)
		r = output_file_publish(&file);
	if (r == -EINTR)
		console_error(con, "interrupted: nothing is written");
	else if (r)
		console_error(con, "--output '%s': %s", path, why ?: output_file_strerror(r));
	output_file_close(&file);
	return r;
}
