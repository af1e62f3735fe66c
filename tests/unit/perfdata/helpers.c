// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "helpers.h"
#include "util.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

struct folder *folder;
/* The files from load_file(). */
static void *loaded[256];
static size_t nr_loaded;

int make_folder(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];

	folder = calloc(1, sizeof(*folder));
	snprintf(path, sizeof(path), "%s/perfdata-XXXXXX", tmp ? tmp : "/tmp");
	folder->path = strdup(path);
	assert_non_null(mkdtemp(folder->path));
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder->fd >= 0);
	*state = folder;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

int remove_folder(__attribute__((unused)) void **state)
{
	int r = nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);

	while (nr_loaded)
		free(loaded[--nr_loaded]);
	close(folder->fd);
	free(folder->path);
	free(folder);
	folder = NULL;
	return r;
}

int enter_folder(void **state)
{
	return make_folder(state) || chdir(folder->path);
}

int leave_folder(void **state)
{
	return chdir("/") || remove_folder(state);
}

void put_bytes(int dirfd, const char *path, const void *bytes, size_t len)
{
	_cleanup_close_ int fd = -1;
	char folder[PATH_MAX];
	const char *slash = path;

	while ((slash = strchr(slash, '/'))) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		assert_true(mkdirat(dirfd, folder, 0700) == 0 || errno == EEXIST);
		slash++;
	}
	fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
}

void put_file(int dirfd, const char *path, const char *content)
{
	put_bytes(dirfd, path, content, strlen(content));
}

void put_elf(int dirfd, const char *path, Elf64_Phdr segment, const void *content, size_t len)
{
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = segment.p_type == PT_NOTE ? ET_DYN : ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(segment),
		.e_phnum = 1,
	};
	_cleanup_close_ int fd = -1;

	if (!segment.p_offset)
		segment.p_offset = sizeof(header) + sizeof(segment);
	segment.p_filesz = len;
	put_bytes(dirfd, path, &header, sizeof(header));
	fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, &segment, sizeof(segment), sizeof(header)), sizeof(segment));
	assert_int_equal(pwrite(fd, content, len, (off_t)segment.p_offset), len);
}

void put_elf_of(int dirfd, const char *path, const void *id, size_t id_size)
{
	struct {
		Elf64_Nhdr note;
		char name[4];
		uint8_t id[32];
	} notes = { { 4, (Elf64_Word)id_size, NT_GNU_BUILD_ID }, "GNU", {} };

	memcpy(notes.id, id, id_size);
	put_elf(dirfd, path, (Elf64_Phdr){ .p_type = PT_NOTE }, &notes, sizeof(notes));
}

void put_script(const char *path, const char *body, mode_t mode)
{
	char text[1024];

	snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", body);
	put_file(folder->fd, path, text);
	assert_int_equal(fchmodat(folder->fd, path, mode, 0), 0);
}

bool exists(const char *path)
{
	struct stat st;

	return !fstatat(folder->fd, path, &st, AT_SYMLINK_NOFOLLOW);
}

struct stat stat_of(const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(folder->fd, path, &st, 0), 0);
	return st;
}

int new_folder(int dirfd, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(dirfd, name, 0700), 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

rlim_t limit_file_size(rlim_t limit)
{
	struct rlimit rlimit;
	rlim_t before;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &rlimit), 0);
	before = rlimit.rlim_cur;
	rlimit.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &rlimit), 0);
	return before;
}

struct bytes load_file(int dirfd, const char *path)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc(st.st_size + 1);
	assert_true(nr_loaded < ARRAY_SIZE(loaded));
	loaded[nr_loaded++] = bytes;
	assert_int_equal(read(fd, bytes, st.st_size), st.st_size);
	bytes[st.st_size] = '\0';
	return (struct bytes){ bytes, st.st_size };
}

const char *load_text(const char *path)
{
	return (const char *)load_file(folder->fd, path).at;
}

struct bytes slice(struct bytes bytes, uint64_t offset, uint64_t len)
{
	assert_true(offset <= bytes.len && len <= bytes.len - offset);
	return (struct bytes){ bytes.at + offset, len };
}

struct bytes take(struct bytes *bytes, size_t len)
{
	struct bytes taken = slice(*bytes, 0, len);

	bytes->at += len;
	bytes->len -= len;
	return taken;
}

uint8_t take_u8(struct bytes *bytes)
{
	return *take(bytes, 1).at;
}

uint16_t take_u16(struct bytes *bytes)
{
	uint16_t value;

	memcpy(&value, take(bytes, sizeof(value)).at, sizeof(value));
	return value;
}

uint32_t take_u32(struct bytes *bytes)
{
	uint32_t value;

	memcpy(&value, take(bytes, sizeof(value)).at, sizeof(value));
	return value;
}

uint64_t take_u64(struct bytes *bytes)
{
	uint64_t value;

	memcpy(&value, take(bytes, sizeof(value)).at, sizeof(value));
	return value;
}

const char *take_string(struct bytes *bytes)
{
	uint32_t len = take_u32(bytes);
	struct bytes string = take(bytes, len);

	assert_int_equal(len % 64, 0);
	assert_non_null(memchr(string.at, '\0', len));
	return (const char *)string.at;
}

const char *take_cstring(struct bytes *bytes)
{
	const uint8_t *end = memchr(bytes->at, '\0', bytes->len);

	assert_non_null(end);
	return (const char *)take(bytes, end - bytes->at + 1).at;
}

void expect(struct bytes *bytes, const struct expected *all, size_t nr, const char *file, int line)
{
	for (size_t i = 0; i < nr; i++) {
		const struct expected *one = &all[i];
		uint64_t number = 0;

		if (one->string)
			_assert_string_equal(take_string(bytes), one->string, file, line);
		else if (one->cstring)
			_assert_string_equal(take_cstring(bytes), one->cstring, file, line);
		else if (one->end)
			_assert_int_equal(bytes->len, 0, file, line);
		else if (one->zeros)
			while (bytes->len)
				_assert_int_equal(take_u8(bytes), 0, file, line);
		memcpy(&number, take(bytes, one->bytes).at, one->bytes);
		if (number != one->number)
			print_error("number %zu of the expected ones:\n", i);
		_assert_int_equal(number, one->number, file, line);
	}
}

struct bytes take_record(struct bytes *records, uint32_t type, uint16_t misc)
{
	struct bytes header = slice(*records, 0, 8);
	struct bytes record;

	assert_int_equal(take_u32(&header), type);
	assert_int_equal(take_u16(&header), misc);
	record = take(records, take_u16(&header));
	assert_int_equal(record.len % 8, 0);
	take(&record, 8);
	return record;
}

struct bytes only_record(const void *data, size_t len, uint32_t type, uint16_t misc)
{
	struct bytes records = { data, len }, record = take_record(&records, type, misc);

	assert_int_equal(records.len, 0);
	return record;
}

struct bytes feature(struct bytes file, int bit)
{
	struct bytes header = slice(file, 0, 104);
	struct bytes table;
	uint64_t data_offset, data_size, bits, offset;

	take(&header, 8 + 8 + 8 + 16);
	data_offset = take_u64(&header);
	data_size = take_u64(&header);
	take(&header, 16);
	bits = take_u64(&header);
	if (!(bits >> bit & 1))
		return (struct bytes){};
	table = slice(file, data_offset + data_size, 16 * __builtin_popcountll(bits));
	take(&table, 16 * __builtin_popcountll(bits & ((1ULL << bit) - 1)));
	offset = take_u64(&table);
	return slice(file, offset, take_u64(&table));
}
