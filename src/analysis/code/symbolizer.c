// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process that runs libdw.
 *
 * A capture may name any file, and an archive brings a stranger's. libdw was not made for these: it
 * exits when memory runs out, recurses as deep as the file says, and may loop. So a child process
 * does it. It has the limit of memory of the process that reads the capture, and a limit of time
 * for each request. If it ends by itself, the file that it was asked about has no symbols, and
 * another child serves the next request. What it answers is checked.
 */
#include "code/symbolizer_internal.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "task.h"
#include "text.h"

/* More children are not started in place of those that ended. */
#define CHILDREN_MAX 8
#define OFFSETS_MAX 65536

struct symbolizer {
	pthread_mutex_t lock;
	struct files_places places;
	int fd; /* -1: no child */
	pid_t pid;
	uint32_t children; /* that were started: the upper half of numbers */
};

static void symbolizer_end_child(struct symbolizer *symbolizer)
{
	if (symbolizer->fd < 0)
		return;
	closep(&symbolizer->fd);
	kill(symbolizer->pid, SIGKILL);
	pid_wait_for_exit(symbolizer->pid, NULL);
}

static int symbolizer_start_child(struct symbolizer *symbolizer)
{
	const struct timeval limit = { .tv_sec = symbolizer_limit_s() + 2 };
	int sockets[2];

	if (symbolizer->fd >= 0)
		return 0;
	if (symbolizer->children == CHILDREN_MAX)
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	symbolizer->pid = fork();
	if (!symbolizer->pid)
		symbolizer_serve(&symbolizer->places, sockets[1]);
	close(sockets[1]);
	if (symbolizer->pid < 0) {
		close(sockets[0]);
		return -EAGAIN;
	}
	symbolizer->fd = sockets[0];
	symbolizer->children++;
	return 0;
}

int symbolizer_new(struct symbolizer **ret, const struct files_places *places)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return -ENOMEM;
	pthread_mutex_init(&symbolizer->lock, NULL);
	symbolizer->fd = -1;
	if (places->buildid_dir)
		symbolizer->places.buildid_dir = strdup(places->buildid_dir);
	if (places->symfs)
		symbolizer->places.symfs = strdup(places->symfs);
	if ((places->buildid_dir && !symbolizer->places.buildid_dir) ||
	    (places->symfs && !symbolizer->places.symfs)) {
		symbolizer_free(symbolizer);
		return -ENOMEM;
	}
	*ret = symbolizer;
	return 0;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	symbolizer_end_child(symbolizer);
	free((char *)symbolizer->places.buildid_dir);
	free((char *)symbolizer->places.symfs);
	pthread_mutex_destroy(&symbolizer->lock);
	free(symbolizer);
}

/* Reads what follows a reply, with the text terminated. */
static int read_answer(int fd, const struct reply *reply, size_t size, void **entries, char **text)
{
	int err;

	*entries = calloc(reply->nr + 1UL, size);
	*text = malloc(reply->text_size + 1UL);
	err = *entries && *text ? symbolizer_read(fd, *entries, reply->nr * size) : -ENOMEM;
	err = err ?: symbolizer_read(fd, *text, reply->text_size);
	if (err) {
		freep(entries);
		freep(text);
		*entries = *text = NULL;
		return err;
	}
	(*text)[reply->text_size] = '\0';
	return 0;
}

/* `body` has request->nr bytes or offsets. *fd is -1 if none came back. */
static int symbolizer_ask(struct symbolizer *symbolizer, const struct request *request,
			  const void *body, size_t size, int with, struct reply *reply, int *fd)
{
	int err = symbolizer_start_child(symbolizer);

	*fd = -1;
	err = err ?: symbolizer_send_fd(symbolizer->fd, request, sizeof(*request), with);
	err = err ?: symbolizer_send(symbolizer->fd, body, size);
	return err ?: symbolizer_read_fd(symbolizer->fd, reply, sizeof(*reply), fd);
}

static int check_symbols(const struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->nr; i++) {
		if (symbols->entries[i].name >= symbols->text_size ||
		    (i && symbols->entries[i - 1].start >= symbols->entries[i].start))
			return -EINVAL;
	}
	return 0;
}

int symbolizer_open_file(struct symbolizer *symbolizer, const struct files_wanted *wanted, int fd,
			 struct symbols *symbols, uint32_t *number)
{
	struct request request = { .kind = REQUEST_SYMBOLS, .id = wanted->id };
	_cleanup_close_ int none = -1;
	struct reply reply;
	void *entries;
	int err;

	*number = SYMBOLIZER_NO_FILE;
	*symbols = (struct symbols){};
	request.nr = (uint32_t)strlen(wanted->name);
	pthread_mutex_lock(&symbolizer->lock);
	err = symbolizer_ask(symbolizer, &request, wanted->name, request.nr, fd, &reply, &none);
	if (!err && !reply.err) {
		err = read_answer(symbolizer->fd, &reply, sizeof(*symbols->entries), &entries,
				  &symbols->text);
		if (!err) {
			symbols->entries = entries;
			symbols->nr = reply.nr;
			symbols->text_size = reply.text_size;
			err = check_symbols(symbols);
		}
	}
	if (err) {
		symbolizer_end_child(symbolizer);
		symbols_release(symbols);
	} else if (!reply.err && reply.number < SYMBOLIZER_FILES_MAX) {
		*number = symbolizer->children << 16 | reply.number;
	}
	pthread_mutex_unlock(&symbolizer->lock);
	if (err)
		return err == -ENOMEM ? err : 0;
	return reply.err == -ENOEXEC ? -ENOEXEC : 0;
}

int symbolizer_open_debug(struct symbolizer *symbolizer, const struct files_wanted *wanted, int fd)
{
	struct request request = { .kind = REQUEST_DEBUG, .id = wanted->id };
	struct reply reply;
	int debug, err;

	request.nr = (uint32_t)strlen(wanted->name);
	pthread_mutex_lock(&symbolizer->lock);
	err = symbolizer_ask(symbolizer, &request, wanted->name, request.nr, fd, &reply, &debug);
	if (err)
		symbolizer_end_child(symbolizer);
	pthread_mutex_unlock(&symbolizer->lock);
	return debug >= 0 ? debug : -ENOENT;
}

static int check_places(const struct source_places *places, size_t nr)
{
	for (size_t i = 0; i < places->nr; i++) {
		const struct source_place *place = &places->list[i];

		if (place->of >= nr || place->function >= places->text_size ||
		    place->source >= places->text_size || (i && place[-1].of > place->of))
			return -EINVAL;
	}
	return 0;
}

/* Asks about a file that was opened. Entries have this size. -ENOENT: it is not known any more. */
static int ask_about_file(struct symbolizer *symbolizer, struct request *request, uint32_t number,
			  const uint64_t *offsets, size_t entry_size, struct reply *reply,
			  void **entries, char **text)
{
	_cleanup_close_ int none = -1;
	int err;

	/* The child that knew the file has ended. */
	if (number == SYMBOLIZER_NO_FILE || symbolizer->fd < 0 ||
	    number >> 16 != symbolizer->children)
		return -ENOENT;
	request->number = number & 0xffff;
	err = symbolizer_ask(symbolizer, request, offsets, request->nr * sizeof(*offsets), -1,
			     reply, &none);
	if (!err && reply->err)
		return -ENOENT;
	return err ?: read_answer(symbolizer->fd, reply, entry_size, entries, text);
}

/* What is not known is no error of the reader. */
static int end_asking(struct symbolizer *symbolizer, int err)
{
	if (err && err != -ENOENT)
		symbolizer_end_child(symbolizer);
	pthread_mutex_unlock(&symbolizer->lock);
	return err == -ENOMEM ? err : 0;
}

int symbolizer_find_places(struct symbolizer *symbolizer, uint32_t number, const uint64_t *offsets,
			   size_t nr, struct source_places *places)
{
	struct request request = { .kind = REQUEST_PLACES };
	struct reply reply;
	void *list = NULL;
	int err;

	*places = (struct source_places){};
	request.nr = (uint32_t)(nr < OFFSETS_MAX ? nr : OFFSETS_MAX);
	pthread_mutex_lock(&symbolizer->lock);
	err = ask_about_file(symbolizer, &request, number, offsets, sizeof(*places->list), &reply,
			     &list, &places->text);
	if (!err) {
		places->list = list;
		places->nr = reply.nr;
		places->text_size = reply.text_size;
		err = check_places(places, request.nr);
	}
	if (err)
		source_places_release(places);
	return end_asking(symbolizer, err);
}

int symbolizer_unwind(struct symbolizer *symbolizer, const struct unwind_wanted *wanted,
		      uint64_t frames[UNWIND_FRAMES_MAX], size_t *nr)
{
	_cleanup_free_ uint64_t *body = calloc(UNWIND_NUMBERS_MAX(wanted), sizeof(*body));
	struct request request = { .kind = REQUEST_UNWIND };
	_cleanup_close_ int none = -1;
	struct reply reply;
	size_t numbers;
	int err = 0;

	*nr = 0;
	if (!body)
		return -ENOMEM;
	pthread_mutex_lock(&symbolizer->lock);
	numbers = unwind_put_numbers(body, wanted, symbolizer->children);
	request.nr = (uint32_t)numbers;
	if (symbolizer->fd < 0)
		err = -ENOENT;
	if (!err)
		err = symbolizer_ask(symbolizer, &request, body, numbers * sizeof(*body), -1,
				     &reply, &none);
	if (!err && reply.nr > UNWIND_FRAMES_MAX)
		err = -EINVAL;
	if (!err)
		err = symbolizer_read(symbolizer->fd, frames, reply.nr * sizeof(*frames));
	if (!err)
		*nr = reply.nr;
	return end_asking(symbolizer, err);
}

static int check_inlines(const struct source_inlines *inlines, uint64_t offset, uint64_t size)
{
	for (size_t i = 0; i < inlines->nr; i++) {
		const struct source_inlined *one = &inlines->list[i];

		if (one->begin >= one->end || one->begin < offset || one->end - offset > size ||
		    one->function >= inlines->text_size)
			return -EINVAL;
	}
	return 0;
}

int symbolizer_find_inlined(struct symbolizer *symbolizer, uint32_t number, uint64_t offset,
			    uint64_t size, struct source_inlines *inlines)
{
	const uint64_t function[] = { offset, size };
	struct request request = { .kind = REQUEST_INLINED, .nr = 2 };
	struct reply reply;
	void *list = NULL;
	int err;

	*inlines = (struct source_inlines){};
	pthread_mutex_lock(&symbolizer->lock);
	err = ask_about_file(symbolizer, &request, number, function, sizeof(*inlines->list), &reply,
			     &list, &inlines->text);
	if (!err) {
		inlines->list = list;
		inlines->nr = reply.nr;
		inlines->text_size = reply.text_size;
		err = check_inlines(inlines, offset, size);
	}
	if (err)
		source_inlines_release(inlines);
	return end_asking(symbolizer, err);
}

void source_place_format(const struct source_places *places, size_t i, char *text, size_t size)
{
	const char *source = places->text + places->list[i].source;

	if (*source && places->list[i].line)
		snprintf(text, size, "%s:%" PRIu32, source, places->list[i].line);
	else
		text_copy_printable(text, size, source);
	text_make_printable(text);
}

bool symbolizer_find_line(void *symbolizer, uint32_t number, uint64_t offset, char *text,
			  size_t size)
{
	_cleanup_(source_places_release) struct source_places places = {};

	*text = '\0';
	if (symbolizer_find_places(symbolizer, number, &offset, 1, &places) || !places.nr)
		return false;
	/* Of the function itself, not of what is inlined at its begin. */
	source_place_format(&places, places.nr - 1, text, size);
	return *text;
}
