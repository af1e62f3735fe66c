/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the sideband. */
#ifndef DECODE_SIDEBAND_INTERNAL_H
#define DECODE_SIDEBAND_INTERNAL_H

#include <string.h>

#include "array.h"
#include "code/sideband.h"

/* A record that is read again on demand. */
struct sideband_ref {
	uint64_t time;
	const uint8_t *record; /* at equal times, the first in the file is older */
	int32_t key;	       /* pid or tid; refs are sorted by key, then by time */
};

struct sideband_refs {
	struct sideband_ref *refs;
	size_t nr;
};

struct sideband_cpu {
	struct sideband_task *tasks;
	size_t nr;
	bool is_unsorted;
};

struct sideband {
	const struct perfdata_file *file;
	struct perfdata_events events;
	struct sideband_pt pt;
	struct sideband_cpu *cpus;
	size_t nr_cpus;
	struct sideband_refs names;	  /* COMM and FORK by tid */
	struct sideband_refs maps;	  /* MMAP, FORK and exec by pid */
	struct sideband_refs kernel_refs; /* MMAP of the kernel and modules */
	struct sideband_map *kernel_maps;
	struct sideband_ksymbol *ksymbols;
	struct sideband_poke *pokes;
	struct sideband_kernel kernel; /* of these three */
	struct sideband_lost *lost;
	size_t nr_lost;
	struct sideband_id *ids;
	size_t nr_ids;
	struct perfdata_identified *built; /* of the file's table, by name */
	size_t nr_built;
};

/* A kernel record with its sample ID. */
struct sideband_record {
	const struct perfdata_record *record;
	struct perfdata_sample sample;
};

/* Read unaligned fields of records. The caller has checked the size. */
static inline uint16_t sideband_u16(const uint8_t *record, size_t at)
{
	uint16_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

static inline uint32_t sideband_u32(const uint8_t *record, size_t at)
{
	uint32_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

static inline uint64_t sideband_u64(const uint8_t *record, size_t at)
{
	uint64_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

/* The string at `at`; NULL: it exceeds the record. */
static inline const char *sideband_string(const uint8_t *record, size_t size, size_t at)
{
	return at < size && memchr(record + at, '\0', size - at) ? (const char *)record + at : NULL;
}

/* Makes room for one more item. Returns its index, or a negative errno. */
static inline ssize_t sideband_grow(void **array, size_t *nr, size_t size)
{
	return array_grow(array, *nr, size) ?: (ssize_t)(*nr)++;
}

/* ---- sideband_tasks.c ----------------------------------------------------------------------- */

int sideband_add_ref(struct sideband_refs *refs, int32_t key, uint64_t time, const uint8_t *record);
void sideband_sort_refs(struct sideband_refs *refs);

/* The end index of a key's records up to a time. With `before`, records of exactly that time count
 * only if they precede it. */
size_t sideband_refs_until(const struct sideband_refs *refs, int32_t key, uint64_t time,
			   const uint8_t *before);

/* The last of these; NULL: none. */
const struct sideband_ref *sideband_last_ref(const struct sideband_refs *refs, int32_t key,
					     uint64_t time, const uint8_t *before);

/* Each takes the kinds of records that it knows. Returns 0 or a negative errno. */
int sideband_take_task(struct sideband *sb, const struct sideband_record *record);
int sideband_take_map(struct sideband *sb, const struct sideband_record *record);
int sideband_take_built(struct sideband *sb, const uint8_t *record);

/* Call after the last record. */
int sideband_finish_maps(struct sideband *sb);
void sideband_finish_tasks(struct sideband *sb);

#endif
