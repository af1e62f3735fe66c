// SPDX-License-Identifier: GPL-2.0-only
#include "calls/cpu.h"

#include <string.h>

/* Far from real IDs, and within the 32 bits of Perfetto. */
#define KOID_CPUS UINT64_C(0x70000000)
#define KOID_IDLE UINT64_C(0x6f000000)
#define KOID_UNKNOWN UINT64_C(0x6e000000)
#define FLOW_SPIKE 1

static const char *const track_names[] = {
	[TRACK_CODE] = "functions",
	[TRACK_TASKS] = "tasks",
	[TRACK_TIMER] = "timer",
	[TRACK_INTERRUPTS] = "interrupts",
	[TRACK_IRQS_OFF] = "interrupts off",
	[TRACK_IRQS_UNKNOWN] = "interrupts on or off",
	[TRACK_TRACE] = "trace",
};
_Static_assert(ARRAY_SIZE(track_names) == TRACK_NR_OF_CPU, "each has a name");

int cpu_names_new(struct cpu_names *cpu_names, struct names *names)
{
	*cpu_names = (struct cpu_names){
		.process = names_add(names, "CPUs"),
		.category = names_add(names, "cpu"),
		.lost = { [LOSS_OF_TRACE] = names_add(names, TRACK_LOST),
			  [LOSS_OF_CODE] = names_add(names, TRACK_NO_CODE),
			  [LOSS_BY_ERROR] = names_add(names, TRACK_UNDECODED) },
		.irqs_unknown = names_add(names, "[not known]"),
		.untraced = { [UNTRACED_CODE] = names_add(names, "[not traced]"),
			      [UNTRACED_SMI] = names_add(names, "SMI"),
			      [UNTRACED_GUEST] = names_add(names, "virtual machine"),
			      [UNTRACED_HYPERVISOR] = names_add(names, "hypervisor") },
		.latency = names_add(names, "latency ns"),
		.late = names_add(names, "timer is late"),
		.spike = names_add(names, "spike"),
		.wakeup = names_add(names, "wakeup"),
		.sent = names_add(names, "sent interrupt"),
	};
	return names_error(names);
}

struct track_id cpu_track_id(struct names *names, const struct cpu_names *cpu_names, int number,
			     enum track_kind kind)
{
	char name[48];

	snprintf(name, sizeof(name), "CPU %d %s", number, track_names[kind]);
	return (struct track_id){
		.kind = kind,
		.cpu = number,
		.process = KOID_CPUS,
		.thread = KOID_CPUS + 1 + (uint64_t)number * TRACK_NR_OF_CPU + kind,
		.process_name = cpu_names->process,
		.thread_name = names_add(names, name),
	};
}

struct cpu *cpu_new(struct timeline *timeline, struct names *names,
		    const struct cpu_names *cpu_names, int number)
{
	struct cpu *cpu = calloc(1, sizeof(*cpu));

	if (!cpu)
		return NULL;
	cpu->number = number;
	/* Tasks before functions: at the begin of a window the running task comes first. */
	for (size_t i = TRACK_NR_OF_CPU; i--;) {
		const struct track_id id =
			cpu_track_id(names, cpu_names, number, (enum track_kind)i);

		cpu->tracks[i] = timeline_track(timeline, &id);
		if (!cpu->tracks[i]) {
			free(cpu);
			return NULL;
		}
	}
	return cpu;
}

static void set_interrupt_state(struct cpu *cpu, const struct cpu_names *names, enum irqs irqs,
				uint64_t at, uint32_t by)
{
	static const int tracks[] = {
		[IRQS_OFF] = TRACK_IRQS_OFF,
		[IRQS_UNKNOWN] = TRACK_IRQS_UNKNOWN,
	};

	if (cpu->irqs == irqs)
		return;
	if (cpu->irqs != IRQS_ON)
		track_end(cpu->tracks[tracks[cpu->irqs]], at, NULL, 0);
	cpu->irqs = (uint8_t)irqs;
	if (irqs != IRQS_ON)
		track_begin(cpu->tracks[tracks[irqs]], at, names->category,
			    irqs == IRQS_OFF ? by : names->irqs_unknown);
}

void cpu_change_irqs(struct cpu *cpu, const struct cpu_names *names, enum irq_change change,
		     uint32_t by)
{
	if (change == IRQ_SAME || (change == IRQ_RESTORED && cpu->irqs == IRQS_UNKNOWN))
		return;
	set_interrupt_state(cpu, names, change == IRQ_OFF ? IRQS_OFF : IRQS_ON, cpu->now.at, by);
}

void cpu_irqs_lost(struct cpu *cpu, const struct cpu_names *names, uint64_t since)
{
	set_interrupt_state(cpu, names, IRQS_UNKNOWN, since, 0);
	memset(cpu->saved, IRQS_UNKNOWN, sizeof(cpu->saved));
}

void cpu_see_irqs(struct cpu *cpu, const struct cpu_names *names, bool off, uint64_t since,
		  uint32_t by)
{
	enum irqs irqs = off ? IRQS_OFF : IRQS_ON;

	if (cpu->irqs == irqs)
		return;
	if (since < cpu->now.at)
		set_interrupt_state(cpu, names, IRQS_UNKNOWN, since, 0);
	set_interrupt_state(cpu, names, irqs, cpu->now.at, by);
}

void cpu_begin_interrupt(struct cpu *cpu, const struct cpu_names *names, uint32_t handler,
			 bool maskable)
{
	if (maskable)
		cpu_change_irqs(cpu, names, IRQ_ON, 0);
	if (cpu->nesting < CPU_NESTING_MAX)
		cpu->saved[cpu->nesting] = cpu->irqs;
	cpu->nesting++;
	cpu_change_irqs(cpu, names, IRQ_OFF, handler);
	track_begin(cpu->tracks[TRACK_INTERRUPTS], cpu->now.at, names->category, handler);
}

void cpu_end_interrupt(struct cpu *cpu, const struct cpu_names *names, uint32_t to)
{
	enum irqs irqs;

	/* A task was switched out in it. */
	if (!cpu->nesting)
		return;
	cpu->nesting--;
	irqs = cpu->nesting < CPU_NESTING_MAX ? (enum irqs)cpu->saved[cpu->nesting] : IRQS_UNKNOWN;
	track_end(cpu->tracks[TRACK_INTERRUPTS], cpu->now.at, NULL, 0);
	set_interrupt_state(cpu, names, irqs, cpu->now.at, to);
}

/* If a task is switched out in an exception, the exception continues when the task runs again. */
static void leave_interrupts(struct cpu *cpu)
{
	while (track_depth(cpu->tracks[TRACK_INTERRUPTS]))
		track_end(cpu->tracks[TRACK_INTERRUPTS], cpu->now.at, NULL, 0);
	cpu->nesting = 0;
}

void cpu_switch_thread(struct cpu *cpu, const struct cpu_names *names, struct thread *thread)
{
	struct track *track = cpu->tracks[TRACK_TASKS];

	if (cpu->thread) {
		track_end(track, cpu->now.at, NULL, 0);
		leave_interrupts(cpu);
	}
	track_begin(track, cpu->now.at, names->category, thread->name);
	cpu->thread = thread;
}

void cpu_rename_task(struct cpu *cpu, const struct cpu_names *names)
{
	struct track *track = cpu->tracks[TRACK_TASKS];

	track_end(track, cpu->now.at, NULL, 0);
	track_begin(track, cpu->now.at, names->category, cpu->thread->name);
}

void cpu_add_trace_gap(struct cpu *cpu, const struct cpu_names *names, uint64_t since, uint32_t why)
{
	struct track *track = cpu->tracks[TRACK_TRACE];

	track_begin(track, since, names->category, why);
	track_end(track, cpu->now.at, NULL, 0);
}

void cpu_add_spike_mark(struct cpu *cpu, const struct cpu_names *names, uint64_t expected_at,
			uint64_t latency_ns)
{
	struct track *track = cpu->tracks[TRACK_TIMER];
	const struct track_arg arg = { .key = names->latency, .u64 = latency_ns };
	struct track *thread = cpu->thread ? cpu->thread->stack.track : NULL;

	track_begin(track, expected_at, names->category, names->late);
	track_flow(track, expected_at, TRACK_FLOW_BEGIN, names->category, names->spike, FLOW_SPIKE);
	track_instant(track, cpu->now.at, names->category, names->spike, &arg, 1);
	/* The arrow points to the function of the spike, or to a slice of this track. */
	if (!thread || !track_depth(thread))
		thread = track;
	track_flow(thread, cpu->now.at, TRACK_FLOW_END, names->category, names->spike, FLOW_SPIKE);
	track_end(track, cpu->now.at, &arg, 1);
	if (thread != track)
		track_instant(thread, cpu->now.at, names->category, names->spike, &arg, 1);
}

void threads_release(struct threads *threads)
{
	struct thread *next;

	for (struct thread *thread = threads->first; thread; thread = next) {
		next = thread->next;
		stack_release(&thread->stack);
		free(thread);
	}
}

/* Creates the track of a thread. Threads without an ID share one per CPU. */
static struct track *new_thread_track(struct threads *threads, const struct thread *thread, int cpu)
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
	return timeline_track(threads->env.timeline, &id);
}

static void set_thread_names(struct thread *thread, struct names *names, const char *comm,
			     int number)
{
	char name[64];

	snprintf(name, sizeof(name), thread->tid > 0 ? "%s %d" : "%s/%d", comm, number);
	thread->comm = names_add(names, comm);
	thread->name = names_add(names, name);
}

static struct thread *thread_new_on_cpu(struct threads *threads, const struct cpu *cpu, int pid,
					int tid, const char *comm)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	bool numbered = tid > 0;

	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->pid = pid;
	thread->cpu = numbered ? -1 : cpu->number;
	set_thread_names(thread, threads->names, tid < 0 ? "[unknown]" : comm ?: "?",
		    numbered ? tid : cpu->number);
	thread->stack.env = &threads->env;
	thread->stack.track = new_thread_track(threads, thread, cpu->number);
	if (!thread->stack.track) {
		free(thread);
		return NULL;
	}
	stack_restart(&thread->stack, &cpu->now, false);
	thread->next = threads->first;
	threads->first = thread;
	return thread;
}

struct thread *threads_find_or_add(struct threads *threads, const struct cpu *cpu, int pid, int tid,
				   const char *comm)
{
	int number = tid <= 0 ? cpu->number : -1;
	struct thread *thread = threads->first;

	while (thread && (thread->tid != tid || thread->cpu != number))
		thread = thread->next;
	if (!thread)
		return thread_new_on_cpu(threads, cpu, pid, tid, comm);
	thread_rename(thread, threads->names, comm);
	return thread;
}

bool thread_rename(struct thread *thread, struct names *names, const char *comm)
{
	if (thread->tid <= 0 || !comm || names_add(names, comm) == thread->comm)
		return false;
	set_thread_names(thread, names, comm, thread->tid);
	/* The process is named like its first thread. */
	track_rename(thread->stack.track, thread->tid == thread->pid ? thread->comm : 0,
		     thread->name);
	return true;
}
