/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes and reads archives of captures, with the binaries and host facts that readers elsewhere
 * need.
 */
#ifndef ANALYSIS_ARCHIVE_H
#define ANALYSIS_ARCHIVE_H

#include <json-c/json.h>
#include <perf_poke.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/captures.h"
#include "output_file.h"
#include "util.h"

/* Writes a .tar.zst archive with a single top folder, and a checksum of all of it. */
struct pack;

struct pack_sink {
	int fd;
	/* Or NULL: bytes have been read. A result other than 0 ends the work and is returned. */
	int (*progress)(void *ctx, uint64_t bytes);
	void *ctx;
};

/*
 * Names in the archive are prefixed with top. The sink is not copied.
 *
 * All functions return 0, or a negative errno, possibly with *why (allocated).
 */
int pack_new_archive(struct pack **ret, const struct pack_sink *sink, const char *top,
		     char **why) _must_check_;

/* Changes top. */
int pack_begin_folder(struct pack *pack, const char *top, char **why) _must_check_;

/* Adds a folder and its parents, unless added before; needed before their files. */
int pack_add_folder(struct pack *pack, const char *name, char **why) _must_check_;

/* Adds an open file. Holes are preserved; another link to a file becomes a hard link. */
int pack_add_file(struct pack *pack, const char *name, int fd, char **why) _must_check_;

int pack_add_text(struct pack *pack, const char *name, const void *text, size_t size,
		  char **why) _must_check_;

/* Adds the files of a capture, sorted. Other files are skipped and passed to skipped(), if not
 * NULL.
 */
int pack_add_capture(struct pack *pack, int dirfd, void (*skipped)(void *ctx, const char *name),
		     void *ctx, char **why) _must_check_;

/* Completes the archive. */
int pack_finish_archive(struct pack *pack, char **why) _must_check_;

void pack_free_archive(struct pack *pack);

/* Facts of the machine and its tuning, for readers elsewhere. */

/* Reads them below the root folder rootfd; unknown ones are null. "of_capture" says whether the
 * capture, which may be NULL, is of this machine and kernel. */
json_object *host_facts_json(int rootfd, const struct perf_poke_capture *capture);

/* Adds the facts to an archive. Sets *same to "of_capture". Returns as pack_add_text(). */
int pack_host_facts(struct pack *pack, const struct perf_poke_capture *capture, bool *same,
		    char **why) _must_check_;

/* The files whose code may be in a trace: listed by perf.data, found on this machine. */
struct traced_file {
	struct build_id id;
	bool is_vdso;
	bool in_stack; /* of the spike: it is packed even if the trace does not have its code */
	char *name;    /* path in the traced task */
};

/* Reads the user-space files of a perf.data from the build id table and the MMAP2 records: an
 * allocated array, sorted by build id, without duplicates. Returns 0, or a negative errno with *why
 * (allocated). */
int traced_files_read(int fd, struct traced_file **files, size_t *nr, char **why) _must_check_;

/* Adds the files of user frames of a stack, without duplicates. Returns 0 or -ENOMEM. */
int traced_files_add_frames(struct traced_file **files, size_t *nr,
			    const struct perf_poke_frame *const *frames,
			    size_t nr_frames) _must_check_;

void traced_files_free(struct traced_file *files, size_t nr);

/* Opens the file in perf's cache or at its path. Returns a descriptor, -ENOENT, or -ESTALE if the
 * build id differs. */
int traced_file_open(const struct traced_file *file);

struct symbolizer;

/* Opens its separate debug file, or returns -ENOENT. */
int traced_file_open_debug(const struct traced_file *file, struct symbolizer *symbolizer, int fd);

/* Packs a capture. */
struct capture_pack {
	/* Set by the caller. */
	const struct analysis_hooks *hooks;
	const char *folder;
	bool no_binaries;
	/* Set by the functions below. */
	struct capture_file file;
	int dirfd;     /* of the capture */
	int data;      /* its perf.data/data; -1: a poked perf has the trace */
	uint64_t size; /* bytes to read */
	struct unchanged unchanged;
	struct pack *pack;
	struct build_id *executed; /* files to include; NULL: all */
	size_t nr_executed;
	size_t nr_binaries; /* traced files in the archive */
};

/* Opens the capture, and decodes Intel PT to find which files were executed. Call
 * capture_pack_close() even on failure. Returns 0, or a negative errno with *why. */
int capture_pack_open(struct capture_pack *c, char **why) _must_check_;

/* Writes the archive. What is left out goes to hooks->message. Returns as above. */
int capture_pack_write(struct capture_pack *c, const struct pack_sink *sink,
		       char **why) _must_check_;

void capture_pack_close(struct capture_pack *c);

/* Allocates the name of the folder in the archive: the capture's own, or LAYOUT_ANY_NAME. Returns 0
 * or a negative errno. */
int archive_top_folder(const char *folder, char **top) _must_check_;

/* The name of a capture's archive, allocated: host, name of the capture, and CRC-32 of capture.json
 * and the trace, such as rt7-20261121-093015.042-cpu3-83us-58cb5389.tar.zst. A repeated upload
 * replaces the same object. Returns 0 or a negative errno. */
int archive_file_name(const char *folder, char **name) _must_check_;

/* Whether it is a name that sessions give, such as 20261121-093015.042-cpu3-83us, or
 * LAYOUT_ANY_NAME. */
bool layout_is_capture_name(const char *name);

/* Whether captures contain this path, relative to their folder, as a file or a folder. An untrusted
 * archive may contain nothing else. */
bool layout_has_path(const char *path, mode_t mode);

/* The same for a selftest. */
bool layout_selftest_has_path(const char *path, mode_t mode);

/* Unpacks an untrusted archive of a capture or a selftest. */
struct unpack_limits {
	/* Total bytes of all files, including holes, and of what is between. 0: CAPTURE_MAX_SIZE,
	 * and no more than half of what is free there. */
	uint64_t max_size;
	size_t max_entries; /* files and folders */
};

struct unpack_source {
	int fd;		  /* unless data is set */
	const void *data; /* or NULL */
	size_t size;
	bool any_top; /* accept any name of the top folder */
	/* Or NULL: bytes have been unpacked. A result other than 0 ends the work and is returned.
	 */
	int (*progress)(void *ctx, uint64_t bytes);
	void *ctx;
};

/*
 * Unpacks the contents of the single top folder into the empty folder dirfd. *top (allocated) is
 * the name of the top folder: that of a capture, or LAYOUT_SELFTEST.
 *
 * Only the files of a capture (or of a selftest with its captures) are accepted, and hard links
 * among them. Stops at anything else and at duplicate names; files unpacked before remain.
 *
 * Changes the working directory while it runs. Returns 0, -EINVAL with *why (allocated), or another
 * negative errno with or without *why.
 */
int unpack_archive(const struct unpack_source *source, int dirfd,
		   const struct unpack_limits *limits, char **top, char **why) _must_check_;

/* Unpacks an archive into a temporary folder, for commands that read it once: its path is that of
 * the capture or selftest. Call temporary_release() even on failure. Returns 0, or a negative errno
 * with or without *why. */
int unpack_temporary(struct temporary *folder, int fd, const struct analysis_hooks *hooks,
		     char **why) _must_check_;

#define UNPACK_ENTRIES_MAX 100000

#endif
