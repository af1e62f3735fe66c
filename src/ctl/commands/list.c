// SPDX-License-Identifier: GPL-2.0-only
#include "commands/list.h"

#include <string.h>
#include <time.h>

#include "capture/account_load.h"
#include "capture/newest.h"
#include "cli/json_line.h"
#include "clock.h"
#include "commands/commands.h"
#include "cpulist.h"
#include "printable.h"
#include "session/perf_files.h"
#include "tree.h"
#include "units.h"

#define NS_PER_H UINT64_C(3600000000000)
#define TARGET(member) .offset = offsetof(struct list_args, member)

static int parse_since(void *target, const char *value, char **why);

static const struct option_choice orders[] = {
	{ "time", LIST_BY_TIME, NULL },
	{ "latency", LIST_BY_LATENCY, NULL },
	{ "cpu", LIST_BY_CPU, NULL },
	{ "size", LIST_BY_SIZE, NULL },
};

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(folder), .metavar = "DIR",
	  .help = "folder of captures (" NEWEST_FOLDER "), or one capture" },
	{ "sort", 's', OPTION_ENUM, .choices = orders, .nr_choices = ARRAY_SIZE(orders),
	  TARGET(order), .metavar = "KEY",
	  .help = "time (default), latency, cpu or size; the newest, or\nlargest, last" },
	{ "cpu", 'c', OPTION_CPUS, TARGET(cpus), .metavar = "LIST",
	  .help = "only of these CPUs, as 3 or 2,4-7" },
	{ "min-latency", 'm', OPTION_TIME, .max = 8760 * NS_PER_H, TARGET(min_latency_ns),
	  .metavar = "TIME", .help = "only of at least this latency" },
	{ "since", 0, OPTION_PARSED, .parse = parse_since, .metavar = "WHEN",
	  .help = "only from then on: 2026-11-21, '2026-11-21 07:01', or 2h for\nthat long ago" },
	{ "why", 'w', OPTION_FLAG, TARGET(why),
	  .help = "the culprit of each, as report names it; perf decodes each\nfor that, which may "
		  "take a while" },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "results as JSON, see below" },
};

static const char notes[] =
	"A capture that cannot be read is told of in a line, and the others are "
	"listed.\n" OPTIONS_TIMES ".\n"
	"\n"
	"Exit codes: 0 fine, also when there is none, 1 the folder or one of the captures cannot "
	"be\n"
	"read, 2 usage.\n"
	"\n"
	"With --json each line on standard output is an object:\n"
	"  {\"type\":\"capture\"}  path, recorder, wall_time_ns (since 1970), sequence, poked, "
	"cpu,\n"
	"                      time_ns, latency_ns, expected_ns, actual_ns, function_name,\n"
	"                      idle, pid, tid, comm, history_ns, kernel, hostname, size_bytes;\n"
	"                      with --why sentence and cause, of report (null: see the error)\n"
	"  {\"type\":\"error\"}    message\n";

int list_parse_since(const char *text, uint64_t now_ns, uint64_t *since_ns)
{
	static const char *const formats[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
					       "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	size_t length = strlen(text);
	uint64_t ago_ns;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);
		time_t seconds;

		if (!end || *end)
			continue;
		seconds = mktime(&tm);
		if (seconds < 0)
			return -EINVAL;
		*since_ns = (uint64_t)seconds * NSEC_PER_SEC;
		return 0;
	}
	/* A bare number would be microseconds, which nobody means here. */
	if (!length || text[length - 1] < 'a' || units_parse_time(text, &ago_ns))
		return -EINVAL;
	*since_ns = ago_ns < now_ns ? now_ns - ago_ns : 0;
	return 0;
}

static int parse_since(void *target, const char *value, char **why)
{
	struct list_args *args = target;

	if (!list_parse_since(value, clock_ns(CLOCK_REALTIME), &args->since_ns))
		return 0;
	return options_explain(why, -EINVAL,
			       "no time (use 2026-11-21, '2026-11-21 07:01', or 2h for that long "
			       "ago)");
}

int list_parse(struct list_args *args, struct console *con, int argc, char **argv)
{
	*args = (struct list_args){ .folder = NEWEST_FOLDER };
	return command_options(&command_list, con, argc, argv, args);
}

bool list_wants(const struct list_args *args, const int *cpus, size_t nr_cpus,
		const struct capture_file *file)
{
	bool wanted = !args->cpus;

	for (size_t i = 0; i < nr_cpus && !wanted; i++)
		wanted = cpus[i] == file->view.cpu;
	return wanted && file->view.latency_ns >= args->min_latency_ns &&
	       file->wall_ns >= args->since_ns;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_entries(const void *a, const void *b, void *order)
{
	const struct list_entry *one = a, *other = b;
	int r = 0;

	switch (*(enum list_order *)order) {
	case LIST_BY_TIME:
		break;
	case LIST_BY_LATENCY:
		r = compare(one->file.view.latency_ns, other->file.view.latency_ns);
		break;
	case LIST_BY_CPU:
		r = compare((uint64_t)one->file.view.cpu + 1, (uint64_t)other->file.view.cpu + 1);
		break;
	case LIST_BY_SIZE:
		r = compare(one->size, other->size);
		break;
	}
	if (!r)
		r = compare(one->file.wall_ns, other->file.wall_ns);
	return r ? r : strcmp(one->path, other->path);
}

void list_sort(struct list_entry *entries, size_t nr, enum list_order order)
{
	if (nr)
		qsort_r(entries, nr, sizeof(*entries), compare_entries, &order);
}

struct list {
	struct console *con;
	const struct list_args *args;
	int *cpus;
	size_t nr_cpus;
	struct list_entry *entries;
	size_t nr, room;
	size_t found; /* broken ones, and those not asked for, too */
	bool failed;
};

static void list_release(struct list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		free(list->entries[i].path);
		json_object_put(list->entries[i].report);
	}
	free(list->entries);
	free(list->cpus);
}

static int add_entry(struct list *list, const struct list_entry *entry)
{
	if (list->nr == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct list_entry *entries = reallocarray(list->entries, room, sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		list->entries = entries;
		list->room = room;
	}
	list->entries[list->nr++] = *entry;
	return 0;
}

/* Sessions keep other things there too, such as logs, and what perf wrote. A capture has one of its
 * two parts. */
static bool is_capture(int dirfd, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!faccessat(dirfd, CAPTURE_FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW))
		return true;
	return !faccessat(dirfd, "perf.data", F_OK, AT_SYMLINK_NOFOLLOW) &&
	       !perf_files_is_folder(slash ? slash + 1 : path);
}

/* Takes path. What is wrong with a capture is told, and is no failure here. */
static int add_capture(struct list *list, int dirfd, char *path)
{
	_cleanup_free_ char *own = path;
	_cleanup_free_ char *why = NULL;
	struct list_entry entry = { .path = path };
	int r;

	list->found++;
	r = capture_file_read(&entry.file, dirfd, &why);
	if (!r && entry.file.view.kind != VIEW_PERF && faccessat(dirfd, "perf.data", F_OK, 0))
		r = options_explain(&why, -EINVAL, "there is no perf.data beside it");
	if (r == -ENOMEM)
		return r;
	if (r) {
		console_error(list->con, "%s/" CAPTURE_FILE_NAME ": %s", path, why ?: strerror(-r));
		list->failed = true;
		return 0;
	}
	if (!list_wants(list->args, list->cpus, list->nr_cpus, &entry.file))
		return 0;
	entry.size = tree_size(dirfd, ".").share;
	r = add_entry(list, &entry);
	if (!r)
		TAKE_PTR(own);
	return r;
}

static int look_at(struct list *list, int parent, const char *name)
{
	const char *folder = list->args->folder;
	size_t length = strlen(folder);
	_cleanup_close_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *path;

	/* Those without a right to look into may be captures. */
	if (fd < 0 && errno == EACCES) {
		console_error(list->con, "%s/%s: %s", folder, name, strerror(errno));
		list->failed = true;
	}
	if (fd < 0 || !is_capture(fd, name))
		return 0;
	if (asprintf(&path, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/", name) < 0)
		return -ENOMEM;
	return add_capture(list, fd, path);
}

static int collect(struct list *list)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	int r;

	r = opendir_at(&dir, AT_FDCWD, list->args->folder);
	if (r)
		return r;
	if (is_capture(dirfd(dir), list->args->folder)) {
		char *path = strdup(list->args->folder);

		return path ? add_capture(list, dirfd(dir), path) : -ENOMEM;
	}
	errno = 0;
	/* Hidden ones are being written. */
	while (!r && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			r = look_at(list, dirfd(dir), entry->d_name);
		errno = 0;
	}
	return r ? r : -errno;
}

/* As the folder has it in its name: local time. */
static void format_time(char *text, size_t size, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm tm;
	size_t length;

	if (!wall_ns || !localtime_r(&seconds, &tm)) {
		snprintf(text, size, "-");
		return;
	}
	length = strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(text + length, size - length, ".%03u",
		 (unsigned int)(wall_ns % NSEC_PER_SEC / 1000000));
}

/* Of one that was poked that is who asked. */
static void format_task(char *text, size_t size, const struct capture_file *file)
{
	if (file->idle)
		snprintf(text, size, "idle");
	else if (*file->comm)
		snprintf(text, size, "%s/%d", file->comm, file->tid);
	else
		snprintf(text, size, "-");
	printable(text);
}

static void print_entry(FILE *out, struct list_entry *entry)
{
	const struct capture_file *file = &entry->file;
	char when[64], task[96], cpu[16] = "-";

	format_time(when, sizeof(when), file->wall_ns);
	format_task(task, sizeof(task), file);
	if (file->view.cpu >= 0)
		snprintf(cpu, sizeof(cpu), "%d", file->view.cpu);
	fprintf(out, "%-23s %4s %8s  %-20s %-8s %8s  %s\n", when, cpu,
		file->poked ? "poked" : FORMAT_TIME(file->view.latency_ns), task,
		view_kind_name(file->view.kind), FORMAT_SIZE(entry->size), printable(entry->path));
	if (entry->report)
		fprintf(out, "  %s\n",
			CLEAN(json_object_get_string(
				json_object_object_get(entry->report, "sentence"))));
}

/* What fails is told, as a capture is that cannot be read, and the others go on. */
static int explain(struct list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		_cleanup_(account_release) struct account account = { 0 };
		int r = account_load(&account, list->con, list->entries[i].path,
				     &(struct account_want){ 0 });

		if (r == -EINTR)
			return r;
		if (r)
			list->failed = true;
		else
			list->entries[i].report = account_json(&account, 1);
	}
	return 0;
}

/* As the line of `start` where that has the same. */
static json_object *new_line(const struct list_entry *entry, bool why)
{
	static const char *const reasons[] = { "sentence", "cause" };
	const struct capture_file *file = &entry->file;
	json_object *object = json_line("capture");

	json_add_string(object, "path", entry->path);
	json_add_string(object, "recorder", view_kind_name(file->view.kind));
	json_add_number(object, "wall_time_ns", file->wall_ns);
	json_add_number(object, "sequence", file->sequence);
	json_add_bool(object, "poked", file->poked);
	json_object_object_add(object, "cpu", json_object_new_int(file->view.cpu));
	json_add_number(object, "time_ns", file->time_ns);
	json_add_number(object, "latency_ns", file->view.latency_ns);
	json_add_number(object, "expected_ns", file->expected_ns);
	json_add_number(object, "actual_ns", file->actual_ns);
	json_add_name(object, "function_name", file->function);
	json_add_bool(object, "idle", file->idle);
	json_object_object_add(object, "pid", json_object_new_int(file->pid));
	json_object_object_add(object, "tid", json_object_new_int(file->tid));
	json_add_name(object, "comm", file->comm);
	if (file->view.no_times)
		json_object_object_add(object, "history_ns", NULL);
	else
		json_add_number(object, "history_ns", file->view.history_ns);
	json_add_name(object, "kernel", file->release);
	json_add_name(object, "hostname", file->hostname);
	json_add_number(object, "size_bytes", entry->size);
	for (size_t i = 0; why && i < ARRAY_SIZE(reasons); i++)
		json_object_object_add(
			object, reasons[i],
			json_object_get(json_object_object_get(entry->report, reasons[i])));
	return object;
}

static void print(struct list *list)
{
	struct console *con = list->con;

	if (con->json) {
		for (size_t i = 0; i < list->nr; i++)
			console_json(con, new_line(&list->entries[i], list->args->why));
		return;
	}
	if (!list->nr && !list->failed)
		fprintf(con->out, "there is no %scapture in %s\n", list->found ? "such " : "",
			CLEAN(list->args->folder));
	if (list->nr)
		fprintf(con->out, "%-23s %4s %8s  %-20s %-8s %8s  %s\n", "TIME", "CPU", "LATENCY",
			"INTERRUPTED", "RECORDER", "SIZE", "CAPTURE");
	for (size_t i = 0; i < list->nr; i++)
		print_entry(con->out, &list->entries[i]);
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	struct list_args args;
	_cleanup_(list_release) struct list list = { .con = con, .args = &args };
	int r;

	r = list_parse(&args, con, argc, argv);
	if (r)
		return command_options_exit(r);
	con->json = args.json;
	if (args.cpus)
		r = cpulist_parse(args.cpus, &list.cpus, &list.nr_cpus);
	if (!r)
		r = collect(&list);
	if (r) {
		console_error(con, "'%s': %s", args.folder, strerror(-r));
		return EXIT_FAILED;
	}
	list_sort(list.entries, list.nr, args.order);
	if (args.why && explain(&list))
		return EXIT_FAILED;
	print(&list);
	return list.failed ? EXIT_FAILED : EXIT_FINE;
}

const struct command command_list = {
	.name = "list",
	.summary = "List captures: when, which CPU, how late, who was interrupted, and why.",
	.arguments = "[OPTIONS] [DIR]",
	.notes = notes,
	.options = options,
	.nr_options = ARRAY_SIZE(options),
	.run = run,
};
