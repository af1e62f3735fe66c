// SPDX-License-Identifier: GPL-2.0-only
#include "calls/threads.h"

#define KOID_IDLE UINT64_C(0x6f000000)
#define KOID_UNKNOWN UINT64_C(0x6e000000)

void threads_release(struct threads *threads)
{
	struct thread *next;

	for (struct thread *thread = threads->first; thread; thread = next) {
		next = thread->next;
		stack_release(&thread->stack);
		free(thread);
	}
}

/* A track for each thread, and one for each CPU's threads without an ID. */
static struct track *new_track(struct threads *threads, const struct thread *thread, int cpu)
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
	return timeline_track(threads->timeline, &id);
}

static void name_thread(struct threads *threads, struct thread *thread, const char *comm,
			int number)
{
	char name[64];

	snprintf(name, sizeof(name), thread->tid > 0 ? "%s %d" : "%s/%d", comm, number);
	thread->comm = names_add(threads->names, comm);
	thread->name = names_add(threads->names, name);
}

static struct thread *new_thread(struct threads *threads, const struct cpu *cpu, int pid, int tid,
				 const char *comm)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	bool numbered = tid > 0;

	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->pid = pid;
	thread->cpu = numbered ? -1 : cpu->number;
	name_thread(threads, thread, tid < 0 ? "[unknown]" : comm ?: "?",
		    numbered ? tid : cpu->number);
	thread->stack.env = threads->env;
	thread->stack.id = ++threads->nr;
	thread->stack.track = new_track(threads, thread, cpu->number);
	if (!thread->stack.track) {
		free(thread);
		return NULL;
	}
	stack_restart(&thread->stack, &cpu->now, false);
	thread->next = threads->first;
	threads->first = thread;
	return thread;
}

struct thread *threads_find(struct threads *threads, const struct cpu *cpu, int pid, int tid,
			    const char *comm)
{
	int number = tid <= 0 ? cpu->number : -1;
	struct thread *thread = threads->first;

	while (thread && (thread->tid != tid || thread->cpu != number))
		thread = thread->next;
	if (!thread)
		return new_thread(threads, cpu, pid, tid, comm);
	threads_rename(threads, thread, comm);
	return thread;
}

bool threads_rename(struct threads *threads, struct thread *thread, const char *comm)
{
	if (thread->tid <= 0 || !comm || names_add(threads->names, comm) == thread->comm)
		return false;
	name_thread(threads, thread, comm, thread->tid);
	/* A process has the name of its first thread. */
	track_rename(thread->stack.track, thread->tid == thread->pid ? thread->comm : 0,
		     thread->name);
	return true;
}
