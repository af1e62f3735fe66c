// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A capture appears complete under its name, or not at all. The thread writes them in order. */
#include "capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "fake_recorder.h"
#include "helpers.h"
#include "io.h"
#include "text.h"

/* Of the file system: names that were synced. */
static struct {
	char names[256];
	int error;
} disk;

int __wrap_fsync(int fd)
{
	_cleanup_free_ char *link = strfmt("/proc/self/fd/%d", fd);
	char path[4096] = "";

	assert_true(readlink(link, path, sizeof(path) - 1) > 0);
	/* Not in the capture's folder, once that has its name. */
	assert_null(strstr(path, "-cpu3-"));
	snprintf(disk.names + strlen(disk.names), sizeof(disk.names) - strlen(disk.names), "%s ",
		 strrchr(path, '/') + 1);
	errno = disk.error;
	return disk.error ? -1 : 0;
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

	write_capture(capture);
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

/* All files, before the capture has its name, and then the name. */
TEST_WITH(is_on_the_disk_before_it_appears, make_output, remove_output)
{
	struct capture *capture = fake_capture(17);

	disk.names[0] = '\0';
	write_capture(capture);
	assert_non_null(strstr(disk.names, " data perf.data "));
	assert_non_null(strstr(disk.names, "capture.json "));
	assert_string_equal(disk.names + strlen(disk.names) - strlen(" captures "), " captures ");
	capture_free(&env, capture);

	capture = fake_capture(18);
	disk.error = EIO;
	write_capture(capture);
	disk.error = 0;
	assert_int_equal(capture->error, -EIO);
	assert_null(capture->path);
	capture_free(&env, capture);
}

TEST_WITH(a_poke_has_no_cpu, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);

	capture->spike.poked = true;
	capture->spike.cpu = -1;
	capture->spike.latency_ns = 0;
	write_capture(capture);
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
	write_capture(capture);
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
		write_capture(captures[i]);
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
	write_capture(first);
	for (int i = 2; i < 1000; i++) {
		snprintf(name, sizeof(name), "%s-%d", strrchr(first->path, '/') + 1, i);
		put_file(captures.fd, name, "mine");
	}
	write_capture(thousandth);
	check_name(thousandth, "-1000$");
	write_capture(last);
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
	write_capture(capture);
	assert_int_equal(capture->error, -ENOSPC);
	assert_null(capture->path);
	assert_null(capture->snapshot);
	assert_int_equal(fake.freed, 1);
	assert_int_equal(fake_entries(&env), 0);
	capture_free(&env, capture);

	fake.error = 0;
	write_capture(next);
	check_content(next, "2");
	assert_int_equal(fake_entries(&env), 1);
	capture_free(&env, next);
}

/* If the last file cannot be made, all earlier ones are removed. */
TEST_WITH(a_late_failure_leaves_nothing, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);

	fake.also = "capture.json";
	write_capture(capture);
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
	write_capture(first);
	check_content(first, "1");
	assert_non_null(strstr(first->note, config.opts.output));
	assert_non_null(strstr(first->note, moved));
	/* The session's files in it are gone. */
	assert_int_equal(rmdir(moved), 0);
	write_capture(second);
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
	write_capture(capture);
	assert_int_equal(capture->error, -ENOTDIR);
	assert_int_equal(fake.written, 0);
	assert_int_equal(fake.freed, 1);
	assert_int_equal(unlinkat(folder->fd, "captures", 0), 0);
	write_capture(next);
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

	write_capture(capture);
	umask(mask);
	assert_int_equal(capture->error, 0);
	assert_int_equal(stat(capture->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/capture.json", capture->path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	capture_free(&env, capture);
}

/* Of the user of sudo. */
TEST_WITH(is_of_the_output_owner, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);
	char path[4200];
	struct stat st;

	if (geteuid())
		skip();
	captures.owner = 65534;
	write_capture(capture);
	captures.owner = 0;
	assert_int_equal(capture->error, 0);
	assert_int_equal(stat(capture->path, &st), 0);
	assert_int_equal(st.st_uid, 65534);
	snprintf(path, sizeof(path), "%s/capture.json", capture->path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 65534);
	capture_free(&env, capture);
}

#define MANY 200

static struct writer *writer;

/* Replaces the trigger's: the late thread runs once this capture is written. */
#define SECOND 2

static bool thread_ran;

bool __wrap_trigger_read_latencies(const struct trigger *trigger, int cpu, uint64_t sequence,
				   struct trigger_latencies *latencies)
{
	*latencies = (struct trigger_latencies){ .thread_ns = thread_ran ? 90000 : 0 };
	return true;
}

bool __wrap_trigger_read_stacks(const struct trigger *trigger, uint64_t sequence,
				struct trigger_stacks *stacks)
{
	return false;
}

bool __wrap_trigger_has_noise(const struct trigger *trigger)
{
	return false;
}

/* Set by the writer's thread; read after it has ended. */
static unsigned int order[MANY], nr_order;
static pthread_t thread;
static int policy;
static bool signals_blocked;

/* The thread waits here while the test holds it. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void note_write(unsigned int number)
{
	sigset_t blocked;

	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	thread_ran = number == SECOND;
	if (nr_order < MANY)
		order[nr_order++] = number;
	thread = pthread_self();
	policy = sched_getscheduler(0);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	signals_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM) &&
			  sigismember(&blocked, SIGUSR1);
}

static int start(void **state)
{
	if (make_output(state))
		return -1;
	fake.on_write = note_write;
	nr_order = 0;
	writer = NULL;
	return writer_start(&writer, &env);
}

static int stop(void **state)
{
	writer_free(writer);
	return remove_output(state);
}

static bool readable(int timeout_ms)
{
	struct pollfd fd = { .fd = writer_fd(writer), .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

static void check_taken(unsigned int number, int error)
{
	struct capture *capture = writer_take_finished(writer);

	assert_non_null(capture);
	assert_int_equal(capture->spike.sequence, number);
	assert_int_equal(capture->error, error);
	capture_free(&env, capture);
}

/* The descriptor is readable exactly while there are results. */
TEST_WITH(tells_when_it_is_done, start, stop)
{
	assert_false(readable(0));
	assert_null(writer_take_finished(writer));
	pthread_mutex_lock(&gate);
	writer_add_capture(writer, fake_capture(1));
	assert_false(readable(20));
	assert_null(writer_take_finished(writer));
	pthread_mutex_unlock(&gate);
	assert_true(readable(30000));
	check_taken(1, 0);
	assert_false(readable(0));
	assert_null(writer_take_finished(writer));
}

TEST_WITH(keeps_the_order, start, stop)
{
	for (unsigned int i = 0; i < MANY; i++) {
		writer_add_capture(writer, fake_capture(i));
		/* In a hurry and at leisure. */
		if (i % 16 == 15)
			usleep(2000);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		assert_true(readable(30000));
		check_taken(i, 0);
	}
	assert_false(readable(0));
	writer_finish(writer);
	assert_int_equal(nr_order, MANY);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(order[i], i);
	assert_int_equal(fake_entries(&env), MANY);
	assert_int_equal(fake.freed, MANY);
}

/* The name is free at once, although another capture waits to be written. */
TEST_WITH(removes_what_is_dropped, start, stop)
{
	struct removal *removal = calloc(1, sizeof(*removal)),
		       *unknown = calloc(1, sizeof(*unknown));
	struct capture *capture;

	writer_add_capture(writer, fake_capture(1));
	assert_true(readable(30000));
	capture = writer_take_finished(writer);
	removal->kept = (struct kept){ .name = strdup(strrchr(capture->path, '/') + 1),
				       .dev = capture->dev,
				       .ino = capture->ino };
	unknown->kept = (struct kept){ .name = strdup("unknown") };
	writer_add_removal(writer, removal);
	assert_true(readable(30000));
	assert_int_equal(access(capture->path, F_OK), -1);
	assert_ptr_equal(writer_take_removed(writer), removal);
	assert_int_equal(removal->error, 0);
	assert_false(readable(0));
	writer_add_removal(writer, unknown);
	assert_int_equal(writer_finish(writer), 0);
	assert_ptr_equal(writer_take_removed(writer), unknown);
	assert_int_equal(unknown->error, -ENOENT);
	assert_null(writer_take_removed(writer));
	assert_int_equal(fake_entries(&env), 0);
	removal_free(removal);
	removal_free(unknown);
	capture_free(&env, capture);
}

/* The first capture's thread runs only when the second one is written. */
TEST_WITH(begins_the_next_while_one_waits, start, stop)
{
	config.thresholds[PERF_POKE_TRIGGER_THREAD] = 1;
	env.trigger = (struct trigger *)&thread_ran;
	pthread_mutex_lock(&gate);
	writer_add_capture(writer, fake_capture(1));
	writer_add_capture(writer, fake_capture(SECOND));
	pthread_mutex_unlock(&gate);
	writer_finish(writer);
	for (unsigned int i = 1; i <= SECOND; i++) {
		struct capture *capture = writer_take_finished(writer);

		assert_non_null(capture);
		assert_int_equal(capture->spike.sequence, i);
		assert_int_equal(capture->error, 0);
		assert_int_equal(capture->spike.thread_ns, 90000);
		capture_free(&env, capture);
	}
	assert_int_equal(fake_entries(&env), 2);
}

TEST_WITH(finish_waits, start, stop)
{
	for (unsigned int i = 0; i < 50; i++)
		writer_add_capture(writer, fake_capture(i));
	writer_finish(writer);
	assert_int_equal(nr_order, 50);
	assert_int_equal(fake_entries(&env), 50);
	for (unsigned int i = 0; i < 50; i++) {
		assert_true(readable(0));
		check_taken(i, 0);
	}
	assert_false(readable(0));
	assert_null(writer_take_finished(writer));
	writer_finish(writer);
}

TEST_WITH(free_drops, start, stop)
{
	for (unsigned int i = 0; i < 20; i++)
		writer_add_capture(writer, fake_capture(i));
	writer_free(writer);
	writer = NULL;
	assert_int_equal(nr_order, 20);
	assert_int_equal(fake.freed, 20);
	/* Complete captures stay. */
	assert_int_equal(fake_entries(&env), 20);
	writer_free(NULL);
}

TEST_WITH(failures_come_through, start, stop)
{
	fake.error = -ENOSPC;
	writer_add_capture(writer, fake_capture(1));
	writer_add_capture(writer, fake_capture(2));
	writer_finish(writer);
	check_taken(1, -ENOSPC);
	check_taken(2, -ENOSPC);
	assert_int_equal(fake_entries(&env), 0);
	assert_int_equal(fake.freed, 2);
}

/* A separate thread, never real-time, that takes no signals from the caller. */
TEST_WITH(stays_out_of_the_way, start, stop)
{
	struct sched_param param = { .sched_priority = 1 }, normal = {};
	bool realtime;

	writer_free(writer);
	writer = NULL;
	assert_int_equal(output_open(&captures, config.opts.output, 0, &(struct log){}), 0);
	realtime = !sched_setscheduler(0, SCHED_FIFO, &param);
	assert_int_equal(writer_start(&writer, &env), 0);
	if (realtime)
		assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &normal), 0);
	writer_add_capture(writer, fake_capture(1));
	writer_finish(writer);
	assert_int_equal(nr_order, 1);
	assert_false(pthread_equal(thread, pthread_self()));
	assert_int_equal(policy, SCHED_OTHER);
	assert_true(signals_blocked);
}

static bool clock_jumps;
static pthread_t main_thread;

int __real_clock_gettime(clockid_t clock, struct timespec *ts);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	static time_t jumped;
	int err = __real_clock_gettime(clock, ts);

	if (clock_jumps && clock == CLOCK_MONOTONIC && pthread_equal(pthread_self(), main_thread))
		ts->tv_sec += jumped += 10;
	return err;
}

/* As by a file system that hangs. The thread goes on when it answers at last. */
TEST_WITH(finish_gives_up, start, stop)
{
	struct capture *capture = fake_capture(1);

	main_thread = pthread_self();
	pthread_mutex_lock(&gate);
	writer_add_capture(writer, capture);
	clock_jumps = true;
	assert_int_equal(writer_finish(writer), -ETIMEDOUT);
	writer_free(writer);
	assert_null(writer_take_finished(writer));
	clock_jumps = false;
	pthread_mutex_unlock(&gate);
	assert_int_equal(writer_finish(writer), 0);
	check_taken(1, 0);
}
