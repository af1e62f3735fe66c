// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/rules.h"

#include <inttypes.h>
#include <string.h>
#include <sys/timerfd.h>

#include "clock.h"
#include "text.h"
#include "trigger/trigger.h"
#include "units.h"

int rules_start(struct rules *rules)
{
	const struct config *config = rules->config;

	memset(rules->floors_ns, 0, sizeof(rules->floors_ns));
	return keep_new(&rules->keep, config->opts.keep_worst, config->opts.max_disk);
}

void rules_cool(struct rules *rules, uint64_t spike_ns)
{
	uint64_t cooldown_ns = rules->config->opts.cooldown_ns, end_ns;

	if (__builtin_add_overflow(spike_ns, cooldown_ns, &end_ns))
		end_ns = UINT64_MAX;
	if (cooldown_ns)
		trigger_set_quiet(rules->trigger, end_ns);
}

static void say_dropped(const struct config *config, const struct kept *dropped)
{
	if (dropped->size + dropped->shared <= config->opts.max_disk)
		log_write(&config->log, PERF_POKE_LOG_INFO, "removed %s: worse captures are kept",
			  dropped->name);
	else
		log_write(&config->log, PERF_POKE_LOG_WARN,
			  "removed %s: its %s, with %s that captures share, exceed the limit of %s",
			  dropped->name, FORMAT_SIZE(dropped->size + dropped->shared),
			  FORMAT_SIZE(dropped->shared), FORMAT_SIZE(config->opts.max_disk));
}

/* Captures are renamed before deletion, so partial ones are never visible. */
static void drop(struct rules *rules, const struct kept *dropped)
{
	const struct config *config = rules->config;
	_cleanup_free_ char *path = strfmt("%s/%s", config->opts.output, dropped->name);
	struct removal *removal;
	int err = removal_begin(&removal, rules->output, dropped);

	if (err && err != -ENOENT)
		log_write(&config->log, PERF_POKE_LOG_WARN, "cannot remove %s/%s: %s",
			  config->opts.output, dropped->name,
			  err == -ESTALE ? "it is not the capture that was written"
					 : strerror(-err));
	if (err && err != -ENOENT)
		return;
	if (!err)
		writer_remove(rules->writer, removal);
	say_dropped(config, dropped);
	if (config->opts.on_removed && path)
		config->opts.on_removed(config->opts.capture_ctx, path);
}

/* The session's threshold is that of its first kind. */
static bool is_first(const struct config *config, unsigned int kind)
{
	for (unsigned int i = 0; i < kind; i++) {
		if (config->thresholds[i])
			return false;
	}
	return true;
}

static void raise_floor(struct rules *rules, unsigned int kind)
{
	struct trigger_session *seen = trigger_session(rules->trigger);
	uint64_t floor_ns = keep_floor(rules->keep, kind);

	rules->floors_ns[kind] = floor_ns;
	trigger_set_floor(rules->trigger, kind, floor_ns);
	if (floor_ns <= rules->config->thresholds[kind])
		return;
	seen->thresholds_ns[kind] = floor_ns;
	if (is_first(rules->config, kind))
		seen->threshold_ns = floor_ns;
}

void rules_keep(struct rules *rules, const struct capture *done)
{
	unsigned int kind = done->spike.kind;
	char *name = done->path ? strrchr(done->path, '/') : NULL;
	struct kept kept = {
		.kind = kind,
		.latency_ns = done->spike.latency_ns,
		.size = done->size.own,
		.shared = done->size.all - done->size.own,
	};

	if (done->error || !name || done->spike.poked || done->spike.rtla)
		return;
	kept.name = name + 1;
	kept.dev = done->dev;
	kept.ino = done->ino;
	if (keep_add(rules->keep, &kept))
		return;
	while (keep_drop(rules->keep, &kept)) {
		drop(rules, &kept);
		free(kept.name);
	}
	raise_floor(rules, kind);
}

void rules_stop(struct rules *rules)
{
	keep_free(TAKE_PTR(rules->keep));
}
