// SPDX-License-Identifier: GPL-2.0-only
/* The account of a late thread as text and as JSON. */
#include "cause/late_thread.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "json_util.h"
#include "text.h"
#include "units.h"

#define FRAMES_IN_SENTENCE 3
#define ROWS_MAX 8
/* The kernel's MAX_RT_PRIO - 1 and nice 0. */
#define PRIO_REAL_TIME_LAST 99
#define PRIO_NICE_0 120

const char *thread_state_name(enum thread_state state)
{
	static const char *const names[] = {
		[THREAD_UNKNOWN] = "unknown",
		[THREAD_RUNNING] = "running",
		[THREAD_RUNNABLE] = "runnable",
		[THREAD_ASLEEP] = "asleep",
	};
	_Static_assert(ARRAY_SIZE(names) == THREAD_STATES, "each has a name");

	return names[state];
}

static const char *const why_names[] = {
	[RUNNABLE_UNKNOWN] = NULL,
	[RUNNABLE_PRIORITY] = "higher_priority",
	[RUNNABLE_COMPETITION] = "competition",
	[RUNNABLE_RT_THROTTLING] = "rt_throttling",
	[RUNNABLE_FAIR_SERVER] = "fair_server",
	[RUNNABLE_QUOTA] = "cgroup_quota",
	[RUNNABLE_MAYBE_QUOTA] = "competition_or_cgroup_quota",
	[RUNNABLE_NOT_PREEMPTED] = "not_preempted",
};
_Static_assert(ARRAY_SIZE(why_names) == RUNNABLE_NR, "each has a name");

const char *thread_priority(int prio, char *buf, size_t size)
{
	if (prio == INT_MIN)
		buf[0] = '\0';
	else if (prio < 0)
		snprintf(buf, size, "deadline");
	else if (prio <= PRIO_REAL_TIME_LAST)
		snprintf(buf, size, "real-time %d", PRIO_REAL_TIME_LAST - prio);
	else
		snprintf(buf, size, "nice %d", prio - PRIO_NICE_0);
	return buf;
}

/* How a wait is told: verb, time, reason. */
static const struct wait_words {
	const char *token, *verb, *reason;
} wait_words[] = {
	{ "aio", "waited", " for asynchronous I/O" },
	{ "child", "waited", " for a child process" },
	{ "completion", "waited", " for a completion" },
	{ "cpu_stopper", "waited", " for the stopper of a CPU" },
	{ "disk", "waited", " for a disk" },
	{ "eventfd", "waited", " on an eventfd" },
	{ "freezer", "was frozen for", " by its cgroup" },
	{ "futex", "waited", " on a futex" },
	{ "inotify", "waited", " on inotify" },
	{ "io_uring", "waited", " for io_uring" },
	{ "lock", "waited", " for a lock in the kernel" },
	{ "memory", "waited", " for free memory" },
	{ "message_queue", "waited", " on a message queue" },
	{ "page_fault", "waited", " for a page, in a page fault" },
	{ "pipe", "waited", " on a pipe" },
	{ "poll", "waited", " in poll" },
	{ "posix_lock", "waited", " for a file lock" },
	{ "rcu", "waited", " for an RCU grace period" },
	{ "semaphore", "waited", " on a semaphore" },
	{ "signal", "waited", " for a signal" },
	{ "sleep", "slept", "" },
	{ "socket", "waited", " on a socket" },
	{ "stop", "was stopped for", " by a signal" },
	{ "tcp_socket", "waited", " on a TCP socket" },
	{ "timerfd", "waited", " on a timerfd" },
	{ "tracer", "was stopped for", " by a tracer" },
	{ "tty", "waited", " on a terminal" },
	{ "unix_socket", "waited", " on a Unix socket" },
	{ "userfault", "waited", " for a userfaultfd" },
	{ "work", "waited", " for a work item" },
	{ "writeback", "waited", " for dirty pages to be written" },
};

static const struct wait_words object_words[] = {
	{ "barrier", "waited", " at a barrier" },
	{ "condition", "waited", " on a condition variable" },
	{ "pi_mutex", "waited", " for a mutex with priority inheritance" },
	{ "rwlock", "waited", " for a read-write lock" },
	{ "semaphore", "waited", " on a semaphore" },
};

static const struct wait_words *wait_words_of(const struct thread_place *place)
{
	static const struct wait_words unknown = { NULL, "waited", "" };
	const char *token = place->token;

	for (size_t i = 0; place->object && i < ARRAY_SIZE(object_words); i++) {
		if (!strcmp(place->object, object_words[i].token))
			return &object_words[i];
	}
	for (size_t i = 0; token && i < ARRAY_SIZE(wait_words); i++) {
		if (!strcmp(token, wait_words[i].token))
			return &wait_words[i];
	}
	return &unknown;
}

static void put_wait_frames(FILE *file, const struct names *names, const uint32_t *frames,
			    size_t nr, const char *before)
{
	for (size_t i = 0; i < nr && i < FRAMES_IN_SENTENCE; i++)
		fprintf(file, "%s%s()", i ? " < " : before, names_get(names, frames[i]));
}

static void put_thread_name(FILE *file, const struct names *names, uint32_t name, int tid)
{
	if (tid)
		fprintf(file, "%s %d", name ? names_get(names, name) : "thread", tid);
	else
		fputs("idle", file);
}

static void put_thread_waker(FILE *file, const struct names *names, const struct thread_wait *wait)
{
	const struct thread_waker *waker = &wait->waker;
	const char *function = waker->function ? names_get(names, waker->function) : NULL;

	switch (waker->context) {
	case WAKE_TASK:
		fputs(", woken by ", file);
		put_thread_name(file, names, waker->name, waker->tid);
		fprintf(file, " on CPU %d", waker->cpu);
		break;
	case WAKE_TIMER:
		if (thread_waker_is_timeout(waker, names))
			fputs(", until its timeout", file);
		else
			fprintf(file, ", woken by a timer%s%s%s", function ? ", " : "",
				function ?: "", function ? "()" : "");
		break;
	case WAKE_INTERRUPT:
	case WAKE_SOFTIRQ:
		fprintf(file, ", woken by %s on CPU %d",
			waker->context == WAKE_SOFTIRQ ? "a softirq" : "an interrupt", waker->cpu);
		if (function)
			fprintf(file, ", %s()", function);
		/* It may run on behalf of that thread, as for a socket of the same machine. */
		if (waker->context == WAKE_SOFTIRQ && waker->tid && waker->name)
			fprintf(file, ", while %s %d ran", names_get(names, waker->name),
				waker->tid);
		break;
	case WAKE_UNKNOWN:
		break;
	}
}

static void put_thread_wait(FILE *file, const struct names *names, const struct thread_wait *wait)
{
	const struct thread_place *place = &wait->place;
	const struct wait_words *words = wait_words_of(place);
	bool sleeps = place->token && !strcmp(place->token, "sleep");

	fprintf(file, "%s %s%s%s", words->verb, wait->unsure ? "up to " : "",
		FORMAT_TIME(wait->time_ns), words->reason);
	if (wait->count > 1)
		fprintf(file, ", %" PRIu64 " times", wait->count);
	if (sleeps && wait->waker.context == WAKE_TIMER)
		fputs(" by its own timer", file);
	if (place->nr_user)
		put_wait_frames(file, names, place->user, place->nr_user, ", in ");
	else if (place->nr_kernel)
		put_wait_frames(file, names, place->kernel, place->nr_kernel, ", in ");
	else if (wait->state)
		fprintf(file, ", in state %c", wait->state);
	if (!sleeps || wait->waker.context != WAKE_TIMER)
		put_thread_waker(file, names, wait);
}

static void put_thread_link(FILE *file, const struct names *names, const struct thread_link *link)
{
	fputs("; ", file);
	put_thread_name(file, names, link->name, link->tid);
	switch (link->state) {
	case THREAD_RUNNING:
		fprintf(file, " ran for %s of that", FORMAT_TIME(link->sums[THREAD_RUNNING]));
		break;
	case THREAD_RUNNABLE:
		fprintf(file, " did not run for %s of that, because ",
			FORMAT_TIME(link->sums[THREAD_RUNNABLE]));
		put_thread_name(file, names, link->rival.name, link->rival.tid);
		fputs(" did", file);
		break;
	case THREAD_ASLEEP:
		fputs(" itself ", file);
		put_thread_wait(file, names, &link->wait);
		break;
	case THREAD_UNKNOWN:
	case THREAD_STATES:
		break;
	}
}

void late_thread_put_asleep(FILE *file, const struct late_thread *thread, const struct names *names)
{
	const struct thread_wait *wait = &thread->waits[0];

	put_thread_wait(file, names, wait);
	if (wait->waker.context == WAKE_UNKNOWN && !wait->unsure &&
	    wait->end >= thread->stays.list[thread->stays.nr - 1].end)
		fputs(", and still waits", file);
	else if (wait->waker.context == WAKE_UNKNOWN)
		fputs("; what woke it is not recorded", file);
	for (size_t i = 0; i < thread->nr_links; i++)
		put_thread_link(file, names, &thread->links[i]);
}

static void put_cgroup_quota(FILE *file, const struct scheduling_facts *scheduling)
{
	fprintf(file,
		"the CPU quota of cgroup %s was used up: %" PRIu64 "us each %" PRIu64
		"us, throttled %" PRIu64 " times so far",
		scheduling->cgroup, scheduling->quota_us, scheduling->quota_period_us,
		scheduling->nr_throttled);
}

void late_thread_put_throttled(FILE *file, const struct late_thread *thread,
			       const struct names *names, const struct facts *facts)
{
	if (thread->why == RUNNABLE_QUOTA) {
		put_cgroup_quota(file, &facts->scheduling);
		return;
	}
	if (thread->why == RUNNABLE_FAIR_SERVER)
		fputs("real-time threads had nearly all of it, so the fair server gave it to "
		      "others",
		      file);
	else
		fprintf(file,
			"real-time threads were throttled: kernel.sched_rt_runtime_us is %" PRId64,
			facts->scheduling.rt_runtime_us);
	if (!thread->rivals.nr || !thread->rivals.list[0].tid)
		return;
	fputs("; ", file);
	put_thread_name(file, names, thread->rivals.list[0].name, thread->rivals.list[0].tid);
	fprintf(file, " ran for %s of that", FORMAT_TIME(thread->rivals.list[0].time_ns));
}

void late_thread_put_why(FILE *file, const struct late_thread *thread, const struct names *names,
			 const struct facts *facts, const struct schedule_share *rival)
{
	char own[32], other[32];

	if (thread->why == RUNNABLE_MAYBE_QUOTA) {
		fputs("; or ", file);
		put_cgroup_quota(file, &facts->scheduling);
	}
	if (!rival || !rival->tid || thread->stays.prio == INT_MIN)
		return;
	fprintf(file, "; %s is %s, ",
		rival->name ? names_get(names, rival->name) : "the other thread",
		thread_priority(rival->prio, other, sizeof(other)));
	put_thread_name(file, names, thread->name, thread->tid);
	fprintf(file, " %s", thread_priority(thread->stays.prio, own, sizeof(own)));
	if (thread->why == RUNNABLE_UNKNOWN && thread->stays.prio <= PRIO_REAL_TIME_LAST &&
	    rival->prio > PRIO_REAL_TIME_LAST)
		fputs("; the recording does not show whether real-time threads were throttled",
		      file);
}

/* ---- Table ----------------------------------------------------------------------------------- */

struct state_table {
	FILE *file;
	const struct late_thread *thread;
	int width; /* of what a state is due to */
};

static void print_state_row(const struct state_table *table, const char *state, const char *what,
			    uint64_t time_ns)
{
	const struct late_thread *thread = table->thread;
	const char *text = CLEAN_TO(72, what);
	uint64_t whole = 0;

	for (size_t i = 0; i < THREAD_STATES; i++)
		whole += thread->stays.sums[i];
	fprintf(table->file, "  %-9s %-*s", state, table->width, text);
	/* What is longer than its column has a line of its own. */
	if (strlen(text) > (size_t)table->width)
		fprintf(table->file, "\n%*s", 12 + table->width, "");
	fprintf(table->file, " %8s %5.1f%%\n", FORMAT_TIME(time_ns),
		whole ? 100.0 * (double)time_ns / (double)whole : 0);
}

void late_thread_print(FILE *file, const struct late_thread *thread, const struct names *names,
		       size_t columns)
{
	const struct state_table table = { file, thread, (int)columns - 28 };
	char title[80], priority[32], what[128];
	uint64_t unknown_ns;

	thread_priority(thread->stays.prio, priority, sizeof(priority));
	snprintf(title, sizeof(title), "the late thread, %s %d%s%s",
		 thread->name ? names_get(names, thread->name) : "thread", thread->tid,
		 priority[0] ? ", " : "", priority);
	fprintf(file, "\n%-*s %8s %6s\n", (int)columns - 16, CLEAN_TO(79, title), "time", "share");
	print_state_row(&table, "running", "", thread->stays.sums[THREAD_RUNNING]);
	print_state_row(&table, "runnable", "", thread->stays.sums[THREAD_RUNNABLE]);
	for (size_t i = 0; i < thread->rivals.nr && i < ROWS_MAX; i++) {
		const struct schedule_share *rival = &thread->rivals.list[i];

		thread_priority(rival->prio, priority, sizeof(priority));
		if (rival->tid)
			snprintf(what, sizeof(what), "%s %d ran, %s",
				 rival->name ? names_get(names, rival->name) : "thread", rival->tid,
				 priority);
		else
			snprintf(what, sizeof(what), "the CPU was idle");
		print_state_row(&table, "", what, rival->time_ns);
	}
	print_state_row(&table, "asleep", "", thread->stays.sums[THREAD_ASLEEP]);
	for (size_t i = 0; i < thread->nr_waits && i < ROWS_MAX; i++) {
		_cleanup_free_ char *text = NULL;
		size_t size;
		FILE *memory = open_memstream(&text, &size);

		if (memory) {
			if (thread->waits[i].place.address)
				fprintf(memory, "0x%" PRIx64 ": ", thread->waits[i].place.address);
			put_thread_wait(memory, names, &thread->waits[i]);
			fclose(memory);
		}
		print_state_row(&table, "", text ?: "?", thread->waits[i].time_ns);
	}
	unknown_ns = thread->stays.sums[THREAD_UNKNOWN] - thread->stays.lost_ns;
	if (thread->stays.lost_ns)
		print_state_row(&table, "unknown", "events were lost meanwhile",
				thread->stays.lost_ns);
	if (unknown_ns)
		print_state_row(&table, "unknown", "on a CPU, or at a time, that is not recorded",
				unknown_ns);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_object *thread_frames_json(const struct names *names, const uint32_t *frames, size_t nr)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++)
		json_push_text(list, names_get(names, frames[i]));
	return list;
}

static const char *name_or_null(const struct names *names, uint32_t name)
{
	return name ? names_get(names, name) : NULL;
}

static void json_add_priority(json_object *object, int prio)
{
	char text[32];

	json_add_name(object, "priority", thread_priority(prio, text, sizeof(text)));
}

static json_object *thread_waker_json(const struct thread_waker *waker, const struct names *names)
{
	static const char *const contexts[] = {
		[WAKE_UNKNOWN] = NULL,		[WAKE_TASK] = "task",	    [WAKE_TIMER] = "timer",
		[WAKE_INTERRUPT] = "interrupt", [WAKE_SOFTIRQ] = "softirq",
	};
	json_object *object;

	if (waker->cpu < 0)
		return NULL;
	object = json_object_new_object();
	json_add_name(object, "context", contexts[waker->context]);
	json_add_name(object, "comm", name_or_null(names, waker->name));
	json_add_int(object, "tid", waker->tid);
	json_add_int(object, "cpu", waker->cpu);
	json_add_name(object, "function", name_or_null(names, waker->function));
	json_add(object, "stack", thread_frames_json(names, waker->kernel, waker->nr_kernel));
	json_add_name(object, "user", name_or_null(names, waker->user));
	return object;
}

static json_object *thread_wait_json(const struct thread_wait *wait, const struct names *names)
{
	const struct thread_place *place = &wait->place;
	const char state[] = { wait->state, '\0' };
	char address[32];
	json_object *object = json_object_new_object();

	json_add_name(object, "place", place->token);
	json_add_name(object, "state", state);
	json_add(object, "functions", thread_frames_json(names, place->kernel, place->nr_kernel));
	json_add_name(object, "entry", name_or_null(names, place->entry));
	json_add_name(object, "object", place->object);
	snprintf(address, sizeof(address), "0x%" PRIx64, place->address);
	json_add_name(object, "address", place->address ? address : NULL);
	json_add(object, "user", thread_frames_json(names, place->user, place->nr_user));
	json_add_u64(object, "time_ns", wait->time_ns);
	json_add_u64(object, "count", wait->count);
	json_add_u64(object, "longest_ns", wait->longest_ns);
	json_add_u64(object, "begin_ns", wait->begin);
	json_add_u64(object, "end_ns", wait->end);
	json_add(object, "waker", thread_waker_json(&wait->waker, names));
	return object;
}

static json_object *schedule_share_json(const struct schedule_share *share,
					const struct names *names)
{
	json_object *object = json_object_new_object();

	json_add_int(object, "tid", share->tid);
	json_add_name(object, "comm", share->tid ? name_or_null(names, share->name) : "idle");
	json_add_priority(object, share->prio);
	json_add_u64(object, "time_ns", share->time_ns);
	return object;
}

static json_object *thread_link_json(const struct thread_link *link, const struct names *names)
{
	json_object *object = json_object_new_object();

	json_add_int(object, "tid", link->tid);
	json_add_name(object, "comm", name_or_null(names, link->name));
	json_add_name(object, "state", thread_state_name(link->state));
	json_add_u64(object, "running_ns", link->sums[THREAD_RUNNING]);
	json_add_u64(object, "runnable_ns", link->sums[THREAD_RUNNABLE]);
	json_add_u64(object, "asleep_ns", link->sums[THREAD_ASLEEP]);
	json_add_u64(object, "unknown_ns", link->sums[THREAD_UNKNOWN]);
	json_add(object, "wait",
		 link->state == THREAD_ASLEEP ? thread_wait_json(&link->wait, names) : NULL);
	json_add(object, "rival",
		 link->state == THREAD_RUNNABLE ? schedule_share_json(&link->rival, names) : NULL);
	return object;
}

static json_object *thread_stays_json(const struct thread_stays *stays)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < stays->nr; i++) {
		const struct thread_stay *stay = &stays->list[i];
		json_object *object = json_object_new_object();

		json_add_name(object, "state", thread_state_name(stay->state));
		json_add_u64(object, "begin_ns", stay->begin);
		json_add_u64(object, "end_ns", stay->end);
		json_add_int(object, "cpu", stay->cpu);
		json_object_array_add(list, object);
	}
	return list;
}

json_object *late_thread_json(const struct late_thread *thread, const struct names *names)
{
	json_object *object, *rivals, *waits, *chain;

	if (!thread)
		return NULL;
	object = json_object_new_object();
	rivals = json_object_new_array();
	waits = json_object_new_array();
	chain = json_object_new_array();
	json_add_int(object, "pid", thread->pid);
	json_add_int(object, "tid", thread->tid);
	json_add_name(object, "comm", name_or_null(names, thread->name));
	json_add_priority(object, thread->stays.prio);
	json_add_u64(object, "running_ns", thread->stays.sums[THREAD_RUNNING]);
	json_add_u64(object, "runnable_ns", thread->stays.sums[THREAD_RUNNABLE]);
	json_add_u64(object, "asleep_ns", thread->stays.sums[THREAD_ASLEEP]);
	json_add_u64(object, "unknown_ns", thread->stays.sums[THREAD_UNKNOWN]);
	json_add_u64(object, "lost_ns", thread->stays.lost_ns);
	for (size_t i = 0; i < thread->rivals.nr; i++)
		json_object_array_add(rivals, schedule_share_json(&thread->rivals.list[i], names));
	for (size_t i = 0; i < thread->nr_waits; i++)
		json_object_array_add(waits, thread_wait_json(&thread->waits[i], names));
	for (size_t i = 0; i < thread->nr_links; i++)
		json_object_array_add(chain, thread_link_json(&thread->links[i], names));
	json_add(object, "rivals", rivals);
	json_add_name(object, "runnable_why", why_names[thread->why]);
	json_add(object, "waits", waits);
	json_add(object, "chain", chain);
	json_add(object, "intervals", thread_stays_json(&thread->stays));
	return object;
}
