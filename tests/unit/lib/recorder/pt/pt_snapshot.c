// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/pt/pt.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEPT 2
#define SIZE ((size_t)64 << 10)
#define ROUNDS 2000

static bool no_memory;

void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return no_memory ? MAP_FAILED : __real_mmap(addr, len, prot, flags, fd, offset);
}

void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
	__attribute__((alias("__wrap_mmap")));

static struct pt_pool *new_pool(size_t nr, size_t size)
{
	struct pt_pool *pool = NULL;

	no_memory = false;
	assert_int_equal(pt_pool_new(&pool, nr, size), 0);
	assert_non_null(pool);
	return pool;
}

/* Resident pages. -1: the buffer is not mapped. */
static long resident_pages(uint8_t *buffer, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned char in_core[SIZE / 4096];
	long nr = 0;

	assert_true(size / page <= sizeof(in_core));
	if (mincore(buffer, size, in_core))
		return -1;
	for (size_t i = 0; i < size / page; i++)
		nr += in_core[i] & 1;
	return nr;
}

TEST(keeps_memory_that_is_there)
{
	long pages = SIZE / sysconf(_SC_PAGESIZE);
	struct pt_pool *pool;
	uint8_t *one, *two;

	SKIP_IN_USER_MODE("MAP_POPULATE does nothing");
	pool = new_pool(KEPT, SIZE);
	one = pt_pool_take(pool);
	two = pt_pool_take(pool);
	assert_true(one && two && (one + SIZE <= two || two + SIZE <= one));
	assert_int_equal(resident_pages(one, SIZE), pages);
	assert_int_equal(resident_pages(two, SIZE), pages);
	pt_pool_give_back(pool, one);
	assert_int_equal(resident_pages(one, SIZE), pages);
	/* The same ones again, whichever is free. */
	assert_ptr_equal(pt_pool_take(pool), one);
	pt_pool_give_back(pool, two);
	assert_ptr_equal(pt_pool_take(pool), two);
	pt_pool_give_back(pool, one);
	pt_pool_give_back(pool, two);
	pt_pool_free(pool);
	assert_int_equal(resident_pages(one, SIZE), -1);
	assert_int_equal(resident_pages(two, SIZE), -1);
	pt_pool_free(NULL);
}

static void check_fresh(struct pt_pool *pool, uint8_t *kept)
{
	uint8_t *fresh = pt_pool_take(pool);

	assert_non_null(fresh);
	assert_ptr_not_equal(fresh, kept);
	memset(fresh, 1, SIZE);
	pt_pool_give_back(pool, fresh);
	assert_int_equal(resident_pages(fresh, SIZE), -1);
}

TEST(takes_fresh_memory_when_all_is_in_use)
{
	struct pt_pool *pool = new_pool(1, SIZE);
	uint8_t *kept = pt_pool_take(pool);

	check_fresh(pool, kept);
	pt_pool_give_back(pool, NULL);
	/* A fresh buffer is not kept, and returning it frees no kept one. */
	check_fresh(pool, kept);
	no_memory = true;
	assert_null(pt_pool_take(pool));
	pt_pool_give_back(pool, kept);
	assert_ptr_equal(pt_pool_take(pool), kept);
	pt_pool_give_back(pool, kept);
	pt_pool_free(pool);
}

TEST(may_keep_nothing)
{
	struct pt_pool *pool = new_pool(0, SIZE);

	check_fresh(pool, NULL);
	pt_pool_free(pool);
}

TEST(fails_without_memory)
{
	struct pt_pool *pool = NULL;

	no_memory = true;
	assert_int_equal(pt_pool_new(&pool, 1, SIZE), -ENOMEM);
	assert_null(pool);
}

struct giver {
	struct pt_pool *pool;
	pthread_barrier_t barrier;
	uint8_t *buffers[KEPT + 1];
	unsigned int wrong;
};

/* Like the writer: it owns a buffer until it returns it. */
static void *give(void *arg)
{
	struct giver *giver = arg;

	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&giver->barrier);
		for (int i = 0; i <= KEPT; i++) {
			giver->wrong += *giver->buffers[i] != i + 1;
			pt_pool_give_back(giver->pool, giver->buffers[i]);
		}
		pthread_barrier_wait(&giver->barrier);
	}
	return NULL;
}

TEST(is_given_back_by_another_thread)
{
	struct giver giver = { .pool = new_pool(KEPT, SIZE) };
	uint8_t *mine = NULL;
	pthread_t thread;

	assert_int_equal(pthread_barrier_init(&giver.barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, give, &giver), 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i <= KEPT; i++) {
			giver.buffers[i] = pt_pool_take(giver.pool);
			assert_non_null(giver.buffers[i]);
			*giver.buffers[i] = i + 1;
		}
		pthread_barrier_wait(&giver.barrier);
		/* While another thread returns buffers. */
		mine = pt_pool_take(giver.pool);
		assert_non_null(mine);
		pthread_barrier_wait(&giver.barrier);
		pt_pool_give_back(giver.pool, mine);
	}
	pthread_join(thread, NULL);
	assert_int_equal(giver.wrong, 0);
	pthread_barrier_destroy(&giver.barrier);
	pt_pool_free(giver.pool);
}
