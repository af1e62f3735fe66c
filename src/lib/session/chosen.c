// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What a session has chosen: its name, CPUs and folder, and the values of options that were auto.
 */
#include "session/session.h"

const char *perf_poke__session(const struct perf_poke *pp)
{
	return pp->pins ? pp->config.opts.session : NULL;
}

int perf_poke__output(const struct perf_poke *pp)
{
	return pp->started ? pp->output.fd : -ENOTCONN;
}

const char *perf_poke__chosen(const struct perf_poke *pp, enum perf_poke_axis axis)
{
	switch (axis) {
	case PERF_POKE_AXIS_RECORDER:
		return pp->recorder_ops->choice.name;
	case PERF_POKE_AXIS_WORKLOAD:
		return workload_name(pp->config.workload);
	case PERF_POKE_AXIS_DELIVERY:
		return pp->poke ? poke_delivery(pp->poke) : "none";
	default:
		return NULL;
	}
}

const int *perf_poke__cpus(const struct perf_poke *pp, size_t *nr)
{
	*nr = pp->config.nr_cpus;
	return pp->config.cpus;
}
