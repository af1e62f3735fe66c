// SPDX-License-Identifier: GPL-2.0-only
/* A file of functions or of code: after a byte that says which, `k` kallsyms, `h` kallsyms with a
 * hole behind it, `e` ELF, `c` kcore. */
#include "code/symbols.h"

#include <string.h>
#include <sys/stat.h>

#include "code/code_parts.h"
#include "code/elf_file.h"
#include "fuzz.h"
#include "io.h"

/* More than a target may allocate at once, see ./fuzz. */
#define HOLE_SIZE (200 << 20)

static void check(const struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->nr; i++) {
		const struct symbols_entry *entry = &symbols->entries[i];
		const struct symbols_entry *found = symbols_find(symbols, entry->start);

		must(!i || entry[-1].start < entry->start);
		must(entry->name < symbols->text_size);
		must(strlen(symbols_name(symbols, entry)) < symbols->text_size - entry->name);
		must(!found || (found->start <= entry->start && entry->start < found->end));
		symbols_find(symbols, entry->end);
	}
	symbols_find(symbols, 0);
	symbols_find(symbols, UINT64_MAX);
	must(!symbols_by_name(symbols, "\n"));
}

/* As the symbolizer's process does it: a fault here would lose the names of a file. */
static int read_elf(int fd, struct symbols *symbols)
{
	const struct files_wanted wanted = { .name = "/nowhere/fuzz", .id = build_id_of_elf(fd) };
	_cleanup_(elf_file_close) struct elf_file file = { .debug = -1 };
	static struct elf_inlined inlined[ELF_INLINED_MAX];
	struct elf_place places[ELF_PLACES_MAX];
	int r = elf_file_open(&file, &(struct files_places){}, &wanted, fd);

	r = r ?: elf_file_read_symbols(&file, symbols);
	for (size_t i = 0; !r && i < symbols->nr && i < 64; i++) {
		const struct symbols_entry *entry = &symbols->entries[i];

		must(elf_file_find_places(&file, entry->start, places) <= ELF_PLACES_MAX);
		must(elf_file_find_inlined(&file, entry->start, entry->end - entry->start,
					   inlined) <= ELF_INLINED_MAX);
	}
	return r;
}

static int read_symbols(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_file(data + 1, size - 1);
	struct symbols symbols = {};
	int r;

	/* Archives keep holes, which take no room in them. */
	if (data[0] == 'h')
		must(!ftruncate(fd, (off_t)size + HOLE_SIZE));
	if (data[0] == 'k' || data[0] == 'h')
		r = symbols_of_kallsyms(&symbols, fd);
	else
		r = read_elf(fd, &symbols);
	if (r)
		must(!symbols.entries);
	check(&symbols);
	symbols_release(&symbols);
	return r;
}

static int write_file(const char *folder, const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "%s/kcore_dir", folder);
	if (mkdir(path, 0700))
		return -errno;
	snprintf(path, sizeof(path), "%s/kcore_dir/kcore", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : write_all(fd, data, size);
}

static int read_kcore(const uint8_t *data, size_t size)
{
	char folder[] = "/tmp/fuzz-symbols.XXXXXX";
	struct kcore kcore;
	int r;

	must(mkdtemp(folder) && !write_file(folder, data + 1, size - 1));
	must(!kcore_open(&kcore, folder, "_text", 0));
	for (size_t i = 0; i < kcore.nr; i++) {
		must(kcore.segments[i].start < kcore.segments[i].end);
		must(!i || kcore.segments[i - 1].end <= kcore.segments[i].start);
		must(kcore_find(&kcore, kcore.segments[i].start) == &kcore.segments[i]);
	}
	must(!kcore.nr == !!kcore.why);
	r = kcore.nr ? 0 : -EINVAL;
	kcore_close(&kcore);
	tree_remove(AT_FDCWD, folder);
	return r;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	if (!size)
		return -EINVAL;
	return data[0] == 'c' ? read_kcore(data, size) : read_symbols(data, size);
}
