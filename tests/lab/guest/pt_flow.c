// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decodes raw Intel PT with libipt and compares the instructions with a log of what was executed,
 * as the plugin ptemu writes it. Prints what there is as NAME=NUMBER; the exit code is 1 if there
 * is an error or a difference.
 *
 *	pt_flow TRACE LOG RATIO_N RATIO_D MTC_PERIOD MAX_NONTURBO CORE
 *
 * CORE is an ELF core file with the code, as perf's copy of /proc/kcore. The trace may begin later
 *than the log, for a ring may have been overwritten.
 */
#include <elf.h>
#include <intel-pt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 10

struct ips {
	uint64_t *data;
	size_t count, room;
};

static unsigned int errors, resyncs;
static uint64_t interrupts, time_backward, last_time;

static void add(struct ips *ips, uint64_t ip)
{
	if (ips->count == ips->room) {
		ips->room = ips->room ? 2 * ips->room : 1 << 20;
		ips->data = realloc(ips->data, ips->room * sizeof(*ips->data));
		if (!ips->data)
			exit(2);
	}
	ips->data[ips->count++] = ip;
}

static void error(const char *what, int code, uint64_t offset, uint64_t ip)
{
	if (errors++ < SHOWN)
		printf("error %s: %s, offset %#" PRIx64 ", ip %#" PRIx64 "\n", what,
		       pt_errstr(pt_errcode(code)), offset, ip);
}

static int take_events(struct pt_insn_decoder *decoder, int status)
{
	while (status >= 0 && status & pts_event_pending) {
		struct pt_event event;

		status = pt_insn_event(decoder, &event, sizeof(event));
		if (status >= 0 && event.type == ptev_async_branch)
			interrupts++;
	}
	return status;
}

static int walk(struct pt_insn_decoder *decoder, struct ips *ips, int status)
{
	uint64_t time;

	for (;;) {
		struct pt_insn insn = { 0 };

		status = take_events(decoder, status);
		if (status < 0 || status & pts_eos)
			return status < 0 ? status : -pte_eos;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.iclass != ptic_error)
			add(ips, insn.ip);
		if (status < 0)
			return status;
		if (pt_insn_time(decoder, &time, NULL, NULL) >= 0) {
			time_backward += time < last_time;
			last_time = time;
		}
	}
}

static void decode(const struct pt_config *config, struct pt_image *image, struct ips *ips)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);

	pt_insn_set_image(decoder, image);
	for (;;) {
		uint64_t offset = 0;
		int status = pt_insn_sync_forward(decoder);

		if (status >= 0) {
			resyncs++;
			status = walk(decoder, ips, status);
		}
		if (status == -pte_eos)
			break;
		pt_insn_get_offset(decoder, &offset);
		error("of the decoder", status, offset, ips->count ? ips->data[ips->count - 1] : 0);
	}
	pt_insn_free_decoder(decoder);
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	uint8_t *data;
	long end;

	if (!file || fseek(file, 0, SEEK_END) || (end = ftell(file)) <= 0 ||
	    fseek(file, 0, SEEK_SET)) {
		perror(path);
		exit(2);
	}
	data = malloc(end);
	if (!data || fread(data, 1, end, file) != (size_t)end) {
		perror(path);
		exit(2);
	}
	fclose(file);
	*size = end;
	return data;
}

/* Without the times */
static void read_log(const char *path, struct ips *log)
{
	size_t size;
	uint64_t *words = (uint64_t *)read_file(path, &size);

	for (size_t i = 0; i < size / sizeof(*words); i++) {
		if (words[i])
			add(log, words[i]);
		else
			i++;
	}
	free(words);
}

/* From the end back, where both are at the same instruction */
static uint64_t compare(const struct ips *got, const struct ips *log)
{
	uint64_t different = 0;

	if (got->count > log->count)
		error("more instructions are decoded than were executed", 0, got->count, 0);
	for (size_t i = 1; i <= got->count && i <= log->count; i++) {
		uint64_t a = got->data[got->count - i], b = log->data[log->count - i];

		if (a != b && different++ < SHOWN)
			printf("different: %zu before the end %#" PRIx64 ", executed: %#" PRIx64
			       "\n",
			       i, a, b);
	}
	return different;
}

static void add_core(struct pt_image *image, const char *path)
{
	size_t size;
	uint8_t *core = read_file(path, &size);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)core;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(core + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *s = &segments[i];

		if (s->p_type == PT_LOAD && s->p_filesz &&
		    pt_image_add_file(image, path, s->p_offset, s->p_filesz, NULL, s->p_vaddr) <
			    0) {
			fprintf(stderr, "%s: segment %d cannot be taken as an image\n", path, i);
			exit(2);
		}
	}
	free(core);
}

int main(int argc, char **argv)
{
	struct pt_image *image = pt_image_alloc("guest");
	struct ips got = { 0 }, log = { 0 };
	struct pt_config config;
	uint64_t different;
	size_t size;

	if (argc != 8) {
		fputs("usage: pt_flow TRACE LOG RATIO_N RATIO_D MTC_PERIOD MAX_NONTURBO CORE\n",
		      stderr);
		return 2;
	}
	pt_config_init(&config);
	config.begin = read_file(argv[1], &size);
	config.end = config.begin + size;
	read_log(argv[2], &log);
	config.cpuid_0x15_ebx = strtoul(argv[3], NULL, 0);
	config.cpuid_0x15_eax = strtoul(argv[4], NULL, 0);
	config.mtc_freq = strtoul(argv[5], NULL, 0);
	config.nom_freq = strtoul(argv[6], NULL, 0);
	add_core(image, argv[7]);
	decode(&config, image, &got);
	different = compare(&got, &log);
	printf("decoded=%zu\nexecuted=%zu\ndifferent=%" PRIu64 "\nerrors=%u\nresyncs=%u\n"
	       "interrupts=%" PRIu64 "\ntime_backward=%" PRIu64 "\nlast_time=%" PRIu64 "\n",
	       got.count, log.count, different, errors, resyncs, interrupts, time_backward,
	       last_time);
	return errors || different;
}
