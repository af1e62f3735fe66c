// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/noise.h"
#include "capture/stack.h"
#include "clock.h"
#include "trigger/kinds.h"
#include "trigger/noise.h"

#define NAME_TRIES 1000
#define LATENCY_TRIES 20
#define LATENCY_PAUSE_US 5000

/* Sorts by time and states the spike: 20261121-093015.042-cpu3-83us */
static void capture_name(const struct capture *capture, char *name, size_t size)
{
	const struct perf_poke_spike *spike = &capture->spike;
	const char *kind = spike->kind ? trigger_kind_name(spike->kind) : "";
	uint64_t wall_ns = clock_wall_ns(spike->time_ns);
	time_t seconds = wall_ns / NSEC_PER_SEC;
	struct tm tm;
	size_t len;

	localtime_r(&seconds, &tm);
	len = strftime(name, size, "%Y%m%d-%H%M%S", &tm);
	len += snprintf(name + len, size - len, ".%03u",
			(unsigned int)(wall_ns % NSEC_PER_SEC / 1000000));
	if (spike->poked)
		snprintf(name + len, size - len, "-poke");
	else
		snprintf(name + len, size - len, "-cpu%d-%s%s%" PRIu64 "us", spike->cpu,
			 capture->control ? "control" : kind, capture->control || *kind ? "-" : "",
			 spike->latency_ns / 1000);
}

/* Renames the complete capture, unless the name is taken. */
static int capture_publish(const struct capture_env *env, const char *partial,
			   struct capture *capture)
{
	const struct output *output = env->output;
	char wanted[80], name[96];

	capture_name(capture, wanted, sizeof(wanted));
	for (int i = 1; i <= NAME_TRIES; i++) {
		if (i == 1)
			snprintf(name, sizeof(name), "%s", wanted);
		else
			snprintf(name, sizeof(name), "%s-%d", wanted, i);
		/* rename() replaces an empty folder only. Not every file system has
		 * RENAME_NOREPLACE. */
		if (!renameat(output->work, partial, output->fd, name))
			return asprintf(&capture->path, "%s/%s", output->path, name) < 0 ? -ENOMEM
											 : 0;
		if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
			return -errno;
	}
	return -EEXIST;
}

/* An unknown function does not fail the capture. */
static void capture_function(const struct capture_env *env, struct capture *capture)
{
	struct kallsyms_place place = { .address = capture->spike.function };

	if (!place.address || capture_symbols_find(env->symbols, &place, 1) ||
	    place.start != place.address)
		return;
	snprintf(capture->function_name, sizeof(capture->function_name), "%s", place.name);
	capture->spike.function_name = capture->function_name;
}

/* A pending timer fires right after the instruction that enables interrupts. */
static int capture_irqs_off(const struct capture_env *env, const struct perf_poke_spike *spike)
{
	uint8_t code[TRIGGER_CODE_SIZE];

	if (!spike->nr_frames || spike->kind != PERF_POKE_TRIGGER_IRQ)
		return -1;
	if (spike->stack[0]->user)
		return 0;
	return trigger_code(env->trigger, spike->stack[0]->address, code) ? -1
									  : stack_held_off(code);
}

static void capture_branches(struct capture *capture, const struct trigger_branches *branches)
{
	size_t nr = branches->size > 0 ? (size_t)branches->size / sizeof(branches->entries[0]) : 0;

	capture->spike.nr_branches = nr < TRIGGER_BRANCHES ? nr : TRIGGER_BRANCHES;
	capture->spike.branches = capture->branches;
	for (size_t i = 0; i < capture->spike.nr_branches; i++) {
		const struct trigger_branch *branch = &branches->entries[i];

		capture->branches[i] =
			(struct perf_poke_branch){ branch->from, branch->to, branch->flags };
	}
}

static const struct perf_poke_frame *const *name_stack(const struct capture_env *env,
						       struct capture_stack *to,
						       const struct trigger_stack *stack)
{
	to->frames = stack_name(stack, env->symbols, &to->nr);
	for (size_t i = 0; i < to->nr; i++)
		to->rows[i] = &to->frames[i];
	return to->rows;
}

/* If the timer's interrupt hit the kernel, stores its frames, and the user frames of the system
 * call from the whole stack. If it hit user space, stores that frame. False: it is not known, or
 * the whole stack has it. */
static bool name_interrupted(const struct capture_env *env, struct capture_stack *to,
			     const struct trigger_holder *holder)
{
	struct trigger_stack stack = holder->stack;

	if (!stack.kernel_size)
		stack.user_size = stack.build_ids_size = 0;
	stack.kernel_size = holder->interrupted_size;
	memcpy(stack.kernel, holder->interrupted, sizeof(stack.kernel));
	name_stack(env, to, &stack);
	if (to->nr && !to->frames[0].user)
		return true;
	stack_free(to->frames, to->nr);
	*to = (struct capture_stack){};
	if (!holder->user_address || holder->at_interrupt)
		return false;
	to->rows[0] = to->frames = stack_name_user(holder->user_address, holder->pid);
	to->nr = to->frames != NULL;
	return to->nr;
}

/* For a late thread: the task that had the CPU before. */
static void capture_holder(const struct capture_env *env, struct capture *capture,
			   const struct trigger_stacks *stacks)
{
	const struct trigger_stack *stack = &stacks->holder.stack;
	struct perf_poke_spike *spike = &capture->spike;

	if (!stacks->holder.since_ns)
		return;
	spike->holder_interrupted = name_interrupted(env, &capture->holder, &stacks->holder);
	/* Otherwise it was switched out once, at the spike. */
	if (!spike->holder_interrupted && stack->kernel_size > 0 &&
	    (stacks->holder.at_interrupt || stack->tid != stacks->spike.tid)) {
		name_stack(env, &capture->holder, stack);
		spike->holder_interrupted = stacks->holder.at_interrupt;
	}
	spike->holder = capture->holder.rows;
	spike->nr_holder_frames = capture->holder.nr;
	spike->holder_pid = (int)(stacks->holder.pid ?: stack->pid);
	spike->holder_tid = (int)(stacks->holder.tid ?: stack->tid);
}

/* Stacks of the interrupted task. */
static void take_stacks(const struct capture_env *env, struct capture *capture)
{
	_cleanup_free_ struct trigger_stacks *stacks = malloc(sizeof(*stacks));
	struct perf_poke_spike *spike = &capture->spike;

	if (!stacks || !env->trigger || spike->poked ||
	    !trigger_stacks(env->trigger, spike->sequence, stacks))
		return;
	spike->stack_pid = (int)stacks->spike.pid;
	spike->stack_tid = (int)stacks->spike.tid;
	spike->policy = (int)stacks->spike.policy;
	spike->rt_priority = (int)stacks->spike.rt_priority;
	spike->nice = stacks->spike.nice;
	spike->stack = name_stack(env, &capture->stack, &stacks->spike);
	spike->nr_frames = capture->stack.nr;
	capture_holder(env, capture, stacks);
	spike->irqs_off = capture_irqs_off(env, spike);
	capture_branches(capture, &stacks->branches);
	if (spike->kind == PERF_POKE_TRIGGER_IRQ)
		hardware_narrow(&capture->hardware, stacks->steal_ns);
}

/* A late thread may not have run before now. */
static void capture_latencies(const struct capture_env *env, struct perf_poke_spike *spike)
{
	bool wants_thread = env->config->thresholds[PERF_POKE_TRIGGER_THREAD];
	bool wants_user = env->config->thresholds[PERF_POKE_TRIGGER_USER];
	struct trigger_latencies seen;

	if (!env->trigger || spike->poked || (!wants_thread && !wants_user))
		return;
	for (int i = 0; i < LATENCY_TRIES; i++) {
		if (i)
			usleep(LATENCY_PAUSE_US);
		if (!trigger_latencies(env->trigger, spike->cpu, spike->sequence, &seen))
			return;
		spike->thread_ns = seen.thread_ns;
		spike->user_ns = seen.user_ns;
		spike->has_noise = trigger_has_noise(env->trigger);
		spike->noise_irq_ns = seen.noise.irq_ns;
		spike->noise_softirq_ns = seen.noise.softirq_ns;
		spike->noise_thread_ns = seen.noise.thread_ns;
		spike->noise_nmi_ns = seen.noise.nmi_ns;
		if (seen.user_ns || (seen.thread_ns && !wants_user))
			return;
	}
}

static void capture_noise(const struct capture_env *env, struct perf_poke_spike *spike)
{
	struct trigger_noise_parts parts;

	if (env->trigger && !spike->poked && spike->kind == PERF_POKE_TRIGGER_NOISE &&
	    noise_parts(env->trigger, spike->sequence, &parts))
		noise_explain(spike, &parts);
}

static int capture_fill(const struct capture_env *env, int dirfd, struct capture *capture)
{
	struct perf_poke_spike *spike = &capture->spike;
	int err;

	/* While the task still exists. */
	take_stacks(env, capture);
	err = recorder_write(env->recorder, capture->snapshot, dirfd, spike, &capture->facts);
	if (err)
		return err;
	capture_function(env, capture);
	capture_latencies(env, spike);
	capture_noise(env, spike);
	err = capture_json_write(env, capture, dirfd);
	capture->size = tree_size(dirfd, ".");
	return err;
}

static int capture_identify(struct capture *capture, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	capture->dev = st.st_dev;
	capture->ino = st.st_ino;
	return 0;
}

static int capture_try(const struct capture_env *env, struct capture *capture)
{
	_cleanup_close_ int fd = -1;
	char partial[32];
	int err;

	err = output_renew(env->output, &capture->note);
	if (err < 0)
		return err;
	snprintf(partial, sizeof(partial), "%" PRIu64, capture->still_ns);
	if (mkdirat(env->output->work, partial, 0700))
		return -errno;
	fd = openat(env->output->work, partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = fd < 0 ? -errno : capture_identify(capture, fd);
	if (!err)
		err = capture_fill(env, fd, capture);
	if (!err)
		err = capture_publish(env, partial, capture);
	if (err)
		tree_remove(env->output->work, partial);
	return err;
}

void capture_write(const struct capture_env *env, struct capture *capture)
{
	capture->error = capture_try(env, capture);
	recorder_snapshot_free(env->recorder, capture->snapshot);
	capture->snapshot = NULL;
}
