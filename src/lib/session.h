/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_SESSION_H
#define LIB_SESSION_H

#include "bucket.h"
#include "capture.h"
#include "clocks.h"
#include "config.h"
#include "keep.h"
#include "pins.h"
#include "poke.h"
#include "recorder.h"
#include "trigger.h"
#include "workload.h"
#include "writer.h"

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
	struct recorder *recorder;
	struct poke *poke; /* NULL: there are no targets */
	struct workload *workload;
	struct writer *writer;
	struct keep *keep;
	uint64_t floors_ns[TRIGGER_KINDS]; /* what keep lets in; 0: all */
	int warmup_fd;	   /* readable when it is over; -1: there is none, or not any more */
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
	struct clocks clocks;
};

#endif
