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
#include "code/symbolizer.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "array.h"
#include "code/elf_file.h"
#include "io.h"
#include "task.h"
#include "text.h"

/* A request takes milliseconds. A server of debug information takes longer. */
#define TIME_MAX_S 20
#define SERVER_TIME_MAX_S 300
/* More children are not started in place of those that ended. */
#define CHILDREN_MAX 8
/* Files whose debug information stays open. */
#define FILES_MAX 256
#define OFFSETS_MAX 65536
#define CHILD_SOCKET 3

enum request_kind {
	REQUEST_SYMBOLS,
	REQUEST_DEBUG,
	REQUEST_PLACES,
};

/* Followed by the name of the file, or by offsets. */
struct request {
	uint32_t kind;
	uint32_t number;
	uint32_t nr; /* of bytes or offsets */
	struct build_id id;
};

/* Followed by entries, then by text. */
struct reply {
	int32_t err;
	uint32_t number;
	uint32_t nr, text_size;
};

struct symbolizer {
	pthread_mutex_t lock;
	struct files_places places;
	int fd; /* -1: no child */
	pid_t pid;
	uint32_t children; /* that were started: the upper half of numbers */
};

static unsigned int request_limit_s(void)
{
	const char *servers = getenv("DEBUGINFOD_URLS");

	return servers && *servers ? SERVER_TIME_MAX_S : TIME_MAX_S;
}

/* ---- both sides ----------------------------------------------------------------------------- */

static int read_whole(int fd, void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t got = recv(fd, (char *)data + at, size - at, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EPIPE;
		at += (size_t)got;
	}
	return 0;
}

static int send_whole(int fd, const void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t sent = send(fd, (const char *)data + at, size - at, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		at += (size_t)sent;
	}
	return 0;
}

/* With a descriptor, unless it is -1. */
static int send_with_fd(int socket, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec part = { .iov_base = (void *)data, .iov_len = size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control.room);
		control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS,
						   .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : send_whole(socket, (char *)data + sent, size - (size_t)sent);
}

/* *fd is -1 if none came. */
static int read_with_fd(int socket, void *data, size_t size, int *fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec part = { .iov_base = data, .iov_len = size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.room) };
	const struct cmsghdr *header;
	ssize_t got;

	*fd = -1;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got ? -errno : -EPIPE;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return read_whole(socket, (char *)data + got, size - (size_t)got);
}

/* ---- the child ------------------------------------------------------------------------------ */

struct server {
	const struct files_places *places;
	int socket;
	struct elf_file *files[FILES_MAX];
	char *names[FILES_MAX];
	uint32_t nr;
};

/* A file that is opened again keeps its number. Returns server->nr for another one. */
static uint32_t server_find_file(const struct server *server, const struct files_wanted *wanted)
{
	uint32_t i = 0;

	while (i < server->nr &&
	       (strcmp(server->names[i], wanted->name) ||
		memcmp(&server->files[i]->wanted.id, &wanted->id, sizeof(wanted->id))))
		i++;
	return i;
}

static int serve_symbols(struct server *server, const struct request *request, char *name, int fd)
{
	const struct files_wanted wanted = { .name = name, .id = request->id };
	struct elf_file *file = calloc(1, sizeof(*file));
	struct symbols symbols = {};
	struct reply reply = { .number = SYMBOLIZER_NO_FILE };
	uint32_t known = server_find_file(server, &wanted);
	int err;

	reply.err = file ? elf_file_open(file, server->places, &wanted, fd) : -ENOMEM;
	if (!reply.err)
		reply.err = elf_file_read_symbols(file, &symbols);
	if (!reply.err) {
		reply.nr = (uint32_t)symbols.nr;
		reply.text_size = (uint32_t)symbols.text_size;
	}
	if (!reply.err && file->module && known == server->nr && server->nr < FILES_MAX) {
		reply.number = server->nr;
		server->names[server->nr] = name;
		server->files[server->nr++] = file;
	} else {
		if (known < server->nr)
			reply.number = known;
		if (file)
			elf_file_close(file);
		free(file);
		free(name);
	}
	err = send_whole(server->socket, &reply, sizeof(reply));
	err = err
		      ?: send_whole(server->socket, symbols.entries,
				    reply.nr * sizeof(*symbols.entries));
	err = err ?: send_whole(server->socket, symbols.text, reply.text_size);
	symbols_release(&symbols);
	return err;
}

static int serve_debug(struct server *server, const struct request *request, char *name, int fd)
{
	const struct files_wanted wanted = { .name = name, .id = request->id };
	_cleanup_(elf_file_close) struct elf_file file = {};
	_cleanup_close_ int debug = -1;
	struct reply reply = { .err = elf_file_open(&file, server->places, &wanted, fd) };

	if (!reply.err)
		debug = elf_file_open_debug(&file);
	if (debug < 0)
		reply.err = reply.err ?: debug;
	free(name);
	return send_with_fd(server->socket, &reply, sizeof(reply), debug);
}

static int add_text(struct source_places *places, const char *text, uint32_t *at)
{
	size_t length = strlen(text ?: "") + 1;
	char *grown = realloc(places->text, places->text_size + length);

	if (!grown || places->text_size + length > UINT32_MAX)
		return -ENOMEM;
	places->text = grown;
	*at = (uint32_t)places->text_size;
	memcpy(grown + places->text_size, text ?: "", length);
	places->text_size += length;
	return 0;
}

static int add_places(struct source_places *places, struct elf_file *file, uint32_t of,
		      uint64_t offset)
{
	struct elf_place found[ELF_PLACES_MAX];
	size_t nr = elf_file_find_places(file, offset, found);
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		struct source_place *place;

		err = array_grow(&places->list, places->nr, sizeof(*places->list));
		if (err)
			break;
		place = &places->list[places->nr++];
		*place = (struct source_place){ .of = of, .line = found[i].line };
		err = add_text(places, found[i].function, &place->function);
		err = err ?: add_text(places, found[i].source, &place->source);
	}
	return err;
}

static int serve_places(struct server *server, const struct request *request,
			const uint64_t *offsets)
{
	struct source_places places = {};
	struct reply reply = { .err = request->number < server->nr ? 0 : -ENOENT };
	int err;

	for (uint32_t i = 0; i < request->nr && !reply.err; i++)
		reply.err = add_places(&places, server->files[request->number], i, offsets[i]);
	if (!reply.err) {
		reply.nr = (uint32_t)places.nr;
		reply.text_size = (uint32_t)places.text_size;
	}
	err = send_whole(server->socket, &reply, sizeof(reply));
	err = err ?: send_whole(server->socket, places.list, reply.nr * sizeof(*places.list));
	err = err ?: send_whole(server->socket, places.text, reply.text_size);
	source_places_release(&places);
	return err;
}

static int serve_request(struct server *server)
{
	_cleanup_close_ int fd = -1;
	struct request request;
	size_t size;
	char *body;
	int err = read_with_fd(server->socket, &request, sizeof(request), &fd);

	if (err)
		return err;
	alarm(request_limit_s());
	size = request.nr * (request.kind == REQUEST_PLACES ? sizeof(uint64_t) : 1);
	body = calloc(1, size + 1);
	err = body ? read_whole(server->socket, body, size) : -ENOMEM;
	if (!err && request.kind == REQUEST_SYMBOLS) {
		err = serve_symbols(server, &request, TAKE_PTR(body), fd);
	} else if (!err && request.kind == REQUEST_DEBUG) {
		err = serve_debug(server, &request, TAKE_PTR(body), fd);
	} else if (!err) {
		err = serve_places(server, &request, (const uint64_t *)body);
	}
	free(body);
	alarm(0);
	return err;
}

/* Keeps neither the files nor the signals of the reader: whoever waits for the end of its output
 * must not wait for this process. */
static _Noreturn void symbolizer_serve(const struct files_places *places, int socket)
{
	static struct server server; /* of the child */
	const struct rlimit no_core = {};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_NAME, "pp-symbols");
	for (int fd = 0; fd < CHILD_SOCKET; fd++)
		dup2(null, fd);
	if (socket != CHILD_SOCKET)
		dup2(socket, CHILD_SOCKET);
	close_range(CHILD_SOCKET + 1, ~0U, 0);
	server.places = places;
	server.socket = CHILD_SOCKET;
	while (!serve_request(&server))
		;
	_exit(0);
}

/* ---- the reader ----------------------------------------------------------------------------- */

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
	const struct timeval limit = { .tv_sec = request_limit_s() + 2 };
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

void source_places_release(struct source_places *places)
{
	free(places->list);
	free(places->text);
	*places = (struct source_places){};
}

/* Reads what follows a reply, with the text terminated. */
static int read_answer(int fd, const struct reply *reply, size_t size, void **entries, char **text)
{
	int err;

	*entries = calloc(reply->nr + 1UL, size);
	*text = malloc(reply->text_size + 1UL);
	err = *entries && *text ? read_whole(fd, *entries, reply->nr * size) : -ENOMEM;
	err = err ?: read_whole(fd, *text, reply->text_size);
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
	err = err ?: send_with_fd(symbolizer->fd, request, sizeof(*request), with);
	err = err ?: send_whole(symbolizer->fd, body, size);
	return err ?: read_with_fd(symbolizer->fd, reply, sizeof(*reply), fd);
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
	} else if (!reply.err && reply.number < FILES_MAX) {
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

int symbolizer_find_places(struct symbolizer *symbolizer, uint32_t number, const uint64_t *offsets,
			   size_t nr, struct source_places *places)
{
	struct request request = { .kind = REQUEST_PLACES, .number = number & 0xffff };
	_cleanup_close_ int none = -1;
	struct reply reply = {};
	void *list = NULL;
	int err = 0;

	*places = (struct source_places){};
	request.nr = (uint32_t)(nr < OFFSETS_MAX ? nr : OFFSETS_MAX);
	if (number == SYMBOLIZER_NO_FILE || !nr)
		return 0;
	pthread_mutex_lock(&symbolizer->lock);
	/* The child that knew the file has ended. */
	if (symbolizer->fd < 0 || number >> 16 != symbolizer->children) {
		pthread_mutex_unlock(&symbolizer->lock);
		return 0;
	}
	err = symbolizer_ask(symbolizer, &request, offsets, request.nr * sizeof(*offsets), -1,
			     &reply, &none);
	if (!err && !reply.err) {
		err = read_answer(symbolizer->fd, &reply, sizeof(*places->list), &list,
				  &places->text);
		places->list = list;
		places->nr = err ? 0 : reply.nr;
		places->text_size = reply.text_size;
		err = err ?: check_places(places, request.nr);
	}
	if (err) {
		symbolizer_end_child(symbolizer);
		source_places_release(places);
	}
	pthread_mutex_unlock(&symbolizer->lock);
	return err == -ENOMEM ? err : 0;
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
