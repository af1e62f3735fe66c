/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of the fields of Perfetto's protos/perfetto/trace/, each in the file named by its enum.
 */
#ifndef ANALYSIS_PFTRACE_FIELDS_H
#define ANALYSIS_PFTRACE_FIELDS_H

enum { TRACE_PACKET = 1 }; /* trace.proto */

enum { /* trace_packet.proto */
       PACKET_CLOCK_SNAPSHOT = 6,
       PACKET_TIMESTAMP = 8,
       PACKET_SEQUENCE_ID = 10,
       PACKET_TRACK_EVENT = 11,
       PACKET_INTERNED_DATA = 12,
       PACKET_SEQUENCE_FLAGS = 13,
       PACKET_TRACE_CONFIG = 33,
       PACKET_SYSTEM_INFO = 45,
       PACKET_TIMESTAMP_CLOCK_ID = 58,
       PACKET_TRACK_DESCRIPTOR = 60,
       PACKET_PERF_SAMPLE = 66,
};
enum { SEQ_INCREMENTAL_STATE_CLEARED = 1, SEQ_NEEDS_INCREMENTAL_STATE = 2 };

enum { /* track_event/track_event.proto */
       EVENT_CATEGORY_IIDS = 3,
       EVENT_DEBUG_ANNOTATIONS = 4,
       EVENT_TYPE = 9,
       EVENT_NAME_IID = 10,
       EVENT_TRACK_UUID = 11,
       EVENT_FLOW_IDS = 47,
       EVENT_TERMINATING_FLOW_IDS = 48,
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3 };

enum { /* track_event/debug_annotation.proto */
       ANNOTATION_NAME_IID = 1,
       ANNOTATION_BOOL = 2,
       ANNOTATION_UINT = 3,
       ANNOTATION_DOUBLE = 5,
       ANNOTATION_STRING = 6,
       ANNOTATION_STRING_IID = 17,
};

enum { /* track_event/track_descriptor.proto */
       TRACK_UUID = 1,
       TRACK_NAME = 2,
       TRACK_PROCESS = 3,
       TRACK_THREAD_OF = 4,
       TRACK_PARENT_UUID = 5,
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };		  /* track_event/process_descriptor.proto */
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 }; /* track_event/thread_descriptor.proto */

enum {
	CLOCKS = 1,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_PRIMARY = 2
};				  /* clock_snapshot.proto */
#define BUILTIN_CLOCK_MONOTONIC 3 /* common/builtin_clock.proto */
enum {
	SYSTEM_INFO_UTSNAME = 1,
	UTSNAME_SYSNAME = 1,
	UTSNAME_RELEASE = 3,
	UTSNAME_MACHINE = 4
};					  /* common/system_info.proto */
enum { CONFIG_UNIQUE_SESSION_NAME = 22 }; /* config/trace_config.proto */

enum { /* profiling/profile_packet.proto */
       SAMPLE_CPU = 1,
       SAMPLE_PID = 2,
       SAMPLE_TID = 3,
       SAMPLE_CALLSTACK_IID = 4,
       SAMPLE_CPU_MODE = 5,
};
enum { MODE_KERNEL = 1, MODE_USER = 2 };
enum { INTERNED_FRAMES = 6, INTERNED_CALLSTACKS = 7, INTERNED_MAPPINGS = 19 };
enum { /* profiling/profile_common.proto */
       MAPPING_BUILD_ID = 2,
       MAPPING_PATH_IDS = 7,
       FRAME_FUNCTION_IID = 2,
       FRAME_MAPPING_IID = 3,
       FRAME_REL_PC = 4,
       CALLSTACK_FRAME_IDS = 2,
};

#endif
