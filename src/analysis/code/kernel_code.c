// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's code: its copy, and the places in it that were patched during the trace. */
#include "code/code_parts.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/mman.h>

#include "array.h"
#include "io.h"
#include "text.h"

static int compare_segments(const void *a, const void *b)
{
	const struct kcore_segment *one = a, *other = b;

	return array_compare(one->start, other->start);
}

static int add_kcore_segment(struct kcore *kcore, const GElf_Phdr *header)
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

static int read_kcore_segments(struct kcore *kcore)
{
	GElf_Phdr header;
	size_t nr = 0, kept = 0;
	Elf *elf;
	int err = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(kcore->fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr))
		nr = 0;
	for (size_t i = 0; i < nr && !err; i++) {
		if (gelf_getphdr(elf, (int)i, &header))
			err = add_kcore_segment(kcore, &header);
	}
	elf_end(elf);
	if (!kcore->nr)
		return err;
	/* Drops overlapping segments, which are damaged. */
	qsort(kcore->segments, kcore->nr, sizeof(*kcore->segments), compare_segments);
	for (size_t i = 1; i < kcore->nr; i++) {
		if (kcore->segments[i].start >= kcore->segments[kept].end)
			kcore->segments[++kept] = kcore->segments[i];
	}
	kcore->nr = kept + 1;
	return err;
}

/* Like perf, rejects a copy from another boot. */
static void reject_other_boot(struct kcore *kcore, const char *text_name, uint64_t text_start)
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

int kcore_open(struct kcore *kcore, const char *data, const char *text_name, uint64_t text_start)
{
	_cleanup_free_ char *folder = strfmt("%s/kcore_dir", data);
	_cleanup_close_ int dir = -1, symbols = -1;
	int err;

	*kcore = (struct kcore){ .fd = -1 };
	if (!folder)
		return -ENOMEM;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		kcore->why = "it has no kcore_dir: record with perf record --kcore";
		return 0;
	}
	kcore->fd = regular_open(dir, "kcore");
	if (kcore->fd < 0) {
		kcore->fd = -1;
		kcore->why = "it has no kcore_dir/kcore";
		err = 0;
	} else {
		kcore->path = strfmt("%s/kcore_dir/kcore", data);
		err = kcore->path ? read_kcore_segments(kcore) : -ENOMEM;
	}
	if (!err) {
		symbols = regular_open(dir, "kallsyms");
		err = symbols < 0 ? 0 : symbols_of_kallsyms(&kcore->symbols, symbols);
	}
	if (err == -EIO)
		err = 0;
	reject_other_boot(kcore, text_name, text_start);
	if (err)
		kcore_close(kcore);
	return err;
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

/* Sites in kernel text consist of whole lines, so that nearby patches share a site. */
#define LINE 64
/* Limit of all versions of all sites. */
#define SIZE_MAX_ALL (256u << 20)

struct patches {
	const struct sideband_poke *pokes; /* sorted by time */
	size_t nr_pokes;
	struct patches_site *sites; /* by address */
	size_t nr;
	uint32_t *changes; /* pokes, sorted by site and time */
	int fd;
	char *path;
};

static uint64_t poke_end_address(const struct sideband_poke *poke)
{
	uint16_t length = poke->old_len > poke->new_len ? poke->old_len : poke->new_len;
	uint64_t end;

	return __builtin_add_overflow(poke->addr, length, &end) ? poke->addr : end;
}

static struct patches_site make_patch_site(const struct sideband_poke *poke,
					   const struct kcore *kcore)
{
	struct patches_site site = { .start = poke->addr, .end = poke_end_address(poke) };
	const struct kcore_segment *segment = kcore_find(kcore, poke->addr);

	if (!segment || site.end > segment->end || site.end == site.start) {
		site.bare = poke->old_len < site.end - site.start;
		return site;
	}
	site.start = site.start / LINE * LINE;
	if (site.start < segment->start)
		site.start = segment->start;
	site.end += (LINE - site.end % LINE) % LINE;
	if (site.end > segment->end || site.end < site.start)
		site.end = segment->end;
	return site;
}

static int compare_patch_sites(const void *a, const void *b)
{
	const struct patches_site *one = a, *other = b;

	return array_compare(one->start, other->start);
}

static void merge_patch_sites(struct patches *patches)
{
	size_t kept = 0;

	qsort(patches->sites, patches->nr, sizeof(*patches->sites), compare_patch_sites);
	for (size_t i = 1; i < patches->nr; i++) {
		struct patches_site *last = &patches->sites[kept];
		const struct patches_site *site = &patches->sites[i];

		if (site->start >= last->end) {
			patches->sites[++kept] = *site;
			continue;
		}
		if (site->end > last->end)
			last->end = site->end;
		last->bare |= site->bare;
	}
	patches->nr = kept + 1;
}

static struct patches_site *find_patch_site(const struct patches *patches, uint64_t address)
{
	size_t at = ARRAY_COUNT_BEFORE(patches->nr, i, patches->sites[i].end <= address);

	return at < patches->nr ? &patches->sites[at] : NULL;
}

static bool poke_changes_code(const struct sideband_poke *poke)
{
	return poke_end_address(poke) != poke->addr;
}

/* Groups changes by site and sorts them by time. */
static void list_site_changes(struct patches *patches)
{
	size_t at = 0;

	for (size_t i = 0; i < patches->nr_pokes; i++) {
		if (poke_changes_code(&patches->pokes[i]))
			find_patch_site(patches, patches->pokes[i].addr)->nr++;
	}
	for (size_t i = 0; i < patches->nr; i++) {
		patches->sites[i].first = at;
		at += patches->sites[i].nr;
		patches->sites[i].nr = 0;
	}
	for (size_t i = 0; i < patches->nr_pokes; i++) {
		struct patches_site *site;

		if (!poke_changes_code(&patches->pokes[i]))
			continue;
		site = find_patch_site(patches, patches->pokes[i].addr);
		patches->changes[site->first + site->nr++] = (uint32_t)i;
	}
}

static const struct sideband_poke *site_change_at(const struct patches *patches,
						  const struct patches_site *site, size_t i)
{
	return &patches->pokes[patches->changes[site->first + i]];
}

/* The original bytes may be unknown. */
static void copy_patch_bytes(uint8_t *bytes, const uint8_t *change, size_t size)
{
	if (size)
		memcpy(bytes, change, size);
}

static int write_site_versions(const struct patches *patches, const struct patches_site *site,
			       const struct kcore *kcore)
{
	const struct kcore_segment *segment = kcore_find(kcore, site->start);
	size_t size = site->end - site->start;
	_cleanup_free_ uint8_t *bytes = calloc(1, size);
	int err;

	if (!bytes)
		return -ENOMEM;
	if (segment && pread(kcore->fd, bytes, size,
			     (off_t)(segment->offset + site->start - segment->start)) < 0)
		memset(bytes, 0, size);
	/* The first version is without all changes. */
	for (size_t i = site->nr; i-- > 0;) {
		const struct sideband_poke *poke = site_change_at(patches, site, i);

		copy_patch_bytes(bytes + (poke->addr - site->start), poke->old_bytes,
				 poke->old_len);
	}
	err = write_all(patches->fd, bytes, size);
	for (size_t i = 0; i < site->nr && !err; i++) {
		const struct sideband_poke *poke = site_change_at(patches, site, i);

		copy_patch_bytes(bytes + (poke->addr - site->start), poke->new_bytes,
				 poke->new_len);
		err = write_all(patches->fd, bytes, size);
	}
	return err;
}

static int write_patched_code(struct patches *patches, const struct kcore *kcore)
{
	uint64_t offset = 0;
	int err = 0;

	for (size_t i = 0; i < patches->nr; i++) {
		struct patches_site *site = &patches->sites[i];

		site->offset = offset;
		offset += (site->nr + 1) * (site->end - site->start);
		if (offset > SIZE_MAX_ALL)
			return -E2BIG;
	}
	patches->fd = memfd_create("patches", MFD_CLOEXEC);
	if (patches->fd < 0)
		return -errno;
	for (size_t i = 0; i < patches->nr && !err; i++)
		err = write_site_versions(patches, &patches->sites[i], kcore);
	patches->path = err ? NULL : strfmt("/proc/self/fd/%d", patches->fd);
	if (!err && !patches->path)
		err = -ENOMEM;
	return err;
}

int patches_new(struct patches **ret, const struct sideband_kernel *kernel,
		const struct kcore *kcore)
{
	struct patches *patches = calloc(1, sizeof(*patches));
	int err = 0;

	if (!patches)
		return -ENOMEM;
	patches->fd = -1;
	patches->pokes = kernel->pokes;
	patches->nr_pokes = kernel->nr_pokes;
	if (kernel->nr_pokes) {
		patches->sites = calloc(patches->nr_pokes, sizeof(*patches->sites));
		patches->changes = calloc(patches->nr_pokes, sizeof(*patches->changes));
		err = patches->sites && patches->changes ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < patches->nr_pokes; i++) {
		if (poke_changes_code(&patches->pokes[i]))
			patches->sites[patches->nr++] = make_patch_site(&patches->pokes[i], kcore);
	}
	if (patches->nr) {
		merge_patch_sites(patches);
		list_site_changes(patches);
		err = write_patched_code(patches, kcore);
	}
	if (err) {
		patches_free(patches);
		return err;
	}
	*ret = patches;
	return 0;
}

void patches_free(struct patches *patches)
{
	if (!patches)
		return;
	free(patches->sites);
	free(patches->changes);
	free(patches->path);
	closep(&patches->fd);
	free(patches);
}

const struct patches_site *patches_find(const struct patches *patches, uint64_t address,
					uint64_t *start, uint64_t *end)
{
	const struct patches_site *site = find_patch_site(patches, address);

	if (site && address >= site->start)
		return site;
	if (site && site->start < *end)
		*end = site->start;
	if (!site)
		site = patches->sites + patches->nr;
	if (site > patches->sites && site[-1].end > *start)
		*start = site[-1].end;
	return NULL;
}

const char *patches_path(const struct patches *patches)
{
	return patches->path;
}

bool patches_version(const struct patches *patches, const struct patches_site *site, uint64_t time,
		     size_t *version)
{
	*version = 0;
	while (*version < site->nr && site_change_at(patches, site, *version)->time <= time)
		++*version;
	return *version || !site->bare;
}

uint64_t patches_until(const struct patches *patches, uint64_t time)
{
	size_t at = ARRAY_COUNT_BEFORE(patches->nr_pokes, i, patches->pokes[i].time <= time);

	return at < patches->nr_pokes ? patches->pokes[at].time : UINT64_MAX;
}
