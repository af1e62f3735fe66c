// SPDX-License-Identifier: GPL-2.0-only
#include "cause/entry_point.h"

#include <string.h>

#include "analysis/timeline.h"
#include "array.h"
#include "test.h"

/* Thread 7 runs from 100us to 200us, while it is late. */
static struct thread_stay runs = { .begin = 100000, .end = 200000, .state = THREAD_RUNNING };
static struct late_thread thread = {
	.tid = 7,
	.stays = { .list = &runs, .nr = 1, .sums = { [THREAD_RUNNING] = 100000 } },
	.part = PART_RUNNING,
	.part_ns = 100000,
	.longest = { .begin = 100000, .end = 200000, .state = THREAD_RUNNING, .cpu = 1 },
};

static void check_share(struct account *account, enum entry_share share, const char *token,
			const char *function)
{
	struct entry_point entry = { "", "" };

	account->facts.thread = account->thread = &thread;
	account->facts.spike.kind = PERF_POKE_TRIGGER_SPAN;
	thread.name = names_add(account->spans->names, "stress");
	assert_int_equal(account_finish(account), 0);
	assert_int_equal(entry_point_find(&entry, &account->findings, &account->facts), share);
	assert_string_equal(entry.token, token);
	assert_string_equal(entry.function, function);
	account->thread = NULL;
	account_release(account);
}

static void check_entry(struct account *account, const char *token, const char *function)
{
	check_share(account, ENTRY_MOST, token, function);
}

/* A function that compilers inline or not, and another one that takes the most time. */
TEST(is_the_same_whatever_takes_the_time)
{
	struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  CALL(101000, "entry_SYSCALL_64_after_hwframe"),
				  CALL(101000, "do_syscall_64"), CALL(101000, "x64_sys_call"),
				  CALL(101000, "__x64_sys_write"), CALL(102000, "ksys_write"),
				  CALL(102000, "vfs_write"), CALL(103000, "acme_write"),
				  CALL(104000, "acme_flush"), RETURN(199000)),
			 0);
	check_entry(&account, "[write]", "acme_write");
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  CALL(101000, "do_syscall_64"), CALL(101000, "__x64_sys_write"),
				  CALL(102000, "vfs_write"), CALL(102000, "new_sync_write"),
				  CALL(103000, "acme_write"), CALL(104000, "acme_copy"),
				  RETURN(190000), CALL(191000, "acme_flush"), RETURN(199000)),
			 0);
	check_entry(&account, "[write]", "acme_write");
}

/* Of a system call without a file, all that it calls may be inlined. */
TEST(takes_no_function_that_may_be_inlined)
{
	struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  CALL(101000, "do_syscall_64"), CALL(101000, "x64_sys_call"),
				  CALL(101000, "__x64_sys_getrandom"),
				  CALL(102000, "get_random_bytes_user"), RETURN(199000)),
			 0);
	check_entry(&account, "[getrandom]", "");
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  CALL(101000, "do_syscall_64"), CALL(101000, "__x64_sys_ioctl"),
				  CALL(102000, "acme_ioctl"), RETURN(199000)),
			 0);
	check_entry(&account, "[ioctl]", "acme_ioctl");
}

TEST(tells_kinds_of_page_faults_apart)
{
	struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  ENTER(101000, SPAN_EXCEPTION, "asm_exc_page_fault"),
				  CALL(102000, "exc_page_fault"), CALL(103000, "handle_mm_fault"),
				  CALL(104000, "do_anonymous_page"), RETURN(199000)),
			 0);
	check_entry(&account, "[page_fault]", "");
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  ENTER(101000, SPAN_EXCEPTION, "asm_exc_page_fault"),
				  CALL(102000, "exc_page_fault"), CALL(103000, "handle_mm_fault"),
				  CALL(104000, "do_huge_pmd_anonymous_page"), RETURN(199000)),
			 0);
	check_entry(&account, "[page_fault]", "do_huge_pmd_anonymous_page");
}

/* ftrace sees no function of the entry itself. */
TEST(knows_a_page_fault_by_what_handles_it)
{
	struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  CALL(101000, "handle_mm_fault"), CALL(104000, "do_fault"),
				  RETURN(160000), RETURN(160000),
				  ENTER(161000, SPAN_INTERRUPT, "asm_sysvec_apic_timer_interrupt"),
				  RETURN(199000)),
			 0);
	check_entry(&account, "[page_fault]", "");
	/* An interrupt is none of the thread's work. */
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(100000, "acme_walk"),
				  RETURN(120000),
				  ENTER(121000, SPAN_INTERRUPT, "asm_sysvec_apic_timer_interrupt"),
				  RETURN(180000)),
			 0);
	check_share(&account, ENTRY_NONE, "", "");
}

/* A page fault within a system call is part of it. */
TEST(takes_the_outermost_entry)
{
	struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  CALL(101000, "do_syscall_64"),
				  CALL(101000, "__x64_sys_getrandom"),
				  ENTER(110000, SPAN_EXCEPTION, "asm_exc_page_fault"),
				  CALL(110000, "do_huge_pmd_anonymous_page"), RETURN(199000)),
			 0);
	check_entry(&account, "[getrandom]", "");
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(101000, "kthread"),
				  CALL(101000, "worker_thread"), CALL(101000, "process_one_work"),
				  CALL(102000, "acme_work"), RETURN(199000)),
			 0);
	check_entry(&account, "[workqueue]", "acme_work");
}

#define SYSTEM_CALL(at, name)                                                                      \
	CALL(at, "do_syscall_64"), CALL(at, name), RETURN((at) + 40000), RETURN((at) + 40000)

TEST(takes_what_has_most_of_the_time)
{
	struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"),
				  SYSTEM_CALL(105000, "__x64_sys_brk"),
				  SYSTEM_CALL(150000, "__x64_sys_getrandom")),
			 0);
	check_entry(&account, "[syscall]", "");
	/* The rest is user space. */
	assert_int_equal(
		TIMELINE(&account, true, TASK(0, "stress 7"), SYSTEM_CALL(105000, "__x64_sys_brk")),
		0);
	check_share(&account, ENTRY_MIXED, "", "");
	/* Another thread had the CPU. */
	assert_int_equal(TIMELINE(&account, true, TASK(0, "other 9"),
				  SYSTEM_CALL(105000, "__x64_sys_brk"),
				  SYSTEM_CALL(150000, "__x64_sys_brk")),
			 0);
	check_share(&account, ENTRY_NONE, "", "");
}

#define WORKER                                                                                     \
	TASK(140000, "kworker/1:1 8"), CALL(140000, "worker_thread"),                              \
		CALL(140000, "process_one_work"), CALL(140000, "acme_work"), RETURN(142000),       \
		RETURN(142000), RETURN(142000)

/* Where the trace begins, and where the thread continues, it is in the middle of a system call. */
TEST(knows_the_entry_by_where_the_thread_continued)
{
	struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(100000, "acme_walk"),
				  RETURN(140000), RETURN(140000), WORKER,
				  ((struct step){ LANE_TASKS, 142000, SPAN_THREAD, NULL }),
				  TASK(142000, "stress 7"), CALL(142000, "do_syscall_64"),
				  CALL(142000, "__x64_sys_madvise"), CALL(142000, "acme_walk"),
				  RETURN(172000)),
			 0);
	check_entry(&account, "[madvise]", "");
	/* What was before the trace counts for nothing. */
	assert_int_equal(TIMELINE(&account, true, TASK(140000, "stress 7"),
				  CALL(140000, "do_syscall_64"), CALL(140000, "__x64_sys_madvise"),
				  RETURN(175000)),
			 0);
	check_entry(&account, "[madvise]", "");
	/* It is not known if that is not recorded. */
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(100000, "acme_walk"),
				  RETURN(199000)),
			 0);
	check_share(&account, ENTRY_MIXED, "", "");
}

static void add_sample(struct spans *spans, uint64_t at, const char *const *functions, size_t nr)
{
	struct samples *samples = &spans->samples;

	assert_int_equal(array_grow(&samples->list, samples->nr, sizeof(*samples->list)), 0);
	samples->list[samples->nr++] = (struct sampled){
		.at = at,
		.first = samples->nr_frames,
		.nr = (uint32_t)nr,
		.nr_kernel = (uint32_t)nr - 1,
	};
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(
			array_grow(&samples->frames, samples->nr_frames, sizeof(*samples->frames)),
			0);
		samples->frames[samples->nr_frames++] = names_add(spans->names, functions[i]);
	}
}

TEST(is_the_same_by_samples)
{
	static const char *const flush[] = { "acme_flush",    "acme_write",
					     "vfs_write",     "__x64_sys_write",
					     "do_syscall_64", "entry_SYSCALL_64_after_hwframe",
					     "main" };
	static const char *const copy[] = { "acme_copy",  "acme_write",	   "vfs_write",
					    "ksys_write", "do_syscall_64", "main" };
	static const char *const fault[] = { "acme_fault", "asm_exc_page_fault", "main" };
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
	add_sample(account.spans, 110000, flush, ARRAY_SIZE(flush));
	add_sample(account.spans, 130000, copy, ARRAY_SIZE(copy));
	add_sample(account.spans, 150000, fault, ARRAY_SIZE(fault));
	check_entry(&account, "[write]", "acme_write");
	/* One of two is not most of them. */
	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
	add_sample(account.spans, 110000, flush, ARRAY_SIZE(flush));
	add_sample(account.spans, 150000, fault, ARRAY_SIZE(fault));
	check_share(&account, ENTRY_MIXED, "", "");
	/* Those before it was late do not count. */
	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
	add_sample(account.spans, 90000, flush, ARRAY_SIZE(flush));
	add_sample(account.spans, 95000, flush, ARRAY_SIZE(flush));
	add_sample(account.spans, 150000, fault, ARRAY_SIZE(fault));
	check_entry(&account, "[page_fault]", "");
}
