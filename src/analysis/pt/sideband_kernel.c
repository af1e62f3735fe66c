// SPDX-License-Identifier: GPL-2.0-only
/* Changes of kernel code, and losses. */
#include "array.h"
#include "pt/sideband_internal.h"

/* Offsets of fields in <linux/perf_event.h>. */
#define KSYMBOL_ADDR 8
#define KSYMBOL_LEN 16
#define KSYMBOL_TYPE 20
#define KSYMBOL_FLAGS 22
#define KSYMBOL_NAME 24
#define POKE_ADDR 8
#define POKE_OLD_LEN 16
#define POKE_NEW_LEN 18
#define POKE_BYTES 20
#define LOST_NR 16
#define LOST_SIZE 24
#define LOST_SAMPLES_NR 8
#define LOST_SAMPLES_SIZE 16
#define AUX_FLAGS 24
#define AUX_SIZE 32

static int take_ksymbol(struct sideband *sb, const struct sideband_record *taken)
{
	const uint8_t *record = taken->record->bytes;
	const char *name = sideband_string(record, taken->record->size, KSYMBOL_NAME);
	ssize_t i;

	if (!name)
		return 0;
	i = sideband_grow((void **)&sb->ksymbols, &sb->kernel.nr_ksymbols, sizeof(*sb->ksymbols));
	if (i < 0)
		return (int)i;
	sb->ksymbols[i] = (struct sideband_ksymbol){
		.time = taken->sample.time,
		.start = sideband_u64(record, KSYMBOL_ADDR),
		.len = sideband_u32(record, KSYMBOL_LEN),
		.type = sideband_u16(record, KSYMBOL_TYPE),
		.removed =
			sideband_u16(record, KSYMBOL_FLAGS) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
		.name = name,
	};
	return 0;
}

static int take_poke(struct sideband *sb, const struct sideband_record *taken)
{
	const uint8_t *record = taken->record->bytes;
	uint16_t old_len, new_len;
	ssize_t i;

	if (taken->record->size < POKE_BYTES)
		return 0;
	old_len = sideband_u16(record, POKE_OLD_LEN);
	new_len = sideband_u16(record, POKE_NEW_LEN);
	if (POKE_BYTES + old_len + new_len > taken->record->size)
		return 0;
	i = sideband_grow((void **)&sb->pokes, &sb->kernel.nr_pokes, sizeof(*sb->pokes));
	if (i < 0)
		return (int)i;
	sb->pokes[i] = (struct sideband_poke){
		.time = taken->sample.time,
		.addr = sideband_u64(record, POKE_ADDR),
		.old_len = old_len,
		.new_len = new_len,
		.old_bytes = record + POKE_BYTES,
		.new_bytes = record + POKE_BYTES + old_len,
	};
	return 0;
}

static int add_lost(struct sideband *sb, const struct sideband_record *taken, uint64_t records)
{
	ssize_t i = sideband_grow((void **)&sb->lost, &sb->nr_lost, sizeof(*sb->lost));

	if (i < 0)
		return (int)i;
	sb->lost[i] = (struct sideband_lost){ taken->sample.time, records, taken->sample.cpu };
	return 0;
}

static int take_aux(struct sideband *sb, const struct sideband_record *taken)
{
	const uint64_t lost = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL;

	if (taken->record->size < AUX_SIZE ||
	    !(sideband_u64(taken->record->bytes, AUX_FLAGS) & lost))
		return 0;
	return add_lost(sb, taken, 0);
}

int sideband_take_kernel(struct sideband *sb, const struct sideband_record *taken)
{
	const struct perfdata_record *record = taken->record;

	switch (record->type) {
	case PERF_RECORD_KSYMBOL:
		return take_ksymbol(sb, taken);
	case PERF_RECORD_TEXT_POKE:
		return take_poke(sb, taken);
	case PERF_RECORD_AUX:
		return take_aux(sb, taken);
	case PERF_RECORD_LOST:
		return record->size < LOST_SIZE
			       ? 0
			       : add_lost(sb, taken, sideband_u64(record->bytes, LOST_NR));
	case PERF_RECORD_LOST_SAMPLES:
		return record->size < LOST_SAMPLES_SIZE
			       ? 0
			       : add_lost(sb, taken, sideband_u64(record->bytes, LOST_SAMPLES_NR));
	}
	return 0;
}

/* At equal times, keeps the order of the file: its bytes have the lower address. */
static int compare_ksymbols(const void *a, const void *b)
{
	const struct sideband_ksymbol *one = a, *other = b;

	return array_compare(one->time, other->time)
		       ?: array_compare((uintptr_t)one->name, (uintptr_t)other->name);
}

static int compare_pokes(const void *a, const void *b)
{
	const struct sideband_poke *one = a, *other = b;

	return array_compare(one->time, other->time)
		       ?: array_compare((uintptr_t)one->old_bytes, (uintptr_t)other->old_bytes);
}

static void sort(void *array, size_t nr, size_t size, int (*compare)(const void *, const void *))
{
	if (nr)
		qsort(array, nr, size, compare);
}

void sideband_finish_kernel(struct sideband *sb)
{
	sort(sb->ksymbols, sb->kernel.nr_ksymbols, sizeof(*sb->ksymbols), compare_ksymbols);
	sort(sb->pokes, sb->kernel.nr_pokes, sizeof(*sb->pokes), compare_pokes);
	sb->kernel.maps = sb->kernel_maps;
	sb->kernel.nr_maps = sb->kernel_refs.nr;
	sb->kernel.ksymbols = sb->ksymbols;
	sb->kernel.pokes = sb->pokes;
}

const struct sideband_kernel *sideband_kernel(const struct sideband *sb)
{
	return &sb->kernel;
}

const struct sideband_lost *sideband_lost(const struct sideband *sb, size_t *nr)
{
	*nr = sb->nr_lost;
	return sb->lost;
}
