// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata_read.h"

#include <string.h>

#include "array.h"
#include "util.h"

/* PERF_ATTR_SIZE_VER0 */
#define ATTR_SIZE_MIN 64
/* An attr and the section of its ids. */
#define ENTRY_SIZE_MIN (ATTR_SIZE_MIN + sizeof(struct perfdata_section))
#define RECORD_HEADER_SIZE 8
/* First record type of the perf tool. */
#define RECORD_USER_FIRST 64
/* The fields of a sample id, in this order. */
#define ID_FIELDS                                                                                  \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
/* For older headers: PERF_SAMPLE_BRANCH_COUNTERS (6.8) and PERF_FORMAT_LOST (6.0). */
#define BRANCH_COUNTERS (1U << 19)
#define FORMAT_LOST (1U << 4)

struct perfdata_event_id {
	uint64_t id;
	uint32_t kind;
};

static struct perfdata_bytes take_array_bytes(struct perfdata_cursor *cursor, uint64_t nr,
					      uint64_t size)
{
	uint64_t bytes;

	return perfdata_take(cursor, __builtin_mul_overflow(nr, size, &bytes) ? UINT64_MAX : bytes);
}

static bool section_cursor(const struct perfdata_file *file, struct perfdata_section section,
			   struct perfdata_cursor *cursor)
{
	if (section.offset > file->size || section.size > file->size - section.offset)
		return false;
	*cursor = (struct perfdata_cursor){ file->bytes + section.offset, section.size, false };
	return true;
}

/* Kinds of a malformed file may share ids: limit their total by the file size. */
static int add_kind_ids(struct perfdata_events *events, const struct perfdata_file *file,
			struct perfdata_section section)
{
	size_t nr = events->nr_ids + section.size / sizeof(uint64_t);
	struct perfdata_event_id *grown;
	struct perfdata_cursor ids;

	if (!section_cursor(file, section, &ids) || nr > file->size / sizeof(uint64_t))
		return -EINVAL;
	if (nr == events->nr_ids)
		return 0;
	grown = reallocarray(events->ids, nr, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	events->ids = grown;
	while (events->nr_ids < nr)
		grown[events->nr_ids++] =
			(struct perfdata_event_id){ perfdata_take_u64(&ids), (uint32_t)events->nr };
	return 0;
}

/* An attr has its own size, which may differ from the header's. events->kinds has room. */
static int add_event_kind(struct perfdata_events *events, const struct perfdata_file *file,
			  struct perfdata_cursor *attrs)
{
	struct perfdata_kind *kind = &events->kinds[events->nr];
	struct perfdata_cursor head = *attrs;
	struct perfdata_section section;
	struct perfdata_bytes attr, ids;
	uint32_t size;
	int err;

	perfdata_take_u32(&head);
	size = perfdata_take_u32(&head) ?: ATTR_SIZE_MIN;
	attr = perfdata_take(attrs, size);
	if (size < ATTR_SIZE_MIN || attrs->short_of)
		return -EINVAL;
	*kind = (struct perfdata_kind){};
	memcpy(&kind->attr, attr.data, size < sizeof(kind->attr) ? size : sizeof(kind->attr));
	ids = perfdata_take(attrs, sizeof(section));
	if (attrs->short_of)
		return -EINVAL;
	memcpy(&section, ids.data, sizeof(section));
	err = add_kind_ids(events, file, section);
	events->nr += !err;
	return err;
}

static int compare_kind_ids(const void *a, const void *b)
{
	const struct perfdata_event_id *x = a, *y = b;

	return array_compare(x->id, y->id) ?: array_compare(x->kind, y->kind);
}

static int read_event_kinds(struct perfdata_events *events, const struct perfdata_file *file)
{
	uint64_t nr = file->attr_size ? file->attrs.size / file->attr_size : 0;
	struct perfdata_cursor attrs;
	int err = 0;

	if (!section_cursor(file, file->attrs, &attrs) || file->attr_size < ENTRY_SIZE_MIN ||
	    nr > UINT32_MAX)
		return -EINVAL;
	events->kinds = calloc(nr + 1, sizeof(*events->kinds));
	if (!events->kinds)
		return -ENOMEM;
	while (events->nr < nr && !err)
		err = add_event_kind(events, file, &attrs);
	return err;
}

/* EVENT_DESC has the kinds in the same order. Malformed names are ignored. */
static int read_event_names(struct perfdata_events *events, const struct perfdata_file *file)
{
	struct perfdata_section section;
	struct perfdata_cursor names;
	uint32_t attr_size;

	if (perfdata_feature(file, PERFDATA_FEATURE_EVENT_DESC, &section) ||
	    !section_cursor(file, section, &names) || perfdata_take_u32(&names) != events->nr)
		return 0;
	attr_size = perfdata_take_u32(&names);
	for (size_t i = 0; i < events->nr; i++) {
		struct perfdata_bytes name;
		uint32_t nr_ids;

		perfdata_take(&names, attr_size);
		nr_ids = perfdata_take_u32(&names);
		name = perfdata_take(&names, perfdata_take_u32(&names));
		take_array_bytes(&names, nr_ids, sizeof(uint64_t));
		if (names.short_of)
			return 0;
		events->kinds[i].name = strndup((const char *)name.data, name.size);
		if (!events->kinds[i].name)
			return -ENOMEM;
	}
	return 0;
}

int perfdata_events_read(struct perfdata_events *ret, const struct perfdata_file *file)
{
	struct perfdata_events events = {};
	int err = read_event_kinds(&events, file);

	if (events.nr_ids)
		qsort(events.ids, events.nr_ids, sizeof(*events.ids), compare_kind_ids);
	if (!err)
		err = read_event_names(&events, file);
	if (err)
		perfdata_events_release(&events);
	else
		*ret = events;
	return err;
}

void perfdata_events_release(struct perfdata_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		free(events->kinds[i].name);
	free(events->kinds);
	free(events->ids);
	*events = (struct perfdata_events){};
}

/* Synthesized records have id 0 and belong to the first kind. */
static const struct perfdata_kind *find_kind_of_id(const struct perfdata_events *events,
						   uint64_t id)
{
	size_t low = ARRAY_COUNT_BEFORE(events->nr_ids, i, events->ids[i].id < id);

	if (low < events->nr_ids && events->ids[low].id == id)
		return &events->kinds[events->ids[low].kind];
	return id ? NULL : events->kinds;
}

/* Each field has 8 bytes. */
static unsigned int count_fields(uint64_t fields)
{
	return (unsigned int)__builtin_popcountll(fields);
}

/* Offset of the id from the start of a sample, or from the end of a sample id; 0: none. Equal for
 * all kinds, because it determines the kind of a record. */
static unsigned int sample_id_place(uint64_t type, bool is_sample)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return is_sample ? RECORD_HEADER_SIZE : sizeof(uint64_t);
	if (!(type & PERF_SAMPLE_ID))
		return 0;
	if (!is_sample)
		return 8 * count_fields(type &
					(PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
	return RECORD_HEADER_SIZE + 8 * count_fields(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							     PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
}

static const struct perfdata_kind *kind_of_record(const struct perfdata_events *events,
						  const struct perfdata_record *record,
						  bool is_sample)
{
	unsigned int place =
		events->nr ? sample_id_place(events->kinds->attr.sample_type, is_sample) : 0;
	uint64_t id, at = is_sample ? place : record->size - (uint64_t)place;

	if (events->nr <= 1 || !place)
		return events->nr ? events->kinds : NULL;
	if (place > record->size || at + sizeof(id) > record->size || at < RECORD_HEADER_SIZE)
		return NULL;
	memcpy(&id, record->bytes + at, sizeof(id));
	return find_kind_of_id(events, id);
}

static void take_sample_task(struct perfdata_cursor *cursor, struct perfdata_sample *sample)
{
	sample->pid = (int32_t)perfdata_take_u32(cursor);
	sample->tid = (int32_t)perfdata_take_u32(cursor);
}

/* Common to samples and sample ids. */
static void take_ids_and_cpu(struct perfdata_cursor *cursor, struct perfdata_sample *sample)
{
	uint64_t type = sample->has;

	if (type & PERF_SAMPLE_ID)
		sample->id = perfdata_take_u64(cursor);
	if (type & PERF_SAMPLE_STREAM_ID)
		sample->stream_id = perfdata_take_u64(cursor);
	if (!(type & PERF_SAMPLE_CPU))
		return;
	sample->cpu = (int32_t)perfdata_take_u32(cursor);
	perfdata_take_u32(cursor);
}

/* In the order of perf_event.h. */
static void take_sample_id_fields(struct perfdata_cursor *cursor, struct perfdata_sample *sample)
{
	uint64_t type = sample->has;

	if (type & PERF_SAMPLE_TID)
		take_sample_task(cursor, sample);
	if (type & PERF_SAMPLE_TIME)
		sample->time = perfdata_take_u64(cursor);
	take_ids_and_cpu(cursor, sample);
	if (type & PERF_SAMPLE_IDENTIFIER)
		sample->id = perfdata_take_u64(cursor);
}

static void take_sample_numbers(struct perfdata_cursor *cursor, struct perfdata_sample *sample)
{
	uint64_t type = sample->has;

	if (type & PERF_SAMPLE_IDENTIFIER)
		sample->id = perfdata_take_u64(cursor);
	if (type & PERF_SAMPLE_IP)
		sample->ip = perfdata_take_u64(cursor);
	if (type & PERF_SAMPLE_TID)
		take_sample_task(cursor, sample);
	if (type & PERF_SAMPLE_TIME)
		sample->time = perfdata_take_u64(cursor);
	if (type & PERF_SAMPLE_ADDR)
		sample->address = perfdata_take_u64(cursor);
	take_ids_and_cpu(cursor, sample);
	if (type & PERF_SAMPLE_PERIOD)
		sample->period = perfdata_take_u64(cursor);
}

static void skip_read_values(struct perfdata_cursor *cursor, uint64_t format)
{
	unsigned int times = count_fields(
		format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
	unsigned int each = 1 + count_fields(format & (PERF_FORMAT_ID | FORMAT_LOST));
	uint64_t nr = format & PERF_FORMAT_GROUP ? perfdata_take_u64(cursor) : 1;

	perfdata_take(cursor, 8 * times);
	take_array_bytes(cursor, nr, 8 * each);
}

static void skip_branches(struct perfdata_cursor *cursor, uint64_t type)
{
	uint64_t nr = perfdata_take_u64(cursor);

	if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
		perfdata_take_u64(cursor);
	take_array_bytes(cursor, nr, sizeof(struct perf_branch_entry));
	if (type & BRANCH_COUNTERS)
		take_array_bytes(cursor, nr, sizeof(uint64_t));
}

/* None of a 32-bit task, nor of a kernel thread. */
static struct perfdata_bytes take_registers(struct perfdata_cursor *cursor, uint64_t mask)
{
	uint64_t abi = perfdata_take_u64(cursor);
	struct perfdata_bytes registers = { 0 };

	if (abi)
		registers = perfdata_take(cursor, 8 * count_fields(mask));
	return abi == PERF_SAMPLE_REGS_ABI_64 ? registers : (struct perfdata_bytes){ 0 };
}

static void skip_user_stack(struct perfdata_cursor *cursor)
{
	uint64_t size = perfdata_take_u64(cursor);

	perfdata_take(cursor, size);
	if (size)
		perfdata_take_u64(cursor);
}

static void take_sample_lists(struct perfdata_cursor *cursor, struct perfdata_sample *sample)
{
	const struct perf_event_attr *attr = &sample->kind->attr;
	uint64_t type = sample->has;

	if (type & PERF_SAMPLE_READ)
		skip_read_values(cursor, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		sample->callchain =
			take_array_bytes(cursor, perfdata_take_u64(cursor), sizeof(uint64_t));
	if (type & PERF_SAMPLE_RAW)
		sample->raw = perfdata_take(cursor, perfdata_take_u32(cursor));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(cursor, attr->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		sample->user_regs = take_registers(cursor, attr->sample_regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		skip_user_stack(cursor);
	perfdata_take(cursor,
		      8 * count_fields(type & (PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC |
					       PERF_SAMPLE_TRANSACTION)));
	if (type & PERF_SAMPLE_REGS_INTR)
		take_registers(cursor, attr->sample_regs_intr);
	perfdata_take(cursor, 8 * count_fields(type & (PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
						       PERF_SAMPLE_DATA_PAGE_SIZE |
						       PERF_SAMPLE_CODE_PAGE_SIZE)));
	if (type & PERF_SAMPLE_AUX)
		sample->aux = perfdata_take(cursor, perfdata_take_u64(cursor));
}

bool perfdata_sample(const struct perfdata_events *events, const struct perfdata_record *record,
		     struct perfdata_sample *sample)
{
	bool is_sample = record->type == PERF_RECORD_SAMPLE;
	const struct perfdata_kind *kind = kind_of_record(events, record, is_sample);
	struct perfdata_cursor cursor = { record->bytes, record->size, false };

	if (!kind || record->type >= RECORD_USER_FIRST || (!is_sample && !kind->attr.sample_id_all))
		return false;
	*sample = (struct perfdata_sample){ .kind = kind, .pid = -1, .tid = -1, .cpu = -1 };
	sample->has = kind->attr.sample_type;
	if (!is_sample)
		sample->has &= ID_FIELDS;
	perfdata_take(&cursor, is_sample ? RECORD_HEADER_SIZE
					 : record->size - 8 * count_fields(sample->has));
	if (is_sample) {
		take_sample_numbers(&cursor, sample);
		take_sample_lists(&cursor, sample);
	} else {
		take_sample_id_fields(&cursor, sample);
	}
	return !cursor.short_of;
}
