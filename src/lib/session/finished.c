// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Finished captures: reports them to the caller and to observers, and removes those over the
 * limits. */
#include "session/session.h"

#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "text.h"
#include "units.h"

/* Interval of messages about lost captures. */
#define LOSSES_NS (10 * NSEC_PER_SEC)

void session_publish_counts(struct perf_poke *pp)
{
	struct trigger_session *seen = trigger_session(pp->trigger);

	seen->captures = pp->complete;
	seen->failed = pp->failed;
	seen->pending = pp->pending;
}

static void log_losses(struct perf_poke *pp)
{
	struct losses *losses = &pp->losses;

	if (!losses->unreported)
		return;
	if (!losses->reported_ns)
		log_error(&pp->config.log, losses->error, "output '%s': the capture is lost: %s",
			  pp->config.opts.output, strerror(-losses->error));
	else
		log_error(&pp->config.log, losses->error,
			  "output '%s': %" PRIu64 " more capture%s lost: %s",
			  pp->config.opts.output, losses->unreported,
			  losses->unreported > 1 ? "s are" : " is", strerror(-losses->error));
	losses->unreported = 0;
	losses->reported_ns = clock_ns(CLOCK_MONOTONIC);
}

static void report_to_caller(struct perf_poke *pp, struct capture *done)
{
	const struct perf_poke_capture capture = capture_to_public(&pp->env, done);
	struct losses *losses = &pp->losses;

	if (done->note) {
		pp->moved = pp->complete > !done->error;
		log_write(&pp->config.log, PERF_POKE_LOG_WARN, "%s", done->note);
	}
	if (done->error) {
		losses->unreported++;
		losses->error = done->error;
		/* The first at once, then all within LOSSES_NS together: a reason such as a full
		 * disk affects all captures, of which there may be thousands a second. */
		if (!losses->reported_ns ||
		    clock_ns(CLOCK_MONOTONIC) - losses->reported_ns >= LOSSES_NS)
			log_losses(pp);
	}
	if (pp->config.opts.on_capture)
		pp->config.opts.on_capture(pp->config.opts.capture_ctx, &capture);
}

static void report_removal(struct perf_poke *pp, const struct removal *removal)
{
	const struct config *config = &pp->config;
	const struct kept *dropped = &removal->kept;
	_cleanup_free_ char *path = strfmt("%s/%s", config->opts.output, dropped->name);

	if (removal->error && removal->error != -ENOENT) {
		log_write(&config->log, PERF_POKE_LOG_WARN, "cannot remove %s/%s: %s",
			  config->opts.output, dropped->name,
			  removal->error == -ESTALE ? "it is not the capture that was written"
						    : strerror(-removal->error));
		return;
	}
	if (dropped->size + dropped->shared <= config->opts.max_disk)
		log_write(&config->log, PERF_POKE_LOG_INFO, "removed %s: worse captures are kept",
			  dropped->name);
	else
		log_write(&config->log, PERF_POKE_LOG_WARN,
			  "removed %s: its %s, with %s that captures share, exceed the limit of %s",
			  dropped->name, FORMAT_SIZE(dropped->size + dropped->shared),
			  FORMAT_SIZE(dropped->shared), FORMAT_SIZE(config->opts.max_disk));
	if (config->opts.on_removed && path)
		config->opts.on_removed(config->opts.capture_ctx, path);
}

/* After this, only latencies above the floor of the kept ones are captured. */
static void raise_latency_floor(struct perf_poke *pp, unsigned int kind)
{
	struct trigger_session *seen = trigger_session(pp->trigger);
	uint64_t floor_ns = keep_floor_of_kind(pp->keep, kind);
	bool is_first = true;

	pp->floors_ns[kind] = floor_ns;
	trigger_set_floor(pp->trigger, kind, floor_ns);
	if (floor_ns <= pp->config.thresholds[kind])
		return;
	seen->thresholds_ns[kind] = floor_ns;
	/* The session's threshold is that of its first kind. */
	for (unsigned int i = 0; i < kind; i++)
		is_first &= !pp->config.thresholds[i];
	if (is_first)
		seen->threshold_ns = floor_ns;
}

/* Removes captures over the limits, perhaps this one. */
static void keep_worst_captures(struct perf_poke *pp, const struct capture *done)
{
	unsigned int kind = done->spike.kind;
	char *name = done->path ? strrchr(done->path, '/') : NULL;
	struct kept kept = {
		.kind = kind,
		.latency_ns = done->spike.latency_ns,
		.size = done->size.own,
		.shared = done->size.all - done->size.own,
	};

	struct removal *removal;

	if (done->error || !name || done->spike.poked || done->spike.rtla)
		return;
	kept.name = name + 1;
	kept.dev = done->dev;
	kept.ino = done->ino;
	if (keep_add_capture(pp->keep, &kept))
		return;
	while (keep_take_least(pp->keep, &kept)) {
		removal = calloc(1, sizeof(*removal));
		if (removal) {
			removal->kept = kept;
			writer_add_removal(pp->writer, removal);
		} else {
			free(kept.name);
		}
	}
	raise_latency_floor(pp, kind);
}

int session_report_finished(struct perf_poke *pp)
{
	struct trigger_session *seen = trigger_session(pp->trigger);
	struct removal *removal;
	struct capture *done;
	int nr = 0;

	while ((done = writer_take_finished(pp->writer))) {
		const char *name = done->path ? strrchr(done->path, '/') : NULL;

		pp->pending--;
		pp->complete += !done->error;
		pp->failed += !!done->error;
		pp->poked -= done->error && done->spike.poked;
		if (!done->error && name &&
		    snprintf(seen->last_capture, sizeof(seen->last_capture), "%s%s", seen->output,
			     name) >= (int)sizeof(seen->last_capture))
			seen->last_capture[0] = '\0';
		seen->last_sequence = done->spike.sequence;
		session_publish_counts(pp);
		report_to_caller(pp, done);
		keep_worst_captures(pp, done);
		capture_free(&pp->env, done);
		nr++;
	}
	while ((removal = writer_take_removed(pp->writer))) {
		report_removal(pp, removal);
		removal_free(removal);
	}
	return nr;
}

void session_report_end(struct perf_poke *pp)
{
	_cleanup_free_ char *moved = TAKE_PTR(pp->output.moved);

	log_losses(pp);
	if (!pp->complete || !moved)
		return;
	pp->moved = true;
	log_write(&pp->config.log, PERF_POKE_LOG_WARN,
		  "output '%s': moved or removed while the session ran: its captures are in '%s'",
		  pp->config.opts.output, moved);
}
