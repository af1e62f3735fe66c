// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that read files of strangers.
 *
 * No reader can be trusted to be bounded, and most of them are libraries of others. So the kernel
 * bounds the memory of the whole process: allocations fail beyond it, which is an error like any
 * other. And a thread that does nothing else ends the process on a signal, so that no reader has to
 * look whether one has come. Nor does one have to look whether a file is still as long as it was.
 */
#include "cli/cli.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "facts/captures.h"
#include "memory.h"

/* What decoding with a thread or two takes in any case. */
#define MEMORY_MIN (UINT64_C(256) << 20)
/* Of a thread: its stack is reserved, not used. */
#define STACK (UINT64_C(9) << 20)

static uint64_t budget; /* 0: none was given */
static bool is_bounded;
static atomic_bool is_truncated;

static void reader_bound_memory(void)
{
	uint64_t wanted = budget ?: CAPTURE_MAX_SIZE;
	struct rlimit before;

	is_bounded = memory_bound((wanted > MEMORY_MIN ? wanted : MEMORY_MIN) +
					  (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * STACK,
				  &before);
}

/* A page of a mapped file that is no longer there becomes zeros. libipt maps files as well. mmap()
 * is a system call without state of its own. */
static void reader_handle_bus_error(int number, siginfo_t *info, void *context)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = (void *)((uintptr_t)info->si_addr & ~(page - 1));

	is_truncated = true;
	if (info->si_code != BUS_ADRERR ||
	    mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		signal(number, SIG_DFL);
}

int reader_begin(struct console *con, uint64_t max_size, const char *said)
{
	const struct sigaction catch = { .sa_sigaction = reader_handle_bus_error,
					 .sa_flags = SA_SIGINFO };
	int err;

	sigaction(SIGBUS, &catch, NULL);
	budget = max_size;
	reader_bound_memory();
	err = signals_end_process(said);
	if (err)
		console_error(con, "%s", strerror(-err));
	return err;
}

static void reader_show_message(void *con, enum perf_poke_log_level level, const char *text)
{
	console_log_message(con, level, text);
}

static void reader_show_progress(void *con, const char *text)
{
	if (text)
		console_status(con, text);
	else
		console_clear_status(con);
}

void reader_hooks(struct console *con, struct analysis_hooks *hooks)
{
	*hooks = (struct analysis_hooks){
		.ctx = con,
		.message = reader_show_message,
		.progress = console_has_status(con) ? reader_show_progress : NULL,
		.hold = signals_hold_if_ended,
		.stop = &signals_asked_end,
		.is_truncated = &is_truncated,
		.no_memory = reader_strerror(-ENOMEM),
		.max_size = budget,
	};
}

const char *reader_strerror(int err)
{
	return err == -ENOMEM && is_bounded ? "it takes too much memory (--max-size allows more)"
					    : strerror(-err);
}
