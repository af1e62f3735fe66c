/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/**
 * @file
 * Writes perf.data as a folder that stock perf reads: DIR/data and DIR/kcore_dir.
 *
 *	perfdata_create(&pd, dirfd, "perf.data", events, nr);
 *	perfdata_put_kernel(&buf, &events[0].attr, rootfd);	// before any record with a time
 *	perfdata_put_modules(&buf, &events[0].attr, rootfd);
 *	perfdata_put_tasks(&buf, &events[0].attr, rootfd);
 *	perfdata_write(pd, buf.data, buf.len);
 *	perfdata_write(pd, records, len);	// of the rings, oldest first
 *	perfdata_finish(pd, features, first_ns, last_ns);
 *	perfdata_kcore_dir(perfdata_dirfd(pd), rootfd);
 *	perfdata_free(pd);
 *
 * A struct perfdata_features describes the system. It is read once a session and written to each
 * file.
 *
 * `rootfd` is a descriptor of "/" (O_PATH is enough), for reading proc/ and sys/. Functions that
 * return int return 0 or a negative errno. Objects are not locked: threads may share const ones
 * only.
 */
#ifndef PERFDATA_H
#define PERFDATA_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* perf_event_attr.aux_action, since Linux 6.13. Reserved in older headers. */
#define AUX_ACTION_OFFSET 116
#define AUX_START_PAUSED 1U
#define AUX_PAUSE 2U
#define AUX_RESUME 4U

/** A growing buffer. All zero is empty. After a failure, kept in `error`, appended data is dropped.
 */
struct perfdata_buf {
	uint8_t *data;
	size_t len;
	size_t size; /**< bytes allocated */
	int error;   /**< 0 or -ENOMEM */
};

/** Frees the contents and empties the buffer. */
void perfdata_buf_release(struct perfdata_buf *buf);

/** One kind of event in a file. Read by perfdata_create() only. */
struct perfdata_event {
	struct perf_event_attr attr; /**< as opened; only 128 bytes are written, because older perf
					refuses more */
	const char *name;	     /**< `sys:event` for a tracepoint */
	const uint64_t *ids;	     /**< kernel ids (PERF_EVENT_IOC_ID), one for each CPU */
	size_t nr_ids;
};

/** A file being written. */
struct perfdata;

/** The features that describe the system. */
struct perfdata_features;

/** Creates the folder `dirname` (0700), which must not exist, with the file `data` (0600). All
 * events must have the same sample_type and sample_id_all. On failure the caller removes the
 * folder, if it was created. */
int perfdata_create(struct perfdata **ret, int dirfd, const char *dirname,
		    const struct perfdata_event *events, size_t nr);

/** Appends whole records. After a failure, all later calls fail with the same error. */
int perfdata_write(struct perfdata *pd, const void *records, size_t len);

/** Completes and closes the file: afterwards only perfdata_size(), perfdata_dirfd() and
 * perfdata_free() may be called. If an event has use_clockid, also writes the current offset of
 * that clock to the time of day. `features` may be NULL; the times are those of the oldest and the
 * newest sample, last_ns 0 without samples. */
int perfdata_finish(struct perfdata *pd, const struct perfdata_features *features,
		    uint64_t first_ns, uint64_t last_ns);

/** Size of the file in bytes so far. */
uint64_t perfdata_size(const struct perfdata *pd);

/** Descriptor of the folder, valid until perfdata_free(). */
int perfdata_dirfd(const struct perfdata *pd);

/** Closes and frees. NULL is allowed. */
void perfdata_free(struct perfdata *pd);

/** Reads the description of the system. Unavailable features are omitted. Version and command line
 * are those of the recording program. */
int perfdata_features_new(struct perfdata_features **ret, int rootfd, const char *version,
			  const char *const *argv, size_t argc);

/** Adds the formats of tracepoints (`sys:event`, duplicates are allowed), which perf needs to
 * decode them. Call once. tracefs_fd: its root; O_PATH is enough. Returns 0, -EINVAL: malformed
 * name, -ENOENT: no such tracepoint, or the error of reading it. */
int perfdata_features_add_tracing(struct perfdata_features *features, int tracefs_fd,
				  const char *const *names, size_t nr);

/** Frees. NULL is allowed. */
void perfdata_features_free(struct perfdata_features *features);

/* Appends the MMAP record of the kernel, which must precede all records with a time. It stays the
 * same while the kernel runs, and takes some 0.1 s: the kernel writes all its symbols for it.
 * Appends nothing if addresses are hidden (kptr_restrict). `attr`, here and below: of any event of
 * the file. */
int perfdata_put_kernel(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd);

/** Appends the MMAP records of the kernel's modules, behind that of the kernel. */
int perfdata_put_modules(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd);

/** Appends COMM records of all tasks. Tasks that exit meanwhile are skipped. */
int perfdata_put_tasks(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd);

/** Appends a COMM record with the current name of a forked task at the time of the fork, unless it
 * has exited. record: the PERF_RECORD_FORK. */
int perfdata_put_forked(struct perfdata_buf *buf, const struct perf_event_header *record,
			int rootfd);

/** Appends where the code of a process is mapped, or of all (-1), for traces and stacks of user
 * space. */
int perfdata_put_task_maps(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd,
			   int pid);

/** A cache of the build ids of files. */
struct perfdata_build_ids;

/** rootfd must stay open. */
int perfdata_build_ids_new(struct perfdata_build_ids **ret, int rootfd);

/** Frees. NULL is allowed. */
void perfdata_build_ids_free(struct perfdata_build_ids *ids);

/** A sequence of records; an incomplete last record is ignored. */
struct perfdata_records {
	const void *data;
	size_t len;
};

/** Adds the build ids of files with mapped code. Files that are gone or not ELF are skipped; one
 * is read again only if it has changed. Call once a file, before perfdata_finish(). records: MMAP2
 * from perfdata_put_task_maps() and the kernel, those of running tasks first; other types are
 * ignored. */
int perfdata_put_build_ids(struct perfdata *pd, struct perfdata_build_ids *ids,
			   const struct perfdata_records *records, size_t nr);

/** Appends the task that ran on a CPU when its trace began. The attr's sample_type must be TID,
 * TIME, CPU and IDENTIFIER. */
int perfdata_put_itrace_start(struct perfdata_buf *buf, int cpu, uint32_t pid, uint32_t tid);

/** Appends FINISHED_ROUND: later records are not older than those before the previous round. */
int perfdata_put_finished_round(struct perfdata_buf *buf);

/** The parameters of the Intel PT decoder, in the order of perf's AUXTRACE_INFO
 * (tools/perf/util/intel-pt.h). */
enum perfdata_pt_field {
	PERFDATA_PT_PMU_TYPE,	/**< type of the PT event's attr */
	PERFDATA_PT_TIME_SHIFT, /**< from the ring's first page, like the next two */
	PERFDATA_PT_TIME_MULT,
	PERFDATA_PT_TIME_ZERO,
	PERFDATA_PT_CAP_USER_TIME_ZERO,
	PERFDATA_PT_TSC_BIT, /**< ..._BIT, ..._BITS: masks of attr.config */
	PERFDATA_PT_NORETCOMP_BIT,
	PERFDATA_PT_HAVE_SCHED_SWITCH, /**< PERFDATA_PT_SWITCH_... */
	PERFDATA_PT_SNAPSHOT_MODE,
	PERFDATA_PT_PER_CPU_MMAPS,
	PERFDATA_PT_MTC_BIT,
	PERFDATA_PT_MTC_FREQ_BITS,
	PERFDATA_PT_TSC_CTC_N, /**< ratio of TSC to crystal clock */
	PERFDATA_PT_TSC_CTC_D,
	PERFDATA_PT_CYC_BIT,
	PERFDATA_PT_MAX_NONTURBO_RATIO,
	PERFDATA_PT_FILTER_STR_LEN, /**< set by perfdata_put_pt_info() */
	PERFDATA_PT_CAP_EVENT_TRACE,
	PERFDATA_PT_NR,
};

#define PERFDATA_PT_SWITCH_NONE 0
#define PERFDATA_PT_SWITCH_CPU_WIDE 3 /**< PERF_RECORD_SWITCH_CPU_WIDE */

/** Appends the parameters of the decoder, before the first perfdata_write_auxtrace(). filter:
 * address filter, or NULL. */
int perfdata_put_pt_info(struct perfdata_buf *buf, const uint64_t fields[PERFDATA_PT_NR],
			 const char *filter);

/** Appends the conversion from TSC to perf's time, from the first page of a ring. */
int perfdata_put_time_conv(struct perfdata_buf *buf, const struct perf_event_mmap_page *page);

/** Appends the CPU of each event id; `cpus` has one for each id of an event. */
int perfdata_put_id_index(struct perfdata_buf *buf, const struct perfdata_event *events, size_t nr,
			  const int *cpus);

/** The trace of one CPU. */
struct perfdata_auxtrace {
	uint32_t index; /**< unique to the CPU */
	int cpu;
	uint64_t reference; /**< TSC when the trace was taken; never 0 */
	struct {
		const void *data;
		size_t len;
	} parts[2]; /**< oldest first; a ring wraps around */
};

/** Appends a trace. Traces of a CPU must be in chronological order. */
int perfdata_write_auxtrace(struct perfdata *pd, const struct perfdata_auxtrace *trace);

/** Creates the folder `kcore_dir` in that of a perf.data, with `kallsyms` and `modules`, which may
 * be empty. */
int perfdata_kcore_dir(int dirfd, int rootfd);

/** Adds the kernel's code, located by kallsyms, to the `kcore_dir` of a perf.data: the kernel
 * proper, modules, and BPF programs and trampolines with symbols. Returns 0, -ENOENT: no
 * /proc/kcore, -EPERM: no permission or hidden addresses, -ENODATA: it lacks the kernel's text, or
 * the error of reading or writing. After a failure there is no `kcore`. */
int perfdata_kcore(int dirfd, int rootfd);

/** Creates the same `kcore_dir` in another perf.data by hard links, or else by copying. */
int perfdata_kcore_dir_link(int from_dirfd, int to_dirfd);

#endif
