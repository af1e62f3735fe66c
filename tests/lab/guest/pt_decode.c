// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decodes raw Intel PT with libipt, packet by packet and instruction by instruction, and prints
 * what there is of each as NAME=NUMBER. A line `error ...` for each error; the exit code is 1 if
 * there is one.
 *
 *	pt_decode TRACE CODE IPS RATIO_N RATIO_D MTC_PERIOD MAX_NONTURBO
 *
 * CODE says what code there is, see code.h. The addresses of the instructions go to the file IPS,
 * 8 bytes each.
 */
#include "code.h"

#include <intel-pt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPES 64
#define ERRORS_MAX 10

static int errors;

static void error(const char *what, int code, uint64_t offset, uint64_t ip)
{
	printf("error %s: %s, offset %#" PRIx64 ", ip %#" PRIx64 "\n", what,
	       pt_errstr(pt_errcode(code)), offset, ip);
	errors++;
}

static const char *const packet_names[TYPES] = {
	[ppt_pad] = "pad",	   [ppt_psb] = "psb",	      [ppt_psbend] = "psbend",
	[ppt_fup] = "fup",	   [ppt_tip] = "tip",	      [ppt_tip_pge] = "tip_pge",
	[ppt_tip_pgd] = "tip_pgd", [ppt_tnt_8] = "tnt_short", [ppt_tnt_64] = "tnt_long",
	[ppt_mode] = "mode",	   [ppt_pip] = "pip",	      [ppt_cbr] = "cbr",
	[ppt_tsc] = "tsc",	   [ppt_tma] = "tma",	      [ppt_mtc] = "mtc",
	[ppt_cyc] = "cyc",	   [ppt_ovf] = "ovf",
};

struct cycles {
	uint64_t all, untold; /* untold: with the trace on, after what says where the CPU went */
	uint64_t psb;	      /* in PSB+, before its TSC */
	bool on, at_event;
};

/* Where TSC is behind the beginning of a PSB */
struct tsc_places {
	uint64_t psb, least, most;
	bool in_psb; /* and no TSC yet */
};

static void count_cycles(struct cycles *cycles, const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_cyc:
		cycles->all += packet->payload.cyc.value;
		cycles->untold += cycles->on ? packet->payload.cyc.value : 0;
		break;
	case ppt_tip_pge:
		cycles->on = true;
		cycles->untold = 0;
		break;
	case ppt_tip_pgd:
		cycles->on = false;
		if (!cycles->at_event)
			cycles->untold = 0;
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_tip:
		cycles->untold = 0;
		break;
	default:
		break;
	}
	cycles->at_event = packet->type == ppt_fup;
}

static void take_place(struct tsc_places *places, enum pt_packet_type type, uint64_t offset)
{
	uint64_t place = offset - places->psb;

	if (type == ppt_psb) {
		places->psb = offset;
		places->in_psb = true;
	} else if (type == ppt_psbend) {
		places->in_psb = false;
	} else if (type == ppt_tsc && places->in_psb) {
		places->in_psb = false;
		places->least = places->least && places->least < place ? places->least : place;
		places->most = places->most > place ? places->most : place;
	}
}

static void decode_packets(const struct pt_config *config)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
	uint64_t counts[TYPES] = { 0 }, bits = 0, tsc = 0, backward = 0, offset = 0;
	struct tsc_places places = { 0 };
	struct cycles cycles = { 0 };
	struct pt_packet packet;
	int status = pt_pkt_sync_forward(decoder);

	while (status >= 0) {
		pt_pkt_get_offset(decoder, &offset);
		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status < 0)
			break;
		take_place(&places, packet.type, offset);
		if (packet.type == ppt_cyc && places.in_psb)
			cycles.psb += packet.payload.cyc.value;
		if (packet.type < TYPES)
			counts[packet.type]++;
		if (packet.type == ppt_tnt_8 || packet.type == ppt_tnt_64)
			bits += packet.payload.tnt.bit_size;
		count_cycles(&cycles, &packet);
		if (packet.type == ppt_tsc) {
			backward += packet.payload.tsc.tsc < tsc;
			tsc = packet.payload.tsc.tsc;
		}
	}
	pt_pkt_get_offset(decoder, &offset);
	if (status != -pte_eos)
		error("packet", status, offset, 0);
	for (int type = 0; type < TYPES; type++) {
		if (packet_names[type])
			printf("%s=%" PRIu64 "\n", packet_names[type], counts[type]);
	}
	printf("tnt_bits=%" PRIu64 "\ncycles=%" PRIu64 "\ncycles_psb=%" PRIu64
	       "\ncycles_untold=%" PRIu64 "\nlast_tsc=%" PRIu64 "\ntsc_backward=%" PRIu64
	       "\npsb_tsc_least=%" PRIu64 "\npsb_tsc_most=%" PRIu64 "\n",
	       bits, cycles.all, cycles.psb, cycles.untold, tsc, backward, places.least,
	       places.most);
	pt_pkt_free_decoder(decoder);
}

struct flow {
	struct code *code;
	FILE *ips;
	uint64_t classes[16], events[32];
	uint64_t instructions, lost, backward, first_time, time, ip;
};

static int read_code(uint8_t *to, size_t size, const struct pt_asid *asid, uint64_t ip, void *code)
{
	size_t got = code_bytes(code, ip, to, size);

	(void)asid;
	return got ? (int)got : -pte_nomap;
}

static int take_events(struct pt_insn_decoder *decoder, struct flow *flow, int status)
{
	while (status >= 0 && status & pts_event_pending) {
		struct pt_event event;

		status = pt_insn_event(decoder, &event, sizeof(event));
		if (status >= 0 && event.type < 32)
			flow->events[event.type]++;
	}
	return status;
}

static void take_time(struct pt_insn_decoder *decoder, struct flow *flow)
{
	uint32_t lost_mtc = 0, lost_cyc = 0;
	uint64_t time;

	if (pt_insn_time(decoder, &time, &lost_mtc, &lost_cyc) < 0)
		return;
	flow->lost += lost_mtc + lost_cyc;
	flow->backward += time < flow->time;
	flow->time = time;
	if (!flow->first_time)
		flow->first_time = time;
	code_go_to(flow->code, time);
}

static void take_insn(struct flow *flow, const struct pt_insn *insn)
{
	flow->ip = insn->ip;
	flow->instructions++;
	flow->classes[insn->iclass]++;
	if (fwrite(&insn->ip, sizeof(insn->ip), 1, flow->ips) != 1) {
		perror("addresses");
		exit(2);
	}
}

static int walk(struct pt_insn_decoder *decoder, struct flow *flow, int status)
{
	for (;;) {
		struct pt_insn insn = { 0 };

		status = take_events(decoder, flow, status);
		if (status < 0 || status & pts_eos)
			return status < 0 ? status : -pte_eos;
		take_time(decoder, flow);
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.iclass != ptic_error)
			take_insn(flow, &insn);
		if (status < 0)
			return status;
	}
}

static void print_flow(const struct flow *flow)
{
	printf("instructions=%" PRIu64 "\n", flow->instructions);
	printf("calls=%" PRIu64 "\nreturns=%" PRIu64 "\njumps=%" PRIu64 "\nconditional=%" PRIu64
	       "\nirets=%" PRIu64 "\n",
	       flow->classes[ptic_call], flow->classes[ptic_return], flow->classes[ptic_jump],
	       flow->classes[ptic_cond_jump], flow->classes[ptic_far_return]);
	printf("enabled=%" PRIu64 "\ninterrupts=%" PRIu64 "\nasync_disabled=%" PRIu64
	       "\ndisabled=%" PRIu64 "\noverflows=%" PRIu64 "\n",
	       flow->events[ptev_enabled], flow->events[ptev_async_branch],
	       flow->events[ptev_async_disabled], flow->events[ptev_disabled],
	       flow->events[ptev_overflow]);
	printf("first_time=%" PRIu64 "\nlast_time=%" PRIu64 "\ntime_backward=%" PRIu64
	       "\nlost=%" PRIu64 "\n",
	       flow->first_time, flow->time, flow->backward, flow->lost);
}

static void decode_instructions(const struct pt_config *config, struct code *code, FILE *ips)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);
	struct pt_image *image = pt_image_alloc("code");
	struct flow flow = { .code = code, .ips = ips };

	pt_image_set_callback(image, read_code, code);
	pt_insn_set_image(decoder, image);
	for (;;) {
		uint64_t offset = 0;
		int status = pt_insn_sync_forward(decoder);

		if (status >= 0)
			status = walk(decoder, &flow, status);
		if (status == -pte_eos)
			break;
		pt_insn_get_offset(decoder, &offset);
		error("instruction", status, offset, flow.ip);
		if (errors > ERRORS_MAX)
			break;
	}
	print_flow(&flow);
	pt_insn_free_decoder(decoder);
	pt_image_free(image);
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

int main(int argc, char **argv)
{
	struct pt_config config;
	struct code *code;
	FILE *ips;
	size_t size;

	if (argc != 8) {
		fputs("usage: pt_decode TRACE CODE IPS RATIO_N RATIO_D MTC_PERIOD MAX_NONTURBO\n",
		      stderr);
		return 2;
	}
	pt_config_init(&config);
	config.begin = read_file(argv[1], &size);
	config.end = config.begin + size;
	code = code_read(argv[2]);
	ips = fopen(argv[3], "w");
	if (!ips) {
		perror(argv[3]);
		return 2;
	}
	config.cpuid_0x15_ebx = strtoul(argv[4], NULL, 0);
	config.cpuid_0x15_eax = strtoul(argv[5], NULL, 0);
	config.mtc_freq = strtoul(argv[6], NULL, 0);
	config.nom_freq = strtoul(argv[7], NULL, 0);
	decode_packets(&config);
	decode_instructions(&config, code, ips);
	if (fclose(ips)) {
		perror(argv[3]);
		return 2;
	}
	code_free(code);
	free(config.begin);
	return errors ? 1 : 0;
}
