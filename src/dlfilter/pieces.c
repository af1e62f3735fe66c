// SPDX-License-Identifier: GPL-2.0-only
#include "pieces.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Less is not shared. */
#define SHARED_MIN (8 << 20)
#define PROCESSES_MAX 256

int pieces_init(struct pieces *pieces, const char *path)
{
	*pieces = (struct pieces){ 0 };
	return fxt_file_scratch(path, &pieces->rest);
}

void pieces_release(struct pieces *pieces)
{
	for (size_t i = 0; i < pieces->nr; i++)
		closep(&pieces->pieces[i].fd);
	if (pieces->rest)
		fclose(pieces->rest);
	free(pieces->pieces);
	*pieces = (struct pieces){ 0 };
}

int pieces_begin(struct pieces *pieces, uint32_t nr_parts)
{
	pieces_end(pieces, nr_parts);
	if (pieces->nr == pieces->room) {
		size_t room = pieces->room ? 2 * pieces->room : 16;
		struct piece *grown = realloc(pieces->pieces, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		pieces->pieces = grown;
		pieces->room = room;
	}
	pieces->pieces[pieces->nr] = (struct piece){ .fd = -1, .first_part = nr_parts };
	return (int)pieces->nr++;
}

void pieces_end(struct pieces *pieces, uint32_t nr_parts)
{
	struct piece *piece;

	if (!pieces->nr)
		return;
	piece = &pieces->pieces[pieces->nr - 1];
	piece->nr_parts = nr_parts - piece->first_part;
}

int pieces_put(struct pieces *pieces, int number, int fd)
{
	struct piece *piece = &pieces->pieces[number];
	struct stat st;

	piece->fd = fd;
	if (fstat(fd, &st))
		return -errno;
	piece->size = st.st_size - (int64_t)(piece->nr_parts * sizeof(int64_t));
	return piece->size < 0 ? -EIO : 0;
}

int pieces_offsets(const struct pieces *pieces, size_t number, int64_t *offsets)
{
	const struct piece *piece = &pieces->pieces[number];
	size_t size = piece->nr_parts * sizeof(*offsets);
	int64_t begin = 0;

	if (pread(piece->fd, offsets, size, piece->size) != (ssize_t)size)
		return -EIO;
	for (size_t i = 0; i < number; i++)
		begin += pieces->pieces[i].size;
	for (uint32_t i = 0; i < piece->nr_parts; i++)
		offsets[i] += begin;
	return 0;
}

static int copy_piece(const struct piece *piece, struct fxt_file *out, int64_t begin, int64_t end,
		      const struct fxt_copying *copying)
{
	int r = fxt_file_copy(out, piece->fd, begin, end, copying);

	/* Here, since to free all of it takes a while, and others do it at the same time. */
	if (!r && end == piece->size && ftruncate(piece->fd, begin))
		return -errno;
	return r;
}

static int copy(const struct pieces *pieces, struct fxt_file *out, int64_t begin, int64_t end,
		const struct fxt_copying *copying)
{
	int64_t at = 0;
	int r = 0;

	for (size_t i = 0; i <= pieces->nr && !r; i++) {
		bool rest = i == pieces->nr;
		int64_t size = rest ? end - at : pieces->pieces[i].size;
		int64_t from = begin > at ? begin - at : 0;
		int64_t to = end - at < size ? end - at : size;

		if (from < to && rest)
			r = fxt_file_copy(out, fileno(pieces->rest), from, to, copying);
		else if (from < to)
			r = copy_piece(&pieces->pieces[i], out, from, to, copying);
		at += size;
	}
	return r;
}

static int await(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

/* This process does the first share of it, and what there is no other one for. */
static int copy_shared(const struct pieces *pieces, struct fxt_file *out, int64_t begin,
		       int64_t end, const struct fxt_copying *copying, unsigned int nr)
{
	const int64_t first = out->at, share = (end - begin) / nr;
	pid_t pids[PROCESSES_MAX];
	unsigned int started = nr;
	int r;

	while (started > 1) {
		int64_t to = started == nr ? end : begin + started * share;
		int64_t from = begin + (started - 1) * share;

		pids[started - 1] = fork();
		if (pids[started - 1] < 0)
			break;
		if (!pids[started - 1]) {
			out->at += from - begin;
			_exit(-copy(pieces, out, from, to, copying));
		}
		started--;
	}
	r = copy(pieces, out, begin, started == nr ? end : begin + started * share, copying);
	for (unsigned int i = started; i < nr; i++) {
		int ended;

		if (r)
			kill(pids[i], SIGKILL);
		ended = await(pids[i]);
		r = r ?: ended;
	}
	out->at = first + end - begin;
	return r;
}

int pieces_copy(const struct pieces *pieces, struct fxt_file *out, int64_t begin, int64_t end,
		const struct fxt_copying *copying)
{
	unsigned int nr = copying->processes < PROCESSES_MAX ? copying->processes : PROCESSES_MAX;

	if (nr < 2 || out->file || end - begin < SHARED_MIN)
		return copy(pieces, out, begin, end, copying);
	return copy_shared(pieces, out, begin, end, copying, nr);
}

int64_t pieces_size(const struct pieces *pieces)
{
	int64_t size = 0;

	for (size_t i = 0; i < pieces->nr; i++)
		size += pieces->pieces[i].size;
	return size;
}
