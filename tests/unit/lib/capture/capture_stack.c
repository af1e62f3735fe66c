// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Stacks of the trigger get names: from this test's kernel symbols, and from this process's maps.
 */
#include "capture/capture_internal.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "arch.h"
#include "helpers.h"
#include "util.h"

#define BASE 0xffffffff81000000

/* The function of each 0x100 bytes from BASE on. */
static const char *const names[] = {
	"bpf_prog_1_trigger_hrtimer",
	"bpf_trace_run2",
	"__bpf_trace_hrtimer_class",
	"__traceiter_hrtimer_expire_entry",
	"__hrtimer_run_queues",
	"hrtimer_interrupt",
	"__sysvec_apic_timer_interrupt",
	"sysvec_apic_timer_interrupt",
	"asm_sysvec_apic_timer_interrupt",
	"acme_flush",
	"process_one_work",
	"kthread",
	"hrtimer_run_softirq",
	"handle_softirqs",
	"asm_sysvec_reschedule_ipi",
	"asm_common_interrupt",
};
enum {
	PROGRAM = 0,
	ENTRY = 8,
	FLUSH,
	WORK,
	KTHREAD,
	RUN_SOFTIRQ,
	SOFTIRQS,
	RESCHEDULE,
	COMMON,
	NR,
};

static int lookups;

int __wrap_kallsyms_places(struct kallsyms_place *places, size_t nr);

int __wrap_kallsyms_places(struct kallsyms_place *places, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct kallsyms_place *place = &places[i];
		uint64_t number = (place->address - BASE) / 0x100;

		if (number >= ARRAY_SIZE(names))
			continue;
		place->start = BASE + number * 0x100;
		snprintf(place->name, sizeof(place->name), "%s", names[number]);
		if (number == FLUSH)
			strcpy(place->module, "acme");
		else
			place->end = place->start + 0x100;
	}
	lookups++;
	return 0;
}

static const int timer[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

static void add(struct trigger_stack *stack, const int *numbers, size_t nr)
{
	size_t at = stack->kernel_size / sizeof(stack->kernel[0]);

	for (size_t i = 0; i < nr; i++)
		stack->kernel[at++] = BASE + numbers[i] * 0x100 + 7;
	stack->kernel_size = (int)(at * sizeof(stack->kernel[0]));
}

#define ADD(stack, ...) add(stack, (const int[]){ __VA_ARGS__ }, sizeof((int[]){ __VA_ARGS__ }) / 4)

/* The names of the frames, each with its module. */
static void check_frames(const struct trigger_stack *stack, const char *expected)
{
	struct perf_poke_frame *frames;
	char text[1024] = "";
	size_t nr;

	frames = capture_stack_new(stack, NULL, &nr);
	for (size_t i = 0; i < nr; i++) {
		const char *symbol = frames[i].symbol ? frames[i].symbol : "?";

		assert_false(frames[i].user);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s ", symbol,
			 frames[i].file ? "@" : "", frames[i].file ? frames[i].file : "");
		assert_int_equal(frames[i].offset, frames[i].symbol ? 7 : 0);
	}
	assert_string_equal(text, expected);
	capture_stack_free(frames, nr);
}

TEST(leaves_out_the_interrupt)
{
	struct trigger_stack stack = {};

	add(&stack, timer, ARRAY_SIZE(timer));
	/* It hit user space, or the stack ends early. */
	check_frames(&stack, "");
	ADD(&stack, FLUSH, WORK, KTHREAD);
	check_frames(&stack, "acme_flush@acme process_one_work kthread ");
	/* The code that the outer interrupt had interrupted belongs to it. */
	ADD(&stack, RESCHEDULE, KTHREAD);
	check_frames(&stack, "acme_flush@acme process_one_work kthread asm_sysvec_reschedule_ipi "
			     "kthread ");
	stack = (struct trigger_stack){};
	ADD(&stack, PROGRAM, COMMON, FLUSH);
	check_frames(&stack, "acme_flush@acme ");
	/* The timer of a softirq interrupts nothing. */
	stack = (struct trigger_stack){};
	ADD(&stack, PROGRAM, 3, 4, RUN_SOFTIRQ, SOFTIRQS, KTHREAD);
	check_frames(&stack, "handle_softirqs kthread ");
}

TEST(takes_stacks_that_end_early)
{
	struct trigger_stack stack = {};

	check_frames(&stack, "");
	stack.kernel_size = stack.user_size = stack.build_ids_size = -14;
	check_frames(&stack, "");
	/* The stack begins within the interrupt's own frames: the rest is shown. */
	stack.kernel_size = 0;
	add(&stack, timer, 5);
	check_frames(&stack, "bpf_prog_1_trigger_hrtimer bpf_trace_run2 __bpf_trace_hrtimer_class "
			     "__traceiter_hrtimer_expire_entry __hrtimer_run_queues ");
	/* An invalid size. */
	stack.kernel_size = 12;
	check_frames(&stack, "bpf_prog_1_trigger_hrtimer ");
	stack = (struct trigger_stack){ .kernel_size = INT32_MAX };
	capture_stack_free(capture_stack_new(&stack, NULL, &(size_t){ 0 }), 0);
}

TEST(takes_unknown_addresses)
{
	struct trigger_stack stack = {};

	/* A removed module, in the middle and at the end. */
	add(&stack, timer, ARRAY_SIZE(timer));
	ADD(&stack, NR + 1, WORK, NR + 2);
	check_frames(&stack, "? process_one_work ? ");
	/* Also before the interrupt: a program without a symbol. */
	stack = (struct trigger_stack){};
	ADD(&stack, NR + 5, 3, 4, 5, ENTRY, FLUSH);
	check_frames(&stack, "acme_flush@acme ");
	/* All symbols are hidden. */
	stack = (struct trigger_stack){};
	ADD(&stack, NR + 1, NR + 2);
	check_frames(&stack, "? ? ");
}

/* As a runtime writes it, for code that it compiled. */
TEST(names_code_without_a_file)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)code;
	struct trigger_stack stack = {
		.pid = (uint32_t)getpid(),
		.user = { at + 0x45, at + 0x105, at + 0x205 },
		.user_size = 3 * sizeof(stack.user[0]),
	};
	struct perf_poke_frame *frames;
	char path[64];
	size_t nr;
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "wxe");
	assert_non_null(file);
	fprintf(file, "%" PRIx64 " 40 before\n%" PRIx64 " 10 ~run app.js:3\n", at, at + 0x40);
	fprintf(file, "nonsense\n%" PRIx64 " 100 old\n%" PRIx64 " 20 new \xff\n", at + 0x100,
		at + 0x100);
	fprintf(file, "%" PRIx64 " ffffffffffffffff \n%" PRIx64 "\n", at, at);
	fclose(file);
	frames = capture_stack_new(&stack, NULL, &nr);
	unlink(path);
	assert_int_equal(nr, 3);
	assert_string_equal(frames[0].symbol, "~run app.js:3");
	assert_int_equal(frames[0].offset, 5);
	assert_string_equal(frames[1].symbol, "new ?");
	assert_null(frames[2].symbol);
	capture_stack_free(frames, nr);
	munmap(code, 4096);
}

TEST(remembers_symbols)
{
	static struct capture_symbols symbols;
	struct kallsyms_place places[2] = {
		{ .address = BASE + FLUSH * 0x100 },
		{ .address = BASE + NR * 0x100 },
	};

	assert_int_equal(capture_symbols_find(&symbols, places, 2), 0);
	assert_int_equal(symbols.next, 1);
	assert_string_equal(symbols.known[0].name, "acme_flush");
	places[0].start = 0;
	assert_int_equal(capture_symbols_find(&symbols, places, 1), 0);
	assert_string_equal(places[0].module, "acme");
	assert_int_equal(symbols.next, 1);
}

/* Another address of a function of the kernel proper is known, one of a module is not. */
TEST(remembers_functions)
{
	static struct capture_symbols symbols;
	struct kallsyms_place places[] = { { .address = BASE + COMMON * 0x100 + 1 },
					   { .address = BASE + FLUSH * 0x100 + 1 } };
	const int before = lookups;

	assert_int_equal(capture_symbols_find(&symbols, places, 2), 0);
	places[0] = (struct kallsyms_place){ .address = BASE + COMMON * 0x100 + 0xff };
	assert_int_equal(capture_symbols_find(&symbols, places, 1), 0);
	assert_int_equal(lookups, before + 1);
	assert_int_equal(places[0].address, BASE + COMMON * 0x100 + 0xff);
	assert_int_equal(places[0].start, BASE + COMMON * 0x100);
	places[1] = (struct kallsyms_place){ .address = BASE + FLUSH * 0x100 + 0xff };
	assert_int_equal(capture_symbols_find(&symbols, places, 2), 0);
	assert_int_equal(lookups, before + 2);
}

TEST(finds_files_of_user_space)
{
	struct trigger_stack stack = { .pid = (uint32_t)getpid(), .user_size = 8 };
	struct perf_poke_frame *frames;
	size_t nr;

	stack.user[0] = (uint64_t)(uintptr_t)finds_files_of_user_space;
	frames = capture_stack_new(&stack, NULL, &nr);
	assert_int_equal(nr, 1);
	assert_true(frames[0].user);
	assert_null(frames[0].symbol);
	assert_string_equal(strrchr(frames[0].file, '/'), "/test-lib-capture-capture_stack");
	assert_int_equal(frames[0].build_id_size, sizeof(frames[0].build_id));
	assert_true(frames[0].offset < 1 << 20);
	capture_stack_free(frames, nr);
}

/* Code without frame pointers leaves data in the register. What was executed is kept in any case.
 */
TEST(drops_callers_that_are_no_code)
{
	/* Writable: on arm64 constants are in the segment of the code. */
	static char constant[] = "/data/ck";
	uint64_t code = (uint64_t)(uintptr_t)drops_callers_that_are_no_code;
	const struct {
		uint64_t user[4];
		uint32_t pid;
		bool has_ids;
		size_t nr;
	} rows[] = {
		{ { code, code, code }, (uint32_t)getpid(), false, 3 },
		{ { code, (uint64_t)(uintptr_t)constant, code }, (uint32_t)getpid(), false, 1 },
		{ { code, code, 0x636b2f617461642e, code }, (uint32_t)getpid(), false, 2 },
		{ { 0x600000005, code }, (uint32_t)getpid(), false, 2 },
		{ { 16, 0x600000005 }, (uint32_t)getpid(), false, 1 },
		/* The process has ended: the kernel found the files of the first two. */
		{ { code, code, code }, UINT32_MAX, true, 2 },
		{ { code, code, code }, UINT32_MAX, false, 3 },
		{ { code, code, 0x636b2f617461642e, code }, UINT32_MAX, false, 2 },
		{ { code, 5 }, UINT32_MAX, false, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trigger_stack stack = { .pid = rows[i].pid,
					       .user_size = sizeof(rows[i].user),
					       .build_ids_size = sizeof(stack.build_ids) };
		struct perf_poke_frame *frames;
		size_t nr;

		memcpy(stack.user, rows[i].user, sizeof(rows[i].user));
		for (size_t k = 0; k < 2 && rows[i].has_ids; k++)
			stack.build_ids[k].status = BPF_STACK_BUILD_ID_VALID;
		frames = capture_stack_new(&stack, NULL, &nr);
		if (nr != rows[i].nr)
			fail_msg("row %zu: %zu frames", i, nr);
		capture_stack_free(frames, nr);
	}
}

/* In code of this process, in none, and of processes that have ended: one waits for its parent. */
TEST(names_one_address_of_user_space)
{
	uint64_t here = (uint64_t)(uintptr_t)names_one_address_of_user_space;
	struct perf_poke_frame *frame = capture_stack_user_frame(here, (uint32_t)getpid());
	pid_t ended;

	assert_true(frame->user && frame->address == here);
	assert_string_equal(strrchr(frame->file, '/'), "/test-lib-capture-capture_stack");
	assert_int_equal(frame->build_id_size, sizeof(frame->build_id));
	capture_stack_free(frame, 1);
	frame = capture_stack_user_frame(16, (uint32_t)getpid());
	assert_true(frame->user && frame->address == 16);
	assert_null(frame->file);
	assert_int_equal(frame->build_id_size, 0);
	capture_stack_free(frame, 1);
	assert_null(capture_stack_user_frame(here, UINT32_MAX));
	ended = fork();
	if (!ended)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)ended, &(siginfo_t){}, WEXITED | WNOWAIT), 0);
	assert_null(capture_stack_user_frame(here, (uint32_t)ended));
	assert_int_equal(waitpid(ended, NULL, 0), ended);
}

/* The task has ended: only the kernel's record remains. */
TEST(takes_build_ids_of_the_kernel)
{
	struct trigger_stack stack = { .pid = UINT32_MAX, .user_size = 24, .build_ids_size = 64 };
	struct perf_poke_frame *frames;
	size_t nr;

	stack.user[0] = stack.user[1] = stack.user[2] = 0x1234;
	stack.build_ids[0] = (struct trigger_build_id){ BPF_STACK_BUILD_ID_VALID, { 0xab }, 0x234 };
	stack.build_ids[1] = (struct trigger_build_id){ BPF_STACK_BUILD_ID_IP, {}, 0x1234 };
	frames = capture_stack_new(&stack, NULL, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(frames[0].build_id_size, 20);
	assert_int_equal(frames[0].build_id[0], 0xab);
	assert_int_equal(frames[0].offset, 0x234);
	capture_stack_free(frames, nr);
}

/* Of the words of a stack, only those that unwinding needs. */
TEST(keeps_no_data_of_a_stack)
{
	const struct arch_unwind *unwind = &arch_here()->unwind;
	static struct trigger_user user;
	uint64_t code = (uint64_t)(uintptr_t)capture_user_json, secret = 0x7365637265743432;
	uint64_t sp = 0x7ff000, words[] = { secret, code, sp + 16, 0, sp + 4096 };
	struct json_object *json;
	char expected[128];
	int length;

	user.registers[unwind->pc] = code;
	user.registers[unwind->wide.word] = unwind->wide.value;
	user.registers[unwind->sp] = sp;
	user.registers[unwind->kept[0].word] = sp + 8;
	user.registers[unwind->kept[1].word] = secret;
	assert_null(capture_user_json(&user, (uint32_t)getpid()));
	user.size = sizeof(words);
	memcpy(user.memory, words, sizeof(words));
	json = capture_user_json(&user, (uint32_t)getpid());
	snprintf(expected, sizeof(expected), "1:%" PRIx64 " 2:%" PRIx64, code, sp + 16);
	assert_string_equal(json_object_get_string(json_object_object_get(json, "words")),
			    expected);
	length = snprintf(expected, sizeof(expected), "%" PRIx64 " %" PRIx64 " %" PRIx64, code, sp,
			  sp + 8);
	for (size_t i = 1; i < unwind->nr_kept; i++)
		length += snprintf(expected + length, sizeof(expected) - length, " 0");
	assert_string_equal(json_object_get_string(json_object_object_get(json, "registers")),
			    expected);
	assert_non_null(strstr(json_object_get_string(json_object_object_get(json, "code")), " /"));
	assert_null(strstr(json_object_to_json_string(json), "7365637265"));
	json_object_put(json);
	/* A program of 32 bits. */
	user.registers[unwind->wide.word] = ~unwind->wide.value;
	assert_null(capture_user_json(&user, (uint32_t)getpid()));
}
