// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture.h"

#include "capture/stack.h"

uint64_t capture_history_ns(const struct capture *capture)
{
	uint64_t oldest_ns = capture->facts.oldest_ns;

	if (!oldest_ns)
		return UINT64_MAX;
	return oldest_ns < capture->spike.time_ns ? capture->spike.time_ns - oldest_ns : 0;
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
