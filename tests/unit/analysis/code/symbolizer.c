// SPDX-License-Identifier: GPL-2.0-only
#include "code/symbolizer.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "build_id.h"
#include "io.h"
#include "perfdata/helpers.h"
#include "text.h"

static const struct files_places here;

/* The child that serves this process. */
static pid_t child(void)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	assert_int_equal(read_text_at(AT_FDCWD, path, text, sizeof(text)), 0);
	return atoi(text);
}

static int open_self(struct symbolizer *symbolizer, struct symbols *symbols, uint32_t *number)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct files_wanted wanted = { "/proc/self/exe", build_id_of_elf(fd) };

	return symbolizer_open_file(symbolizer, &wanted, fd, symbols, number);
}

TEST(knows_this_program)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	_cleanup_(symbols_release) struct symbols symbols = {};
	const struct symbols_entry *entry;
	uint32_t number;

	assert_int_equal(symbolizer_new(&symbolizer, &here), 0);
	assert_int_equal(open_self(symbolizer, &symbols, &number), 0);
	entry = symbols_by_name(&symbols, "main");
	assert_non_null(entry);
	assert_ptr_equal(symbols_find(&symbols, entry->start), entry);
	assert_int_not_equal(number, SYMBOLIZER_NO_FILE);
}

#if defined(__x86_64__) || defined(__aarch64__)
#define MEMORY 4096

static struct unwind_wanted wanted_stack;

static void take_registers(struct unwind_registers *to, const mcontext_t *from)
{
	const struct arch_unwind *unwind = &arch_here()->unwind;

	to->nr = unwind->nr_dwarf;
#ifdef __x86_64__
	static const int order[] = { REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15 };

	to->pc = (uint64_t)from->gregs[REG_RIP];
	to->sp = (uint64_t)from->gregs[REG_RSP];
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		to->dwarf[unwind->kept[i].dwarf] = (uint64_t)from->gregs[order[i]];
#elif defined(__aarch64__)
	to->pc = from->pc;
	to->sp = from->sp;
	memcpy(to->dwarf, from->regs, sizeof(from->regs));
#endif
	to->dwarf[unwind->sp_dwarf] = to->sp;
}

/* As a spike in innermost() keeps it: also what is between the variables. */
static __attribute__((noinline, no_sanitize("address"))) int innermost(int depth)
{
	struct unwind_wanted *wanted = &wanted_stack;
	static ucontext_t here_now; /* larger than MEMORY on arm64 */

	assert_int_equal(getcontext(&here_now), 0);
	take_registers(&wanted->registers, &here_now.uc_mcontext);
	wanted->size = MEMORY;
	wanted->nr_words = MEMORY / sizeof(uint64_t);
	for (size_t i = 0; i < wanted->nr_words; i++) {
		wanted->words[i][0] = i;
		wanted->words[i][1] = ((const uint64_t *)wanted->registers.sp)[i];
	}
	return depth + 1;
}

static __attribute__((noinline)) int middle(int depth)
{
	volatile char room[100];

	room[depth] = (char)innermost(depth + 1);
	return room[depth] + 1;
}

static __attribute__((noinline)) int outer(int depth)
{
	return middle(depth + 1) + 1;
}

static void want_own_code(uint32_t number)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end, offset, own = (uint64_t)innermost;
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) !=
			    3 ||
		    own < start || own >= end)
			continue;
		memcpy(wanted_stack.code[wanted_stack.nr_code++],
		       (uint64_t[]){ number, start, end, offset }, 4 * sizeof(uint64_t));
	}
}

/* By the program's unwind tables, in a compilation without frame pointers. */
TEST(unwinds_a_stack)
{
	static const char *const expected[] = { "innermost", "middle", "outer", "unwinds_a_stack" };
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	_cleanup_(symbols_release) struct symbols symbols = {};
	uint64_t frames[UNWIND_FRAMES_MAX];
	uint32_t number;
	size_t nr;

	assert_int_equal(outer(1), 6);
	assert_int_equal(symbolizer_new(&symbolizer, &here), 0);
	assert_int_equal(open_self(symbolizer, &symbols, &number), 0);
	assert_int_equal(symbolizer_unwind(symbolizer, &wanted_stack, frames, &nr), 0);
	/* Without the code, nothing but where it was is known. */
	assert_in_range(nr, 0, 1);
	want_own_code(number);
	assert_int_equal(wanted_stack.nr_code, 1);
	assert_int_equal(symbolizer_unwind(symbolizer, &wanted_stack, frames, &nr), 0);
	assert_true(nr > ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		uint64_t offset =
			frames[i] - !!i - wanted_stack.code[0][1] + wanted_stack.code[0][3];
		const struct symbols_entry *entry = symbols_find(&symbols, offset);

		assert_non_null(entry);
		/* A compiler may have cloned it. */
		assert_true(has_prefix(symbols_name(&symbols, entry), expected[i]));
	}
	/* Of a stranger's capture. */
	wanted_stack.registers.sp = UINT64_MAX - 7;
	wanted_stack.code[0][2] = UINT64_MAX;
	wanted_stack.code[0][3] = UINT64_MAX - 4096;
	assert_int_equal(symbolizer_unwind(symbolizer, &wanted_stack, frames, &nr), 0);
	wanted_stack.code[0][0] |= SYMBOLIZER_NO_FILE & 0xffff;
	assert_int_equal(symbolizer_unwind(symbolizer, &wanted_stack, frames, &nr), 0);
}
#endif

/* As when libdw crashed: what it knew is gone, nothing else. */
TEST(outlives_its_process)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	struct symbols symbols = {};
	struct source_places places;
	uint32_t number, next;

	assert_int_equal(symbolizer_new(&symbolizer, &here), 0);
	assert_int_equal(open_self(symbolizer, &symbols, &number), 0);
	symbols_release(&symbols);
	for (int i = 0; i < 12; i++) {
		if (child())
			kill(child(), SIGKILL);
		assert_int_equal(open_self(symbolizer, &symbols, &next), 0);
		assert_int_equal(symbols.nr, 0);
		assert_int_equal(next, SYMBOLIZER_NO_FILE);
		assert_int_equal(
			symbolizer_find_places(symbolizer, number, &(uint64_t){ 0 }, 1, &places),
			0);
		assert_int_equal(places.nr, 0);
		assert_int_equal(open_self(symbolizer, &symbols, &next), 0);
		/* Of one that ends again and again, no other is started. */
		assert_int_equal(!symbols.nr, i >= 7);
		symbols_release(&symbols);
	}
}

TEST_IN_FOLDER(refuses_what_is_no_elf)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	const struct files_wanted wanted = { "script" };
	_cleanup_close_ int fd = -1;
	struct symbols symbols;
	uint32_t number;

	put_file(folder->fd, "script", "#!/bin/sh\n");
	fd = openat(folder->fd, "script", O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbolizer_new(&symbolizer, &here), 0);
	assert_int_equal(symbolizer_open_file(symbolizer, &wanted, fd, &symbols, &number),
			 -ENOEXEC);
	assert_int_equal(number, SYMBOLIZER_NO_FILE);
}
