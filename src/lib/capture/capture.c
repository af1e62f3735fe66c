// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture.h"

#include "capture/stack.h"
#include "clock.h"

struct perf_poke_capture capture_told(const struct capture_env *env, const struct capture *capture)
{
	const struct snapshot_facts *facts = &capture->facts;
	uint64_t time_ns = capture->spike.time_ns;

	return (struct perf_poke_capture){
		.sz = sizeof(struct perf_poke_capture),
		.error = capture->error,
		.path = capture->path,
		.spike = &capture->spike,
		.wall_ns = clock_wall_ns(time_ns),
		.recorder = env->recorder->ops->choice.name,
		.skid_ns = capture->still_ns - time_ns,
		.blind_ns = capture->armed_ns - time_ns,
		.history_ns = !facts->oldest_ns		   ? UINT64_MAX
			      : facts->oldest_ns < time_ns ? time_ns - facts->oldest_ns
							   : 0,
		.events = facts->events,
		.lost = facts->lost,
		.size = facts->size,
		.trace_bytes = facts->trace_bytes,
		.floor_ns = capture->floor_ns,
	};
}

void capture_free(const struct capture_env *env, struct capture *capture)
{
	if (!capture)
		return;
	recorder_snapshot_free(env->recorder, capture->snapshot);
	free(capture->path);
	free(capture->note);
	stack_free(capture->stack.frames, capture->stack.nr);
	stack_free(capture->holder.frames, capture->holder.nr);
	free(capture);
}
