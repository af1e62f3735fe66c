/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/**
 * @file
 * Writes perf.data as a folder that stock perf reads: DIR/data and DIR/kcore_dir.
 *
 *	perfdata_create(&pd, dirfd, "perf.data", events, nr);
 *	perfdata_put_kernel(&buf, &events[0].attr, rootfd);	// before any record with a time
 *	perfdata_put_tasks(&buf, &events[0].attr, rootfd);
 *	perfdata_write(pd, buf.data, buf.len);
 *	perfdata_write(pd, records, len);	// what came from the rings, oldest first
 *	perfdata_finish(pd, features, first_ns, last_ns);
 *	perfdata_kcore_dir(perfdata_dirfd(pd), rootfd);
 *	perfdata_free(pd);
 *
 * What describes the system is read once a session into a struct perfdata_features and goes into
 * each file.
 *
 * `rootfd` is a descriptor of "/" (O_PATH is enough), below which proc/ and sys/ are read.
 * Functions that return int return 0 or a negative errno. Objects are not locked: const ones may
 * be shared by threads, others belong to one at a time.
 */
#ifndef PERFDATA_H
#define PERFDATA_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes that grow. All zero is empty. The first failure to grow sticks in `error`, and what comes
 * after it is dropped. */
struct perfdata_buf {
	uint8_t *data;
	size_t len;
	size_t size; /**< bytes allocated */
	int error;   /**< 0 or -ENOMEM */
};

/** Free what the buffer holds and make it empty. */
void perfdata_buf_release(struct perfdata_buf *buf);

/** One kind of event in a file. Only read during perfdata_create(). */
struct perfdata_event {
	struct perf_event_attr attr; /**< as it was opened; what is past 128 bytes is not written:
					older perf refuses it */
	const char *name;	     /**< for people, and `sys:event` for a tracepoint */
	const uint64_t *ids;	     /**< kernel ids (PERF_EVENT_IOC_ID), one for each CPU */
	size_t nr_ids;
};

/** A file being written. */
struct perfdata;

/** What a file tells about the system, ready to be written. */
struct perfdata_features;

/**
 * Make the folder `dirname` (0700) with the file `data` (0600) in it.
 *
 * On failure the folder may be there already; like a half-written one, it is the caller's to
 * remove.
 *
 * @param ret  set on success
 * @param dirfd  where, as in openat()
 * @param dirname  name of the folder; must not exist
 * @param events  the kinds of events; all must have the same sample_type and sample_id_all
 * @param nr  their number
 */
int perfdata_create(struct perfdata **ret, int dirfd, const char *dirname,
		    const struct perfdata_event *events, size_t nr);

/** Append whole records. A write that fails fails all later calls too, with the same error. */
int perfdata_write(struct perfdata *pd, const void *records, size_t len);

/**
 * Complete the file and close it.
 *
 * When an event has use_clockid, the relation of that clock to the time of day is taken now and
 * written too.
 *
 * @param pd  file; only perfdata_size(), perfdata_dirfd() and perfdata_free() remain to be called
 * @param features  what to tell about the system; NULL for nothing
 * @param first_ns  time of the oldest sample
 * @param last_ns  time of the newest sample; 0 when there is none
 */
int perfdata_finish(struct perfdata *pd, const struct perfdata_features *features,
		    uint64_t first_ns, uint64_t last_ns);

/** Bytes of the file so far. */
uint64_t perfdata_size(const struct perfdata *pd);

/** The folder, until perfdata_free(). */
int perfdata_dirfd(const struct perfdata *pd);

/** Close and free. NULL does nothing. */
void perfdata_free(struct perfdata *pd);

/**
 * Read what there is to tell about the system. What it does not have is left out.
 *
 * @param ret  set on success
 * @param rootfd  see above
 * @param version  version of the recording program
 * @param argv  its command line, `argc` strings; may be NULL
 * @param argc  their number
 */
int perfdata_features_new(struct perfdata_features **ret, int rootfd, const char *version,
			  const char *const *argv, size_t argc);

/**
 * Add the formats of tracepoints, without which perf cannot decode them. Once.
 *
 * @param features  where to
 * @param tracefs_fd  the root of a tracefs; O_PATH is enough
 * @param names  `sys:event`; repetitions are fine
 * @param nr  their number
 *
 * Returns: 0, -EINVAL: a name is malformed, -ENOENT: no such tracepoint, or what reading it gave.
 */
int perfdata_features_add_tracing(struct perfdata_features *features, int tracefs_fd,
				  const char *const *names, size_t nr);

/** Free. NULL does nothing. */
void perfdata_features_free(struct perfdata_features *features);

/**
 * Append the records that say where the kernel and its modules are. They must come before any
 * record with a time.
 *
 * Where the system hides addresses (kptr_restrict), nothing is appended.
 *
 * @param buf  where to
 * @param attr  of one of the file's events
 * @param rootfd  see above
 */
int perfdata_put_kernel(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd);

/**
 * Append the names of all tasks. Tasks that are gone before they are read are left out.
 *
 * @param buf  where to
 * @param attr  of one of the file's events
 * @param rootfd  see above
 */
int perfdata_put_tasks(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd);

/**
 * Append the name that a task has now, as of when it was forked; none if it is gone.
 *
 * @param buf  where to
 * @param record  the PERF_RECORD_FORK
 * @param rootfd  see above
 */
int perfdata_put_forked(struct perfdata_buf *buf, const struct perf_event_header *record,
			int rootfd);

/**
 * Append where the code of tasks is mapped, for traces and stacks of user space.
 *
 * @param buf  where to
 * @param attr  of one of the file's events
 * @param rootfd  see above
 * @param pid  of the one process, or -1: of all
 */
int perfdata_put_task_maps(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd,
			   int pid);

/** The build ids of files that were read before. */
struct perfdata_build_ids;

/**
 * @param ret  set on success
 * @param rootfd  see above; must stay open
 */
int perfdata_build_ids_new(struct perfdata_build_ids **ret, int rootfd);

/** Free. NULL does nothing. */
void perfdata_build_ids_free(struct perfdata_build_ids *ids);

/** Whole records, one after another; what is behind the last whole one is not looked at. */
struct perfdata_records {
	const void *data;
	size_t len;
};

/**
 * Tell the build ids of the files whose code is mapped. Those that have vanished, or are no ELF
 * files, are left out. Once for a file, before perfdata_finish().
 *
 * @param pd  file
 * @param ids  what is known already; a file is read once, unless it changes
 * @param records  those of type MMAP2, as perfdata_put_task_maps() and the kernel make them, are
 *                 looked at; those of the tasks that still run first
 * @param nr  their number
 */
int perfdata_put_build_ids(struct perfdata *pd, struct perfdata_build_ids *ids,
			   const struct perfdata_records *records, size_t nr);

/** Append which task ran on a CPU when its trace began. For attrs whose sample_type has TID, TIME,
 * CPU and IDENTIFIER. */
int perfdata_put_itrace_start(struct perfdata_buf *buf, int cpu, uint32_t pid, uint32_t tid);

/** Append the promise that what follows is not older than anything before the previous such record.
 */
int perfdata_put_finished_round(struct perfdata_buf *buf);

/** What the Intel PT decoder is told, in the order of perf's AUXTRACE_INFO
 * (tools/perf/util/intel-pt.h). */
enum perfdata_pt_field {
	PERFDATA_PT_PMU_TYPE,	/**< type of the PT event's attr */
	PERFDATA_PT_TIME_SHIFT, /**< of the ring's first page, as the next two */
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

/** Append what the decoder is told. Before the first perfdata_write_auxtrace(). filter: the address
 * filter, or NULL. */
int perfdata_put_pt_info(struct perfdata_buf *buf, const uint64_t fields[PERFDATA_PT_NR],
			 const char *filter);

/** Append how TSC and perf's time relate, from the first page of a ring. */
int perfdata_put_time_conv(struct perfdata_buf *buf, const struct perf_event_mmap_page *page);

/** Append which CPU each id of the events is for; `cpus` has as many as each event has ids. */
int perfdata_put_id_index(struct perfdata_buf *buf, const struct perfdata_event *events, size_t nr,
			  const int *cpus);

/** The trace of one CPU. */
struct perfdata_auxtrace {
	uint32_t index; /**< the same for all of one CPU, and of no other */
	int cpu;
	uint64_t reference; /**< TSC when the trace was taken; never 0 */
	struct {
		const void *data;
		size_t len;
	} parts[2]; /**< the bytes, oldest first, in two pieces as in a ring */
};

/** Append trace. Those of one CPU must come in the order of time. */
int perfdata_write_auxtrace(struct perfdata *pd, const struct perfdata_auxtrace *trace);

/**
 * Make the folder `kcore_dir` with the kernel's symbols (`kallsyms`) and modules (`modules`, may be
 * empty).
 *
 * @param dirfd  folder of a perf.data
 * @param rootfd  see above
 */
int perfdata_kcore_dir(int dirfd, int rootfd);

/**
 * Add the kernel's code (`kcore`): of the kernel proper, of modules, and of BPF programs and
 * trampolines that have symbols.
 *
 * @param dirfd  folder of a perf.data that has a kcore_dir, whose symbols say where the code is
 * @param rootfd  see above
 *
 * Returns: 0, -ENOENT: the kernel has no /proc/kcore; -EPERM: it must not be read, or addresses are
 * hidden; -ENODATA: the kernel's text is not in it; or what reading or writing gave. After a
 * failure there is no `kcore`.
 */
int perfdata_kcore(int dirfd, int rootfd);

/**
 * Make the same `kcore_dir` in another perf.data: by hard links, or by copying where these cannot
 * be made.
 *
 * @param from_dirfd  folder of the perf.data that has it
 * @param to_dirfd  folder of the one that gets it
 */
int perfdata_kcore_dir_link(int from_dirfd, int to_dirfd);

#endif
