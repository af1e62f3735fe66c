// SPDX-License-Identifier: GPL-2.0-only
/* Requests that wait for a lock that the partner holds, or for a message of it. */
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <unistd.h>

#include "late_request.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int pair[2], queue, signalled;
static mqd_t posix_queue;

/* -- Locks of user space --------------------------------------------------------------------------
 */

static long pi_us;

/* The kernel spins on a lock of this kind while its owner runs: the partner sleeps with it. */
static void prepare_pi(void)
{
	pthread_mutexattr_t attr;

	pi_us = late_us;
	late_us = 0;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attr);
}

static void mutex_hold(void)
{
	pthread_mutex_lock(&mutex);
}

static void pi_hold(void)
{
	pthread_mutex_lock(&mutex);
	atomic_store(&held, 1);
	usleep((useconds_t)pi_us);
}

static void mutex_end(void)
{
	pthread_mutex_unlock(&mutex);
}

static void mutex_request(void)
{
	pthread_mutex_lock(&mutex);
	compute(50);
	pthread_mutex_unlock(&mutex);
}

/* The partner, made later, is not to inherit it. */
static void prepare_inversion(void)
{
	struct sched_param param = { .sched_priority = 80 };

	check(sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param),
	      "sched_setscheduler");
}

static void rwlock_hold(void)
{
	pthread_rwlock_wrlock(&rwlock);
}

static void rwlock_end(void)
{
	pthread_rwlock_unlock(&rwlock);
}

static void rwlock_request(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void cond_end(void)
{
	pthread_mutex_lock(&mutex);
	signalled = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
}

static void cond_request(void)
{
	pthread_mutex_lock(&mutex);
	while (!signalled)
		pthread_cond_wait(&cond, &mutex);
	signalled = 0;
	pthread_mutex_unlock(&mutex);
}

static void prepare_barrier(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
}

static void barrier_wait(void)
{
	pthread_barrier_wait(&barrier);
}

static void prepare_semaphore(void)
{
	sem_init(&semaphore, 0, 0);
}

static void semaphore_end(void)
{
	sem_post(&semaphore);
}

static void semaphore_request(void)
{
	while (sem_wait(&semaphore))
		;
}

/* The partner waits for `third`, which computes. */
static void *third_thread(void *arg)
{
	prctl(PR_SET_NAME, "third");
	pin(partner_cpu);
	for (;;) {
		char byte;

		check(read(pair[0], &byte, 1), "read");
		pthread_mutex_lock(&second);
		atomic_store(&held, 2);
		compute(late_us);
		pthread_mutex_unlock(&second);
	}
	return arg;
}

static void prepare_chain(void)
{
	pthread_t thread;

	check(pipe(pair), "pipe");
	pthread_create(&thread, NULL, third_thread, NULL);
}

static void chain_hold(void)
{
	pthread_mutex_lock(&mutex);
	check(write(pair[1], "x", 1), "write");
	while (atomic_load(&held) != 2)
		usleep(50);
}

static void chain_end(void)
{
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&mutex);
}

/* -- System V, POSIX queues -----------------------------------------------------------------------
 */

static void prepare_sysv_semaphore(void)
{
	check(queue = semget(IPC_PRIVATE, 1, 0600), "semget");
}

static void sysv_semaphore_change(short by)
{
	struct sembuf change = { .sem_op = by };

	semop(queue, &change, 1);
}

static void sysv_semaphore_end(void)
{
	sysv_semaphore_change(1);
}

static void sysv_semaphore_request(void)
{
	sysv_semaphore_change(-1);
}

static void prepare_sysv_queue(void)
{
	check(queue = msgget(IPC_PRIVATE, 0600), "msgget");
}

static void sysv_queue_end(void)
{
	struct msgbuf message = { .mtype = 1 };

	check(msgsnd(queue, &message, 1, 0), "msgsnd");
}

static void sysv_queue_request(void)
{
	struct msgbuf message;

	check(msgrcv(queue, &message, 1, 1, 0), "msgrcv");
}

static void prepare_posix_queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 1 };

	posix_queue = mq_open("/late_request", O_RDWR | O_CREAT, 0600, &attr);
	check(posix_queue, "mq_open");
	mq_unlink("/late_request");
}

static void posix_queue_end(void)
{
	check(mq_send(posix_queue, "x", 1, 0), "mq_send");
}

static void posix_queue_request(void)
{
	char byte;

	check(mq_receive(posix_queue, &byte, 1, NULL), "mq_receive");
}

const struct mode lock_modes[] = {
	{ "mutex", NULL, mutex_hold, mutex_end, mutex_request, NULL },
	{ "pi", prepare_pi, pi_hold, mutex_end, mutex_request, NULL },
	{ "inversion", prepare_inversion, mutex_hold, mutex_end, mutex_request, NULL },
	{ "rwlock", NULL, rwlock_hold, rwlock_end, rwlock_request, NULL },
	{ "cond", NULL, NULL, cond_end, cond_request, NULL },
	{ "barrier", prepare_barrier, NULL, barrier_wait, barrier_wait, NULL },
	{ "semaphore", prepare_semaphore, NULL, semaphore_end, semaphore_request, NULL },
	{ "chain", prepare_chain, chain_hold, chain_end, mutex_request, NULL },
	{ "sysv-semaphore", prepare_sysv_semaphore, NULL, sysv_semaphore_end,
	  sysv_semaphore_request, NULL },
	{ "sysv-queue", prepare_sysv_queue, NULL, sysv_queue_end, sysv_queue_request, NULL },
	{ "posix-queue", prepare_posix_queue, NULL, posix_queue_end, posix_queue_request, NULL },
	{ .name = NULL },
};
