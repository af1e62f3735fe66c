// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Reports the captures of a session to its caller and to observers. */
#include "session/state.h"

#include <inttypes.h>
#include <string.h>

#include "clock.h"
/* Interval of messages about lost captures. */
#define LOSSES_NS (10 * NSEC_PER_SEC)

void reports_count(struct perf_poke *pp)
{
	struct trigger_session *seen = trigger_session(pp->trigger);

	seen->captures = pp->complete;
	seen->failed = pp->failed;
	seen->pending = pp->pending;
}

static void say_losses(struct perf_poke *pp)
{
	struct losses *losses = &pp->losses;

	if (!losses->unsaid)
		return;
	if (!losses->said_ns)
		log_error(&pp->config.log, losses->error, "output '%s': the capture is lost: %s",
			  pp->config.opts.output, strerror(-losses->error));
	else
		log_error(&pp->config.log, losses->error,
			  "output '%s': %" PRIu64 " more capture%s lost: %s",
			  pp->config.opts.output, losses->unsaid,
			  losses->unsaid > 1 ? "s are" : " is", strerror(-losses->error));
	losses->unsaid = 0;
	losses->said_ns = clock_ns(CLOCK_MONOTONIC);
}

/* Reports the first loss, then all within LOSSES_NS together: a reason such as a full disk affects
 * all captures, of which there may be thousands a second. */
static void note_loss(struct perf_poke *pp, int error)
{
	struct losses *losses = &pp->losses;

	losses->unsaid++;
	losses->error = error;
	if (!losses->said_ns || clock_ns(CLOCK_MONOTONIC) - losses->said_ns >= LOSSES_NS)
		say_losses(pp);
}

static void tell_caller(struct perf_poke *pp, struct capture *done)
{
	const struct perf_poke_capture capture = capture_told(&pp->env, done);

	if (done->note) {
		pp->moved = pp->complete > !done->error;
		log_write(&pp->config.log, PERF_POKE_LOG_WARN, "%s", done->note);
	}
	if (done->error)
		note_loss(pp, done->error);
	if (pp->config.opts.on_capture)
		pp->config.opts.on_capture(pp->config.opts.capture_ctx, &capture);
}

static void tell_others(struct perf_poke *pp, const struct capture *done)
{
	struct trigger_session *seen = trigger_session(pp->trigger);
	const char *name = done->path ? strrchr(done->path, '/') : NULL;

	if (!done->error && name &&
	    snprintf(seen->last_capture, sizeof(seen->last_capture), "%s%s", seen->output, name) >=
		    (int)sizeof(seen->last_capture))
		seen->last_capture[0] = '\0';
	seen->last_sequence = done->spike.sequence;
	reports_count(pp);
}

int reports_take(struct perf_poke *pp)
{
	struct capture *done;
	int nr = 0;

	while ((done = writer_take(pp->writer))) {
		pp->pending--;
		pp->complete += !done->error;
		pp->failed += !!done->error;
		tell_others(pp, done);
		tell_caller(pp, done);
		rules_keep(&pp->rules, done);
		capture_free(&pp->env, done);
		nr++;
	}
	return nr;
}

void reports_finish(struct perf_poke *pp)
{
	_cleanup_free_ char *moved = NULL;

	say_losses(pp);
	if (!pp->complete || pp->output.fd < 0)
		return;
	moved = output_moved(&pp->output);
	if (!moved)
		return;
	pp->moved = true;
	log_write(&pp->config.log, PERF_POKE_LOG_WARN,
		  "output '%s': moved or removed while the session ran: its captures are in '%s'",
		  pp->config.opts.output, moved);
}
