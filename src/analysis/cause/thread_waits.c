// SPDX-License-Identifier: GPL-2.0-only
/* Where a late thread slept, on what, and who woke it. */
#include <string.h>

#include "array.h"
#include "cause/fingerprint.h"
#include "cause/late_thread.h"
#include "kernel_function.h"
#include "text.h"

/* The kernel's handler of timers that wake the thread that armed them. */
#define HRTIMER_WAKEUP "hrtimer_wakeup"

uint32_t thread_user_function(const struct thread_namer *namer, const struct schedule_event *event,
			      uint64_t address)
{
	const struct tracepoint_event at = { .time = event->time, .pid = event->pid };

	uint32_t found =
		namer->user ? namer->user(namer->context, namer->names, &at, address, NULL) : 0;
	const char *name = names_get(namer->names, found);
	char plain[128];

	if (!found)
		return 0;
	/* The C library's aliases within itself, and versions of symbols. */
	if (has_prefix(name, "__GI_"))
		name += strlen("__GI_");
	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(name, "@"), name);
	return names_add(namer->names, plain);
}

/* What is waited for, if both sides show it: the waiter's function in the kernel, and the function
 * of the C library that woke it, under the names that it exports. Others, such as the one that
 * unlocks a mutex, are not exported: without the library's debug symbols they have no name. */
static void place_find_object(struct thread_place *place, const struct thread_waker *waker,
			      const struct names *names)
{
	static const struct {
		const char *function, *object;
	} wakes[] = {
		{ "pthread_cond_signal", "condition" },
		{ "pthread_cond_broadcast", "condition" },
		{ "pthread_barrier_wait", "barrier" },
		{ "pthread_rwlock_unlock", "rwlock" },
		{ "sem_post", "semaphore" },
		{ "new_sem_post", "semaphore" },
	};
	const char *by = waker->user ? names_get(names, waker->user) : "";

	if (!place->token || strcmp(place->token, "futex") != 0)
		return;
	for (size_t i = 0; i < place->nr_kernel; i++) {
		if (has_prefix(names_get(names, place->kernel[i]), "futex_lock_pi"))
			place->object = "pi_mutex";
	}
	by += strspn(by, "_");
	for (size_t i = 0; i < ARRAY_SIZE(wakes) && !place->object; i++) {
		if (!strcmp(by, wakes[i].function))
			place->object = wakes[i].object;
	}
}

/* A token of a function that others call for several kinds of waits */
static bool is_token_vague(const char *token)
{
	return !token || !strcmp(token, "completion") || !strcmp(token, "socket");
}

/* In order of importance: of a stack, the first frame with a token that says what kind of wait it
 * is. */
static void place_add_kernel(struct thread_place *place, const struct thread_namer *namer,
			     const char *function)
{
	const struct kernel_function *row = kernel_function_find(function, KERNEL_WAITS);
	char name[FINGERPRINT_NAME_SIZE], entry[FINGERPRINT_NAME_SIZE];

	if (row && is_token_vague(place->token))
		place->token = row->token;
	if (kernel_function_find(function, KERNEL_EXCEPTION) && place->token &&
	    strcmp(place->token, "futex"))
		place->token = "page_fault";
	fingerprint_function_name(name, function);
	if (!place->entry && fingerprint_frame_role(entry, name) == FRAME_ENTRY)
		place->entry = names_add(namer->names, entry);
	if (place->entry || place->nr_kernel == THREAD_FRAMES_MAX)
		return;
	if (!place->nr_kernel && kernel_function_find(function, KERNEL_SCHEDULER | KERNEL_TRIGGER))
		return;
	place->kernel[place->nr_kernel++] = names_add(namer->names, function);
}

static void thread_place_find(struct thread_place *place, const struct schedule *schedule,
			      size_t gave_up, const struct thread_namer *namer)
{
	const struct schedule_event *event;

	*place = (struct thread_place){ 0 };
	if (gave_up == SCHEDULE_NONE)
		return;
	event = &schedule->events[gave_up];
	for (uint32_t i = 0; i < event->nr_frames; i++) {
		uint64_t address = schedule->frames[event->frames + i];

		if (address >= KERNEL_FIRST) {
			const char *function = tracepoints_function(namer->tracepoints, address);

			if (function)
				place_add_kernel(place, namer, function);
		} else if (place->nr_user < THREAD_FRAMES_MAX) {
			uint32_t name = thread_user_function(namer, event, address);

			/* Without frame pointers, the rest is no code. The C library's start of
			 * the program says nothing. */
			if (!name || has_prefix(names_get(namer->names, name), "__libc_start"))
				break;
			place->user[place->nr_user++] = name;
		}
	}
	if (place->entry && !strcmp(names_get(namer->names, place->entry), "[futex]"))
		place->address = event->call_argument;
	if (event->sleep_state & 0x04)
		place->token = "stop";
	else if (event->sleep_state & 0x08)
		place->token = "tracer";
}

/* The letter of sched_switch for its bits. */
static char sleep_state_letter(uint32_t state)
{
	static const char letters[] = "SDTtXZPI";

	for (size_t i = 0; letters[i]; i++) {
		if (state & 1U << i)
			return letters[i];
	}
	return 'R';
}

/* An interrupt's own functions are inside of the entry that is nearest to the wakeup. */
static enum wake_context wake_context_of(const char *function)
{
	const struct kernel_function *row = kernel_function_find(function, KERNEL_ENTRY);
	const char *token = row ? row->token : "";

	if (!strcmp(token, "local_timer") || !strcmp(token, "TIMER") || !strcmp(token, "HRTIMER"))
		return WAKE_TIMER;
	if (kernel_function_find(function, KERNEL_SOFTIRQ))
		return WAKE_SOFTIRQ;
	return !strcmp(token, "irq") || kernel_function_find(function, KERNEL_INTERRUPT)
		       ? WAKE_INTERRUPT
		       : WAKE_UNKNOWN;
}

static void thread_waker_find(struct thread_waker *waker, const struct schedule *schedule,
			      size_t woken, const struct thread_namer *namer)
{
	const struct schedule_event *event;
	uint32_t last = 0;

	*waker = (struct thread_waker){ .cpu = -1 };
	if (woken == SCHEDULE_NONE)
		return;
	event = &schedule->events[woken];
	waker->tid = event->other;
	waker->cpu = event->cpu;
	waker->name = schedule_thread_name(schedule, event->other, event->time);
	/* Without sched_waking: where the thread was queued, maybe by an interrupt for the waker.
	 */
	if (event->kind != SCHEDULE_WAKING || !event->nr_frames)
		return;
	for (uint32_t i = 0; i < event->nr_frames && waker->context == WAKE_UNKNOWN; i++) {
		uint64_t address = schedule->frames[event->frames + i];
		const char *function = address >= KERNEL_FIRST
					       ? tracepoints_function(namer->tracepoints, address)
					       : NULL;

		if (!function)
			continue;
		waker->context = wake_context_of(function);
		if (waker->context != WAKE_UNKNOWN)
			waker->function = last;
		last = names_add(namer->names, function);
		if (waker->context == WAKE_UNKNOWN && waker->nr_kernel < THREAD_FRAMES_MAX &&
		    (waker->nr_kernel ||
		     !kernel_function_find(function, KERNEL_WAKES | KERNEL_TRIGGER)))
			waker->kernel[waker->nr_kernel++] = last;
	}
	if (waker->context != WAKE_UNKNOWN)
		return;
	waker->context = WAKE_TASK;
	if (event->call_ip)
		waker->user = thread_user_function(namer, event, event->call_ip);
}

/* The timer that a thread armed for its sleep, when it gave up the CPU; NULL: not recorded. */
static const struct schedule_event *
find_armed_timer(const struct schedule *schedule, size_t gave_up, const struct thread_namer *namer)
{
	const struct schedule_event *last = &schedule->events[gave_up];

	for (size_t i = gave_up; i > 0; i--) {
		const struct schedule_event *event = &schedule->events[i - 1];
		const char *function = NULL;

		if (event->cpu != last->cpu)
			continue;
		if (event->kind == SCHEDULE_SWITCH ||
		    schedule_has_gap(schedule, last->cpu, event->time, last->time))
			return NULL;
		/* The scheduler arms timers as well. */
		if (event->kind == SCHEDULE_ARM && event->tid == last->tid)
			function = tracepoints_function(namer->tracepoints, event->function);
		if (function && !strcmp(function, HRTIMER_WAKEUP))
			return event;
	}
	return NULL;
}

/* What woke the thread was lost. If it sleeps by itself and ran again after its timer was due, it
 * was the timer. */
static void thread_waker_deduce(struct thread_waker *waker, const struct schedule *schedule,
				const struct thread_stay *stay, const struct thread_place *place,
				const struct thread_namer *namer)
{
	const struct schedule_event *armed = NULL;

	if (stay->gave_up != SCHEDULE_NONE && place->token && !strcmp(place->token, "sleep"))
		armed = find_armed_timer(schedule, stay->gave_up, namer);
	if (!armed || armed->expires > stay->end)
		return;
	waker->context = WAKE_TIMER;
	waker->cpu = armed->cpu;
	waker->function = names_add(namer->names, HRTIMER_WAKEUP);
}

bool thread_waker_is_timeout(const struct thread_waker *waker, const struct names *names)
{
	const char *function = waker->function ? names_get(names, waker->function) : "";

	return waker->context == WAKE_TIMER &&
	       (!strcmp(function, HRTIMER_WAKEUP) || !strcmp(function, "process_timeout"));
}

static bool is_same_place(const struct thread_place *a, const struct thread_place *b)
{
	if (a->token && b->token)
		return !strcmp(a->token, b->token) && a->entry == b->entry;
	return !a->token && !b->token && a->nr_kernel == b->nr_kernel &&
	       (!a->nr_kernel || a->kernel[0] == b->kernel[0]);
}

static struct thread_wait *thread_wait_by_place(struct thread_wait **waits, size_t *nr,
						const struct thread_place *place)
{
	for (size_t i = 0; i < *nr; i++) {
		if (is_same_place(&(*waits)[i].place, place))
			return &(*waits)[i];
	}
	if (array_grow(waits, *nr, sizeof(**waits)))
		return NULL;
	(*waits)[*nr] = (struct thread_wait){ .place = *place };
	return &(*waits)[(*nr)++];
}

static int compare_waits(const void *a, const void *b)
{
	const struct thread_wait *x = a, *y = b;

	return array_compare(y->time_ns, x->time_ns) ?: array_compare(x->begin, y->begin);
}

int thread_waits_find(struct thread_wait **waits, size_t *nr, const struct thread_stays *stays,
		      const struct schedule *schedule, const struct thread_namer *namer)
{
	for (size_t i = 0; i < stays->nr; i++) {
		const struct thread_stay *stay = &stays->list[i];
		uint64_t time_ns = stay->end - stay->begin;
		struct thread_place place;
		struct thread_wait *wait;

		if (stay->state != THREAD_ASLEEP)
			continue;
		thread_place_find(&place, schedule, stay->gave_up, namer);
		wait = thread_wait_by_place(waits, nr, &place);
		if (!wait)
			return -ENOMEM;
		wait->time_ns += time_ns;
		wait->count++;
		if (time_ns <= wait->longest_ns)
			continue;
		wait->place = place;
		wait->longest_ns = time_ns;
		wait->unsure = stay->unsure;
		wait->begin = stay->begin;
		wait->end = stay->end;
		wait->state =
			stay->gave_up == SCHEDULE_NONE
				? 0
				: sleep_state_letter(schedule->events[stay->gave_up].sleep_state);
		thread_waker_find(&wait->waker, schedule, stay->woken, namer);
		if (stay->unsure && stay->woken == SCHEDULE_NONE)
			thread_waker_deduce(&wait->waker, schedule, stay, &place, namer);
		place_find_object(&wait->place, &wait->waker, namer->names);
	}
	if (*nr)
		qsort(*waits, *nr, sizeof(**waits), compare_waits);
	return names_error(namer->names);
}
