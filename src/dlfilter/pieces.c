// SPDX-License-Identifier: GPL-2.0-only
#include "pieces.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* What another process copies. */
struct share {
	pid_t pid;
	struct fxt_part part;
};

struct shares {
	struct share *shares;
	unsigned int nr;
};

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

static _Noreturn void copy_share(const struct pieces *pieces, struct fxt_file *out,
				 const struct share *share, int64_t begin, int64_t distance,
				 const struct fxt_copying *copying)
{
	int r = fxt_part_begin(&share->part, out, distance);

	if (!r)
		r = copy(pieces, out, begin + distance, begin + distance + share->part.size,
			 copying);
	if (!r)
		r = fxt_part_end(&share->part, out);
	_exit(-r);
}

static void end_shares(struct shares *shares)
{
	for (unsigned int i = 0; i < shares->nr; i++) {
		struct share *share = &shares->shares[i];

		if (share->pid > 0) {
			kill(share->pid, SIGKILL);
			await(share->pid);
		}
		fxt_part_release(&share->part);
	}
	free(shares->shares);
}

/* All but the first one, which this process does. */
static int start_shares(struct shares *shares, const struct pieces *pieces, struct fxt_file *out,
			int64_t begin, int64_t size, const struct fxt_copying *copying)
{
	unsigned int nr = copying->processes - 1;

	shares->shares = calloc(nr, sizeof(*shares->shares));
	if (!shares->shares)
		return -ENOMEM;
	while (shares->nr < nr) {
		struct share *share = &shares->shares[shares->nr];
		int r = fxt_part_prepare(&share->part, out, size);

		if (r)
			return r;
		shares->nr++;
		share->pid = fork();
		if (share->pid < 0)
			return -errno;
		if (!share->pid)
			copy_share(pieces, out, share, begin, shares->nr * size, copying);
	}
	return 0;
}

static int put_shares(struct shares *shares, struct fxt_file *out)
{
	int r = 0;

	for (unsigned int i = 0; i < shares->nr && !r; i++) {
		struct share *share = &shares->shares[i];

		r = await(share->pid);
		share->pid = 0;
		if (!r)
			r = fxt_part_put(&share->part, out);
	}
	return r;
}

int pieces_copy(const struct pieces *pieces, struct fxt_file *out, int64_t begin, int64_t end,
		const struct fxt_copying *copying)
{
	_cleanup_(end_shares) struct shares shares = { 0 };
	int64_t first = begin + fxt_file_lead(out), size;
	int r;

	if (copying->processes < 2 || end - first < copying->shared_min)
		return copy(pieces, out, begin, end, copying);
	size = (end - first) / copying->processes;
	size -= size % fxt_file_unit(out);
	r = copy(pieces, out, begin, first, copying);
	if (!r && size)
		r = start_shares(&shares, pieces, out, first, size, copying);
	if (!r)
		r = copy(pieces, out, first, first + size, copying);
	if (!r)
		r = put_shares(&shares, out);
	return r ?: copy(pieces, out, first + (size ? copying->processes : 0) * size, end, copying);
}

int64_t pieces_size(const struct pieces *pieces)
{
	int64_t size = 0;

	for (size_t i = 0; i < pieces->nr; i++)
		size += pieces->pieces[i].size;
	return size;
}
