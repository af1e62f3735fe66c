// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cache of a user: $XDG_CACHE_HOME/perf-poke/12/12345678.json, by default in ~/.cache.
 *
 * A capture may be copied, archived and unpacked, so neither its path nor the times and inodes of
 * its files name it. An entry has the whole capture.json as its key, and is compared with it: it
 * has the spike's CPU, times, latency and stack, which no two spikes share, and no hash has to be
 * trusted. Reading the whole trace would take longer than decoding its end, so of the other files
 * that decoding reads, the key has the sizes: a trace that was cut, or symbols that were added,
 * make another key. Somebody who changes a trace in place, without its size, gets the verdict of
 * the trace that this user has read. The third part of the key is the decoder: the version and
 * build ID of the program, and the version of fingerprints.
 *
 * The CRC of the key names the file. Each of the 256 folders is bounded, so that one stays cheap to
 * look through.
 */
#include "causes/causes.h"

#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "archive/archive.h"
#include "build_id.h"
#include "io.h"
#include "json_util.h"
#include "output/output.h"
#include "text.h"

/* Of folders with captures. */
#define DEPTH_MAX 6
#define FOLDER_ENTRIES_MAX 64
#define FOLDER_BYTES_MAX (256 << 10)
/* Of a capture.json that is kept. */
#define CAPTURE_BYTES_MAX (32 << 10)

/* The build ID of this program, the first object. */
static int find_own_build_id(struct dl_phdr_info *info, size_t size, void *found)
{
	struct build_id *id = found;

	for (size_t i = 0; i < info->dlpi_phnum && !id->size; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE)
			*id = build_id_of_notes((void *)(info->dlpi_addr + segment->p_vaddr),
						segment->p_memsz);
	}
	return 1;
}

static void write_key_decoder(FILE *file)
{
	struct build_id id = { 0 };
	char hex[BUILD_ID_HEX_SIZE];

	dl_iterate_phdr(find_own_build_id, &id);
	build_id_format(&id, hex);
	fprintf(file, "perf-poke %s %s, fingerprints %d\n", PERF_POKE_VERSION, hex,
		FINGERPRINT_VERSION);
}

static void write_key_sizes(FILE *file, int dirfd)
{
	static const char *const names[] = {
		"perf.data/data",
		"perf.data/kcore_dir/kcore",
		"perf.data/kcore_dir/kallsyms",
		"perf.data/kcore_dir/modules",
		"trace.dat",
		LAYOUT_BUILDID,
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		fprintf(file, "%s %" PRIu64 "\n", names[i], tree_size(dirfd, names[i]).all);
}

static int write_key_capture(FILE *file, int dirfd)
{
	_cleanup_close_ int fd = regular_open(dirfd, CAPTURE_FILE_NAME);
	char text[CAPTURE_BYTES_MAX + 1];
	ssize_t size = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);

	if (size <= 0 || size > CAPTURE_BYTES_MAX || memchr(text, '\0', (size_t)size))
		return -ENOENT;
	fwrite(text, 1, (size_t)size, file);
	return 0;
}

/* Returns 0, -ENOENT if captures such as this are not kept, or -ENOMEM. */
static int make_verdict_key(char **key, const char *folder)
{
	_cleanup_close_ int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	int err;

	if (!file)
		return -ENOMEM;
	write_key_decoder(file);
	write_key_sizes(file, dirfd);
	err = write_key_capture(file, dirfd);
	if (fclose(file))
		return -ENOMEM;
	if (!err)
		*key = TAKE_PTR(text);
	return err;
}

static uint32_t hash_of_verdict_key(const char *key)
{
	return (uint32_t)crc32(0, (const unsigned char *)key, (unsigned int)strlen(key));
}

/* A folder that nobody else can write to. */
static int open_own_folder(int dirfd, const char *name, int flags)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return st.st_uid == geteuid() && !(st.st_mode & 0022) ? TAKE_FD(fd) : -EACCES;
}

/* Of root that runs with the HOME of a user, the cache is not: files of root would be in it. */
static int open_verdict_cache(uint32_t hash, bool create)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	_cleanup_close_ int base_fd = -1, cache_fd = -1;
	_cleanup_free_ char *path = NULL;
	char part[3];

	if (base && *base == '/')
		path = strdup(base);
	else if (home && *home == '/')
		path = strfmt("%s/.cache", home);
	if (!path)
		return -ENOENT;
	if (create)
		mkdir(path, 0700);
	base_fd = open_own_folder(AT_FDCWD, path, 0);
	if (base_fd < 0)
		return base_fd;
	if (create)
		mkdirat(base_fd, "perf-poke", 0700);
	cache_fd = open_own_folder(base_fd, "perf-poke", O_NOFOLLOW);
	if (cache_fd < 0)
		return cache_fd;
	snprintf(part, sizeof(part), "%02x", hash >> 24);
	if (create)
		mkdirat(cache_fd, part, 0700);
	return open_own_folder(cache_fd, part, O_NOFOLLOW);
}

int verdict_read_kept(struct verdict *verdict, const char *folder)
{
	_cleanup_json_ json_object *json = NULL;
	_cleanup_free_ char *key = NULL;
	_cleanup_free_ char *why = NULL;
	_cleanup_close_ int dirfd = -1;
	json_object *fingerprint;
	char name[32];
	int err;

	*verdict = (struct verdict){ 0 };
	err = make_verdict_key(&key, folder);
	if (err)
		return err;
	dirfd = open_verdict_cache(hash_of_verdict_key(key), false);
	if (dirfd < 0)
		return -ENOENT;
	snprintf(name, sizeof(name), "%08x.json", hash_of_verdict_key(key));
	err = json_file_read(&json, dirfd, name, &why);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	fingerprint = json_find_value(json, "fingerprint");
	if (strcmp(json_text_of(json, "key"), key) || !*json_text_of(json, "sentence") ||
	    (fingerprint && fingerprint_from_json(&verdict->fingerprint, fingerprint)))
		return -ENOENT;
	json_object_object_del(json, "key");
	verdict->json = TAKE_PTR(json);
	return 0;
}

static int verdict_of_account(struct verdict *verdict, const struct account *account)
{
	static const char *const names[] = { "sentence", "cause", "fingerprint" };
	_cleanup_json_ json_object *whole = account_json(account, 1);

	*verdict = (struct verdict){
		.json = json_object_new_object(),
		.fingerprint = account->fingerprint,
	};
	if (!whole || !verdict->json) {
		verdict_release(verdict);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_add(verdict->json, names[i],
			 json_object_get(json_find_value(whole, names[i])));
	return 0;
}

/* Removes the oldest entries until there is room for another one. */
static void make_cache_room(int dirfd, size_t size)
{
	size_t nr, bytes;
	char oldest[NAME_MAX + 1];

	do {
		_cleanup_closedir_ DIR *dir = NULL;
		struct timespec time = { 0 };
		struct dirent *entry;
		struct stat st;

		if (opendir_at(&dir, dirfd, "."))
			return;
		nr = bytes = 0;
		while ((entry = readdir(dir))) {
			if (fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			    !S_ISREG(st.st_mode))
				continue;
			bytes += (size_t)st.st_size;
			if (nr++ && (st.st_mtim.tv_sec > time.tv_sec ||
				     (st.st_mtim.tv_sec == time.tv_sec &&
				      st.st_mtim.tv_nsec >= time.tv_nsec)))
				continue;
			time = st.st_mtim;
			snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
		}
	} while (nr && (nr >= FOLDER_ENTRIES_MAX || bytes + size > FOLDER_BYTES_MAX) &&
		 !unlinkat(dirfd, oldest, 0));
}

static void write_cache_entry(int dirfd, uint32_t hash, const char *text)
{
	_cleanup_close_ int fd = -1;
	char temporary[32], name[32];

	snprintf(temporary, sizeof(temporary), ".%d", getpid());
	snprintf(name, sizeof(name), "%08x.json", hash);
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write_all(fd, text, strlen(text)) || renameat(dirfd, temporary, dirfd, name))
		unlinkat(dirfd, temporary, 0);
}

void verdict_keep_in_cache(const struct account *account)
{
	const int format = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	_cleanup_(verdict_release) struct verdict verdict = { 0 };
	_cleanup_json_ json_object *entry = NULL;
	_cleanup_free_ char *key = NULL;
	_cleanup_close_ int dirfd = -1;
	const char *text;

	if (account->errors || verdict_of_account(&verdict, account))
		return;
	text = json_object_to_json_string_ext(verdict.json, format);
	/* Without its symbol, code is named by an address, or as that of a file. */
	if (!text || strstr(text, "0x") || make_verdict_key(&key, account->capture))
		return;
	entry = json_object_new_object();
	json_object_object_foreach (verdict.json, name, value)
		json_add(entry, name, json_object_get(value));
	json_add_text(entry, "key", key);
	text = json_object_to_json_string_ext(entry, format);
	dirfd = open_verdict_cache(hash_of_verdict_key(key), true);
	if (dirfd < 0 || !text)
		return;
	make_cache_room(dirfd, strlen(text));
	write_cache_entry(dirfd, hash_of_verdict_key(key), text);
}

int verdict_load_capture(struct verdict *verdict, const struct analysis_hooks *hooks,
			 const char *folder, char **why)
{
	_cleanup_(account_release) struct account account = { 0 };
	const struct account_want want = { .symfs = hooks->symfs };
	int err = hooks->symfs ? -ENOENT : verdict_read_kept(verdict, folder);

	if (err != -ENOENT)
		return err;
	err = account_load(&account, hooks, folder, &want, why);
	if (err)
		return err;
	if (!hooks->symfs)
		verdict_keep_in_cache(&account);
	return verdict_of_account(verdict, &account);
}

void verdict_release(struct verdict *verdict)
{
	json_object_put(verdict->json);
	*verdict = (struct verdict){ 0 };
}

const char *verdict_sentence(const struct verdict *verdict)
{
	return json_text_of(verdict->json, "sentence");
}

struct collecting {
	struct causes *causes;
	const struct analysis_hooks *hooks;
	const char *archive; /* shown instead of the path of its unpacked folder; or NULL */
};

/* Continues with the others. */
static int count_unreadable(const struct collecting *c, const char *path, const char *why)
{
	hooks_show_message(c->hooks, PERF_POKE_LOG_ERROR, "%s: %s", c->archive ?: path, why);
	c->causes->unreadable++;
	return 0;
}

static int collect_capture(const struct collecting *c, const char *path)
{
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	_cleanup_(verdict_release) struct verdict verdict = { 0 };
	_cleanup_free_ char *why = NULL;
	int err = capture_file_open(&file, path, &why);

	if (err)
		return count_unreadable(c, path, why ?: hooks_error_text(c->hooks, err));
	hooks_count_capture(c->hooks, &c->causes->count, 0);
	/* Beyond the limit of memory is this one, not the next. */
	err = verdict_load_capture(&verdict, c->hooks, path, &why);
	if (err && why)
		hooks_show_message(c->hooks, PERF_POKE_LOG_ERROR, "%s", why);
	c->causes->unreadable += !!err;
	c->causes->without += !err && !verdict.fingerprint.kind[0];
	if (err || !verdict.fingerprint.kind[0])
		return 0;
	return causes_add_sighting(c->causes,
				   &(struct sighting){
					   .path = c->archive ?: path,
					   .host = file.capture->hostname ?: "",
					   .sentence = verdict_sentence(&verdict),
					   .wall_ns = file.capture->wall_ns,
					   .latency_ns = file.capture->spike->latency_ns,
					   .cpu = file.capture->spike->cpu,
				   },
				   &verdict.fingerprint);
}

static int collect_from_archive(struct collecting *c, int fd, const char *path);

static bool is_archive_name(const char *name)
{
	size_t length = strlen(name);

	return length > 8 && !strcmp(name + length - 8, ".tar.zst");
}

static int collect_from_folder(struct collecting *c, int dirfd, const char *path, int depth);

static int collect_folder_entry(struct collecting *c, int dirfd, const char *folder,
				const char *name, int depth)
{
	_cleanup_free_ char *path = strfmt("%s/%s", folder, name);
	bool archive = !c->archive && is_archive_name(name);
	_cleanup_close_ int fd = openat(
		dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (archive ? 0 : O_DIRECTORY));

	if (!path)
		return -ENOMEM;
	if (fd < 0 && (errno == ENOTDIR || errno == ENOENT))
		return 0;
	if (fd < 0)
		return count_unreadable(c, path, strerror(errno));
	return archive ? collect_from_archive(c, fd, path)
		       : collect_from_folder(c, fd, path, depth + 1);
}

/* Hidden folders are being written. */
static int collect_folder_entries(struct collecting *c, int dirfd, const char *path, int depth)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	int err = opendir_at(&dir, dirfd, ".");

	while (!err) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return errno ? count_unreadable(c, path, strerror(errno)) : 0;
		if (entry->d_name[0] != '.')
			err = collect_folder_entry(c, dirfd, path, entry->d_name, depth);
	}
	return err;
}

static int collect_from_folder(struct collecting *c, int dirfd, const char *path, int depth)
{
	const char *slash = strrchr(path, '/');

	if (!faccessat(dirfd, CAPTURE_FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) ||
	    layout_is_capture_name(slash ? slash + 1 : path))
		return collect_capture(c, path);
	return depth < DEPTH_MAX ? collect_folder_entries(c, dirfd, path, depth) : 0;
}

static int collect_from_archive(struct collecting *c, int fd, const char *path)
{
	_cleanup_free_ char *why = NULL;
	struct temporary unpacked;
	int err = unpack_temporary(&unpacked, fd, c->hooks, &why);

	c->archive = path;
	if (err)
		err = count_unreadable(c, path, why ?: hooks_error_text(c->hooks, err));
	else
		err = collect_from_folder(c, unpacked.fd, unpacked.path, 0);
	c->archive = NULL;
	temporary_release(&unpacked);
	return err;
}

int causes_collect(struct causes *causes, const struct analysis_hooks *hooks, const char *path)
{
	struct collecting c = { .causes = causes, .hooks = hooks };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return count_unreadable(&c, path, strerror(errno));
	return S_ISDIR(st.st_mode) ? collect_from_folder(&c, fd, path, 0)
				   : collect_from_archive(&c, fd, path);
}
