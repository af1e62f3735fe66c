// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Sessions of other processes: read from their maps, controlled by running their programs. */
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/trigger.h"
#include "clock.h"
#include "machine/base.h"
#include "session/pins.h"
#include "trigger/ledger.h"
#include "trigger/trigger.h"

/* After the types that it needs. */
#include "bpf/trigger.skel.h"

#define REMOVE_TRIES 10
#define REMOVE_PAUSE_US 2000

struct mapping {
	void *data;
	size_t size;
	size_t entries;
};

/* Mappings and allocations. */
struct view {
	struct mapping session, cpus, cpus_more, targets;
	int *cpu_list;
	size_t nr_cpus;
	struct perf_poke_session_kind kinds[TRIGGER_KINDS];
	const struct perf_poke_session_kind *kind_rows[TRIGGER_KINDS];
	struct perf_poke_stats stats[TRIGGER_KINDS];
	size_t nr_kinds;
	struct perf_poke_stats *cpu_stats; /* by kind; also the next two */
	const struct perf_poke_stats **cpu_rows;
	uint64_t *cpu_p99_ns;
	int target_list[POKE_TARGETS];
	size_t nr_targets;
	uint64_t pokes, merged;
	struct perf_poke_source *sources;
	const struct perf_poke_source **source_rows;
	size_t nr_sources;
};

static void mapping_release(struct mapping *mapping)
{
	if (mapping->data)
		munmap(mapping->data, mapping->size);
}

static void session_view_release(struct view *view)
{
	mapping_release(&view->session);
	mapping_release(&view->cpus);
	mapping_release(&view->cpus_more);
	mapping_release(&view->targets);
	free(view->cpu_list);
	free(view->cpu_stats);
	free(view->cpu_rows);
	free(view->cpu_p99_ns);
	free(view->sources);
	free(view->source_rows);
}

static int session_open_pin(int dirfd, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
	return bpf_obj_get(path);
}

/* -EINVAL: from another version of perf-poke. */
static int mapping_open_pin(struct mapping *mapping, int dirfd, const char *name, size_t value_size,
			    int protection)
{
	_cleanup_close_ int fd = session_open_pin(dirfd, name);
	struct bpf_map_info info = {};
	__u32 info_size = sizeof(info);
	size_t size;
	void *data;

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &info_size))
		return -errno;
	if (info.type != BPF_MAP_TYPE_ARRAY || info.value_size != value_size)
		return -EINVAL;
	size = page_aligned_size(info.max_entries * value_size);
	data = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	*mapping = (struct mapping){ data, size, info.max_entries };
	return 0;
}

static int mapping_open_session(struct mapping *mapping, int dirfd)
{
	const struct trigger_session *session;
	int err =
		mapping_open_pin(mapping, dirfd, TRIGGER_PIN_SESSION, sizeof(*session), PROT_READ);

	session = mapping->data;
	return err ? err : session->layout == TRIGGER_LAYOUT ? 0 : -EINVAL;
}

static int view_read_cpus(struct view *view)
{
	const struct trigger_cpu *table = view->cpus.data;

	view->cpu_list = calloc(view->cpus.entries, sizeof(*view->cpu_list));
	if (!view->cpu_list)
		return -ENOMEM;
	for (size_t i = 0; i < view->cpus.entries; i++) {
		if (table[i].watched)
			view->cpu_list[view->nr_cpus++] = i;
	}
	return 0;
}

/* The table of a kind of latency; NULL: not counted. */
static const struct trigger_cpu *view_kind_table(const struct view *view, unsigned int kind)
{
	const struct trigger_session *session = view->session.data;
	const struct trigger_cpu *more = view->cpus_more.data;

	if (!kind)
		return view->cpus.data;
	if (!session->thresholds_ns[kind] || view->cpus_more.entries < kind * view->cpus.entries)
		return NULL;
	return more + (kind - 1) * view->cpus.entries;
}

static void view_add_kind(struct view *view, unsigned int kind, const struct trigger_cpu *table)
{
	const struct trigger_session *session = view->session.data;
	const struct stats_table all = { table, view->cpu_list, view->nr_cpus };
	size_t nr = view->nr_kinds++, first = nr * view->nr_cpus;

	for (size_t i = 0; i < view->nr_cpus; i++) {
		struct stats_table one = { table, &view->cpu_list[i], 1 };

		view->cpu_stats[first + i] = stats_sum_rows(&one);
		view->cpu_rows[first + i] = &view->cpu_stats[first + i];
		view->cpu_p99_ns[first + i] = stats_percentile(&one, 99);
	}
	view->stats[nr] = stats_sum_rows(&all);
	if (kind == PERF_POKE_TRIGGER_SPAN)
		stats_add_unpaired(&view->stats[nr], table, view->cpus.entries);
	view->kind_rows[nr] = &view->kinds[nr];
	view->kinds[nr] = (struct perf_poke_session_kind){
		.kind = (enum perf_poke_trigger_kind)kind,
		.threshold_ns = session->thresholds_ns[kind],
		.stats = &view->stats[nr],
		.p50_ns = stats_percentile(&all, 50),
		.p99_ns = stats_percentile(&all, 99),
		.p999_ns = stats_percentile(&all, 99.9),
		.cpu_stats = &view->cpu_rows[first],
		.cpu_p99_ns = &view->cpu_p99_ns[first],
	};
}

static void view_read_targets(struct view *view)
{
	const volatile struct poke_target *targets = view->targets.data;

	for (size_t i = 0; i < view->targets.entries && i < POKE_TARGETS && targets[i].tid; i++) {
		view->target_list[view->nr_targets++] = targets[i].tid;
		view->pokes += targets[i].pending;
		view->merged += targets[i].merged;
	}
}

/* Of sessions that watch interruptions. */
static int view_read_sources(struct view *view, int dirfd)
{
	_cleanup_close_ int fd = session_open_pin(dirfd, TRIGGER_PIN_LEDGER);
	struct bpf_map_info info = {};
	__u32 size = sizeof(info);
	int err;

	if (fd < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(fd, &info, &size) || info.type != BPF_MAP_TYPE_HASH ||
	    info.value_size != sizeof(struct ledger_source))
		return -EINVAL;
	err = ledger_read(fd, true, &view->sources, &view->nr_sources);
	view->source_rows = calloc(view->nr_sources + 1, sizeof(*view->source_rows));
	if (err || !view->source_rows)
		return -ENOMEM;
	for (size_t i = 0; i < view->nr_sources; i++)
		view->source_rows[i] = &view->sources[i];
	return 0;
}

static int session_view_open(struct view *view, int dirfd)
{
	const struct {
		struct mapping *mapping;
		const char *name;
		size_t value_size;
	} rows[] = {
		{ &view->cpus, TRIGGER_PIN_CPUS, sizeof(struct trigger_cpu) },
		{ &view->cpus_more, TRIGGER_PIN_CPUS_MORE, sizeof(struct trigger_cpu) },
		{ &view->targets, TRIGGER_PIN_TARGETS, sizeof(struct poke_target) },
	};
	int err = mapping_open_session(&view->session, dirfd);

	for (size_t i = 0; i < ARRAY_SIZE(rows) && !err; i++)
		err = mapping_open_pin(rows[i].mapping, dirfd, rows[i].name, rows[i].value_size,
				       PROT_READ);
	if (err)
		return err;
	view_read_targets(view);
	err = view_read_cpus(view);
	if (err)
		return err;
	view->cpu_stats = calloc(TRIGGER_KINDS * view->nr_cpus, sizeof(*view->cpu_stats));
	view->cpu_rows = calloc(TRIGGER_KINDS * view->nr_cpus, sizeof(*view->cpu_rows));
	view->cpu_p99_ns = calloc(TRIGGER_KINDS * view->nr_cpus, sizeof(*view->cpu_p99_ns));
	if (view->nr_cpus && (!view->cpu_stats || !view->cpu_rows || !view->cpu_p99_ns))
		return -ENOMEM;
	for (unsigned int kind = 0; kind < TRIGGER_KINDS; kind++) {
		const struct trigger_cpu *table = view_kind_table(view, kind);

		if (table)
			view_add_kind(view, kind, table);
	}
	return view_read_sources(view, dirfd);
}

/* seen: a copy, since the session keeps writing. */
static void session_describe(const char *name, bool alive, const struct view *view,
			     const struct trigger_session *seen, perf_poke_session_fn fn, void *ctx)
{
	struct perf_poke_session session = {
		.sz = sizeof(session),
		.name = name,
		.alive = alive,
		.pid = seen->pid,
		.cpus = view->cpu_list,
		.nr_cpus = view->nr_cpus,
		.threshold_ns = seen->threshold_ns,
		.function = seen->function,
		.recorder = seen->recorder,
		.freeze = seen->freeze,
		.delivery = seen->delivery,
		.workload = seen->workload,
		.output = seen->output,
		.captures = seen->captures,
		.failed = seen->failed,
		.last_sequence = seen->last_sequence,
		.pending = seen->pending,
		.max_captures = seen->max_captures,
		.last_capture = seen->last_capture,
		.kinds = view->kind_rows,
		.nr_kinds = view->nr_kinds,
		.targets = view->target_list,
		.nr_targets = view->nr_targets,
		.pokes = view->pokes,
		.merged = view->merged,
		.sources = view->source_rows,
		.nr_sources = view->nr_sources,
	};

	if (seen->armed_ns)
		session.armed_for_ns = clock_ns(CLOCK_BOOTTIME) - seen->armed_ns;
	fn(ctx, &session);
}

#define TERMINATE(text) text[sizeof(text) - 1] = '\0'

/* Returns 1, or 0 if the session has just begun or ended. Sessions of another version, or killed
 * while pinning, have only a name. */
static int session_visit(int dirfd, const char *folder, perf_poke_session_fn fn, void *ctx)
{
	_cleanup_(session_view_release) struct view view = {};
	struct trigger_session seen = {};
	_cleanup_close_ int fd = -1;
	char name[SESSION_NAME_MAX + 1];
	bool alive;
	int err;

	fd = pins_open_session(dirfd, folder);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
	alive = pins_is_alive(fd);
	err = session_view_open(&view, fd);
	if (err == -ENOENT && alive)
		return 0;
	if (err && err != -ENOENT && err != -EINVAL)
		return err;
	if (!err)
		memcpy(&seen, view.session.data, sizeof(seen));
	TERMINATE(seen.function);
	TERMINATE(seen.recorder);
	TERMINATE(seen.freeze);
	TERMINATE(seen.delivery);
	TERMINATE(seen.workload);
	TERMINATE(seen.output);
	TERMINATE(seen.last_capture);
	pins_session_name(name, folder);
	session_describe(name, alive, &view, &seen, fn, ctx);
	return 1;
}

static int is_session_folder(const struct dirent *entry)
{
	char name[SESSION_NAME_MAX + 1];

	pins_session_name(name, entry->d_name);
	return strlen(entry->d_name) <= SESSION_NAME_MAX && session_name_valid(name);
}

/* By session name. */
static int compare_session_names(const struct dirent **a, const struct dirent **b)
{
	char one[SESSION_NAME_MAX + 1], other[SESSION_NAME_MAX + 1];

	pins_session_name(one, (*a)->d_name);
	pins_session_name(other, (*b)->d_name);
	return strcmp(one, other);
}

/* -EACCES if the caller found no session and may not see root's. */
static int check_root_hidden(int nr)
{
	_cleanup_close_ int fd = nr || !geteuid() ? -1 : pins_open_dir(0);

	return fd == -EACCES ? fd : nr;
}

int perf_poke__sessions(perf_poke_session_fn fn, void *ctx)
{
	_cleanup_free_ uid_t *users = NULL;
	int nr_users = pins_list_users(&users);
	int seen = 0;

	for (int i = 0; i < nr_users; i++) {
		_cleanup_close_ int dirfd = pins_open_dir(users[i]);
		struct dirent **names;
		int nr, ret = 0;

		if (dirfd == -ENOENT || dirfd == -ESTALE)
			continue;
		if (dirfd < 0)
			return dirfd;
		nr = scandirat(dirfd, ".", &names, is_session_folder, compare_session_names);
		if (nr < 0)
			return -errno;
		for (int j = 0; j < nr; j++) {
			if (ret >= 0)
				ret = session_visit(dirfd, names[j]->d_name, fn, ctx);
			if (ret > 0)
				seen++;
			free(names[j]);
		}
		free(names);
		if (ret < 0)
			return ret;
	}
	return nr_users < 0 ? nr_users : check_root_hidden(seen);
}

/* Where a session is. */
struct place {
	uid_t uid;
	int dirfd; /* of all of the user's sessions; -1: not open */
	char folder[SESSION_NAME_MAX + 1];
};

static void session_place_release(struct place *place)
{
	closep(&place->dirfd);
}

/* Opens the folder of a session, dead or alive. */
static int session_find_place(const char *name, struct place *place)
{
	_cleanup_free_ uid_t *users = NULL;
	int nr = name && session_name_valid(name) ? pins_list_users(&users) : -ENOENT;
	int fd = -ENOENT;

	if (nr < 0)
		return nr;
	pins_folder_name(place->folder, name);
	for (int i = 0; i < nr && fd == -ENOENT; i++) {
		closep(&place->dirfd);
		place->uid = users[i];
		place->dirfd = pins_open_dir(place->uid);
		fd = place->dirfd < 0 ? place->dirfd
				      : pins_open_session(place->dirfd, place->folder);
		fd = fd == -ESTALE ? -ENOENT : fd;
	}
	return fd == -ENOENT && check_root_hidden(0) ? -EACCES : fd;
}

/* Returns the program's result, or a negative errno. */
static int session_run_program(int dirfd, const char *pin)
{
	_cleanup_close_ int fd = session_open_pin(dirfd, pin);
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	if (fd < 0)
		return fd;
	err = bpf_prog_test_run_opts(fd, &opts);
	return err ? err : (int)opts.retval;
}

int perf_poke__session_stop(const char *name)
{
	_cleanup_(session_place_release) struct place place = { .dirfd = -1 };
	_cleanup_close_ int fd = -1;
	int ret = -EWOULDBLOCK;

	fd = session_find_place(name, &place);
	if (fd < 0)
		return fd;
	/* Other observers may hold the lock for a moment. */
	for (int i = 0; i < REMOVE_TRIES && ret == -EWOULDBLOCK && !pins_is_alive(fd); i++) {
		if (i)
			usleep(REMOVE_PAUSE_US);
		ret = pins_remove_dead(place.dirfd, place.folder, fd);
	}
	if (!ret)
		pins_remove_user_dir(place.uid);
	if (ret != -EWOULDBLOCK)
		return ret;
	ret = session_run_program(fd, TRIGGER_PIN_STOP);
	/* If the ring is full, the program drops this request; the ring has others like it. */
	return ret < 0 ? ret : 1;
}

static int session_find_living(const char *name)
{
	_cleanup_(session_place_release) struct place place = { .dirfd = -1 };
	_cleanup_close_ int fd = session_find_place(name, &place);

	return fd < 0 || pins_is_alive(fd) ? TAKE_FD(fd) : -ENOENT;
}

int perf_poke__session_poke(const char *name)
{
	_cleanup_close_ int fd = session_find_living(name);
	int ret = fd < 0 ? fd : session_run_program(fd, TRIGGER_PIN_POKE);

	return ret ? ret : -EBUSY;
}

struct perf_poke_reporter {
	struct reporter to;
	struct mapping session, cpus_more, arming;
};

void perf_poke__session_close(struct perf_poke_reporter *reporter)
{
	if (!reporter)
		return;
	mapping_release(&reporter->session);
	mapping_release(&reporter->cpus_more);
	mapping_release(&reporter->arming);
	closep(&reporter->to.prog_fd);
	free(reporter);
}

static int reporter_map_pins(struct perf_poke_reporter *reporter, int dirfd)
{
	struct trigger_counters *counters = &reporter->to.counters;
	int nr_cpus = libbpf_num_possible_cpus(), err;

	reporter->to.prog_fd = session_open_pin(dirfd, TRIGGER_PIN_REPORT);
	if (reporter->to.prog_fd < 0)
		return reporter->to.prog_fd == -ENOENT ? -ENXIO : reporter->to.prog_fd;
	err = nr_cpus < 0 ? nr_cpus : mapping_open_session(&reporter->session, dirfd);
	if (!err)
		err = mapping_open_pin(&reporter->cpus_more, dirfd, TRIGGER_PIN_CPUS_MORE,
				       sizeof(struct trigger_cpu), PROT_READ | PROT_WRITE);
	if (!err)
		err = mapping_open_pin(&reporter->arming, dirfd, TRIGGER_PIN_ARMING,
				       sizeof(*reporter->to.counters.arming), PROT_READ);
	if (err)
		return err;
	*counters = (struct trigger_counters){
		.rows = (struct trigger_cpu *)reporter->cpus_more.data +
			(PERF_POKE_TRIGGER_REPORT - 1) * nr_cpus,
		.nr_rows = (size_t)nr_cpus,
		.arming = reporter->arming.data,
	};
	return reporter->cpus_more.entries < PERF_POKE_TRIGGER_REPORT * counters->nr_rows ? -EINVAL
											  : 0;
}

int perf_poke__session_open(struct perf_poke_reporter **opened, const char *name)
{
	_cleanup_close_ int fd = session_find_living(name);
	struct perf_poke_reporter *reporter;
	int err;

	if (fd < 0)
		return fd;
	reporter = calloc(1, sizeof(*reporter));
	if (!reporter)
		return -ENOMEM;
	err = reporter_map_pins(reporter, fd);
	if (err)
		perf_poke__session_close(reporter);
	else
		*opened = reporter;
	return err;
}

int perf_poke__session_report(struct perf_poke_reporter *reporter,
			      const struct perf_poke_report *report)
{
	return reported_take_latency(&reporter->to, report);
}
