// SPDX-License-Identifier: GPL-2.0-only
/* The threads of a trace, and their current names. */
#include "calls/calls_internal.h"

#define KOID_IDLE UINT64_C(0x6f000000)
#define KOID_UNKNOWN UINT64_C(0x6e000000)

void calls_free_threads(struct calls *calls)
{
	struct thread *next;

	for (struct thread *thread = calls->threads; thread; thread = next) {
		next = thread->next;
		stack_release(&thread->stack);
		free(thread);
	}
}

/* Creates the track of a thread. Threads without an ID share one per CPU. */
static struct track *new_track(struct calls *calls, const struct thread *thread, int cpu)
{
	struct track_id id = {
		.kind = TRACK_THREAD,
		.cpu = -1,
		.process = (uint64_t)(thread->pid > 0 ? thread->pid : thread->tid),
		.thread = (uint64_t)thread->tid,
		.process_name = thread->comm,
		.thread_name = thread->name,
	};

	if (thread->tid <= 0) {
		id.process = thread->tid ? KOID_UNKNOWN : KOID_IDLE;
		id.thread = id.process + 1 + (uint64_t)cpu;
	}
	return timeline_track(calls->timeline, &id);
}

static void name_thread(struct calls *calls, struct thread *thread, const char *comm, int number)
{
	char name[64];

	snprintf(name, sizeof(name), thread->tid > 0 ? "%s %d" : "%s/%d", comm, number);
	thread->comm = names_add(calls->names, comm);
	thread->name = names_add(calls->names, name);
}

static struct thread *new_thread(struct calls *calls, const struct cpu *cpu, int pid, int tid,
				 const char *comm)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	bool numbered = tid > 0;

	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->pid = pid;
	thread->cpu = numbered ? -1 : cpu->number;
	name_thread(calls, thread, tid < 0 ? "[unknown]" : comm ?: "?",
		    numbered ? tid : cpu->number);
	thread->stack.env = &calls->env;
	thread->stack.track = new_track(calls, thread, cpu->number);
	if (!thread->stack.track) {
		free(thread);
		return NULL;
	}
	stack_restart(&thread->stack, &cpu->now, false);
	thread->next = calls->threads;
	calls->threads = thread;
	return thread;
}

struct thread *calls_thread(struct calls *calls, const struct cpu *cpu, int pid, int tid,
			    const char *comm)
{
	int number = tid <= 0 ? cpu->number : -1;
	struct thread *thread = calls->threads;

	while (thread && (thread->tid != tid || thread->cpu != number))
		thread = thread->next;
	if (!thread)
		return new_thread(calls, cpu, pid, tid, comm);
	calls_rename(calls, thread, comm);
	return thread;
}

bool calls_rename(struct calls *calls, struct thread *thread, const char *comm)
{
	if (thread->tid <= 0 || !comm || names_add(calls->names, comm) == thread->comm)
		return false;
	name_thread(calls, thread, comm, thread->tid);
	/* The process is named like its first thread. */
	track_rename(thread->stack.track, thread->tid == thread->pid ? thread->comm : 0,
		     thread->name);
	return true;
}
