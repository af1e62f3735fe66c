/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files and folders that appear complete or not at all: made in a hidden folder beside their place,
 * and moved to it by rename().
 */
#ifndef SHARED_OUTPUT_FILE_H
#define SHARED_OUTPUT_FILE_H

#include <stdbool.h>

#include "util.h"

/* An incomplete file or folder, in a hidden folder of its own. It stays where it is: others refer
 * to it. */
struct temporary {
	char *path; /* of the file or folder */
	int fd;
	bool is_folder;
	char name[32];	 /* of the hidden folder */
	int work, place; /* the hidden folder, which is locked, and its parent */
	struct temporary *next;
};

extern const struct temporary temporary_none;

/*
 * Creates a file or folder, to be published next to `beside`. Removes leftovers of killed processes
 * there first. Never waits for others. Returns 0 or a negative errno. Call temporary_release() even
 * on failure.
 */
int temporary_file_new(struct temporary *temporary, const char *beside) _must_check_;
int temporary_folder_new(struct temporary *temporary, const char *beside) _must_check_;

/* Moves it to its path. Without `force` it replaces nothing: -EEXIST. */
int temporary_publish(struct temporary *temporary, const char *path, bool force) _must_check_;

/* Removes it unless it was published. */
void temporary_release(struct temporary *temporary);

/* For a thread that ends the process: keeps others from publishing any from now on. False: one was
 * published before, and they go on. */
bool temporary_hold_all(void);

/* Removes all that is incomplete, and keeps others from making more: before _exit(). */
void temporary_abandon_all(void);

/* An output file, published by rename once it is complete. It replaces an existing file only with
 * --force. */
struct output_file {
	const char *path;	    /* not a copy */
	struct temporary temporary; /* until published */
	int fd;
	bool force;
};

/* All return 0 or a negative errno: -EEXIST if the file exists and `force` is not set. Call
 * output_file_close() after output_file_open(), even if that failed. */
int output_file_open(struct output_file *file, const char *path, bool force) _must_check_;
int output_file_publish(struct output_file *file) _must_check_;

/* Opens an empty file without a name, beside it. Returns a descriptor or a negative errno. */
int output_file_scratch(const struct output_file *file) _must_check_;

/* Removes the file unless it was published. */
void output_file_close(struct output_file *file);

bool output_file_exists(const char *path);

/* Message for an error of these functions. */
const char *output_file_strerror(int err);

#endif
