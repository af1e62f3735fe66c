// SPDX-License-Identifier: GPL-2.0-only
/* walk DATA [SYMFS [RUNS]]: decodes each trace of a perf.data block by block. Prints the functions
 * at the ends of blocks, and the number of instructions. */
#include <inttypes.h>
#include <string.h>

#include <intel-pt.h>

#include "clock.h"
#include "code/code.h"
#include "code/sideband.h"
#include "perfdata_read.h"

/* PERF_RECORD_AUXTRACE */
struct auxtrace {
	uint8_t header[8];
	uint64_t size, offset, reference;
	uint32_t index, tid, cpu, reserved;
};

struct walk {
	struct code_view *view;
	uint64_t insns, rows, blocks, errors;
	bool quiet;
};

static void tell(const struct walk *walk, uint64_t ip, const struct symbol *symbol)
{
	if (!walk->quiet)
		printf("%" PRIx64 " %s\n", ip, symbol->text);
}

/* Rows must agree with blocks, and blocks with libipt. */
static void add(struct walk *walk, const struct pt_block *block)
{
	const struct code_block *code = code_view_block(walk->view, block);
	uint64_t insns = 0;

	/* Unknown for blocks in libipt's cache. */
	if (!code || code->first != block->ip || code->last != block->end_ip ||
	    code->insns != block->ninsn || !code->length ||
	    (block->iclass && code->iclass != block->iclass))
		abort();
	if (!walk->quiet) {
		for (uint32_t i = 0; i < code->nr_rows; i++)
			insns += code->rows[i].insns;
		if (insns != code->insns || code->rows[0].first != code->first ||
		    code->rows[code->nr_rows - 1].last != code->last)
			abort();
	}
	tell(walk, code->first, code->rows[0].symbol);
	tell(walk, code->last, code->rows[code->nr_rows - 1].symbol);
	walk->blocks++;
	walk->rows += code->nr_rows;
	walk->insns += code->insns;
}

static int drain(struct pt_block_decoder *decoder, int status)
{
	while (status >= 0 && status & pts_event_pending) {
		struct pt_event event;

		status = pt_blk_event(decoder, &event, sizeof(event));
	}
	return status;
}

static void walk_on(struct walk *walk, struct pt_block_decoder *decoder, int status)
{
	struct pt_block block;

	while ((status = drain(decoder, status)) >= 0 && !(status & pts_eos)) {
		status = pt_blk_next(decoder, &block, sizeof(block));
		if (block.ninsn)
			add(walk, &block);
	}
	if (status < 0 && status != -pte_eos)
		walk->errors++;
}

static int walk_trace(struct walk *walk, const struct perfdata_record *record,
		      const struct sideband *sideband)
{
	struct pt_block_decoder *decoder;
	struct auxtrace head;
	struct pt_config config;
	uint64_t until, time = UINT64_MAX - 1;
	int status;

	memcpy(&head, record->bytes, sizeof(head));
	pt_config_init(&config);
	config.begin = (uint8_t *)record->trace;
	config.end = config.begin + record->trace_size;
	config.flags.variant.block.end_on_call = 1;
	config.flags.variant.block.end_on_jump = 1;
	decoder = pt_blk_alloc_decoder(&config);
	if (!decoder)
		return -ENOMEM;
	pt_blk_set_image(decoder, code_view_image(walk->view, (int)head.tid, time, &until));
	while ((status = pt_blk_sync_forward(decoder)) >= 0)
		walk_on(walk, decoder, status);
	pt_blk_free_decoder(decoder);
	return 0;
}

static int walk_file(struct walk *walk, const struct perfdata_file *file,
		     const struct sideband *sideband)
{
	struct perfdata_record record;
	int r = 0;

	for (uint64_t at = file->data.offset; !r && perfdata_next(file, &at, &record);) {
		if (record.type == PERFDATA_RECORD_AUXTRACE && record.trace)
			r = walk_trace(walk, &record, sideband);
	}
	return r;
}

static void tell_files(struct code *code)
{
	struct code_file *files;
	size_t nr;

	if (code_files(code, &files, &nr))
		abort();
	for (size_t i = 0; i < nr; i++)
		fprintf(stderr, "%s: %s\n", files[i].name, files[i].path ?: files[i].why);
	free(files);
}

int main(int argc, char **argv)
{
	struct code_opts opts = { .data = argv[1], .symfs = argc > 2 ? argv[2] : NULL };
	int runs = argc > 3 ? atoi(argv[3]) : 1;
	struct walk walk = { .quiet = argc > 3 };
	struct perfdata_file file;
	struct sideband *sideband;
	struct code *code;
	char *why = NULL;
	uint64_t begin;
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	if (perfdata_map(&file, fd) || sideband_new(&sideband, &file, &why))
		return 1;
	opts.sideband = sideband;
	if (code_new(&code, &opts, &why) || code_view_new(&walk.view, code))
		return 1;
	begin = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < runs; i++) {
		if (walk_file(&walk, &file, sideband))
			return 1;
	}
	fprintf(stderr,
		"%" PRIu64 " instructions, %" PRIu64 " blocks, %" PRIu64 " rows, %" PRIu64
		" errors, %.3f s\n",
		walk.insns, walk.blocks, walk.rows, walk.errors,
		(double)(clock_ns(CLOCK_MONOTONIC) - begin) / NSEC_PER_SEC);
	tell_files(code);
	code_view_free(walk.view);
	code_free(code);
	sideband_free(sideband);
	perfdata_unmap(&file);
	close(fd);
	return 0;
}
