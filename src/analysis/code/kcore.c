// SPDX-License-Identifier: GPL-2.0-only
#include "code/code_parts.h"

#include <fcntl.h>
#include <gelf.h>

#include "array.h"
#include "io.h"
#include "text.h"

static int compare(const void *a, const void *b)
{
	const struct kcore_segment *one = a, *other = b;

	return array_compare(one->start, other->start);
}

static int add_segment(struct kcore *kcore, const GElf_Phdr *header)
{
	struct kcore_segment segment = { header->p_vaddr, header->p_vaddr, header->p_offset };

	if (header->p_type != PT_LOAD || !header->p_filesz ||
	    __builtin_add_overflow(segment.start, header->p_filesz, &segment.end))
		return 0;
	if (array_grow(&kcore->segments, kcore->nr, sizeof(segment)))
		return -ENOMEM;
	kcore->segments[kcore->nr++] = segment;
	return 0;
}

/* Drops overlapping segments, which are damaged. */
static void leave_apart(struct kcore *kcore)
{
	size_t kept = 0;

	if (!kcore->nr)
		return;
	qsort(kcore->segments, kcore->nr, sizeof(*kcore->segments), compare);
	for (size_t i = 1; i < kcore->nr; i++) {
		if (kcore->segments[i].start >= kcore->segments[kept].end)
			kcore->segments[++kept] = kcore->segments[i];
	}
	kcore->nr = kept + 1;
}

static int read_segments(struct kcore *kcore)
{
	GElf_Phdr header;
	size_t nr = 0;
	Elf *elf;
	int r = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(kcore->fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr))
		nr = 0;
	for (size_t i = 0; i < nr && !r; i++) {
		if (gelf_getphdr(elf, (int)i, &header))
			r = add_segment(kcore, &header);
	}
	elf_end(elf);
	leave_apart(kcore);
	return r;
}

static int open_code(struct kcore *kcore, int dir, const char *data)
{
	kcore->fd = regular_open(dir, "kcore");
	if (kcore->fd < 0) {
		kcore->fd = -1;
		kcore->why = "it has no kcore_dir/kcore";
		return 0;
	}
	kcore->path = strfmt("%s/kcore_dir/kcore", data);
	return kcore->path ? read_segments(kcore) : -ENOMEM;
}

/* Like perf, rejects a copy from another boot. */
static void check(struct kcore *kcore, const char *text_name, uint64_t text_start)
{
	const struct symbols_entry *text = symbols_by_name(&kcore->symbols, text_name);

	if (kcore->why)
		return;
	if (!kcore->nr)
		kcore->why = "its kcore_dir/kcore is damaged";
	else if (text && text_start && text->start != text_start)
		kcore->why = "its kcore_dir is of another boot";
	if (kcore->why)
		kcore->nr = 0;
}

static int read_symbols(struct kcore *kcore, int dir)
{
	_cleanup_close_ int fd = regular_open(dir, "kallsyms");

	return fd < 0 ? 0 : symbols_of_kallsyms(&kcore->symbols, fd);
}

int kcore_open(struct kcore *kcore, const char *data, const char *text_name, uint64_t text_start)
{
	_cleanup_free_ char *folder = strfmt("%s/kcore_dir", data);
	_cleanup_close_ int dir = -1;
	int r;

	*kcore = (struct kcore){ .fd = -1 };
	if (!folder)
		return -ENOMEM;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		kcore->why = "it has no kcore_dir: record with perf record --kcore";
		return 0;
	}
	r = open_code(kcore, dir, data);
	r = r ?: read_symbols(kcore, dir);
	if (r == -EIO)
		r = 0;
	check(kcore, text_name, text_start);
	if (r)
		kcore_close(kcore);
	return r;
}

void kcore_close(struct kcore *kcore)
{
	free(kcore->path);
	free(kcore->segments);
	symbols_release(&kcore->symbols);
	closep(&kcore->fd);
	*kcore = (struct kcore){ .fd = -1 };
}

const struct kcore_segment *kcore_find(const struct kcore *kcore, uint64_t address)
{
	for (size_t i = 0; i < kcore->nr; i++) {
		if (address >= kcore->segments[i].start && address < kcore->segments[i].end)
			return &kcore->segments[i];
	}
	return NULL;
}
