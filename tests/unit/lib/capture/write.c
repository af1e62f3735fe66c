// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A capture appears complete under its name, or not at all. */
#include "capture/capture.h"

#include <fcntl.h>
#include <regex.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "clock.h"
#include "fake_recorder.h"
#include "helpers.h"
#include "tree.h"

/* Replaces the trigger's: the second call has the thread's latency, the third that in user space.
 */
static int looks;

bool __wrap_trigger_latencies(const struct trigger *trigger, int cpu, uint64_t sequence,
			      struct trigger_latencies *latencies)
{
	looks++;
	assert_int_equal(cpu, 3);
	assert_int_equal(sequence, 7);
	*latencies = (struct trigger_latencies){
		.thread_ns = looks > 1 ? 90000 : 0,
		.user_ns = looks > 2 ? 95000 : 0,
		.noise = { .irq_ns = 10, .softirq_ns = 20, .thread_ns = 30, .nmi_ns = 40 },
	};
	return true;
}

static struct trigger_stacks seen; /* of spikes with a stack */

bool __wrap_trigger_stacks(const struct trigger *trigger, uint64_t sequence,
			   struct trigger_stacks *stacks)
{
	*stacks = seen;
	return true;
}

int __wrap_trigger_code(const struct trigger *trigger, uint64_t address,
			uint8_t code[TRIGGER_CODE_SIZE])
{
	static const uint8_t sti[TRIGGER_CODE_SIZE] = { [10] = 0xfb, 0x0f, 0x1f, 0x44 };

	memcpy(code, sti, sizeof(sti));
	return 0;
}

bool __wrap_trigger_has_noise(const struct trigger *trigger)
{
	return true;
}

static void check_name(const struct capture *capture, const char *pattern)
{
	size_t len = strlen(config.opts.output);
	regex_t regex;

	assert_int_equal(capture->error, 0);
	assert_non_null(capture->path);
	assert_memory_equal(capture->path, config.opts.output, len);
	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&regex, capture->path + len, 0, NULL, 0))
		fail_msg("'%s' is not named as %s", capture->path + len, pattern);
	regfree(&regex);
}

static void check_content(const struct capture *capture, const char *number)
{
	_cleanup_close_ int fd = open(capture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bytes data;

	assert_true(fd >= 0);
	assert_int_equal(faccessat(fd, "capture.json", R_OK, 0), 0);
	data = load_file(fd, "perf.data/data");
	assert_int_equal(data.len, strlen(number));
	assert_memory_equal(data.at, number, data.len);
}

TEST_WITH(appears_under_its_name, make_output, remove_output)
{
	struct capture *capture = fake_capture(17);

	capture_write(&env, capture);
	check_name(capture, "^/[0-9]{8}-[0-9]{6}\\.[0-9]{3}-cpu3-83us$");
	check_content(capture, "17");
	assert_int_equal(fake_entries(&env), 1);
	assert_int_equal(fake.spike_cpu, 3);
	assert_int_equal(capture->facts.events, 1234);
	assert_int_equal(capture->facts.lost, 5);
	assert_int_equal(capture->facts.size, 6789);
	/* All its files. */
	assert_true(capture->size.all > 100 && capture->size.own == capture->size.all);
	assert_null(capture->snapshot);
	assert_int_equal(fake.freed, 1);
	capture_free(&env, capture);
	assert_int_equal(fake.freed, 1);
	capture_free(&env, NULL);
}

TEST_WITH(a_poke_has_no_cpu, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);

	capture->spike.poked = true;
	capture->spike.cpu = -1;
	capture->spike.latency_ns = 0;
	capture_write(&env, capture);
	check_name(capture, "^/[0-9]{8}-[0-9]{6}\\.[0-9]{3}-poke$");
	assert_int_equal(fake.spike_cpu, -1);
	capture_free(&env, capture);
}

/* The wall time in the name is that of the spike, not of the writing. */
TEST_WITH(is_named_after_the_spike, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);
	time_t before = time(NULL) - 3600;
	char minute[32], next[32], pattern[128];
	struct tm tm;
	time_t later = before + 60;

	capture->spike.time_ns -= 3600 * NSEC_PER_SEC;
	strftime(minute, sizeof(minute), "%Y%m%d-%H%M", localtime_r(&before, &tm));
	strftime(next, sizeof(next), "%Y%m%d-%H%M", localtime_r(&later, &tm));
	snprintf(pattern, sizeof(pattern), "^/(%s|%s)", minute, next);
	capture_write(&env, capture);
	check_name(capture, pattern);
	capture_free(&env, capture);
}

/* In the middle of a millisecond of the time of day, so that names made from it are equal. */
static uint64_t same_time_ns(void)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t wall_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - now_ns);

	return now_ns - wall_ns % 1000000 - 500000;
}

TEST_WITH(a_taken_name_is_left_alone, make_output, remove_output)
{
	struct capture *captures[3];
	uint64_t time_ns = same_time_ns();

	for (unsigned int i = 0; i < 3; i++) {
		captures[i] = fake_capture(i);
		captures[i]->spike.time_ns = time_ns;
		capture_write(&env, captures[i]);
	}
	check_name(captures[0], "-cpu3-83us$");
	check_name(captures[1], "-cpu3-83us-2$");
	check_name(captures[2], "-cpu3-83us-3$");
	check_content(captures[0], "0");
	check_content(captures[1], "1");
	check_content(captures[2], "2");
	assert_int_equal(fake_entries(&env), 3);
	for (unsigned int i = 0; i < 3; i++)
		capture_free(&env, captures[i]);
}

/* The name may be taken by a file, too. After a thousand tries it gives up. */
TEST_WITH(names_run_out, make_output, remove_output)
{
	struct capture *first = fake_capture(1), *thousandth = fake_capture(2);
	struct capture *last = fake_capture(3);
	char name[128];

	first->spike.time_ns = same_time_ns();
	thousandth->spike.time_ns = last->spike.time_ns = first->spike.time_ns;
	capture_write(&env, first);
	for (int i = 2; i < 1000; i++) {
		snprintf(name, sizeof(name), "%s-%d", strrchr(first->path, '/') + 1, i);
		put_file(captures.fd, name, "mine");
	}
	capture_write(&env, thousandth);
	check_name(thousandth, "-1000$");
	capture_write(&env, last);
	assert_int_equal(last->error, -EEXIST);
	assert_null(last->path);
	assert_int_equal(fake_entries(&env), 1000);
	check_content(first, "1");
	capture_free(&env, first);
	capture_free(&env, thousandth);
	capture_free(&env, last);
}

TEST_WITH(a_failure_leaves_nothing, make_output, remove_output)
{
	struct capture *capture = fake_capture(1), *next = fake_capture(2);

	fake.error = -ENOSPC;
	capture_write(&env, capture);
	assert_int_equal(capture->error, -ENOSPC);
	assert_null(capture->path);
	assert_null(capture->snapshot);
	assert_int_equal(fake.freed, 1);
	assert_int_equal(fake_entries(&env), 0);
	capture_free(&env, capture);

	fake.error = 0;
	capture_write(&env, next);
	check_content(next, "2");
	assert_int_equal(fake_entries(&env), 1);
	capture_free(&env, next);
}

/* If the last file cannot be made, all earlier ones are removed. */
TEST_WITH(a_late_failure_leaves_nothing, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);

	fake.also = "capture.json";
	capture_write(&env, capture);
	assert_int_equal(capture->error, -EEXIST);
	assert_null(capture->path);
	assert_int_equal(fake.written, 1);
	assert_int_equal(fake_entries(&env), 0);
	capture_free(&env, capture);
}

/* If the folder is removed, or moved as by logrotate, it is created again with a message. */
TEST_WITH(the_folder_is_made_again, make_output, remove_output)
{
	struct capture *first = fake_capture(1), *second = fake_capture(2);
	char moved[4200];

	snprintf(moved, sizeof(moved), "%s/moved", folder->path);
	assert_int_equal(rename(config.opts.output, moved), 0);
	capture_write(&env, first);
	check_content(first, "1");
	assert_non_null(strstr(first->note, config.opts.output));
	assert_non_null(strstr(first->note, moved));
	/* The session's files in it are gone. */
	assert_int_equal(rmdir(moved), 0);
	capture_write(&env, second);
	check_content(second, "2");
	assert_null(second->note);
	assert_int_equal(fake_entries(&env), 2);
	capture_free(&env, first);
	capture_free(&env, second);
}

TEST_WITH(the_folder_cannot_be_made_again, make_output, remove_output)
{
	struct capture *capture = fake_capture(1), *next = fake_capture(2);

	assert_int_equal(tree_remove(captures.fd, captures.work_name), 0);
	assert_int_equal(rmdir(config.opts.output), 0);
	put_file(folder->fd, "captures", "in the way");
	capture_write(&env, capture);
	assert_int_equal(capture->error, -ENOTDIR);
	assert_int_equal(fake.written, 0);
	assert_int_equal(fake.freed, 1);
	assert_int_equal(unlinkat(folder->fd, "captures", 0), 0);
	capture_write(&env, next);
	check_content(next, "2");
	capture_free(&env, capture);
	capture_free(&env, next);
}

/* Independent of umask: captures contain kernel addresses. */
TEST_WITH(is_for_its_owner_alone, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);
	mode_t mask = umask(0);
	char path[4200];
	struct stat st;

	capture_write(&env, capture);
	umask(mask);
	assert_int_equal(capture->error, 0);
	assert_int_equal(stat(capture->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/capture.json", capture->path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	capture_free(&env, capture);
}

static void check_latencies(enum perf_poke_trigger_kind wanted, bool poked, int expected_looks)
{
	struct capture *capture = fake_capture(7);

	looks = 0;
	memset(config.thresholds, 0, sizeof(config.thresholds));
	config.thresholds[wanted] = 1;
	env.trigger = (struct trigger *)&looks;
	capture->spike.poked = poked;
	capture_write(&env, capture);
	assert_int_equal(looks, expected_looks);
	assert_int_equal(capture->spike.thread_ns, looks > 1 ? 90000 : 0);
	assert_int_equal(capture->spike.user_ns, looks > 2 ? 95000 : 0);
	assert_int_equal(capture->spike.has_noise, looks > 0);
	assert_int_equal(capture->spike.noise_irq_ns, looks ? 10 : 0);
	assert_int_equal(capture->spike.noise_softirq_ns, looks ? 20 : 0);
	assert_int_equal(capture->spike.noise_thread_ns, looks ? 30 : 0);
	assert_int_equal(capture->spike.noise_nmi_ns, looks ? 40 : 0);
	capture_free(&env, capture);
}

TEST_WITH(waits_for_the_late_thread, make_output, remove_output)
{
	check_latencies(PERF_POKE_TRIGGER_IRQ, false, 0);
	check_latencies(PERF_POKE_TRIGGER_THREAD, false, 2);
	check_latencies(PERF_POKE_TRIGGER_USER, false, 3);
	check_latencies(PERF_POKE_TRIGGER_USER, true, 0);
}

static int irqs_off(enum perf_poke_trigger_kind kind, bool idle,
		    const struct trigger_stacks *stacks)
{
	struct capture *capture = fake_capture(7);
	int irqs_off;

	seen = *stacks;
	env.trigger = (struct trigger *)&seen;
	capture->spike.kind = kind;
	capture->spike.idle = idle;
	capture_write(&env, capture);
	irqs_off = capture->spike.irqs_off;
	capture_free(&env, capture);
	return irqs_off;
}

/* User space runs with interrupts on; unknown without a stack, and in the idle task. Of a late
 * thread, the code that the timer's interrupt hit counts. */
TEST_WITH(knows_if_interrupts_were_off, make_output, remove_output)
{
	const struct trigger_stacks none = {};
	const struct trigger_stacks user = { .spike.user_size = 8, .spike.user = { 0x10 } };
	const struct trigger_stacks kernel = { .spike.kernel_size = 8, .spike.kernel = { 0x10 } };
	const struct trigger_stacks holder = {
		.spike.user_size = 8,
		.spike.user = { 0x10 },
		.holder = { .since_ns = 1, .interrupted_size = 8, .interrupted = { 0x10 } },
	};

	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_IRQ, false, &user), 0);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_IRQ, false, &none), -1);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_THREAD, false, &user), -1);
#ifdef __x86_64__
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_IRQ, false, &kernel), 1);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_IRQ, true, &kernel), -1);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_THREAD, false, &holder), 1);
#endif
}

#define HIT 0x10
#define SWITCHED 0x20
#define TASK_TID 7

/* The address of the holder's first frame; 0: it has no stack. */
static uint64_t holder_at(const struct trigger_holder *holder, int last_tid)
{
	struct capture *capture = fake_capture(7);
	const struct perf_poke_spike *spike = &capture->spike;
	uint64_t address = 0;

	seen = (struct trigger_stacks){ .spike.tid = (uint32_t)last_tid, .holder = *holder };
	env.trigger = (struct trigger *)&seen;
	capture->spike.kind = PERF_POKE_TRIGGER_THREAD;
	capture_write(&env, capture);
	if (spike->nr_holder_frames) {
		address = spike->holder[0]->address;
		assert_int_equal(spike->holder_tid, TASK_TID);
		assert_int_equal(spike->holder_interrupted, address != SWITCHED);
	}
	assert_true(address != HIT || (spike->nr_holder_frames == 1 && spike->holder[0]->user));
	capture_free(&env, capture);
	return address;
}

/* The interrupt hit user space; later the task was switched out in the kernel. */
TEST_WITH(tells_what_the_interrupt_hit_in_user_space, make_output, remove_output)
{
	struct trigger_holder holder = {
		.since_ns = 1,
		.pid = (uint32_t)getpid(),
		.tid = TASK_TID,
		.user_address = HIT,
		.stack = { .kernel_size = 8, .kernel = { SWITCHED }, .tid = TASK_TID },
	};

	assert_int_equal(holder_at(&holder, TASK_TID), HIT);
	assert_int_equal(holder_at(&holder, TASK_TID + 1), HIT);
	/* The process has ended. */
	holder.pid = UINT32_MAX;
	assert_int_equal(holder_at(&holder, TASK_TID), 0);
	assert_int_equal(holder_at(&holder, TASK_TID + 1), SWITCHED);
	/* It is not known what was hit. */
	holder.pid = (uint32_t)getpid();
	holder.user_address = 0;
	assert_int_equal(holder_at(&holder, TASK_TID), 0);
	/* The kernel was hit, in a system call from that address. */
	holder.user_address = HIT;
	holder.interrupted_size = 8;
	holder.interrupted[0] = HIT + SWITCHED;
	assert_int_equal(holder_at(&holder, TASK_TID), HIT + SWITCHED);
	/* The interrupt was late itself, so the whole stack is from there. */
	holder.interrupted_size = holder.stack.kernel_size = 0;
	holder.at_interrupt = 1;
	assert_int_equal(holder_at(&holder, TASK_TID), 0);
	holder.stack.kernel_size = 8;
	holder.stack.kernel[0] = HIT + SWITCHED;
	assert_int_equal(holder_at(&holder, TASK_TID), HIT + SWITCHED);
}

/* Of a thread that did not run at the spike the trigger has the TID. */
TEST_WITH(finds_the_late_thread, make_output, remove_output)
{
	struct capture *capture = fake_capture(7);
	struct perf_poke_spike *spike = &capture->spike;
	char comm[16];

	assert_int_equal(prctl(PR_GET_NAME, comm), 0);
	spike->late_tid = spike->tid = gettid();
	spike->pid = 0;
	spike->late_policy = -1;
	spike->late_nice = 77;
	capture_write(&env, capture);
	assert_int_equal(spike->late_pid, getpid());
	assert_int_equal(spike->pid, getpid());
	assert_string_equal(spike->late_comm, comm);
	assert_string_equal(spike->comm, comm);
	assert_int_equal(spike->late_policy, sched_getscheduler(0));
	assert_int_equal(spike->late_nice, getpriority(PRIO_PROCESS, 0));
	capture_free(&env, capture);
}

static uint64_t history_of(const struct capture *capture)
{
	return capture_told(&env, capture).history_ns;
}

TEST_WITH(history_is_never_negative, make_output, remove_output)
{
	struct capture capture = { .spike.time_ns = 5000 };

	/* Nothing is known of it. */
	assert_int_equal(history_of(&capture), UINT64_MAX);
	capture.facts.oldest_ns = 1000;
	assert_int_equal(history_of(&capture), 4000);
	capture.facts.oldest_ns = 5000;
	assert_int_equal(history_of(&capture), 0);
	capture.facts.oldest_ns = 6000;
	assert_int_equal(history_of(&capture), 0);
}
