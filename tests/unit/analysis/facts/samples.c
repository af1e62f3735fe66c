// SPDX-License-Identifier: GPL-2.0-only
#include "facts/samples.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/events/made_tracepoints.h"
#include "clock.h"
#include "test.h"

static struct names *names;

static int set_up(void **state)
{
	*state = NULL;
	return names_new(&names);
}

static int tear_down(void **state)
{
	*state = NULL;
	names_free(names);
	return 0;
}

/* Functions, innermost first: `delay flush write`. */
static void add(struct samples *samples, uint64_t at, const char *stack)
{
	char copy[64], *rest = copy, *name;
	struct sampled *sample;

	samples->list = reallocarray(samples->list, samples->nr + 1, sizeof(*samples->list));
	samples->frames =
		reallocarray(samples->frames, samples->nr_frames + 8, sizeof(*samples->frames));
	sample = &samples->list[samples->nr++];
	*sample = (struct sampled){ at, samples->nr_frames, 0 };
	snprintf(copy, sizeof(copy), "%s", stack);
	while ((name = strsep(&rest, " "))) {
		samples->frames[samples->nr_frames++] = names_add(names, name);
		sample->nr++;
	}
}

static const struct tracepoint_kind clock_kind = { .clock_ns = 250000 };

static void check_wanted(const struct samples *samples, const struct samples_want *want,
			 const char *expected)
{
	struct samples_mostly mostly;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(samples_find_mostly(&mostly, samples, names, want), 0);
	text = WRITTEN(file, samples_put_mostly(file, &mostly, names, ""));
	assert_string_equal(text, expected);
}

static void check(const struct samples *samples, uint64_t begin, uint64_t end, const char *expected)
{
	check_wanted(samples, &(struct samples_want){ .begin = begin, .end = end }, expected);
}

TEST_WITH(finds_the_innermost_of_most, set_up, tear_down)
{
	struct samples samples = { 0 };

	check(&samples, 0, UINT64_MAX, "");
	add(&samples, 10, "before write entry");
	add(&samples, 20, "delay flush write entry");
	add(&samples, 30, "io_delay flush write entry");
	add(&samples, 40, "flush write entry");
	add(&samples, 50, "other entry");
	add(&samples, 60, "after");
	for (size_t i = 0; i < samples.nr; i++)
		samples.list[i].nr_kernel = samples.list[i].nr;
	check(&samples, 20, 50, "3 of 4 samples in flush() < write() < entry()");
	check(&samples, 20, 20, "1 of 1 samples in delay() < flush() < write() < entry()");
	check(&samples, 21, 29, "");
	/* No function is in more than half of them. */
	check(&samples, 50, 60, "1 of 2 samples in other() < entry()");
	/* A clock whose samples stand for half of the time, or for less. */
	samples.period_ns = 10;
	check(&samples, 20, 100, "3 of 5 samples in flush() < write() < entry()");
	check(&samples, 20, 122, "only 5 samples, as with interrupts off");
	check(&samples, 61, 122, "");
	samples_release(&samples);
}

/* Perf throttles a clock to one sample a tick. User space cannot turn interrupts off. */
TEST_WITH(tells_a_slow_clock_from_interrupts_off, set_up, tear_down)
{
	struct samples samples = { .period_ns = 250000 };

	for (uint64_t ms = 4; ms <= 40; ms += 4)
		add(&samples, ms * NSEC_PER_MSEC, "compute main");
	check(&samples, 0, 40 * NSEC_PER_MSEC, "10 of 10 samples in compute() < main()");
	/* Less often than any kernel ticks: the interrupts of others are not known. */
	check(&samples, 0, 100 * NSEC_PER_MSEC, "only 10 samples, as with interrupts off");
	for (size_t i = 0; i < samples.nr; i++)
		samples.list[i].nr_kernel = 1;
	check(&samples, 0, 40 * NSEC_PER_MSEC, "only 10 samples, as with interrupts off");
	samples_release(&samples);
}

/* Of two functions near half, whoever has more by chance: their caller has all. */
TEST_WITH(takes_a_clear_majority, set_up, tear_down)
{
	const struct samples_want want = { .end = 100, .clear = true };
	struct samples samples = { 0 };

	for (uint64_t at = 10; at < 40; at += 10)
		add(&samples, at, "copy write entry");
	add(&samples, 40, "flush write entry");
	add(&samples, 50, "flush write entry");
	check(&samples, 0, 50, "3 of 5 samples in copy() < write() < entry()");
	check_wanted(&samples, &want, "5 of 5 samples in write() < entry()");
	add(&samples, 60, "flush write entry");
	add(&samples, 70, "flush write entry");
	check(&samples, 0, 70, "4 of 7 samples in flush() < write() < entry()");
	check_wanted(&samples, &want, "7 of 7 samples in write() < entry()");
	for (uint64_t at = 80; at < 100; at += 5)
		add(&samples, at, "other");
	check_wanted(&samples, &want, "");
	samples_release(&samples);
}

/* What others executed while a thread did not run is none of its own. */
TEST_WITH(leaves_out_what_others_executed, set_up, tear_down)
{
	struct thread_stay list[] = { { .begin = 0, .end = 20, .state = THREAD_RUNNING },
				      { .begin = 20, .end = 60, .state = THREAD_RUNNABLE } };
	const struct thread_stays stays = { .list = list, .nr = ARRAY_SIZE(list) };
	struct samples samples = { 0 };

	add(&samples, 10, "work request");
	for (uint64_t at = 20; at < 60; at += 10)
		add(&samples, at, "other kthread");
	check(&samples, 0, 60, "4 of 5 samples in other() < kthread()");
	check_wanted(&samples, &(struct samples_want){ 0, 60, &stays, THREAD_RUNNING },
		     "1 of 1 samples in work() < request()");
	check_wanted(&samples, &(struct samples_want){ 0, 60, &stays, THREAD_RUNNABLE },
		     "4 of 4 samples in other() < kthread()");
	samples_release(&samples);
}

/* Recursive functions count once a sample. */
TEST_WITH(takes_recursion, set_up, tear_down)
{
	struct samples samples = { 0 };

	add(&samples, 1, "a b a b a");
	add(&samples, 2, "c [user]");
	add(&samples, 3, "c [user]");
	check(&samples, 0, 9, "2 of 3 samples in c() < [user]");
	samples_release(&samples);
}

static void add_callchain(struct samples *samples, const uint64_t *addresses, uint64_t size)
{
	const struct tracepoint_event event = {
		.kind = &clock_kind,
		.time = 5,
		.callchain = { (const uint8_t *)addresses, size },
	};

	assert_int_equal(samples_add_event(samples, names, NULL, &event), 0);
}

/* Context markers are no addresses; cut entries are left out; user space has no functions. */
TEST_WITH(takes_callchains, set_up, tear_down)
{
	const uint64_t user[] = { (uint64_t)-512, 0x401000, 0, 0x7fffffffffff };
	static const uint64_t deep[5000] = { 1 };
	struct samples samples = { 0 };

	add_callchain(&samples, user, 0);
	add_callchain(&samples, user, 7);
	add_callchain(&samples, user, 8);
	assert_int_equal(samples.nr, 0);
	add_callchain(&samples, user, sizeof(user) - 3);
	assert_int_equal(samples.nr, 1);
	assert_int_equal(samples.list[0].nr, 1);
	add_callchain(&samples, deep, sizeof(deep));
	check(&samples, 5, 5, "2 of 2 samples in [user space]");
	for (int i = 0; i < 2000; i++)
		add_callchain(&samples, user, sizeof(user));
	assert_int_equal(samples.nr, 2002);
	samples_release(&samples);
}

/* As the default event is recorded without --call-graph. */
TEST_WITH(takes_the_address_of_user_space_without_a_callchain, set_up, tear_down)
{
	const struct tracepoint_event event = { .kind = &clock_kind, .time = 5, .ip = 0x401000 };
	struct samples samples = { 0 };

	assert_int_equal(samples_add_event(&samples, names, NULL, &event), 0);
	check(&samples, 0, 9, "1 of 1 samples in [user space]");
	samples_release(&samples);
}

static uint32_t name_low(void *context, struct names *to, const struct tracepoint_event *event,
			 uint64_t address, struct samples_file *file)
{
	assert_int_equal(event->time, 5);
	file->path = names_add(to, address < 0x1000000 ? "/lib/libc.so" : "/bin/acme");
	return address < 0x1000000 ? names_add(to, context) : 0;
}

TEST_WITH(names_user_space, set_up, tear_down)
{
	const uint64_t user[] = { (uint64_t)-512, 0x401000, 0x402000, 0x7fffffffffff };
	struct samples samples = { .namer = name_low, .context = (char *)"memcpy" };

	add_callchain(&samples, user, sizeof(user));
	check(&samples, 0, 9, "1 of 1 samples in memcpy() < [user space]");
	assert_int_equal(samples.nr_frames, 2);
	assert_string_equal(names_get(names, samples.files[0].path), "/lib/libc.so");
	assert_string_equal(names_get(names, samples.files[1].path), "/bin/acme");
	samples_release(&samples);
}

/* A function in two symbols is one. */
TEST_IN_FOLDER(counts_cold_code_of_a_function)
{
	static const struct made_format format = { "sched:sched_waking",
						   MADE_FORMAT("sched_waking", 1, "", "\"\""), 1 };
	const struct made_sample none = made_sample(1, 1, 1, &(uint64_t){ 0 }, sizeof(uint64_t));
	const uint64_t stacks[][4] = {
		{ (uint64_t)-128, 0xffffffff81000310, 0xffffffff81000210, 0xffffffff81000010 },
		{ (uint64_t)-128, 0xffffffff81000110, 0xffffffff81000010, 0 },
		{ (uint64_t)-128, 0xffffffff81000120, 0xffffffff81000010, 0 },
	};
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = made_tracepoints_open(
		folder, &format, 1, &none, 1,
		"ffffffff81000000 T vfs_write\nffffffff81000100 t devkmsg_write\n"
		"ffffffff81000200 t devkmsg_write.cold\nffffffff81000300 t printk_emit\n");
	struct samples samples = { 0 };

	assert_int_equal(names_new(&names), 0);
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		const struct tracepoint_event event = {
			.kind = &clock_kind,
			.time = 5,
			.callchain = { (const uint8_t *)stacks[i], i ? 24 : 32 },
		};

		assert_int_equal(samples_add_event(&samples, names, tracepoints, &event), 0);
	}
	assert_int_equal(samples.period_ns, 250000);
	check(&samples, 5, 5, "3 of 3 samples in devkmsg_write() < vfs_write()");
	samples_release(&samples);
	names_free(names);
}
