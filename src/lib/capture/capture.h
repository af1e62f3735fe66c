/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * capture/: the folder on disk, with perf.data/ and capture.json. It appears under its name once it
 * is complete. May include delivery/, machine/, recorder/, trigger/ and options/.
 */
#ifndef LIB_CAPTURE_H
#define LIB_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "delivery/delivery.h"
#include "io.h"
#include "machine/base.h"
#include "options/config.h"
#include "recorder/recorder.h"
#include "trigger/trigger.h"

/* The folder for captures. It stays open: a session writes into the folder that was checked, even
 * if the path changes. */

/* Prefix of a session's work folder, for incomplete captures. */
#define OUTPUT_WORK ".session-"

struct output {
	const char *path; /* the caller's */
	uid_t owner;	  /* trusted as an owner besides root and the caller; 0: none */
	int fd;		  /* the number is kept when the folder is renewed */
	int work;	  /* the session's folder in it; number kept as well */
	char work_name[40];
	bool made;   /* made by this session: removed if it stays empty */
	char *moved; /* set by output_close(): where it is, if not at its path; the caller's */
};

/*
 * Opens the folder, creates it if missing, and removes incomplete captures of dead sessions.
 * Refuses folders that other users could write to or replace.
 *
 * The work folder is locked while the session lives. Only root and the same user can take its lock.
 */
int output_open(struct output *output, const char *path, uid_t owner, const struct log *log);

/* Recreates the folder if its path no longer leads to it. Then returns 1, with a message in *note
 * that the caller frees. Any thread, but one at a time. */
int output_renew(struct output *output, char **note);

/* The folder's new path if it was moved, else NULL. The caller frees it. */
char *output_moved(const struct output *output);

/* Removes the work folder, if it is open. */
void output_close(struct output *output);

/* Caches functions of earlier spikes: a lookup reads all kernel symbols, which takes longer than
 * the rest of a capture without a trace. */

struct capture_symbols {
	struct kallsyms_place known[256];
	size_t next; /* to be replaced */
};

/* As kallsyms_places(). symbols NULL: no cache. */
int capture_symbols_find(struct capture_symbols *symbols, struct kallsyms_place *places, size_t nr);

struct capture_stack {
	struct perf_poke_frame *frames;
	size_t nr;
	const struct perf_poke_frame *rows[TRIGGER_KERNEL_FRAMES + TRIGGER_USER_FRAMES];
};

struct capture {
	struct capture *next;
	struct perf_poke_spike spike;	 /* function_name points to the copy below */
	struct snapshot *snapshot;	 /* owned; freed after writing */
	uint64_t still_ns;		 /* when the trace was stopped */
	uint64_t armed_ns;		 /* when the session was re-armed */
	struct hardware_counts hardware; /* up to the spike */
	struct stats_snapshot stats;	 /* at the spike */
	uint64_t floor_ns;		 /* minimum latency worth a capture; 0: none */
	bool named;			 /* the first call of spike_complete() was made */
	uint64_t complete_by_ns; /* when it is published without the late thread's latency */
	/* Set by capture_begin() and capture_finish(): */
	int error;
	char *path;
	char *note; /* a note for the user, or NULL */
	dev_t dev;  /* identify its folder */
	ino_t ino;
	struct tree_size size; /* while the session owns data that its captures share */
	char function_name[128];
	struct capture_stack stack, holder; /* of the spike */
	struct json_object *user;	    /* the user stack of `stack`; NULL: not taken */
	struct snapshot_facts facts;
};

/* Shared by all captures of a session. */
struct capture_env {
	const struct config *config;
	struct recorder *recorder;
	struct output *output;
	const struct poke *poke;	 /* NULL: no targets */
	struct capture_symbols *symbols; /* NULL: not kept */
	const struct trigger *trigger;
	const char *workload; /* its name */
};

/* What the record of the trigger has of a spike. */
struct perf_poke_spike spike_from_record(const struct config *config,
					 const struct trigger_spike *seen);

/* What is told of it, which refers to it. */
struct perf_poke_capture capture_to_public(const struct capture_env *env,
					   const struct capture *capture);

/* Writes the trace to the work folder. renews: the folder may be made again if it was moved, which
 * removes all captures that have begun. Sets capture->error. */
void capture_begin(const struct capture_env *env, struct capture *capture, bool renews);

/* Writes the rest, and renames the capture to its name. Sets capture->error, and path on success.
 * False: the late thread has not run yet. Call again. */
bool capture_finish(const struct capture_env *env, struct capture *capture);

/* Writes capture.json, see perf-poke-capture(5), into the folder dirfd. */
int capture_json_write(const struct capture_env *env, const struct capture *capture, int dirfd);

void capture_free(const struct capture_env *env, struct capture *capture);

/* The thread that writes captures, so that a slow disk does not delay the next spike. */

struct removal;
struct writer;

/* env must outlive the writer. */
int writer_start(struct writer **ret, const struct capture_env *env);

/* Readable when there is a capture or a removal to take. */
int writer_fd(const struct writer *writer);

/* Takes ownership of the capture. */
void writer_add_capture(struct writer *writer, struct capture *capture);

/* Takes ownership of a removal. */
void writer_add_removal(struct writer *writer, struct removal *removal);

/* A removal that was done or failed, as writer_take_finished(). */
struct removal *writer_take_removed(struct writer *writer);

/* A capture that was written or failed; the caller owns it. NULL: none. */
struct capture *writer_take_finished(struct writer *writer);

/* Waits a moment for something to take. -ETIMEDOUT: the file system does not answer. */
int writer_wait(struct writer *writer) _must_check_;

/*
 * Waits until all captures are written and all removals done, and ends the thread, which closes the
 * output folder. What was not taken can still be taken. -ETIMEDOUT: the thread waits for a file
 * system that does not answer, and goes on with `env` and the writer, should it answer yet.
 */
int writer_finish(struct writer *writer);

/* Frees what was not taken; folders of captures stay. NULL is ignored. Not for a writer that did
 * not finish. */
void writer_free(struct writer *writer);

/* Decides which captures to keep: the worst of each kind, within limits of number and size. */

struct keep;

/* A complete capture. */
struct kept {
	unsigned int kind;
	uint64_t latency_ns;
	uint64_t size;	 /* bytes that no other capture shares */
	uint64_t shared; /* bytes shared with the others, counted once */
	char *name;	 /* in the folder for captures */
	/* The folder's identity: another may have taken its name. */
	dev_t dev;
	ino_t ino;
};

/* worst: captures of each kind; max_size: bytes of all; UINT64_MAX: no limit. */
int keep_worst_new(struct keep **ret, uint64_t worst, uint64_t max_size);

/* The name is copied. */
int keep_add_capture(struct keep *keep, const struct kept *kept);

/* Takes the capture with the smallest latency over a limit. The caller frees its name. False:
 * none. */
bool keep_take_least(struct keep *keep, struct kept *dropped);

/* Latencies of this kind must exceed this to be kept. */
uint64_t keep_floor_of_kind(const struct keep *keep, unsigned int kind);

/* NULL does nothing. */
void keep_free(struct keep *keep);

/* Removes captures of this session, and nothing else. A capture is renamed before deletion, so
 * partial ones are never visible. */

struct removal {
	struct removal *next;
	struct kept kept; /* its name is owned */
	int error;
};

/* Moves it to the work folder. -ENOENT: it is gone; -ESTALE: another folder has its name, and
 * stays. */
int removal_begin(const struct output *output, const struct kept *kept);

/* Deletes all of these. What cannot be deleted goes with the work folder. */
void removals_finish(const struct output *output);

/* NULL is ignored. */
void removal_free(struct removal *removal);

#endif
