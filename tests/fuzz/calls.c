// SPDX-License-Identifier: GPL-2.0-only
/* struct calls: the input is a byte that chooses options, then items as records of 8
 * bytes. */
#include <fcntl.h>
#include <string.h>
#include <zlib.h>

#include "blocks/decode.h"
#include "calls/calls.h"
#include "code/code.h"
#include "fuzz.h"
#include "fxt/fxt.h"
#include "fxt/fxt_timeline.h"
#include "fxt_format.h"
#include "spans/track_spans.h"
#include "tree.h"

/* Each switch writes all open slices again: more would only take longer. */
#define MAX_SIZE 16384
#define START UINT64_C(0xffffffff81000000)
#define FUNCTION_SIZE 256
#define BATCH 7 /* items */

enum choice {
	CHOOSE_AXIS = 3, /* 3: time */
	CHOOSE_WINDOW = 4,
	CHOOSE_SPIKE = 8,
	CHOOSE_GZIP = 16,
	CHOOSE_TABLES = 32, /* small ones */
};

/* The upper bits of a place are a function, the lower ones the offset in it; or it is invalid. The
 * kind is an enum decode_end, or one more; bits of `more` are the rows of code, its length, changes
 * of interrupts, and the branch. Bit 5 of the task: no code. */
enum { BEGIN = DECODE_LOST + 1, LOSS, NR_KINDS };

struct event {
	uint8_t kind, task, from, to;
	int16_t time; /* since the last one */
	uint8_t counts, more;
};
_Static_assert(sizeof(struct event) == 8, "as in the input");

struct options {
	struct timeline_opts timeline;
	struct calls_opts calls;
	struct fxt_timeline_opts fxt;
};

/* What was there of a record file so far. */
struct seen {
	bool strings[FXT_STRINGS_MAX + 1], threads[FXT_THREADS_MAX + 1];
	uint64_t begins, ends;
};

static struct symbol symbols[4], unknown;

static void make_symbols(struct names *names)
{
	static const char *const texts[] = { "f0", "asm_common_interrupt", "entry_SYSCALL_64",
					     "f3" };

	unknown.name = unknown.base = names_add(names, "[unknown]");
	for (uint32_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		symbols[i] = (struct symbol){
			.start = START + FUNCTION_SIZE * i,
			.end = START + FUNCTION_SIZE * (i + 1),
			.name = names_add(names, texts[i]),
			.base = names_add(names, texts[i]),
			.kernel = i < 3,
		};
	}
}

static uint64_t place(uint8_t number)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63 };

	if (number >= 0xf0)
		return odd[number & 3];
	return START + FUNCTION_SIZE * (number >> 5) + 4 * (number & 31);
}

const struct symbol *decode_symbol(struct decode *decode, const struct decode_item *item,
				   uint64_t ip)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (symbol_has(&symbols[i], ip))
			return &symbols[i];
	}
	return &unknown;
}

const char *decode_comm(struct decode *decode, int tid, uint64_t time)
{
	static const char *const comms[] = { "task", "other", "\xff\x1b[2J", NULL };

	return comms[time >> 8 & 3];
}

static void choose(struct options *options, uint8_t choice, const char *path)
{
	*options = (struct options){
		.timeline = { .end = UINT64_MAX },
		.calls = { .axis = (choice & CHOOSE_AXIS) % 3, .spike_cpu = -1 },
		.fxt = { .path = path },
	};
	options->timeline.counted = options->calls.axis != CALLS_TIME;
	if (choice & CHOOSE_WINDOW) {
		options->timeline.begin = 1010;
		options->timeline.end = 9000;
	}
	if (choice & CHOOSE_SPIKE) {
		options->calls.expected = 1020;
		options->calls.spike = 1040;
	}
	if (choice & CHOOSE_TABLES) {
		options->fxt.max_strings = 12;
		options->fxt.max_threads = 2;
	}
}

static void check_event(struct seen *seen, const uint64_t *words)
{
	uint64_t type = *words >> 16 & 0xf, thread = *words >> 24 & 0xff;

	must(thread && seen->threads[thread]);
	must(seen->strings[*words >> 32 & 0xffff] && seen->strings[*words >> 48]);
	seen->begins += type == 2;
	seen->ends += type == 3;
	must(seen->ends <= seen->begins);
}

static void check_record(struct seen *seen, const uint64_t *words)
{
	uint64_t index = *words >> 16;

	switch (*words & 0xf) {
	case RECORD_STRING:
		index &= 0xffff;
		must(index && index <= FXT_STRINGS_MAX);
		seen->strings[index] = true;
		break;
	case RECORD_THREAD:
		index &= 0xff;
		must(index);
		seen->threads[index] = true;
		break;
	case RECORD_EVENT:
		check_event(seen, words);
		break;
	}
}

/* Whole records that refer to what was before them; slices that begin and end. */
static void check_file(const char *path)
{
	uint64_t words[FXT_WORDS_MAX + 1];
	struct seen seen = { .strings = { true } };
	gzFile file = gzopen(path, "rb");
	int nr;

	must(file && gzread(file, words, 8) == 8 && *words == FXT_MAGIC);
	while ((nr = gzread(file, words, 8))) {
		int size = (int)(*words >> 4 & 0xfff) * 8;

		must(nr == 8 && size &&
		     gzread(file, words + 1, (unsigned int)size - 8) == size - 8);
		check_record(&seen, words);
	}
	must(seen.begins == seen.ends);
	gzclose(file);
}

/* Straight code of the item: instructions of 4 bytes in one or two rows. */
static void make_code(struct decode_item *item, const struct event *from, struct code_block *code,
		      struct code_row *rows)
{
	uint32_t insns = 1 + (from->counts & 15);

	item->first = code->first = place(from->from);
	code->rows = rows;
	code->nr_rows = 1 + (from->more & 1);
	code->insns = item->insns = insns * code->nr_rows;
	code->length = from->more & 2 ? 4 : 0;
	code->branch = (from->more >> 4 & 7) + (from->more >> 7);
	for (uint32_t i = 0; i < code->nr_rows; i++) {
		uint64_t first = code->first + 4 * i * insns;

		code->last = first + 4 * (insns - 1);
		rows[i] = (struct code_row){
			.first = first,
			.last = code->last,
			.symbol = decode_symbol(NULL, item, first),
			.insns = insns,
			.irqs = i + 1 == code->nr_rows ? from->more >> 2 & 3 : IRQ_SAME,
		};
	}
	if (code->nr_rows == 1 && rows->irqs == IRQ_SAME)
		code->symbol = rows->symbol;
	item->code = code;
}

static void make_item(struct decode_item *item, const struct event *from, uint64_t *time,
		      struct code_block *code, struct code_row *rows)
{
	uint8_t kind = from->kind % NR_KINDS;

	if (from->time == INT16_MIN)
		*time = UINT64_MAX;
	else if (from->time >= 0 || *time >= (uint64_t)-from->time)
		*time += (uint64_t)(int64_t)from->time;
	*item = (struct decode_item){
		.kind = kind == BEGIN  ? DECODE_BEGIN
			: kind == LOSS ? DECODE_ERROR
				       : DECODE_BLOCK,
		.end = kind < BEGIN ? kind : 0,
		.time = *time,
		.cpu = from->task & 3,
		.pid = (from->task >> 2 & 7) - 1,
		.tid = (from->task >> 2 & 7) - 1,
		.to = place(from->to),
		.cycles = from->counts >> 4,
	};
	if (item->kind != DECODE_BLOCK)
		return;
	if (from->task & 32)
		item->from = place(from->from);
	else
		make_code(item, from, code, rows);
	if (item->end == DECODE_DISABLED || item->end == DECODE_ASYNC_DISABLED)
		item->untraced = from->task >> 6;
}

static int run(struct options *options, struct names *names, const uint8_t *data, size_t size)
{
	struct timeline *timeline;
	size_t nr = size / sizeof(struct event);
	_cleanup_free_ struct decode_item *items = calloc(nr + 1, sizeof(*items));
	_cleanup_free_ struct code_block *blocks = calloc(nr + 1, sizeof(*blocks));
	_cleanup_free_ struct code_row *rows = calloc(2 * nr + 1, sizeof(*rows));
	uint64_t time = 1000, at, gaps;
	struct calls *calls;
	int r;

	must(items && blocks && rows);
	make_symbols(names);
	must(!timeline_new(&timeline, &options->timeline, names));
	must(!calls_new(&calls, &options->calls, timeline, names));
	for (size_t i = 0; i < nr; i++) {
		struct event event;

		memcpy(&event, data + i * sizeof(event), sizeof(event));
		make_item(&items[i], &event, &time, &blocks[i], &rows[2 * i]);
	}
	for (size_t i = 0; i < nr; i += BATCH)
		calls_add(calls, items + i, nr - i < BATCH ? nr - i : BATCH);
	must(!calls_finish(calls, &at, &gaps));
	r = timeline_finish(timeline, at);
	calls_free(calls);
	timeline_free(timeline);
	return r;
}

static void run_file(struct options *options, const uint8_t *data, size_t size)
{
	struct fxt_timeline *sink;
	struct names *names;

	must(!names_new(&names));
	options->fxt.fd = open(options->fxt.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(options->fxt.fd >= 0);
	must(!fxt_timeline_new(&sink, &options->fxt, names));
	options->timeline.ops = &fxt_timeline_ops;
	options->timeline.sink = sink;
	must(!run(options, names, data, size));
	fxt_timeline_free(sink);
	names_free(names);
	close(options->fxt.fd);
	check_file(options->fxt.path);
}

/* Spans begin in order, within their parents. */
static void check_lane(const struct lane *lane)
{
	for (uint32_t i = 0; i < lane->nr; i++) {
		const struct span *span = &lane->spans[i];

		must(span->end >= span->begin);
		must(!i || span->begin >= span[-1].begin);
		if (span->parent == SPAN_NONE) {
			must(!span->depth);
			continue;
		}
		must(span->parent < i && span->depth == lane->spans[span->parent].depth + 1);
		must(lane->spans[span->parent].end >= span->end);
	}
}

static void run_spans(struct options *options, const uint8_t *data, size_t size)
{
	struct track_spans *sink;
	struct spans *spans;
	int r;

	must(!spans_new(&spans));
	must(!track_spans_new(&sink, spans, -1));
	options->timeline.ops = &track_spans_ops;
	options->timeline.sink = sink;
	r = run(options, spans->names, data, size);
	must(!r || r == -ENODATA);
	for (size_t i = 0; i < LANE_NR && !r; i++)
		check_lane(&spans->lanes[i]);
	track_spans_free(sink);
	spans_free(spans);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	char folder[] = "/tmp/perf-poke-fuzz-XXXXXX";
	_cleanup_free_ char *path = NULL;
	struct options options;

	if (!size || size > MAX_SIZE || size % sizeof(struct event) != 1)
		return -EINVAL;
	must(!!mkdtemp(folder));
	must(asprintf(&path, "%s/out.fxt%s", folder, *data & CHOOSE_GZIP ? ".gz" : "") > 0);
	choose(&options, *data, path);
	run_file(&options, data + 1, size - 1);
	must(!tree_remove(AT_FDCWD, folder));
	run_spans(&options, data + 1, size - 1);
	return 0;
}
