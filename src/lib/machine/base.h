/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * machine/: the kernel and the machine: messages and probes, symbols, tracefs, events, CPUs and
 * their counters, schedulers. It knows nothing of sessions. May include perf_poke.h, src/shared and
 * the structs of bpf/.
 */
#ifndef LIB_MACHINE_BASE_H
#define LIB_MACHINE_BASE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf_poke.h"
#include "util.h"

/* Messages go to the caller's function only. */
struct log {
	perf_poke_log_fn fn; /* NULL: messages are dropped */
	void *ctx;
};

void log_write(const struct log *log, enum perf_poke_log_level level, const char *format, ...)
	_printf_(3, 4);

/* Logs why something failed and returns `error`, for use in a return statement. */
int log_error(const struct log *log, int error, const char *format, ...) _printf_(3, 4);

/* Enclose a function whose error perf_poke__last_error() returns. last_error_return() returns ret.
 */
void last_error_clear(void);
int last_error_return(int ret);

/* Until log_release_libbpf(), logs libbpf's messages of this thread as debug messages. libbpf has
 * one print function for the process: messages of other threads still go to the caller's, which
 * log_release_libbpf() restores. Calls nest: pass what log_capture_libbpf() returned. */
const struct log *log_capture_libbpf(const struct log *log);
void log_release_libbpf(const struct log *outer);

/* Rows of perf_poke__check(): a capability, how to probe it, and what to do without it. */

/* What the probe found, or why the capability is missing. */
struct probe_detail {
	char text[256];
};

struct probe {
	const char *name; /* NULL: not a row */
	const char *remedy;
	bool required;
	/* Returns 0 or a negative errno. If the function sets no detail, the errno is the
	 * detail. */
	int (*try)(struct probe_detail *detail);
	const char *purpose; /* NULL: the help of the choice */
};

void probe_set_detail(struct probe_detail *detail, const char *format, ...) _printf_(2, 3);

/* A log that keeps the first error message as the detail. */
struct log probe_detail_log(struct probe_detail *detail);

/* Whether the kernel's BTF has a function of this name. */
bool kfunc_exists(const char *name);

/* Whether this kernel function can have a fentry program. Attaches one that does nothing. */
bool function_has_trampoline(const char *function);

/* Privileges of this process. */

/* Lists the capabilities that a session needs and this process lacks, as "CAP_BPF, CAP_PERFMON".
 * Returns 0 if none is missing, else -EPERM. */
int caps_missing(bool realtime, char *names, size_t size);

/* Whether lockdown=confidentiality is active, which denies kernel memory even to root. False if
 * unknown. */
bool caps_locked_down(void);

/* BPF arrays mapped into user space (BPF_F_MMAPABLE) and read without system calls. */
struct bpf_map;

/* `size` rounded up to whole pages. */
size_t page_aligned_size(size_t size);

/* The caller unmaps the *size bytes at *ret. */
int bpf_map_memory(void **ret, size_t *size, const struct bpf_map *map);

/* Kernel symbols, read from /proc/kallsyms at each call. */
struct symbol_range {
	uint64_t start, size; /* size 0: unknown */
	bool global;
};

/* The address of a function. -ENOENT: no such symbol; -ENOTUNIQ: several have this name, and
 * `address` is the first; -EPERM: the kernel hides its addresses. */
int kallsyms_find(const char *name, uint64_t *address);

/* Whether the kernel lists this symbol; data symbols need CONFIG_KALLSYMS_ALL. */
bool kallsyms_has(const char *name);

/* Returns -EPERM if the kernel hides its addresses, else 0. */
int kallsyms_check(void);

/* The function that contains an address. */
struct kallsyms_place {
	uint64_t address;
	uint64_t start; /* of the function; 0: unknown */
	uint64_t end;	/* of a function of the kernel proper, which stays; else 0 */
	char name[128];
	char module[64]; /* empty: not in a module */
};

/* Finds the functions of many addresses at once. Code that is gone has none. */
int kallsyms_places(struct kallsyms_place *places, size_t nr);

/* All functions of this name, in the file's order; the caller frees them. Each ends where the next
 * symbol begins. -ENOENT, -EPERM as above. */
int kallsyms_ranges(const char *name, struct symbol_range **ranges, size_t *nr);

/* From the first function to the end of the last. */
int kallsyms_whole(struct symbol_range *range);

/* Describes an error of the functions above. */
const char *kallsyms_strerror(int err);

/* Access to tracefs, mounted or not. */

/* Returns a directory descriptor of tracefs, owned by the caller. If tracefs is not mounted, it
 * belongs to a detached mount that goes away with it. -EPERM: may not be mounted; -EACCES: mounted
 * but not readable; -ENODEV: no tracefs in the kernel. */
int tracefs_open(void);

/* Describes an error of opening tracefs or one of its files: names the missing privilege. */
const char *tracefs_strerror(int err);

/* Whether the kernel has an event such as "timer/hrtimer_start". */
bool tracefs_has_event(const char *name);

/* Reads a file of an event such as "timer/hrtimer_start" or "timer:hrtimer_start". Returns 0 or a
 * negative errno, for tracefs_strerror(). */
int tracefs_read_event(const char *name, const char *file, char *text, size_t size);

/* perf's id of an event; the same errors, and 0 then. */
int tracefs_event_id(const char *name, uint64_t *id);

/* That of the tracepoint in bpf_trace_printk(). */
uint64_t tracefs_printk_id(void);

/* Kernel settings that a session changes and restores. Before a change, the old value is written to
 * a file that the session keeps locked. If LOCK_EX succeeds, the session is dead, and the owner of
 * the lock restores the settings. Settings changed by others since are reported and left alone,
 * even if they have the old value. */

/* Like the settings, /run does not survive a reboot. */
#define JOURNAL_DIR "/run/perf-poke"

struct journal;

/* Settings are paths, absolute or relative to tracefs. The caller keeps tracefs. */
int journal_open(struct journal **ret, const char *dir, int tracefs, const struct log *log);

/* Writes `value`, spelled as the kernel shows it, to a file. Also call it if the file has this
 * value: then changes by others are reported. */
int journal_set_value(struct journal *journal, const char *name, const char *value);
/* Sets a word in a file of options, where NO_ before a word means off. */
int journal_set_option(struct journal *journal, const char *name, const char *word, bool on);
/* Makes a folder that is removed at the end. */
int journal_mkdir(struct journal *journal, const char *name);

/* Adds an event trigger of ftrace, as "traceoff if FILTER", to a file of triggers. */
int journal_add_trigger(struct journal *journal, const char *name, const char *trigger);

/* Sets again what was set and has this prefix: a CPU that comes back has the settings that it has
 * after boot. Missing files are no failure. */
int journal_renew(const struct journal *journal, const char *prefix);

/* Restores all settings, the last one first. Failures are left to journal_recover(). So are the
 * tracers' settings if `busy`: changing them would stop another process's tracer. NULL is
 * ignored. */
void journal_close(struct journal *journal, bool busy);

/* Leaves all settings to journal_recover(), and frees. NULL is ignored. */
void journal_leave(struct journal *journal);

/* In a child of fork(): frees, and restores nothing. NULL is ignored. */
void journal_abandon(struct journal *journal);

/* Restores settings of dead sessions. Returns the number of those that were killed, or a negative
 * errno. */
int journal_recover(const char *dir, int tracefs, bool busy, const struct log *log);

/* TSC, the clock of Intel PT, and its conversion to perf's clock. */

/* 1 on architectures without TSC, which have no Intel PT either. */
static inline uint64_t tsc_read_counter(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 1;
#endif
}

/* The kernel's conversion of TSC to perf's clock. It changes a second after boot, when the kernel
 * has refined the calibration of TSC, and after a suspend. */
struct tsc_clock {
	int fd;
	const struct perf_event_mmap_page *page; /* NULL: closed */
};

int tsc_clock_open(struct tsc_clock *clock);
/* Reads the current conversion. */
void tsc_clock_read(const struct tsc_clock *clock, struct perf_event_mmap_page *page);
void tsc_clock_close(struct tsc_clock *clock);

/* False if the kernel does not use TSC as its clock; the page is stale then. */
static inline bool tsc_is_perf_clock(const struct perf_event_mmap_page *page)
{
	return page->cap_user_time_zero && page->time_mult;
}

/* See cap_user_time_zero in linux/perf_event.h. */
static inline uint64_t tsc_to_perf_ns(const struct perf_event_mmap_page *page, uint64_t tsc)
{
	uint64_t quotient = tsc >> page->time_shift;
	uint64_t remainder = tsc & ((1ULL << page->time_shift) - 1);

	return page->time_zero + quotient * page->time_mult +
	       ((remainder * page->time_mult) >> page->time_shift);
}

/* Extends the 56 bits that Intel PT records. `later` is a TSC within a few years of it. */
static inline uint64_t tsc_extend_56_bits(uint64_t tsc56, uint64_t later)
{
	const uint64_t mask = (1ULL << 56) - 1;
	uint64_t tsc = (later & ~mask) | tsc56;

	return tsc > later ? tsc - mask - 1 : tsc;
}

/* Schedulers and priorities of threads, in rtla's notation. */

/* The kernel's struct sched_attr, whose header conflicts with <sched.h>. */
struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Parses `f:PRIORITY`, `r:PRIORITY`, `o:NICE` or `d:RUNTIME:PERIOD` (times). */
int scheduling_parse(const char *text, struct scheduling *attr);

/* Formats the notation of scheduling_parse(). */
void scheduling_format(const struct scheduling *attr, char *text, size_t size);

/* Why the kernel may have refused it, to append to the message; may be "". */
const char *scheduling_advice(const struct scheduling *attr, int err);

int scheduling_set(int tid, const struct scheduling *attr);
int scheduling_get(int tid, struct scheduling *attr);

/* CPU hotplug during a session, from uevents. */
struct hotplug_event {
	int cpu;
	bool online;
};

/* Returns a socket that is readable when there may be an event, or a negative errno. */
int hotplug_open(const struct log *log);

/* Reads the oldest event: 1, or 0 if there is none. -ENOBUFS: events were lost. */
int hotplug_read(int fd, struct hotplug_event *event);

/* Returns 1, or 0 if the uevent is not about a CPU. */
int hotplug_parse(const char *uevent, size_t len, struct hotplug_event *event);

/* Counters of what the machine did besides the kernel's work. They are read when a session is armed
 * and at a spike, without an interrupt of the CPU that they are of. */
struct json_object;
struct hardware;

enum hardware_counter {
	HARDWARE_SMIS,	/* system management interrupts */
	HARDWARE_STEAL, /* ns that the hypervisor gave to other guests */
	HARDWARE_NMIS,
	HARDWARE_THROTTLES, /* thermal, of core and package */
	HARDWARE_NR,
};

/* Counters of one CPU, or their increase; UINT64_MAX: unknown. */
struct hardware_counts {
	uint64_t time_ns;
	uint64_t counts[HARDWARE_NR];
	uint64_t steal_ns;	/* since boot */
	uint64_t late_steal_ns; /* since the scheduler's last update before the spike */
};

/* Omits what this machine cannot count. Returns 0 or -ENOMEM. */
int hardware_open(struct hardware **ret, const int *cpus, size_t nr_cpus);
void hardware_free(struct hardware *hardware);

/* The perf event that counts the SMIs of the i-th CPU from hardware_open() on, or -1. */
int hardware_smi_fd(const struct hardware *hardware, size_t i);

/* Reads all counts for the first time. */
void hardware_restart_counts(struct hardware *hardware);

/* The increase since the last reading, and the time; smis: what the event has counted, UINT64_MAX:
 * unknown. All unknown if the CPU is negative or not watched. */
struct hardware_counts hardware_take_rise(struct hardware *hardware, int cpu, uint64_t smis);

/* at_spike: steal time since boot, as known to the scheduler at the spike. */
void hardware_set_late_steal(struct hardware_counts *rise, uint64_t at_spike);

/* Includes the idle states of the CPU. */
struct json_object *hardware_json(const struct hardware_counts *rise, int cpu);

extern const struct probe hardware_probe;

/* Events by file descriptor, which libperf's public headers do not offer. */
struct perf_cpu_map;
struct perf_evsel;

/* Call before any other function of libperf: reads the page size and silences libperf. */
void evsel_init_libperf(void);

/* Raises the soft limit of open files to the hard limit: each event takes a descriptor per CPU. */
void evsel_raise_nofile(void);

/* Opens a per-CPU event on each CPU of the map, with close-on-exec. */
int evsel_open_on_cpus(struct perf_evsel *evsel, struct perf_cpu_map *cpus);

/* The descriptor on the nth CPU of the map. */
int evsel_fd(struct perf_evsel *evsel, size_t cpu);

/* Closes and frees. Most versions of perf_evsel__delete() leak the ids and the maps. NULL is
 * ignored. */
void evsel_delete(struct perf_evsel *evsel);

/* Options of a recorder. They are here, because options/ fills them in and recorder/ reads them. */
struct recorder_config {
	const struct perf_poke_opts *opts; /* 0 and NULL: the recorder's default */
	const int *cpus;
	size_t nr_cpus;
	bool osnoise; /* the osnoise tracer runs: record its events by default */
	/* Session folder, on the file system of the captures, for data that they share. */
	int work_fd;
};

#endif
