// SPDX-License-Identifier: GPL-2.0-only
#include "ftrace/trace_dat.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "array.h"
#include "io.h"
#include "text.h"

/* How often the child is looked after. */
#define LOOK_NS 2000000
/* The kernel's limit of a record is a page. */
#define RECORD_MAX (1 << 16)

void trace_dat_free(struct trace_dat *dat)
{
	if (!dat)
		return;
	free(dat->records);
	free(dat->formats);
	free(dat->symbols);
	free(dat->tasks);
	free(dat->strings);
	if (dat->size)
		munmap((void *)dat->image, dat->size);
	free(dat);
}

/* A name at the begin of an item. NULL: none, or it does not end within. */
static const char *item_name(const uint8_t *bytes, uint32_t size)
{
	return memchr(bytes, '\0', size) && *bytes ? (const char *)bytes : NULL;
}

static int dat_add_record(struct trace_dat *dat, const struct trace_dat_head *head,
			  const uint8_t *bytes)
{
	struct trace_dat_record record = {
		.time = head->numbers[0],
		.at = (uint64_t)(bytes - dat->image),
		.size = head->size,
		.cpu = (int32_t)(uint32_t)head->numbers[1],
		.missed = head->numbers[1] & TRACE_DAT_MISSED,
	};

	if (record.cpu < 0 || record.size > RECORD_MAX)
		return -EINVAL;
	if (array_grow(&dat->records, dat->nr_records, sizeof(record)))
		return -ENOMEM;
	dat->records[dat->nr_records++] = record;
	return 0;
}

static int dat_add_format(struct trace_dat *dat, const struct trace_dat_head *head,
			  const uint8_t *bytes)
{
	const char *system = item_name(bytes, head->size);
	struct trace_dat_format format = { .id = head->numbers[0], .system = system };

	if (!system)
		return -EINVAL;
	format.text = system + strlen(system) + 1;
	format.size = head->size - strlen(system) - 1;
	if (array_grow(&dat->formats, dat->nr_formats, sizeof(format)))
		return -ENOMEM;
	dat->formats[dat->nr_formats++] = format;
	return 0;
}

static int dat_add_symbol(struct trace_dat *dat, const struct trace_dat_head *head,
			  const uint8_t *bytes)
{
	struct trace_dat_symbol symbol = { head->numbers[0], head->numbers[1],
					   item_name(bytes, head->size) };

	if (!symbol.name || symbol.end <= symbol.start)
		return -EINVAL;
	if (array_grow(&dat->symbols, dat->nr_symbols, sizeof(symbol)))
		return -ENOMEM;
	dat->symbols[dat->nr_symbols++] = symbol;
	return 0;
}

static int dat_add_task(struct trace_dat *dat, const struct trace_dat_head *head,
			const uint8_t *bytes)
{
	struct trace_dat_task task = { (int32_t)head->numbers[0], item_name(bytes, head->size) };

	if (!task.comm || task.tid <= 0)
		return -EINVAL;
	if (array_grow(&dat->tasks, dat->nr_tasks, sizeof(task)))
		return -ENOMEM;
	dat->tasks[dat->nr_tasks++] = task;
	return 0;
}

static int dat_add_string(struct trace_dat *dat, const struct trace_dat_head *head,
			  const uint8_t *bytes)
{
	struct trace_dat_string string = { head->numbers[0], item_name(bytes, head->size) };

	if (!string.text)
		return -EINVAL;
	if (array_grow(&dat->strings, dat->nr_strings, sizeof(string)))
		return -ENOMEM;
	dat->strings[dat->nr_strings++] = string;
	return 0;
}

/* Equal times keep their order, which is that of each CPU. */
static int compare_records(const void *a, const void *b)
{
	const struct trace_dat_record *x = a, *y = b;

	return array_compare(x->time, y->time) ?: array_compare(x->at, y->at);
}

static int dat_read_items(struct trace_dat *dat)
{
	static int (*const take[])(struct trace_dat * dat, const struct trace_dat_head *head,
				   const uint8_t *bytes) = {
		[TRACE_DAT_RECORD] = dat_add_record, [TRACE_DAT_FORMAT] = dat_add_format,
		[TRACE_DAT_SYMBOL] = dat_add_symbol, [TRACE_DAT_TASK] = dat_add_task,
		[TRACE_DAT_STRING] = dat_add_string,
	};
	uint64_t at = 0;

	while (dat->size - at >= sizeof(struct trace_dat_head)) {
		struct trace_dat_head head;
		int err;

		memcpy(&head, dat->image + at, sizeof(head));
		at += sizeof(head);
		if (head.item == TRACE_DAT_END) {
			dat->long_size = (uint32_t)head.numbers[0];
			return dat->long_size == 4 || dat->long_size == 8 ? 0 : -EINVAL;
		}
		if (head.item >= ARRAY_SIZE(take) || !take[head.item] || head.size > dat->size - at)
			return -EINVAL;
		err = take[head.item](dat, &head, dat->image + at);
		if (err)
			return err;
		at += head.size;
		at += -at % 8;
		if (at > dat->size)
			return -EINVAL;
	}
	return -EINVAL;
}

int trace_dat_of_image(struct trace_dat **ret, const uint8_t *image, uint64_t size)
{
	struct trace_dat *dat = calloc(1, sizeof(*dat));
	int err;

	if (!dat) {
		munmap((void *)image, size);
		return -ENOMEM;
	}
	dat->image = image;
	dat->size = size;
	err = dat_read_items(dat);
	if (err) {
		trace_dat_free(dat);
		return err;
	}
	if (dat->nr_records)
		qsort(dat->records, dat->nr_records, sizeof(*dat->records), compare_records);
	*ret = dat;
	return 0;
}

/* Runs the child. Returns 0 when the image is complete, or a negative errno with *why. */
static int run_trace_dat_child(const struct trace_dat_opts *opts, int file, int image, char **why)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	pid_t parent = getpid(), child = fork(), ended = 0;
	int status = 0;

	if (!child) {
		/* A reader that is interrupted ends without looking back. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() == parent ? trace_dat_child(file, image, opts) : TRACE_DAT_NOT_ONE);
	}
	if (child < 0)
		return -errno;
	while (!ended) {
		if (opts->stop && *opts->stop)
			kill(child, SIGKILL);
		ended = waitpid(child, &status, WNOHANG);
		if (!ended)
			nanosleep(&look, NULL);
	}
	if (opts->stop && *opts->stop)
		return -EINTR;
	if (ended < 0)
		return -errno;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return say_why(why, -EINVAL, "it is damaged: libtracecmd does not come to an end");
	if (WIFSIGNALED(status))
		return say_why(why, -EINVAL, "it is damaged: libtracecmd ended with signal %d",
			       WTERMSIG(status));
	if (WEXITSTATUS(status) == TRACE_DAT_TOO_BIG)
		return -ENOMEM;
	if (WEXITSTATUS(status) == TRACE_DAT_NOT_BUILT)
		return say_why(why, -ENOTSUP, "this perf-poke was built without libtracecmd");
	return WEXITSTATUS(status) ? say_why(why, -EINVAL,
					     "it is damaged, or not a trace.dat of this byte order")
				   : 0;
}

static int map_trace_dat_image(struct trace_dat **ret, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	void *image = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;

	if (size < 0 || image == MAP_FAILED)
		return -errno;
	return image ? trace_dat_of_image(ret, image, (uint64_t)size) : -EINVAL;
}

int trace_dat_read(struct trace_dat **ret, const struct trace_dat_opts *opts, char **why)
{
	_cleanup_close_ int file = regular_open(AT_FDCWD, opts->path), image = -1;
	_cleanup_free_ char *text = NULL;
	int err = file < 0 ? file : 0;

	if (!err) {
		image = memfd_create(TRACE_DAT_NAME, MFD_CLOEXEC);
		err = image < 0 ? -errno : run_trace_dat_child(opts, file, image, &text);
	}
	err = err ?: map_trace_dat_image(ret, image);
	/* Of a lack of memory the caller knows the limit. */
	if (err && why && err != -ENOMEM) {
		free(*why);
		*why = text ? TAKE_PTR(text)
			    : strdup(err == -EINVAL ? "it is damaged" : strerror(-err));
	}
	return err;
}
