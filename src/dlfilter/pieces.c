// SPDX-License-Identifier: GPL-2.0-only
#include "pieces.h"

#include <sys/stat.h>

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

int pieces_copy(const struct pieces *pieces, struct fxt_file *out, int64_t begin, int64_t end,
		const struct fxt_copying *copying)
{
	int64_t at = 0;
	int r = 0;

	for (size_t i = 0; i <= pieces->nr && !r; i++) {
		bool rest = i == pieces->nr;
		int64_t size = rest ? end - at : pieces->pieces[i].size;
		int64_t from = begin > at ? begin - at : 0;
		int64_t to = end - at < size ? end - at : size;

		if (from < to)
			r = fxt_file_copy(out, rest ? fileno(pieces->rest) : pieces->pieces[i].fd,
					  from, to, copying);
		at += size;
	}
	return r;
}

int64_t pieces_size(const struct pieces *pieces)
{
	int64_t size = 0;

	for (size_t i = 0; i < pieces->nr; i++)
		size += pieces->pieces[i].size;
	return size;
}
