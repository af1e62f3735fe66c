/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the simulated Intel PT:
 *
 *	pmu.c		what perf calls: the PMU's states and times
 *	aux.c		the AUX area that packets are written to
 *	sysfs.c		how the PMU looks in sysfs, and which configurations it takes
 *	synthetic.c	a source of packets: a CPU that runs a program of code.S again and again
 *	emulated.c	another: what this CPU executes, as QEMU sees it
 *	report.c	debugfs: what was executed, and when the trace was started and stopped
 */
#ifndef PTSIM_H
#define PTSIM_H

#include <linux/perf_event.h>
#include <linux/types.h>

/* As many address filters as a Skylake has */
#define PTSIM_ADDRESS_RANGES 2

/* attr.config of an event, taken apart, and its address filter */
struct ptsim_config {
	u64 bits;
	bool tsc, mtc, cyc;
	bool noretcomp;
	bool event;	   /* Event Trace */
	bool packets;	   /* of branches: not without `branch`, nor if the kernel is excluded */
	bool user_packets; /* of user space's branches; a source may have none */
	u8 mtc_period;
	u32 cyc_min;   /* cycles; fewer make no CYC packet */
	u32 psb_bytes; /* from a PSB to the next */
	/* Address filter: branches are traced inside of these only; without any, everywhere. */
	unsigned int range_count;
	struct ptsim_range {
		u64 start, size;
	} ranges[PTSIM_ADDRESS_RANGES];
};

/* An AUX area: pages that need not be contiguous. */
struct ptsim_aux {
	void **pages;
	size_t size;
	bool overwrite;
	u64 head;    /* offset of the next byte; its remainder by the size counts */
	u64 pending; /* bytes since the output was begun */
	u64 room;    /* for so many more; without meaning in overwrite mode */
	u64 written; /* bytes since the area was made */
};

/* What was traced since the module was loaded */
struct ptsim_totals {
	u64 iterations, instructions, branches, bytes;
	u64 entered, left; /* ranges of the address filter */
	u64 skipped;	   /* iterations left out because more was due than is written at a time */
	u64 overflows;	   /* each lost one iteration */
	u64 cycles;	   /* told by CYC packets; of the emulated source only, as what follows */
	u64 unexplained;   /* steps from an instruction to another that are none */
};

/* One CPU's trace, between a source and the PMU */
struct ptsim_stream {
	int cpu;
	struct ptsim_config config;
	struct ptsim_aux *aux;
	struct ptsim_totals totals;
	u64 since_psb;	  /* bytes */
	bool psb_due;	  /* at the next start: an event's first */
	size_t burst;	  /* as much is of use at a time, in bytes */
	size_t chunk_max; /* next writes at most; told by configure */
	void *private;	  /* the source's */
};

/*
 * Where the packets of a CPU come from. All but open and close are called on that CPU with
 * interrupts off; they write with ptsim_emit(), whole packets only, and only where a decoder can go
 * on or end after them.
 */
struct ptsim_source {
	const char *name;
	size_t edge_max; /* bytes that start, stop or overflow write at most */
	bool by_itself;	 /* packets are written meanwhile: next only tells how many */
	int (*open)(struct ptsim_stream *s);
	void (*close)(struct ptsim_stream *s);
	void (*configure)(struct ptsim_stream *s); /* config is new, and tracing off */
	void (*start)(struct ptsim_stream *s, u64 tsc);
	void (*stop)(struct ptsim_stream *s, u64 tsc);
	bool (*next)(struct ptsim_stream *s,
		     u64 tsc); /* false: nothing is left of what was executed until tsc */
	void (*overflow)(struct ptsim_stream *s, u64 tsc);
};

extern const struct ptsim_source ptsim_synthetic, ptsim_emulated;

/* Whether there is what the source `emulated` needs */
bool ptsim_emulated_present(void);

static inline u64 ptsim_aux_room(const struct ptsim_aux *aux)
{
	return aux->overwrite ? aux->size : aux->room;
}

void *ptsim_aux_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
void ptsim_aux_free(void *aux);
/* So many bytes have come, by whatever way. */
void ptsim_aux_written(struct ptsim_aux *aux, size_t size);
void ptsim_aux_write(struct ptsim_aux *aux, const void *data, size_t size);
void ptsim_emit(struct ptsim_stream *s, const void *data, size_t size);

/* TSC and CTC (the "always running timer"), whose ratio is N:D */
struct ptsim_clock {
	u32 n, d;
	u32 max_nonturbo_ratio;
};

extern struct ptsim_clock ptsim_clock;
extern const struct attribute_group *ptsim_attr_groups[];

void ptsim_clock_init(void);
bool ptsim_config_valid(u64 bits);
void ptsim_config_read(struct ptsim_config *config, const struct perf_event_attr *attr);

enum ptsim_what {
	PTSIM_START,
	PTSIM_STOP,
	PTSIM_PAUSE,
	PTSIM_RESUME,
	PTSIM_SNAPSHOT,
	PTSIM_TRUNCATED,
	PTSIM_FAILED_START,
	PTSIM_WHATS,
};

/* When a call came, and what had been traced when it was done */
struct ptsim_log_entry {
	u64 tsc, mono_ns;
	u64 head, written;
	struct ptsim_totals totals;
	enum ptsim_what what;
};

#define PTSIM_LOG_SIZE 64

struct ptsim_log {
	struct ptsim_log_entry entries[PTSIM_LOG_SIZE];
	u64 count;
	u64 counts[PTSIM_WHATS];
};

struct ptsim_moment {
	u64 tsc, mono_ns;
};

void ptsim_log(struct ptsim_log *log, enum ptsim_what what, struct ptsim_moment at,
	       const struct ptsim_stream *s);
int ptsim_report_init(void);
void ptsim_report_exit(void);

int ptsim_pmu_init(void);
void ptsim_pmu_exit(void);
struct ptsim_stream *ptsim_stream_of(int cpu);
struct ptsim_log *ptsim_log_of(int cpu);

/* Parameters of the module, in main.c */
extern unsigned long ptsim_bytes_per_sec;
extern unsigned int ptsim_period_us, ptsim_program_index, ptsim_max_burst, ptsim_inject_overflow,
	ptsim_logging;
extern bool ptsim_long_tnt, ptsim_pip_packets, ptsim_event_trace;
extern const struct ptsim_source *ptsim_source;

#endif
