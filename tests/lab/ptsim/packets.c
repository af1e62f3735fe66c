// SPDX-License-Identifier: GPL-2.0-only
#include "packets.h"

#include <linux/string.h>

static void put(struct ptsim_packets *p, u64 value, unsigned int bytes)
{
	for (; bytes; bytes--, value >>= 8)
		p->data[p->size++] = value;
}

static void put_extended(struct ptsim_packets *p, u8 opcode)
{
	put(p, 0x02 | opcode << 8, 2);
}

void ptsim_psb(struct ptsim_packets *p)
{
	for (int i = 0; i < 8; i++)
		put_extended(p, 0x82);
	/* It might be zero, but perf then takes the high half of a low IP from before the PSB. */
	p->last_ip_known = false;
}

void ptsim_psbend(struct ptsim_packets *p)
{
	put_extended(p, 0x23);
}

void ptsim_ovf(struct ptsim_packets *p)
{
	put_extended(p, 0xf3);
}

void ptsim_cfe(struct ptsim_packets *p, enum ptsim_event event, u8 vector)
{
	put_extended(p, 0x13);
	put(p, event | vector << 8, 2);
}

void ptsim_evd_cr2(struct ptsim_packets *p, u64 cr2)
{
	put_extended(p, 0x53);
	put(p, 0, 1);
	put(p, cr2, 8);
}

void ptsim_tsc(struct ptsim_packets *p, u64 tsc)
{
	put(p, 0x19, 1);
	put(p, tsc, 7);
}

void ptsim_tma(struct ptsim_packets *p, u16 ctc, u16 fast_counter)
{
	put_extended(p, 0x73);
	put(p, ctc, 2);
	put(p, 0, 1);
	put(p, fast_counter & 0x1ff, 2);
}

void ptsim_mtc(struct ptsim_packets *p, u8 ctc)
{
	put(p, 0x59, 1);
	put(p, ctc, 1);
}

/* Five bits, then seven at a time; the bit below them tells that more follow. */
void ptsim_cyc(struct ptsim_packets *p, u64 cycles)
{
	u64 rest = cycles >> 5;

	put(p, (cycles & 0x1f) << 3 | (rest ? 4 : 0) | 3, 1);
	while (rest) {
		u64 byte = (rest & 0x7f) << 1;

		rest >>= 7;
		put(p, byte | (rest ? 1 : 0), 1);
	}
}

void ptsim_cbr(struct ptsim_packets *p, u8 ratio)
{
	put_extended(p, 0x03);
	put(p, ratio, 2);
}

void ptsim_mode_exec_64(struct ptsim_packets *p)
{
	put(p, 0x99, 1);
	put(p, 0x01, 1);
}

/* Outside of transactions */
void ptsim_mode_tsx(struct ptsim_packets *p)
{
	put(p, 0x99, 1);
	put(p, 0x20, 1);
}

void ptsim_pip(struct ptsim_packets *p, u64 cr3)
{
	put_extended(p, 0x43);
	put(p, cr3 >> 5 << 1, 6);
}

/* IP compression: as few of the low bytes as tell the address from the last one. */
void ptsim_ip(struct ptsim_packets *p, enum ptsim_ip_packet type, u64 ip)
{
	u64 differ = ip ^ p->last_ip;
	unsigned int bytes, code;

	if (p->last_ip_known && !(differ >> 16))
		bytes = 2, code = 1;
	else if (p->last_ip_known && !(differ >> 32))
		bytes = 4, code = 2;
	else if ((s64)(ip << 16) >> 16 == (s64)ip)
		bytes = 6, code = 3;
	else
		bytes = 8, code = 6;
	put(p, type | code << 5, 1);
	put(p, ip, bytes);
	p->last_ip = ip;
	p->last_ip_known = true;
}

void ptsim_tip_pgd_no_ip(struct ptsim_packets *p)
{
	put(p, PTSIM_TIP_PGD, 1);
}

void ptsim_write_tnt(struct ptsim_packets *p)
{
	/* A one above the branches tells how many there are. */
	u64 bits = 1ULL << p->tnt_count | p->tnt;

	if (!p->tnt_count)
		return;
	if (p->tnt_count <= PTSIM_TNT_SHORT_MAX) {
		put(p, bits << 1, 1);
	} else {
		put_extended(p, 0xa3);
		put(p, bits, 6);
	}
	p->tnt = 0;
	p->tnt_count = 0;
}
