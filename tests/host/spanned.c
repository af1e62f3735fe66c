// SPDX-License-Identifier: GPL-2.0-only
/* Functions that begin and end spans, in all possible orders.
 * usage: spanned pairs|again|left|dies|recurses|jumps|recovers|many|spins|sleeps */
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEVELS 5
#define LEVEL_US 4000
#define MANY 17000 /* more than the session remembers */

static jmp_buf out;

void enter(long id);
void leave(long id);
void recurse(int level);
void fail(int level, int failing, bool catches);

__attribute__((noinline)) void enter(long id)
{
	__asm__ volatile("" : : "r"(id) : "memory");
}

__attribute__((noinline)) void leave(long id)
{
	__asm__ volatile("" : : "r"(id) : "memory");
}

__attribute__((noinline)) void recurse(int level)
{
	usleep(LEVEL_US);
	if (level > 1)
		recurse(level - 1);
	__asm__ volatile("" : : : "memory");
}

/* The failing level leaves the function without its return. A level that catches goes on. */
__attribute__((noinline)) void fail(int level, int failing, bool catches)
{
	usleep(LEVEL_US);
	if (level == failing)
		longjmp(out, 1);
	if (level > 1 && !(catches && setjmp(out)))
		fail(level - 1, failing, false);
	__asm__ volatile("" : : : "memory");
}

/* Two spans overlap, and end in the order in which they began. */
static void pairs(void)
{
	enter(1);
	usleep(20000);
	enter(2);
	leave(1);
	leave(2);
}

static void again(void)
{
	enter(1);
	usleep(50000);
	enter(1);
	leave(1);
}

static void left(void)
{
	leave(1);
	leave(1);
}

static void *enter_only(void *arg)
{
	enter(1);
	return NULL;
}

static void dies(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, enter_only, NULL) || pthread_join(thread, NULL))
		exit(1);
}

static void recurses(void)
{
	recurse(LEVELS);
}

/* The fourth of ten calls has no exit. */
static void jumps(void)
{
	for (volatile int call = 1; call <= 10; call++) {
		if (!setjmp(out))
			fail(1, call == 4 ? 1 : 0, false);
	}
}

/* The inner one of the second of three pairs of calls has no exit. */
static void recovers(void)
{
	for (volatile int call = 1; call <= 3; call++)
		fail(2, call == 2 ? 1 : 0, true);
}

static void many(void)
{
	for (long id = 0; id < MANY; id++)
		enter(id);
	for (long id = 0; id < MANY; id++)
		leave(id);
}

/* These never end. */
static void spins(void)
{
	enter(1);
	for (;;)
		__asm__ volatile("" : : : "memory");
}

static void sleeps(void)
{
	enter(1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} rows[] = {
		{ "pairs", pairs },   { "again", again },	{ "left", left },
		{ "dies", dies },     { "recurses", recurses }, { "many", many },
		{ "jumps", jumps },   { "recovers", recovers }, { "spins", spins },
		{ "sleeps", sleeps },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(argv[1], rows[i].name))
			continue;
		rows[i].run();
		return 0;
	}
	fprintf(stderr, "usage: %s MODE, see the head of the source\n", argv[0]);
	return 2;
}
