// SPDX-License-Identifier: GPL-2.0-only
#include "code/code_parts.h"

#include <string.h>
#include <sys/mman.h>

#include "array.h"
#include "io.h"
#include "text.h"

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

static uint64_t poke_end(const struct sideband_poke *poke)
{
	uint16_t length = poke->old_len > poke->new_len ? poke->old_len : poke->new_len;
	uint64_t end;

	return __builtin_add_overflow(poke->addr, length, &end) ? poke->addr : end;
}

static struct patches_site site_of(const struct sideband_poke *poke, const struct kcore *kcore)
{
	struct patches_site site = { .start = poke->addr, .end = poke_end(poke) };
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

static int compare(const void *a, const void *b)
{
	const struct patches_site *one = a, *other = b;

	return array_compare(one->start, other->start);
}

static void merge(struct patches *patches)
{
	size_t kept = 0;

	qsort(patches->sites, patches->nr, sizeof(*patches->sites), compare);
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

static struct patches_site *find_site(const struct patches *patches, uint64_t address)
{
	size_t at = ARRAY_COUNT_BEFORE(patches->nr, i, patches->sites[i].end <= address);

	return at < patches->nr ? &patches->sites[at] : NULL;
}

static bool is_change(const struct sideband_poke *poke)
{
	return poke_end(poke) != poke->addr;
}

/* Groups changes by site and sorts them by time. */
static void list_changes(struct patches *patches)
{
	size_t at = 0;

	for (size_t i = 0; i < patches->nr_pokes; i++) {
		if (is_change(&patches->pokes[i]))
			find_site(patches, patches->pokes[i].addr)->nr++;
	}
	for (size_t i = 0; i < patches->nr; i++) {
		patches->sites[i].first = at;
		at += patches->sites[i].nr;
		patches->sites[i].nr = 0;
	}
	for (size_t i = 0; i < patches->nr_pokes; i++) {
		struct patches_site *site;

		if (!is_change(&patches->pokes[i]))
			continue;
		site = find_site(patches, patches->pokes[i].addr);
		patches->changes[site->first + site->nr++] = (uint32_t)i;
	}
}

static int place_versions(struct patches *patches)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < patches->nr; i++) {
		struct patches_site *site = &patches->sites[i];

		site->offset = offset;
		offset += (site->nr + 1) * (site->end - site->start);
		if (offset > SIZE_MAX_ALL)
			return -E2BIG;
	}
	return 0;
}

static const struct sideband_poke *change_of(const struct patches *patches,
					     const struct patches_site *site, size_t i)
{
	return &patches->pokes[patches->changes[site->first + i]];
}

/* The original bytes may be unknown. */
static void put(uint8_t *bytes, const uint8_t *change, size_t size)
{
	if (size)
		memcpy(bytes, change, size);
}

/* Undoes all changes. */
static void make_first(const struct patches *patches, const struct patches_site *site,
		       const struct kcore *kcore, uint8_t *bytes)
{
	const struct kcore_segment *segment = kcore_find(kcore, site->start);
	size_t size = site->end - site->start;

	memset(bytes, 0, size);
	if (segment && pread(kcore->fd, bytes, size,
			     (off_t)(segment->offset + site->start - segment->start)) < 0)
		memset(bytes, 0, size);
	for (size_t i = site->nr; i-- > 0;) {
		const struct sideband_poke *poke = change_of(patches, site, i);

		put(bytes + (poke->addr - site->start), poke->old_bytes, poke->old_len);
	}
}

static int write_site(const struct patches *patches, const struct patches_site *site,
		      const struct kcore *kcore)
{
	size_t size = site->end - site->start;
	_cleanup_free_ uint8_t *bytes = malloc(size);
	int r;

	if (!bytes)
		return -ENOMEM;
	make_first(patches, site, kcore, bytes);
	r = write_all(patches->fd, bytes, size);
	for (size_t i = 0; i < site->nr && !r; i++) {
		const struct sideband_poke *poke = change_of(patches, site, i);

		put(bytes + (poke->addr - site->start), poke->new_bytes, poke->new_len);
		r = write_all(patches->fd, bytes, size);
	}
	return r;
}

static int write_versions(struct patches *patches, const struct kcore *kcore)
{
	int r = place_versions(patches);

	if (r)
		return r;
	patches->fd = memfd_create("patches", MFD_CLOEXEC);
	if (patches->fd < 0)
		return -errno;
	for (size_t i = 0; i < patches->nr && !r; i++)
		r = write_site(patches, &patches->sites[i], kcore);
	patches->path = r ? NULL : strfmt("/proc/self/fd/%d", patches->fd);
	if (!r && !patches->path)
		r = -ENOMEM;
	return r;
}

static int make_sites(struct patches *patches, const struct kcore *kcore)
{
	patches->sites = calloc(patches->nr_pokes, sizeof(*patches->sites));
	patches->changes = calloc(patches->nr_pokes, sizeof(*patches->changes));
	if (!patches->sites || !patches->changes)
		return -ENOMEM;
	for (size_t i = 0; i < patches->nr_pokes; i++) {
		if (is_change(&patches->pokes[i]))
			patches->sites[patches->nr++] = site_of(&patches->pokes[i], kcore);
	}
	if (!patches->nr)
		return 0;
	merge(patches);
	list_changes(patches);
	return write_versions(patches, kcore);
}

int patches_new(struct patches **ret, const struct sideband_kernel *kernel,
		const struct kcore *kcore)
{
	struct patches *patches = calloc(1, sizeof(*patches));
	int r = 0;

	if (!patches)
		return -ENOMEM;
	patches->fd = -1;
	patches->pokes = kernel->pokes;
	patches->nr_pokes = kernel->nr_pokes;
	if (kernel->nr_pokes)
		r = make_sites(patches, kcore);
	if (r) {
		patches_free(patches);
		return r;
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
	const struct patches_site *site = find_site(patches, address);

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
	while (*version < site->nr && change_of(patches, site, *version)->time <= time)
		++*version;
	return *version || !site->bare;
}

uint64_t patches_until(const struct patches *patches, uint64_t time)
{
	size_t at = ARRAY_COUNT_BEFORE(patches->nr_pokes, i, patches->pokes[i].time <= time);

	return at < patches->nr_pokes ? patches->pokes[at].time : UINT64_MAX;
}
