// SPDX-License-Identifier: GPL-2.0-only
#include "archive/archive.h"

#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#include "clock.h"
#include "code/symbolizer.h"
#include "cpuinfo.h"
#include "io.h"
#include "json_util.h"
#include "text.h"

/* Limits the warnings about missing files: after an upgrade, all are missing. */
#define NAMED_MAX 8
#define CPU "sys/devices/system/cpu/"

/* What decides on latencies, and is not in the capture. */
static const struct {
	const char *object, *key, *path;
} rows[] = {
	{ "kernel", "cmdline", "proc/cmdline" },
	{ "machine", "product", "sys/class/dmi/id/product_name" },
	{ "machine", "bios", "sys/class/dmi/id/bios_version" },
	{ "cpus", "online", CPU "online" },
	{ "cpus", "isolated", CPU "isolated" },
	{ "cpus", "nohz_full", CPU "nohz_full" },
	{ "cpus", "smt", CPU "smt/control" },
	{ "tuning", "clocksource",
	  "sys/devices/system/clocksource/clocksource0/current_clocksource" },
	{ "tuning", "cpufreq_driver", CPU "cpu0/cpufreq/scaling_driver" },
	{ "tuning", "cpufreq_governor", CPU "cpu0/cpufreq/scaling_governor" },
	{ "tuning", "cpuidle_driver", CPU "cpuidle/current_driver" },
	{ "tuning", "cpuidle_governor", CPU "cpuidle/current_governor" },
	{ "tuning", "nmi_watchdog", "proc/sys/kernel/nmi_watchdog" },
	{ "tuning", "no_turbo", CPU "intel_pstate/no_turbo" },
	{ "tuning", "preempt", "sys/kernel/debug/sched/preempt" },
	{ "tuning", "sched_rt_runtime_us", "proc/sys/kernel/sched_rt_runtime_us" },
	{ "tuning", "timer_migration", "proc/sys/kernel/timer_migration" },
	{ "tuning", "workqueue_cpus", "sys/devices/virtual/workqueue/cpumask" },
};

static void add_host_processor(json_object *machine, int rootfd)
{
	static const struct {
		const char *key, *name;
	} numbers[] = {
		{ "family", "cpu family" },
		{ "model", "model" },
		{ "stepping", "stepping" },
		{ "microcode", "microcode" },
	};
	char entry[CPUINFO_SIZE], text[256];

	cpuinfo_read(rootfd, entry);
	json_add_text(machine, "cpu", cpuinfo_describe(entry, text, sizeof(text)) ? text : NULL);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_add_text(machine, numbers[i].key,
			      cpuinfo_find(entry, numbers[i].name, text, sizeof(text)) ? text
										       : NULL);
}

json_object *host_facts_json(int rootfd, const struct perf_poke_capture *capture)
{
	json_object *facts = json_object_new_object(), *object = NULL;
	char text[4096], now[CLOCK_UTC_SIZE];
	struct utsname names;

	uname(&names);
	clock_format_utc(now, clock_ns(CLOCK_REALTIME));
	json_add_text(facts, "wall_time", now);
	json_add_bool(facts, "of_capture",
		      capture && !strcmp(names.nodename, capture->hostname ?: "") &&
			      !strcmp(names.release, capture->kernel ?: "") &&
			      !strcmp(names.version,
				      perf_poke__capture_text(capture, "kernel.version") ?: ""));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!i || strcmp(rows[i].object, rows[i - 1].object)) {
			object = json_object_new_object();
			json_add(facts, rows[i].object, object);
		}
		if (read_text_at(rootfd, rows[i].path, text, sizeof(text)))
			*text = '\0';
		text[strcspn(text, "\n")] = '\0';
		json_add_name(object, rows[i].key, text);
	}
	object = json_object_object_get(facts, "kernel");
	json_add_text(object, "release", names.release);
	json_add_text(object, "version", names.version);
	object = json_object_object_get(facts, "machine");
	json_add_text(object, "hostname", names.nodename);
	json_add_text(object, "arch", names.machine);
	add_host_processor(object, rootfd);
	return facts;
}

int pack_host_facts(struct pack *pack, const struct perf_poke_capture *capture, bool *same,
		    char **why)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE;
	_cleanup_close_ int rootfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	json_object *facts = rootfd < 0 ? NULL : host_facts_json(rootfd, capture);
	const char *text = facts ? json_object_to_json_string_ext(facts, flags) : NULL;
	int err = -ENOMEM;

	if (text)
		err = pack_add_text(pack, LAYOUT_HOST, text, strlen(text), why);
	*same = json_object_get_boolean(json_object_object_get(facts, "of_capture"));
	json_object_put(facts);
	return err;
}

int archive_top_folder(const char *folder, char **top)
{
	_cleanup_free_ char *path = realpath(folder, NULL);
	const char *name;

	if (!path)
		return -errno;
	name = strrchr(path, '/') + 1;
	*top = strdup(layout_is_capture_name(name) ? name : LAYOUT_ANY_NAME);
	return *top ? 0 : -ENOMEM;
}

static bool capture_has_file(const struct capture_pack *c, const char *name)
{
	return !faccessat(c->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* perf looks for a file by its build id, then by its kind. */
static int format_part_name(const struct traced_file *file, const char *part, char *name,
			    size_t size)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_format(&file->id, hex);
	return snprintf(name, size, LAYOUT_BUILDID "/.build-id/%.2s/%s%s%s", hex, hex + 2,
			*part ? "/" : "", part);
}

static int pack_traced_part(struct capture_pack *c, const struct traced_file *file,
			    const char *part, int fd, char **why)
{
	char folder[128], name[128];
	int err;

	format_part_name(file, "", folder, sizeof(folder));
	format_part_name(file, part, name, sizeof(name));
	err = pack_add_folder(c->pack, folder, why);
	return err ? err : pack_add_file(c->pack, name, fd, why);
}

/* -ENOENT and -ESTALE mean that the file is missing, which is no failure. */
static int pack_traced_file(struct capture_pack *c, const struct traced_file *file,
			    struct symbolizer *symbolizer, char **why)
{
	_cleanup_close_ int fd = -1, debug = -1;
	char vdso[128];
	int err;

	/* The recorder may have put the vDSO into the capture. */
	format_part_name(file, "vdso", vdso, sizeof(vdso));
	if (file->is_vdso && capture_has_file(c, vdso))
		return 0;
	fd = traced_file_open(file);
	if (fd < 0)
		return fd;
	err = pack_traced_part(c, file, file->is_vdso ? "vdso" : "elf", fd, why);
	debug = err ? -1 : traced_file_open_debug(file, symbolizer, fd);
	return debug < 0 ? err : pack_traced_part(c, file, "debug", debug, why);
}

static bool was_file_executed(const struct capture_pack *c, const struct build_id *id)
{
	for (size_t i = 0; i < c->nr_executed; i++) {
		if (!memcmp(&c->executed[i], id, sizeof(*id)))
			return true;
	}
	return !c->executed;
}

/* Files of stacks at the spike: the trace need not have them, and unwinding finds more. */
static int find_stack_files(const struct capture_pack *c, struct symbolizer *symbolizer,
			    struct traced_file **files, size_t *nr)
{
	const struct perf_poke_spike *spike = c->file.capture->spike;
	_cleanup_(unwound_release) struct unwound_stack unwound = {};
	int err =
		capture_unwind(&unwound, c->file.capture, &(struct files_places){ 0 }, symbolizer);

	err = err ?: traced_files_add_frames(files, nr, unwound.rows, unwound.nr);
	err = err ?: traced_files_add_frames(files, nr, spike->stack, spike->nr_frames);
	return err ?: traced_files_add_frames(files, nr, spike->holder, spike->nr_holder_frames);
}

static int pack_traced_files(struct capture_pack *c, char **why)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	struct traced_file *files = NULL;
	size_t nr = 0, missing = 0;
	int err = symbolizer_new(&symbolizer, &(struct files_places){ 0 });

	/* ftrace traces the kernel only. */
	if (!err && c->data >= 0 && !facts_is_ftrace(&c->file.facts))
		err = traced_files_read(c->data, &files, &nr, why);
	err = err ?: find_stack_files(c, symbolizer, &files, &nr);

	for (size_t i = 0; i < nr && !err; i++) {
		if (!files[i].in_stack && !was_file_executed(c, &files[i].id))
			continue;
		err = pack_traced_file(c, &files[i], symbolizer, why);
		if (err == -ENOENT || err == -ESTALE) {
			if (missing++ < NAMED_MAX)
				hooks_show_message(c->hooks, PERF_POKE_LOG_WARN, "left out %s: %s",
						   files[i].name,
						   err == -ESTALE
							   ? "has changed since it was traced"
							   : "not found");
			err = 0;
		} else if (!err) {
			c->nr_binaries++;
		}
	}
	if (missing > NAMED_MAX)
		hooks_show_message(c->hooks, PERF_POKE_LOG_WARN, "left out %zu more traced files",
				   missing - NAMED_MAX);
	traced_files_free(files, nr);
	return err;
}

static void warn_of_skipped(void *ctx, const char *name)
{
	const struct capture_pack *c = ctx;

	hooks_show_message(c->hooks, PERF_POKE_LOG_WARN, "left out %s: not part of a capture",
			   name);
}

static int explain_unarchived(const struct capture_pack *c, int err, char **why)
{
	return failure_explain(why, err, "'%s' cannot be archived: %s", c->folder,
			       *why ?: hooks_error_text(c->hooks, err));
}

static bool has_traced_files(int data)
{
	_cleanup_free_ char *why = NULL;
	struct traced_file *files = NULL;
	size_t nr = 0;
	int err = traced_files_read(data, &files, &nr, &why);

	traced_files_free(files, nr);
	return !err && nr;
}

/* A capture of Intel PT names all files that any task had mapped; only those in the trace matter.
 */
static int find_executed_files(struct capture_pack *c)
{
	_cleanup_free_ char *data = strfmt("%s/perf.data", c->folder);
	const struct decoding decoding = {
		.hooks = c->hooks,
		.folder = c->folder,
		.data = data,
		.facts = &c->file.facts,
		.doing = "decoding",
		.cpu = -1,
		.threads = decoding_threads(),
		.end = UINT64_MAX,
	};
	_cleanup_free_ char *why = NULL;

	if (!data)
		return -ENOMEM;
	if (!decoding_find_executed(&decoding, &c->executed, &c->nr_executed, &why))
		return 0;
	hooks_show_message(c->hooks, PERF_POKE_LOG_ERROR, "%s", why ?: strerror(ENOMEM));
	hooks_show_message(c->hooks, PERF_POKE_LOG_WARN,
			   "'%s': including all mapped files, executed or not", c->folder);
	return 0;
}

int capture_pack_open(struct capture_pack *c, char **why)
{
	int err;

	c->dirfd = c->data = -1;
	unchanged_begin_check(&c->unchanged, c->hooks, c->folder);
	err = capture_trace_open(c->folder, &c->file, why);
	if (err)
		return err;
	c->dirfd = open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dirfd < 0)
		return explain_unarchived(c, -errno, why);
	if (facts_have_trace(&c->file.facts)) {
		const char *data = facts_trace_file(&c->file.facts);

		c->data = regular_open(c->dirfd, data);
		if (c->data < 0)
			return failure_explain(why, c->data, "'%s' is not a capture: %s/%s: %s",
					       c->folder, c->folder, data,
					       regular_strerror(c->data));
	}
	if (!capture_has_file(c, LAYOUT_HOST) && !c->no_binaries && facts_is_pt(&c->file.facts) &&
	    has_traced_files(c->data))
		err = find_executed_files(c);
	if (err)
		return explain_unarchived(c, err, why);
	c->size = tree_size(c->dirfd, ".").all;
	return 0;
}

static int pack_host_of_capture(struct capture_pack *c, char **why)
{
	bool same;
	const struct perf_poke_capture *capture = c->file.capture;
	int err = pack_host_facts(c->pack, capture, &same, why);

	if (!err && !same)
		hooks_show_message(c->hooks, PERF_POKE_LOG_WARN,
				   "'%s' was taken on %s with Linux %s; " LAYOUT_HOST
				   " and traced files are of this machine",
				   c->folder, capture->hostname ?: "?", capture->kernel ?: "?");
	return err;
}

int capture_pack_write(struct capture_pack *c, const struct pack_sink *sink, char **why)
{
	_cleanup_free_ char *top = NULL;
	/* A capture from an archive has these already, of its own machine. */
	bool opened = capture_has_file(c, LAYOUT_HOST);
	int err = archive_top_folder(c->folder, &top);

	if (!err)
		err = pack_new_archive(&c->pack, sink, top, why);
	if (!err)
		err = pack_add_capture(c->pack, c->dirfd, warn_of_skipped, c, why);
	if (!err && !opened)
		err = pack_host_of_capture(c, why);
	if (!err && !opened && !c->no_binaries)
		err = pack_traced_files(c, why);
	if (err)
		err = explain_unarchived(c, err, why);
	err = unchanged_end_check(&c->unchanged, err, why);
	if (!err) {
		err = pack_finish_archive(c->pack, why);
		if (err)
			err = explain_unarchived(c, err, why);
	}
	return err;
}

void capture_pack_close(struct capture_pack *c)
{
	pack_free_archive(c->pack);
	free(c->executed);
	closep(&c->data);
	closep(&c->dirfd);
	capture_file_close(&c->file);
}

static int add_file_crc(uLong *sum, int dirfd, const char *name)
{
	_cleanup_close_ int fd = regular_open(dirfd, name);
	unsigned char buf[65536];
	ssize_t size;

	if (fd < 0)
		return fd;
	while ((size = read(fd, buf, sizeof(buf))) > 0)
		*sum = crc32(*sum, buf, (uInt)size);
	return size < 0 ? -errno : 0;
}

/* Removes all but letters that are safe in file names: captures are not trusted. */
static void replace_unsafe_letters(char *host)
{
	for (char *c = host; *c; c++) {
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", *c))
			*c = '_';
	}
}

int archive_file_name(const char *folder, char **name)
{
	_cleanup_close_ int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	_cleanup_free_ char *top = NULL, *why = NULL, *host = NULL;
	uLong sum = 0;
	int err = dirfd < 0 ? -errno : archive_top_folder(folder, &top);

	err = err ?: capture_file_open(&file, folder, &why);
	err = err ?: add_file_crc(&sum, dirfd, CAPTURE_FILE_NAME);
	/* A capture of a poked perf has no trace. */
	if (!err && facts_have_trace(&file.facts))
		err = add_file_crc(&sum, dirfd, facts_trace_file(&file.facts));
	if (err)
		return err;
	host = strfmt("%.127s", file.capture->hostname ?: "unknown");
	if (!host)
		return -ENOMEM;
	replace_unsafe_letters(host);
	*name = strfmt("%s-%s-%08lx.tar.zst", host, top, sum);
	return *name ? 0 : -ENOMEM;
}
