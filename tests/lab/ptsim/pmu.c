// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMU, with the states of the driver of hardware (arch/x86/events/intel/pt.c): what it does by
 * setting and clearing TraceEn is here done by trace_on() and trace_off(), and what hardware writes
 * meanwhile is written from a timer, and up to the present moment at each call.
 *
 * All of it runs with interrupts off. Nothing is done about NMIs: no other PMU of the lab's
 * machines makes them.
 */
#include "compat.h"
#include "ptsim.h"

#include <asm/msr.h>
#include <asm/tsc.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

struct ptsim_cpu {
	struct perf_output_handle handle; /* handle.event: the event that is here */
	struct hrtimer timer;
	struct ptsim_stream stream;
	struct ptsim_log log;
	bool tracing; /* TraceEn */
	bool running; /* between start and stop: tracing or paused */
	bool pause_allowed, resume_allowed;
};

static DEFINE_PER_CPU(struct ptsim_cpu, ptsim_cpus);

/* Not exported to modules */
static long (*output_copy_aux)(struct perf_output_handle *aux_handle,
			       struct perf_output_handle *handle, unsigned long from,
			       unsigned long to);

struct ptsim_stream *ptsim_stream_of(int cpu)
{
	return &per_cpu(ptsim_cpus, cpu).stream;
}

struct ptsim_log *ptsim_log_of(int cpu)
{
	return &per_cpu(ptsim_cpus, cpu).log;
}

static struct ptsim_moment present(void)
{
	return (struct ptsim_moment){ .tsc = rdtsc_ordered(), .mono_ns = ktime_get_mono_fast_ns() };
}

/* -- The trace
 * -----------------------------------------------------------------------------------------------------
 */

static bool injected(unsigned int *count)
{
	unsigned int old = READ_ONCE(*count);

	return old && cmpxchg(count, old, old - 1) == old;
}

static bool has_room(const struct ptsim_stream *s)
{
	return ptsim_aux_room(s->aux) >= s->chunk_max + 2 * ptsim_source->edge_max;
}

/* Writes what was executed until now, and returns whether there was room for it. */
static bool write_until(struct ptsim_cpu *c, u64 tsc)
{
	struct ptsim_stream *s = &c->stream;

	s->burst = min_t(u64, READ_ONCE(ptsim_max_burst), ptsim_aux_room(s->aux));
	if (has_room(s) && injected(&ptsim_inject_overflow))
		ptsim_source->overflow(s, tsc);
	while (has_room(s)) {
		if (!ptsim_source->next(s, tsc))
			return true;
	}
	return false;
}

static void trace_on(struct ptsim_cpu *c, struct perf_event *event, u64 tsc)
{
	if (c->tracing || ptsim_is_paused(event) || !has_room(&c->stream))
		return;
	ptsim_source->start(&c->stream, tsc);
	c->tracing = true;
}

/* False: the area was full before. */
static bool trace_off(struct ptsim_cpu *c, u64 tsc)
{
	bool room = true;

	if (!c->tracing)
		return true;
	if (!ptsim_source->by_itself)
		room = write_until(c, tsc);
	ptsim_source->stop(&c->stream, tsc);
	c->tracing = false;
	return room && (!ptsim_source->by_itself || has_room(&c->stream));
}

static void log_call(struct ptsim_cpu *c, enum ptsim_what what, struct ptsim_moment at)
{
	ptsim_log(&c->log, what, at, &c->stream);
}

static ktime_t tick_period(void)
{
	return ns_to_ktime(max(READ_ONCE(ptsim_period_us), 10U) * 1000ULL);
}

/* -- The output
 * ----------------------------------------------------------------------------------------------------
 */

static bool output_begin(struct ptsim_cpu *c, struct perf_event *event)
{
	struct ptsim_aux *aux = perf_aux_output_begin(&c->handle, event);

	if (!aux)
		return false;
	aux->head = c->handle.head;
	if (aux->overwrite)
		aux->head &= aux->size - 1;
	aux->room = c->handle.size;
	aux->pending = 0;
	c->stream.aux = aux;
	if (has_room(&c->stream))
		return true;
	perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
	perf_aux_output_end(&c->handle, 0);
	return false;
}

static void output_end(struct ptsim_cpu *c, bool room)
{
	struct ptsim_aux *aux = c->stream.aux;

	if (!room)
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
	if (aux->overwrite) {
		/* The place within the area, and all of it as the size: what hardware's driver says
		 */
		c->handle.head = aux->head & (aux->size - 1);
		perf_aux_output_end(&c->handle, aux->size);
	} else {
		perf_aux_output_end(&c->handle, aux->pending);
	}
}

/* What hardware's interrupt does in full-trace mode: hand over what was written, and end if there
 * is no room. */
static void hand_over(struct ptsim_cpu *c, struct perf_event *event, bool room)
{
	struct ptsim_moment at = present();

	if (!room) {
		trace_off(c, at.tsc);
		log_call(c, PTSIM_TRUNCATED, at);
	}
	output_end(c, room);
	event->hw.state |= PERF_HES_UPTODATE;
	if (room && output_begin(c, event)) {
		event->hw.state &= ~PERF_HES_UPTODATE;
		return;
	}
	event->hw.state |= PERF_HES_STOPPED;
	c->tracing = false;
	c->running = false;
	c->resume_allowed = false;
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct ptsim_cpu *c = container_of(timer, struct ptsim_cpu, timer);
	struct perf_event *event = c->handle.event;
	struct ptsim_aux *aux = c->stream.aux;

	if (!c->running || !event)
		return HRTIMER_NORESTART;
	if (c->tracing) {
		bool room = write_until(c, rdtsc_ordered());

		if (!aux->overwrite && (!room || aux->head >= c->handle.wakeup))
			hand_over(c, event, room);
	}
	hrtimer_forward_now(timer, tick_period());
	return c->running ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* -- What perf calls
 * -----------------------------------------------------------------------------------------------
 */

/* Without it a ring that is overwritten is left to the source. */
static bool needs_tick(const struct ptsim_cpu *c)
{
	return !ptsim_source->by_itself || !c->stream.aux->overwrite ||
	       READ_ONCE(ptsim_inject_overflow);
}

static void run(struct ptsim_cpu *c, struct perf_event *event, struct ptsim_moment at)
{
	c->running = true;
	c->resume_allowed = true;
	trace_on(c, event, at.tsc);
	c->pause_allowed = true;
	if (needs_tick(c))
		hrtimer_start(&c->timer, tick_period(), HRTIMER_MODE_REL_PINNED_HARD);
}

/* The ranges of the event's address filter, as they are now */
static void read_ranges(struct ptsim_config *config, struct perf_event *event)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter *filter;
	unsigned long flags;

	raw_spin_lock_irqsave(&head->lock, flags);
	list_for_each_entry(filter, &head->list, entry)
	{
		if (config->range_count == PTSIM_ADDRESS_RANGES)
			break;
		config->ranges[config->range_count++] =
			(struct ptsim_range){ .start = filter->offset, .size = filter->size };
	}
	raw_spin_unlock_irqrestore(&head->lock, flags);
}

static void start_stream(struct ptsim_cpu *c, struct perf_event *event)
{
	ptsim_config_read(&c->stream.config, &event->attr);
	read_ranges(&c->stream.config, event);
	ptsim_source->configure(&c->stream);
	/* The event's first start: what perf_event_itrace_started() does; and the count of bytes to
	 * a PSB begins. */
	if (!(event->attach_state & PERF_ATTACH_ITRACE)) {
		event->attach_state |= PERF_ATTACH_ITRACE;
		c->stream.psb_due = true;
	}
}

static void event_start(struct perf_event *event, int mode)
{
	struct ptsim_cpu *c = this_cpu_ptr(&ptsim_cpus);
	struct ptsim_moment at = present();

	if (mode & PERF_EF_RESUME) {
		if (c->resume_allowed)
			trace_on(c, event, at.tsc);
		log_call(c, PTSIM_RESUME, at);
		return;
	}
	/* A stop without update leaves the output begun. */
	if (event->hw.state & PERF_HES_UPTODATE) {
		start_stream(c, event);
		if (!output_begin(c, event)) {
			event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
			log_call(c, PTSIM_FAILED_START, at);
			return;
		}
	}
	event->hw.state &= ~(PERF_HES_STOPPED | PERF_HES_UPTODATE);
	run(c, event, at);
	log_call(c, PTSIM_START, at);
}

static void event_stop(struct perf_event *event, int mode)
{
	struct ptsim_cpu *c = this_cpu_ptr(&ptsim_cpus);
	struct ptsim_moment at = present();
	bool room;

	if (mode & PERF_EF_PAUSE) {
		if (c->pause_allowed)
			trace_off(c, at.tsc);
		log_call(c, PTSIM_PAUSE, at);
		return;
	}
	c->running = false;
	c->pause_allowed = false;
	c->resume_allowed = false;
	room = trace_off(c, at.tsc);
	hrtimer_try_to_cancel(&c->timer);
	event->hw.state |= PERF_HES_STOPPED;
	if (event->hw.state & PERF_HES_UPTODATE)
		return;
	if ((mode & PERF_EF_UPDATE) || !c->stream.aux->overwrite) {
		output_end(c, room);
		event->hw.state |= PERF_HES_UPTODATE;
	}
	log_call(c, PTSIM_STOP, at);
}

static int event_add(struct perf_event *event, int mode)
{
	struct ptsim_cpu *c = this_cpu_ptr(&ptsim_cpus);

	if (c->handle.event)
		return -EBUSY;
	event->hw.state |= PERF_HES_UPTODATE | PERF_HES_STOPPED;
	if (!(mode & PERF_EF_START))
		return 0;
	event_start(event, 0);
	return event->hw.state & PERF_HES_STOPPED ? -EINVAL : 0;
}

static void event_del(struct perf_event *event, int mode)
{
	event_stop(event, PERF_EF_UPDATE);
}

static void event_read(struct perf_event *event)
{
}

/* The newest bytes, into a sample of another event */
static long snapshot_aux(struct perf_event *event, struct perf_output_handle *handle,
			 unsigned long size)
{
	struct ptsim_cpu *c = this_cpu_ptr(&ptsim_cpus);
	struct ptsim_aux *aux = c->stream.aux;
	struct ptsim_moment at = present();
	unsigned long to, from;
	long copied;

	if (WARN_ON_ONCE(c->handle.event != event || !aux->overwrite))
		return 0;
	c->pause_allowed = false;
	c->resume_allowed = false;
	trace_off(c, at.tsc);
	to = aux->head & (aux->size - 1);
	from = to - size + (to < size ? aux->size : 0);
	copied = output_copy_aux(&c->handle, handle, from, to);
	if (c->running) {
		c->resume_allowed = true;
		trace_on(c, event, rdtsc_ordered());
		c->pause_allowed = true;
	}
	log_call(c, PTSIM_SNAPSHOT, at);
	return copied;
}

static struct pmu ptsim_pmu;

static int event_init(struct perf_event *event)
{
	if (event->attr.type != ptsim_pmu.type)
		return -ENOENT;
	return ptsim_config_valid(event->attr.config) ? 0 : -EINVAL;
}

static bool is_kernel_range(const struct perf_addr_filter *filter)
{
	return (long)filter->offset < 0 && (long)(filter->offset + filter->size - 1) < 0;
}

/* What hardware's driver takes, but for what the programs here have no use for: TraceStop, and
 * ranges of files. */
static int addr_filters_validate(struct list_head *filters)
{
	const struct perf_addr_filter *filter;
	unsigned int count = 0;

	list_for_each_entry(filter, filters, entry)
	{
		if (!filter->size || filter->action != PERF_ADDR_FILTER_ACTION_FILTER ||
		    filter->path.dentry || ++count > PTSIM_ADDRESS_RANGES)
			return -EOPNOTSUPP;
		if (!is_kernel_range(filter))
			return -EINVAL;
	}
	return 0;
}

static struct pmu ptsim_pmu = {
	.module = THIS_MODULE,
	.attr_groups = ptsim_attr_groups,
	.task_ctx_nr = perf_sw_context,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE | PTSIM_CAP_PREFER_LARGE,
	.event_init = event_init,
	.add = event_add,
	.del = event_del,
	.start = event_start,
	.stop = event_stop,
	.read = event_read,
	.snapshot_aux = snapshot_aux,
	.setup_aux = ptsim_aux_setup,
	.free_aux = ptsim_aux_free,
	.addr_filters_validate = addr_filters_validate,
	.nr_addr_filters = PTSIM_ADDRESS_RANGES,
};

/* -- Coming and going
 * ---------------------------------------------------------------------------------------------- */

static void *symbol_of(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	void *address = NULL;

	if (!register_kprobe(&probe)) {
		address = probe.addr;
		unregister_kprobe(&probe);
	}
	return address;
}

static void close_streams(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		hrtimer_cancel(&per_cpu(ptsim_cpus, cpu).timer);
		ptsim_source->close(ptsim_stream_of(cpu));
	}
}

static int open_streams(void)
{
	int cpu, err = 0;

	for_each_possible_cpu(cpu)
	{
		ptsim_timer_setup(&per_cpu(ptsim_cpus, cpu).timer, tick,
				  HRTIMER_MODE_REL_PINNED_HARD);
		ptsim_stream_of(cpu)->cpu = cpu;
		err = err ?: ptsim_source->open(ptsim_stream_of(cpu));
	}
	if (err)
		close_streams();
	return err;
}

int ptsim_pmu_init(void)
{
	int err;

	output_copy_aux = symbol_of("perf_output_copy_aux");
	if (!output_copy_aux)
		return -ENOENT;
	err = open_streams();
	if (err)
		return err;
	ptsim_pmu.capabilities |= PTSIM_CAP_AUX_PAUSE;
	err = perf_pmu_register(&ptsim_pmu, "intel_pt", -1);
	if (err)
		close_streams();
	return err;
}

void ptsim_pmu_exit(void)
{
	perf_pmu_unregister(&ptsim_pmu);
	close_streams();
}
