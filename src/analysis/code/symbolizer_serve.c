// SPDX-License-Identifier: GPL-2.0-only
/* The process that runs libdw, and how it is spoken to. */
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "array.h"
#include "code/elf_file.h"
#include "code/symbolizer_internal.h"

/* A request takes milliseconds. A server of debug information takes longer. */
#define TIME_MAX_S 20
#define SERVER_TIME_MAX_S 300
#define CHILD_SOCKET 3

unsigned int symbolizer_limit_s(void)
{
	const char *servers = getenv("DEBUGINFOD_URLS");

	return servers && *servers ? SERVER_TIME_MAX_S : TIME_MAX_S;
}

int symbolizer_read(int fd, void *data, size_t size)
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

int symbolizer_send(int fd, const void *data, size_t size)
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
int symbolizer_send_fd(int socket, const void *data, size_t size, int fd)
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
	return sent < 0 ? -errno
			: symbolizer_send(socket, (char *)data + sent, size - (size_t)sent);
}

/* *fd is -1 if none came. */
int symbolizer_read_fd(int socket, void *data, size_t size, int *fd)
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
	return symbolizer_read(socket, (char *)data + got, size - (size_t)got);
}

void source_places_release(struct source_places *places)
{
	free(places->list);
	free(places->text);
	*places = (struct source_places){};
}

void source_inlines_release(struct source_inlines *inlines)
{
	free(inlines->list);
	free(inlines->text);
	*inlines = (struct source_inlines){};
}

struct server {
	const struct files_places *places;
	int socket;
	struct elf_file *files[SYMBOLIZER_FILES_MAX];
	char *names[SYMBOLIZER_FILES_MAX];
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
	if (!reply.err && file->module && known == server->nr &&
	    server->nr < SYMBOLIZER_FILES_MAX) {
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
	err = symbolizer_send(server->socket, &reply, sizeof(reply));
	err = err
		      ?: symbolizer_send(server->socket, symbols.entries,
					 reply.nr * sizeof(*symbols.entries));
	err = err ?: symbolizer_send(server->socket, symbols.text, reply.text_size);
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
	return symbolizer_send_fd(server->socket, &reply, sizeof(reply), debug);
}

static int add_text(char **pool, size_t *pool_size, const char *text, uint32_t *at)
{
	size_t length = strlen(text ?: "") + 1;
	char *grown = realloc(*pool, *pool_size + length);

	if (!grown || *pool_size + length > UINT32_MAX)
		return -ENOMEM;
	*pool = grown;
	*at = (uint32_t)*pool_size;
	memcpy(grown + *pool_size, text ?: "", length);
	*pool_size += length;
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
		err = add_text(&places->text, &places->text_size, found[i].function,
			       &place->function);
		err = err
			      ?: add_text(&places->text, &places->text_size, found[i].source,
					  &place->source);
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
	err = symbolizer_send(server->socket, &reply, sizeof(reply));
	err = err ?: symbolizer_send(server->socket, places.list, reply.nr * sizeof(*places.list));
	err = err ?: symbolizer_send(server->socket, places.text, reply.text_size);
	source_places_release(&places);
	return err;
}

static int serve_inlined(struct server *server, const struct request *request,
			 const uint64_t *function)
{
	static struct elf_inlined found[ELF_INLINED_MAX]; /* of the child */
	struct source_inlines inlines = {};
	struct reply reply = { .err = request->number < server->nr ? 0 : -ENOENT };
	size_t nr = 0;
	int err;

	if (!reply.err && request->nr == 2)
		nr = elf_file_find_inlined(server->files[request->number], function[0], function[1],
					   found);
	inlines.list = calloc(nr + 1, sizeof(*inlines.list));
	if (!inlines.list)
		reply.err = -ENOMEM;
	for (size_t i = 0; i < nr && !reply.err; i++) {
		inlines.list[i] = (struct source_inlined){ .begin = found[i].begin,
							   .end = found[i].end,
							   .number = found[i].number,
							   .depth = found[i].depth };
		reply.err = add_text(&inlines.text, &inlines.text_size, found[i].function,
				     &inlines.list[i].function);
	}
	reply.nr = reply.err ? 0 : (uint32_t)nr;
	reply.text_size = reply.err ? 0 : (uint32_t)inlines.text_size;
	err = symbolizer_send(server->socket, &reply, sizeof(reply));
	err = err
		      ?: symbolizer_send(server->socket, inlines.list,
					 reply.nr * sizeof(*inlines.list));
	err = err ?: symbolizer_send(server->socket, inlines.text, reply.text_size);
	source_inlines_release(&inlines);
	return err;
}

static int serve_unwind(struct server *server, const struct request *request,
			const uint64_t *numbers)
{
	static uint64_t frames[UNWIND_FRAMES_MAX]; /* of the child */
	struct reply reply = {};
	int err;

	reply.nr = (uint32_t)unwind_frames(server->files, server->nr, numbers, request->nr, frames);
	err = symbolizer_send(server->socket, &reply, sizeof(reply));
	return err ?: symbolizer_send(server->socket, frames, reply.nr * sizeof(*frames));
}

static int serve_request(struct server *server)
{
	_cleanup_close_ int fd = -1;
	struct request request;
	size_t size;
	char *body;
	int err = symbolizer_read_fd(server->socket, &request, sizeof(request), &fd);

	if (err)
		return err;
	alarm(symbolizer_limit_s());
	size = request.nr * (request.kind >= REQUEST_PLACES ? sizeof(uint64_t) : 1);
	body = calloc(1, size + 1);
	err = body ? symbolizer_read(server->socket, body, size) : -ENOMEM;
	if (!err && request.kind == REQUEST_SYMBOLS) {
		err = serve_symbols(server, &request, TAKE_PTR(body), fd);
	} else if (!err && request.kind == REQUEST_DEBUG) {
		err = serve_debug(server, &request, TAKE_PTR(body), fd);
	} else if (!err && request.kind == REQUEST_PLACES) {
		err = serve_places(server, &request, (const uint64_t *)body);
	} else if (!err && request.kind == REQUEST_INLINED) {
		err = serve_inlined(server, &request, (const uint64_t *)body);
	} else if (!err) {
		err = serve_unwind(server, &request, (const uint64_t *)body);
	}
	free(body);
	alarm(0);
	return err;
}

/* A request may take minutes, and the reader may be killed meanwhile. PR_SET_PDEATHSIG would mean
 * the thread that has started this process. */
static void server_end_without_reader(int number)
{
	struct pollfd reader = { .fd = CHILD_SOCKET };

	if (poll(&reader, 1, 0) > 0 && reader.revents & POLLHUP)
		_exit(0);
}

static void server_watch_reader(void)
{
	const struct sigaction look = { .sa_handler = server_end_without_reader,
					.sa_flags = SA_RESTART };

	sigaction(SIGIO, &look, NULL);
	fcntl(CHILD_SOCKET, F_SETOWN, getpid());
	fcntl(CHILD_SOCKET, F_SETFL, O_ASYNC);
	server_end_without_reader(SIGIO);
}

/* Keeps neither the files nor the signals of the reader: whoever waits for the end of its output
 * must not wait for this process. */
_Noreturn void symbolizer_serve(const struct files_places *places, int socket)
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
	server_watch_reader();
	server.places = places;
	server.socket = CHILD_SOCKET;
	while (!serve_request(&server))
		;
	_exit(0);
}
