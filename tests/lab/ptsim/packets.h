/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intel PT packets, as the Intel SDM describes them: volume 3, "Intel Processor Trace", "Trace
 * Packets and Data Types".
 */
#ifndef PTSIM_PACKETS_H
#define PTSIM_PACKETS_H

#include <linux/types.h>

enum ptsim_ip_packet {
	PTSIM_TIP_PGD = 0x01,
	PTSIM_TIP = 0x0d,
	PTSIM_TIP_PGE = 0x11,
	PTSIM_FUP = 0x1d,
};

/* Where packets are put. Who makes one sees to it that there is room. */
struct ptsim_packets {
	u8 *data;
	size_t size;
	u64 place;   /* of the first byte in the AUX area, or its remainder by 8 */
	u64 last_ip; /* what the next IP is compressed against */
	bool last_ip_known;
	u64 tnt; /* branches not written yet, the oldest in the highest bit */
	unsigned int tnt_count;
};

/* The longest packet, a PSB or a FUP, with a CYC before it. */
#define PTSIM_PACKET_MAX 32
#define PTSIM_TNT_SHORT_MAX 6
#define PTSIM_TNT_LONG_MAX 47

enum ptsim_event {
	PTSIM_INTR = 1,
	PTSIM_SMI = 3,
	PTSIM_RSM = 4,
};

void ptsim_psb(struct ptsim_packets *p);
void ptsim_psbend(struct ptsim_packets *p);
void ptsim_ovf(struct ptsim_packets *p);
void ptsim_cfe(struct ptsim_packets *p, enum ptsim_event event, u8 vector);
void ptsim_evd_cr2(struct ptsim_packets *p, u64 cr2);
void ptsim_tsc(struct ptsim_packets *p, u64 tsc);
void ptsim_tma(struct ptsim_packets *p, u16 ctc, u16 fast_counter);
void ptsim_mtc(struct ptsim_packets *p, u8 ctc);
void ptsim_cyc(struct ptsim_packets *p, u64 cycles);
void ptsim_cbr(struct ptsim_packets *p, u8 ratio);
void ptsim_mode_exec_64(struct ptsim_packets *p);
void ptsim_mode_tsx(struct ptsim_packets *p);
void ptsim_pip(struct ptsim_packets *p, u64 cr3);
void ptsim_ip(struct ptsim_packets *p, enum ptsim_ip_packet type, u64 ip);
void ptsim_tip_pgd_no_ip(struct ptsim_packets *p);
void ptsim_write_tnt(struct ptsim_packets *p);

static inline void ptsim_add_tnt(struct ptsim_packets *p, bool taken)
{
	p->tnt = p->tnt << 1 | taken;
	p->tnt_count++;
}

#endif
