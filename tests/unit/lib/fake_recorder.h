/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A fake recorder: its snapshots are numbers, and its perf.data contains the number. */
#ifndef TEST_LIB_FAKE_RECORDER_H
#define TEST_LIB_FAKE_RECORDER_H

#include "capture/capture.h"
#include "options/config.h"

struct snapshot {
	unsigned int number;
};

struct fake_recorder {
	struct recorder recorder;
	int error;	  /* result of write() after writing */
	const char *also; /* NULL, or another file for write() to make */
	void (*on_write)(unsigned int number);
	/* Changed by one thread, read when it is idle or gone. */
	unsigned int written, freed;
	int spike_cpu;
};

/* The only instance: a snapshot does not know its recorder. */
extern struct fake_recorder fake;

void fake_reset(void);

/* Fixture: a folder for captures in the test's folder, in config.opts.output. */
extern struct config config;
extern struct capture_env env;
extern struct output captures;

int make_output(void **state);
int remove_output(void **state);

/* With a spike now, 83.5 us late on CPU 3. */
struct capture *fake_capture(unsigned int number);

/* Writes it as the writer's thread does. */
void write_capture(struct capture *capture);

/* Number of files and folders in the folder for captures and in the session's folder, without the
 * latter itself. */
unsigned int fake_entries(const struct capture_env *env);

#endif
