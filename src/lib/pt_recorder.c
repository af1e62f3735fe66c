// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The recorder `pt`: Intel PT in AUX rings that are overwritten, one for each CPU. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include <json-c/json.h>

#include "clock.h"
#include "perfdata.h"
#include "pt_config.h"
#include "pt_events.h"
#include "pt_scan.h"
#include "recorder.h"
#include "records.h"
#include "rings.h"
#include "sideband.h"
#include "symbols.h"
#include "tracefs.h"
#include "tsc.h"

#define AUX_DEFAULT (16ULL << 20)
/* Of each watched CPU: some 10,000 context switches. */
#define SWITCH_RING (512 << 10)

enum freeze {
	FREEZE_PAUSE,
	FREEZE_SIGNAL,
};

static const char *const freeze_names[] = { "pause", "signal" };

struct pt_cpu {
	int cpu;
	bool frozen;
	uint64_t started_tsc; /* not later than the oldest byte of its trace */
};

struct pt_recorder {
	struct recorder base;
	struct pt_config config;
	enum freeze freeze;
	size_t aux_size;
	struct perf_event_attr attr; /* of the PT event */
	struct pt_events *events;
	struct ring_event switch_event;
	struct rings *switches;
	struct sideband *sideband;
	struct perfdata_features *features;
	struct symbols symbols;
	int root_fd;
	size_t nr_cpus;
	struct pt_cpu cpus[];
};

/* The trace of one CPU. */
struct pt_trace {
	size_t index; /* of the CPU in the recorder */
	uint8_t *data;
	uint64_t started_tsc;
	size_t begin; /* of what is written; set by write */
};

struct snapshot {
	struct pt_recorder *pt;
	uint64_t tsc, monotonic_ns, perf_ns; /* the same moment, when it was taken */
	struct ring_copy *sideband;
	struct ring_copy *switches;
	size_t nr;
	struct pt_trace traces[];
};

static struct pt_recorder *to_pt(struct recorder *recorder)
{
	return (struct pt_recorder *)recorder;
}

static void pt_free(struct recorder *recorder)
{
	struct pt_recorder *pt = to_pt(recorder);

	pt_events_free(pt->events);
	rings_free(pt->switches);
	sideband_free(pt->sideband);
	perfdata_features_free(pt->features);
	symbols_close(&pt->symbols);
	closep(&pt->root_fd);
	free(pt);
}

/* Intel PT has a clock of its own, TSC, that perf turns into its default clock: so none is chosen
 * here. */
static void pt_attr(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.sample_period = 1,
		.sample_type = RECORDS_SAMPLE_TYPE,
		.read_format = PERF_FORMAT_ID,
		.sample_id_all = 1,
	};
}

static int pt_read_config(struct pt_recorder *pt, const struct recorder_config *config,
			  const struct log *log)
{
	_cleanup_close_ int fd = open(PT_PMU_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *event = config->nr_events ? config->events[0].name : NULL;
	int err;

	if (fd < 0)
		return log_error(log, -ENODEV,
				 "recorder pt: this machine has no Intel PT (no PMU intel_pt): use "
				 "the recorder events");
	if (config->nr_events > 1)
		return log_error(log, -EINVAL, "event '%s': Intel PT is one event",
				 config->events[1].name);
	err = pt_config_parse(&pt->config, fd, event, log);
	if (err)
		return err;
	pt_attr(&pt->attr);
	pt->attr.type = pt->config.type;
	pt->attr.config = pt->config.config;
	pt->attr.exclude_user = pt->config.exclude_user;
	pt->attr.exclude_kernel = pt->config.exclude_kernel;
	pt->attr.exclude_hv = 1;
	pt->attr.disabled = 1;
	return 0;
}

/* Nobody can guess the messages, so nobody else stops or starts the trace by printing them. */
static int pt_make_messages(struct recorder *recorder)
{
	uint64_t nonce;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -errno;
	snprintf(recorder->pause_message, sizeof(recorder->pause_message), "pp-%016" PRIx64 "-p",
		 nonce);
	snprintf(recorder->resume_message, sizeof(recorder->resume_message), "pp-%016" PRIx64 "-r",
		 nonce);
	return 0;
}

static uint64_t printk_id(void)
{
	_cleanup_close_ int tracefs = tracefs_open();
	_cleanup_close_ int fd = tracefs < 0
					 ? -1
					 : openat(tracefs, "events/bpf_trace/bpf_trace_printk/id",
						  O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

/* The best way to freeze that works here. */
static int pt_open_events(struct pt_recorder *pt, const struct recorder_config *config,
			  const struct log *log)
{
	struct pt_events_config events = {
		.attr = pt->attr,
		.filter = config->nr_events ? config->events[0].filter : NULL,
		.cpus = config->cpus,
		.nr_cpus = config->nr_cpus,
		.aux_size = pt->aux_size,
		.printk_id = printk_id(),
		.pause_message = pt->base.pause_message,
		.resume_message = pt->base.resume_message,
	};
	int err = pt_make_messages(&pt->base);

	if (err)
		return err;
	pt->freeze = FREEZE_PAUSE;
	err = events.printk_id ? pt_events_open(&pt->events, &events, log) : -EOPNOTSUPP;
	if (err != -EOPNOTSUPP)
		return err;
	pt->freeze = FREEZE_SIGNAL;
	pt->base.pause_message[0] = pt->base.resume_message[0] = '\0';
	events.printk_id = 0;
	return pt_events_open(&pt->events, &events, log);
}

static int pt_open_sideband(struct pt_recorder *pt, const struct recorder_config *config,
			    const struct log *log)
{
	struct perf_event_attr attr;
	int err;

	pt_attr(&attr);
	attr.write_backward = 1;
	attr.text_poke = 1;
	err = sideband_open(&pt->sideband, &attr, pt->root_fd, log);
	if (err)
		return err;
	attr.text_poke = 0;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.context_switch = 1;
	pt->switch_event = (struct ring_event){ .attr = attr, .name = "dummy:u" };
	return rings_open(&pt->switches, &pt->switch_event, 1, config->cpus, config->nr_cpus,
			  rings_pages(SWITCH_RING), log);
}

static int pt_open_all(struct pt_recorder *pt, const struct recorder_config *config,
		       const struct log *log)
{
	int err;

	pt->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (pt->root_fd < 0)
		return -errno;
	pt->aux_size = rings_pages(config->buffer_size ? config->buffer_size : AUX_DEFAULT) *
		       sysconf(_SC_PAGESIZE);
	err = pt_read_config(pt, config, log);
	if (!err)
		err = perfdata_features_new(&pt->features, pt->root_fd, perf_poke__version(),
					    config->argv, config->argc);
	if (!err)
		err = pt_open_events(pt, config, log);
	return err ? err : pt_open_sideband(pt, config, log);
}

static int pt_open(struct recorder **ret, const struct recorder_config *config,
		   const struct log *log)
{
	struct pt_recorder *pt = calloc(1, sizeof(*pt) + config->nr_cpus * sizeof(pt->cpus[0]));
	int err;

	if (!pt)
		return -ENOMEM;
	pt->base.ops = &pt_recorder;
	pt->root_fd = -1;
	pt->nr_cpus = config->nr_cpus;
	symbols_init(&pt->symbols, config->output_fd);
	for (size_t i = 0; i < pt->nr_cpus; i++)
		pt->cpus[i].cpu = config->cpus[i];
	err = pt_open_all(pt, config, log);
	if (err) {
		pt_free(&pt->base);
		return err;
	}
	*ret = &pt->base;
	return 0;
}

static int pt_enable(struct pt_recorder *pt, size_t i)
{
	pt->cpus[i].started_tsc = tsc_read();
	return pt_events_enable(pt->events, i);
}

/* The kernel's code is copied before the trace begins: what is patched later is in the trace's
 * side-band. */
static int pt_start(struct recorder *recorder, const struct log *log)
{
	struct pt_recorder *pt = to_pt(recorder);
	int err = symbols_prepare(&pt->symbols, pt->root_fd);

	if (err)
		return log_error(log, err, "cannot copy the kernel's code beside the captures: %s",
				 strerror(-err));
	if (pt->symbols.kcore_error)
		log_write(log, PERF_POKE_LOG_WARN,
			  "cannot read /proc/kcore: %s; captures are without the kernel's code, "
			  "and decode only "
			  "where perf finds it otherwise",
			  strerror(-pt->symbols.kcore_error));
	for (size_t i = 0; i < pt->nr_cpus && !err; i++)
		err = pt_enable(pt, i);
	return err ? log_error(log, err, "cannot start Intel PT: %s", strerror(-err)) : 0;
}

static int pt_freeze(struct recorder *recorder, int first_cpu)
{
	struct pt_recorder *pt = to_pt(recorder);
	int ret = 0;

	for (size_t i = 0; i < pt->nr_cpus; i++) {
		int err;

		pt->cpus[i].frozen = first_cpu < 0 || pt->cpus[i].cpu == first_cpu;
		err = pt->cpus[i].frozen ? pt_events_disable(pt->events, i) : 0;
		if (err && !ret)
			ret = err;
	}
	return ret;
}

static int pt_resume(struct recorder *recorder)
{
	struct pt_recorder *pt = to_pt(recorder);
	int ret = 0;

	for (size_t i = 0; i < pt->nr_cpus; i++) {
		int err = pt->cpus[i].frozen ? pt_enable(pt, i) : 0;

		pt->cpus[i].frozen = false;
		if (err && !ret)
			ret = err;
	}
	return ret;
}

static void pt_snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->nr; i++)
		free(snapshot->traces[i].data);
	for (size_t i = 0; snapshot->switches && i < snapshot->pt->nr_cpus; i++)
		free(snapshot->switches[i].data);
	free(snapshot->switches);
	sideband_copies_free(snapshot->pt->sideband, snapshot->sideband);
	free(snapshot);
}

static int pt_copy_traces(struct pt_recorder *pt, struct snapshot *snapshot)
{
	for (size_t i = 0; i < pt->nr_cpus; i++) {
		struct pt_trace *trace = &snapshot->traces[snapshot->nr];
		int err;

		if (!pt->cpus[i].frozen)
			continue;
		trace->index = i;
		trace->started_tsc = pt->cpus[i].started_tsc;
		err = pt_events_copy(pt->events, i, &trace->data);
		if (err)
			return err;
		snapshot->nr++;
	}
	return 0;
}

static int pt_copy(struct recorder *recorder, struct snapshot **ret)
{
	struct pt_recorder *pt = to_pt(recorder);
	struct snapshot *snapshot;
	int err;

	snapshot = calloc(1, sizeof(*snapshot) + pt->nr_cpus * sizeof(snapshot->traces[0]));
	if (!snapshot)
		return -ENOMEM;
	snapshot->pt = pt;
	snapshot->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	snapshot->tsc = tsc_read();
	snapshot->perf_ns = tsc_to_perf_ns(pt_events_page(pt->events, 0), snapshot->tsc);
	err = pt_copy_traces(pt, snapshot);
	snapshot->switches = calloc(pt->nr_cpus, sizeof(*snapshot->switches));
	if (!err)
		err = snapshot->switches ? rings_copy(pt->switches, snapshot->switches) : -ENOMEM;
	if (!err)
		err = sideband_copy(pt->sideband, &snapshot->sideband);
	if (err) {
		pt_snapshot_free(snapshot);
		return err;
	}
	*ret = snapshot;
	return 0;
}

static void pt_info(const struct pt_recorder *pt, uint64_t fields[PERFDATA_PT_NR])
{
	const struct perf_event_mmap_page *page = pt_events_page(pt->events, 0);
	const struct pt_config *config = &pt->config;

	memset(fields, 0, PERFDATA_PT_NR * sizeof(fields[0]));
	fields[PERFDATA_PT_PMU_TYPE] = config->type;
	fields[PERFDATA_PT_TIME_SHIFT] = page->time_shift;
	fields[PERFDATA_PT_TIME_MULT] = page->time_mult;
	fields[PERFDATA_PT_TIME_ZERO] = page->time_zero;
	fields[PERFDATA_PT_CAP_USER_TIME_ZERO] = page->cap_user_time_zero && page->time_mult;
	fields[PERFDATA_PT_TSC_BIT] = config->tsc_bit;
	fields[PERFDATA_PT_NORETCOMP_BIT] = config->noretcomp_bit;
	fields[PERFDATA_PT_HAVE_SCHED_SWITCH] = PERFDATA_PT_SWITCH_CPU_WIDE;
	fields[PERFDATA_PT_SNAPSHOT_MODE] = 1;
	fields[PERFDATA_PT_PER_CPU_MMAPS] = 1;
	fields[PERFDATA_PT_MTC_BIT] = config->mtc_bit;
	fields[PERFDATA_PT_MTC_FREQ_BITS] = config->mtc_period_bits;
	fields[PERFDATA_PT_TSC_CTC_N] = config->tsc_ctc_n;
	fields[PERFDATA_PT_TSC_CTC_D] = config->tsc_ctc_d;
	fields[PERFDATA_PT_CYC_BIT] = config->cyc_bit;
	fields[PERFDATA_PT_MAX_NONTURBO_RATIO] = config->max_nonturbo_ratio;
	fields[PERFDATA_PT_CAP_EVENT_TRACE] = config->cap_event_trace;
}

static int write_head(const struct pt_recorder *pt, struct perfdata *pd)
{
	uint64_t fields[PERFDATA_PT_NR];
	struct perfdata_buf buf = {};
	int err;

	pt_info(pt, fields);
	err = perfdata_put_time_conv(&buf, pt_events_page(pt->events, 0));
	if (!err)
		err = perfdata_put_pt_info(&buf, fields, NULL);
	if (!err)
		err = perfdata_write(pd, buf.data, buf.len);
	perfdata_buf_release(&buf);
	return err;
}

/* Each CPU's trace from where a decoder can begin, without what the ring held before it. */
static int write_traces(const struct pt_recorder *pt, struct perfdata *pd,
			struct snapshot *snapshot, int spike_cpu, struct snapshot_facts *facts,
			uint64_t *first_ns)
{
	int err = 0;

	for (size_t i = 0; i < snapshot->nr && !err; i++) {
		struct pt_trace *trace = &snapshot->traces[i];
		int cpu = pt->cpus[trace->index].cpu;
		uint64_t tsc, perf_ns;

		trace->begin = pt_scan_begin(trace->data, pt->aux_size, trace->started_tsc, &tsc);
		err = perfdata_write_auxtrace(pd,
					      &(struct perfdata_auxtrace){
						      .index = trace->index,
						      .cpu = cpu,
						      .reference = snapshot->tsc,
						      .parts = { { trace->data + trace->begin,
								   pt->aux_size - trace->begin } },
					      });
		if (!tsc)
			continue;
		perf_ns = tsc_to_perf_ns(pt_events_page(pt->events, trace->index),
					 tsc_extend(tsc, snapshot->tsc));
		if (perf_ns < *first_ns)
			*first_ns = perf_ns;
		if (cpu == spike_cpu || (spike_cpu < 0 && !facts->oldest_ns))
			facts->oldest_ns = snapshot->monotonic_ns - (snapshot->perf_ns - perf_ns);
	}
	return err;
}

static int write_records(struct pt_recorder *pt, struct perfdata *pd, struct snapshot *snapshot,
			 int spike_cpu, struct snapshot_facts *facts)
{
	uint64_t first_ns = snapshot->perf_ns;
	struct records_facts switches = {};
	struct perfdata_buf round = {};
	int err;

	err = write_head(pt, pd);
	if (!err)
		err = sideband_write(pt->sideband, pd, snapshot->sideband);
	for (size_t i = 0; i < pt->nr_cpus && !err; i++)
		err = records_write(pd, &snapshot->switches[i], &switches);
	if (!err)
		err = write_traces(pt, pd, snapshot, spike_cpu, facts, &first_ns);
	if (!err)
		err = perfdata_put_finished_round(&round);
	if (!err)
		err = perfdata_write(pd, round.data, round.len);
	perfdata_buf_release(&round);
	return err ? err : perfdata_finish(pd, pt->features, first_ns, snapshot->perf_ns);
}

static int pt_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd, int spike_cpu,
		    struct snapshot_facts *facts)
{
	struct pt_recorder *pt = to_pt(recorder);
	const struct perfdata_event described[] = {
		{ pt->attr, "intel_pt//", pt_events_ids(pt->events), pt->nr_cpus },
		{ pt->switch_event.attr, pt->switch_event.name, pt->switch_event.ids, pt->nr_cpus },
		sideband_event(pt->sideband),
	};
	struct perfdata *pd;
	int err;

	err = perfdata_create(&pd, dirfd, "perf.data", described, ARRAY_SIZE(described));
	if (err)
		return err;
	err = write_records(pt, pd, snapshot, spike_cpu, facts);
	if (!err)
		err = symbols_write(&pt->symbols, pd, pt->root_fd);
	facts->size = perfdata_size(pd);
	perfdata_free(pd);
	return err;
}

static void pt_describe(const struct recorder *recorder, struct json_object *json)
{
	const struct pt_recorder *pt = (const struct pt_recorder *)recorder;
	char config[32];

	snprintf(config, sizeof(config), "%#" PRIx64, pt->config.config);
	json_object_object_add(json, "buffer_size", json_object_new_uint64(pt->aux_size));
	json_object_object_add(json, "freeze", json_object_new_string(freeze_names[pt->freeze]));
	json_object_object_add(json, "config", json_object_new_string(config));
	json_object_object_add(json, "kcore", json_object_new_boolean(!pt->symbols.kcore_error));
}

static void pt_describe_snapshot(const struct snapshot *snapshot, struct json_object *json)
{
	struct json_object *clock = json_object_new_object();
	struct json_object *traces = json_object_new_array();

	json_object_object_add(clock, "monotonic_ns",
			       json_object_new_uint64(snapshot->monotonic_ns));
	json_object_object_add(clock, "perf_ns", json_object_new_uint64(snapshot->perf_ns));
	json_object_object_add(clock, "tsc", json_object_new_uint64(snapshot->tsc));
	json_object_object_add(json, "clock", clock);
	for (size_t i = 0; i < snapshot->nr; i++) {
		const struct pt_trace *trace = &snapshot->traces[i];
		struct json_object *one = json_object_new_object();

		json_object_object_add(one, "cpu",
				       json_object_new_int(snapshot->pt->cpus[trace->index].cpu));
		json_object_object_add(
			one, "bytes",
			json_object_new_uint64(snapshot->pt->aux_size - trace->begin));
		json_object_array_add(traces, one);
	}
	json_object_object_add(json, "traces", traces);
}

const struct recorder_ops pt_recorder = {
	.name = "pt",
	.open = pt_open,
	.start = pt_start,
	.freeze = pt_freeze,
	.copy = pt_copy,
	.resume = pt_resume,
	.write = pt_write,
	.describe = pt_describe,
	.describe_snapshot = pt_describe_snapshot,
	.snapshot_free = pt_snapshot_free,
	.free = pt_free,
};
