/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * session/: one armed run, from start to stop. It is the only role that includes all others.
 * session.c decides what happens when; this is the state that its parts share.
 */
#ifndef LIB_SESSION_STATE_H
#define LIB_SESSION_STATE_H

#include "capture/capture.h"
#include "capture/writer.h"
#include "delivery/poke.h"
#include "options/config.h"
#include "recorder/recorder.h"
#include "session/rules.h"
#include "trigger/bucket.h"
#include "trigger/trigger.h"
#include "visible/pins.h"
#include "workload/workload.h"

/* Captures that could not be written. */
struct losses {
	uint64_t unsaid;
	uint64_t said_ns; /* the last message; 0: there was none */
	int error;	  /* of the newest */
};

struct perf_poke {
	struct config config;
	bool started;
	int epoll_fd;		 /* -1 unless started */
	int hotplug_fd;		 /* -1 where there is none */
	struct trigger *trigger; /* from the first start on: statistics outlive the run */
	const struct recorder_ops *recorder_ops;
	struct recorder *recorder;
	struct poke *poke; /* NULL: there are no targets */
	struct workload *workload;
	struct writer *writer;
	struct rules rules;
	struct pins *pins; /* NULL: others do not see the session */
	struct capture_functions functions;
	struct output output;
	struct capture_env env;
	uint64_t complete; /* captures reported without error */
	uint64_t failed;   /* captures and snapshots that were lost */
	uint64_t pending;  /* captures given to the writer and not reported yet */
	struct losses losses;
	bool moved; /* captures are not where they were reported */
	bool held;  /* not armed until a pending capture is reported */
};

#endif
