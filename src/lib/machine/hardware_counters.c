// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <json-c/json.h>
#include <linux/perf_event.h>

#include "bpf/hardware.skel.h"
#include "clock.h"
#include "io.h"
#include "json_util.h"

#define MSR_PMU "/sys/bus/event_source/devices/msr"
#define CPU_DIR "/sys/devices/system/cpu/cpu%d"
#define IDLE_STATES_MAX 16

static const char *const counter_names[] = {
	[HARDWARE_SMIS] = "smis",
	[HARDWARE_STEAL] = "steal_ns",
	[HARDWARE_NMIS] = "nmis",
	[HARDWARE_THROTTLES] = "throttles",
};
_Static_assert(ARRAY_SIZE(counter_names) == HARDWARE_NR, "each has a name");

struct hardware {
	struct hardware_bpf *bpf; /* NULL: refused by the kernel */
	size_t nr_cpus;
	struct hardware_cpu {
		int cpu;
		int smi_fd; /* -1: not counted */
		struct hardware_counts before;
	} cpus[];
};

/* -1: this machine has none. The PMU gives the event as `event=0x04`. */
static int open_smi_counter(int cpu)
{
	static const char prefix[] = "event=";
	struct perf_event_attr attr = { .size = sizeof(attr) };
	char type[32], event[64];

	if (read_text_at(AT_FDCWD, MSR_PMU "/type", type, sizeof(type)) ||
	    read_text_at(AT_FDCWD, MSR_PMU "/events/smi", event, sizeof(event)) ||
	    strncmp(event, prefix, strlen(prefix)))
		return -1;
	attr.type = strtoul(type, NULL, 10);
	attr.config = strtoull(event + strlen(prefix), NULL, 16);
	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Runs the task iterator. */
static int find_run_queues(struct hardware_bpf *bpf)
{
	struct bpf_link *link = bpf_program__attach_iter(bpf->progs.hardware_find, NULL);
	_cleanup_close_ int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	char none[16];
	ssize_t len = fd < 0 ? -1 : read(fd, none, sizeof(none));

	bpf_link__destroy(link);
	return len < 0 ? -EIO : 0;
}

static struct hardware_bpf *load_hardware_bpf(bool nmis)
{
	const struct log none = {};
	const struct log *outer = log_capture_libbpf(&none);
	struct hardware_bpf *bpf;

	bpf = hardware_bpf__open();
	if (bpf)
		bpf_program__set_autoload(bpf->progs.hardware_read_nmis, nmis);
	if (bpf && (hardware_bpf__load(bpf) || find_run_queues(bpf))) {
		hardware_bpf__destroy(bpf);
		bpf = NULL;
	}
	log_release_libbpf(outer);
	return bpf;
}

int hardware_open(struct hardware **ret, const int *cpus, size_t nr_cpus)
{
	struct hardware *hardware =
		calloc(1, sizeof(*hardware) + nr_cpus * sizeof(hardware->cpus[0]));

	if (!hardware)
		return -ENOMEM;
	hardware->bpf = load_hardware_bpf(true);
	if (!hardware->bpf)
		hardware->bpf = load_hardware_bpf(false);
	hardware->nr_cpus = nr_cpus;
	for (size_t i = 0; i < nr_cpus; i++) {
		hardware->cpus[i].cpu = cpus[i];
		hardware->cpus[i].smi_fd = open_smi_counter(cpus[i]);
	}
	*ret = hardware;
	return 0;
}

void hardware_free(struct hardware *hardware)
{
	if (!hardware)
		return;
	for (size_t i = 0; i < hardware->nr_cpus; i++) {
		closep(&hardware->cpus[i].smi_fd);
	}
	hardware_bpf__destroy(hardware->bpf);
	free(hardware);
}

/* Runs the program, if it is loaded, for the CPU. */
static uint64_t read_kernel_count(struct hardware_bpf *bpf, const struct bpf_program *program,
				  int cpu, const __u64 *answer)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	bpf->bss->cpu = cpu;
	return bpf_prog_test_run_opts(bpf_program__fd(program), &opts) ? UINT64_MAX : *answer;
}

static void read_throttle_count(int cpu, uint64_t *count)
{
	static const char *const files[] = { "core_throttle_count", "package_throttle_count" };
	char path[128], text[32];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), CPU_DIR "/thermal_throttle/%s", cpu, files[i]);
		if (!read_text_at(AT_FDCWD, path, text, sizeof(text)))
			*count = (*count == UINT64_MAX ? 0 : *count) + strtoull(text, NULL, 10);
	}
}

static struct hardware_counts read_cpu_counts(const struct hardware *hardware,
					      const struct hardware_cpu *cpu, uint64_t smis)
{
	struct hardware_counts now = { .time_ns = clock_ns(CLOCK_MONOTONIC) };
	struct hardware_bpf *bpf = hardware->bpf;

	memset(now.counts, 0xff, sizeof(now.counts));
	now.counts[HARDWARE_SMIS] = smis;
	if (bpf) {
		now.counts[HARDWARE_STEAL] = read_kernel_count(bpf, bpf->progs.hardware_read,
							       cpu->cpu, &bpf->bss->steal_ns);
		now.counts[HARDWARE_NMIS] = read_kernel_count(bpf, bpf->progs.hardware_read_nmis,
							      cpu->cpu, &bpf->bss->nmis);
	}
	read_throttle_count(cpu->cpu, &now.counts[HARDWARE_THROTTLES]);
	now.steal_ns = now.counts[HARDWARE_STEAL];
	now.late_steal_ns = UINT64_MAX;
	return now;
}

int hardware_smi_fd(const struct hardware *hardware, size_t i)
{
	return hardware->cpus[i].smi_fd;
}

void hardware_restart_counts(struct hardware *hardware)
{
	for (size_t i = 0; i < hardware->nr_cpus; i++) {
		struct hardware_cpu *cpu = &hardware->cpus[i];

		cpu->before = read_cpu_counts(hardware, cpu, 0);
	}
}

struct hardware_counts hardware_take_rise(struct hardware *hardware, int cpu, uint64_t smis)
{
	struct hardware_counts rise = { .steal_ns = UINT64_MAX, .late_steal_ns = UINT64_MAX };

	memset(rise.counts, 0xff, sizeof(rise.counts));
	for (size_t i = 0; i < hardware->nr_cpus; i++) {
		struct hardware_counts *before = &hardware->cpus[i].before, now;

		if (cpu < 0 || hardware->cpus[i].cpu != cpu)
			continue;
		now = rise = read_cpu_counts(hardware, &hardware->cpus[i], smis);
		rise.time_ns -= before->time_ns;
		for (size_t j = 0; j < HARDWARE_NR; j++) {
			bool known =
				now.counts[j] != UINT64_MAX && before->counts[j] <= now.counts[j];

			rise.counts[j] = known ? now.counts[j] - before->counts[j] : UINT64_MAX;
			/* What is not known now rises until it is. */
			if (now.counts[j] == UINT64_MAX)
				now.counts[j] = before->counts[j];
		}
		*before = now;
	}
	return rise;
}

void hardware_set_late_steal(struct hardware_counts *rise, uint64_t at_spike)
{
	if (rise->steal_ns != UINT64_MAX && at_spike <= rise->steal_ns)
		rise->late_steal_ns = rise->steal_ns - at_spike;
}

struct json_object *hardware_json(const struct hardware_counts *rise, int cpu)
{
	struct json_object *json, *idle_states;
	char path[128], name[64], latency[32];

	if (!rise->time_ns)
		return NULL;
	idle_states = json_object_new_array();
	for (int i = 0; i < IDLE_STATES_MAX; i++) {
		struct json_object *state;

		snprintf(path, sizeof(path), CPU_DIR "/cpuidle/state%d/name", cpu, i);
		if (read_text_at(AT_FDCWD, path, name, sizeof(name)))
			break;
		snprintf(path, sizeof(path), CPU_DIR "/cpuidle/state%d/latency", cpu, i);
		if (read_text_at(AT_FDCWD, path, latency, sizeof(latency)))
			break;
		state = json_object_new_object();
		json_add_text(state, "name", name);
		json_add_u64(state, "exit_latency_ns", strtoull(latency, NULL, 10) * NSEC_PER_USEC);
		json_object_array_add(idle_states, state);
	}
	json = json_object_new_object();
	json_add_u64(json, "since_ns", rise->time_ns);
	for (size_t i = 0; i < HARDWARE_NR; i++)
		json_add_known(json, counter_names[i], rise->counts[i], UINT64_MAX);
	json_add_known(json, "late_steal_ns", rise->late_steal_ns, UINT64_MAX);
	json_add(json, "idle_states", idle_states);
	return json;
}

static int probe_counters(struct probe_detail *detail)
{
	static const char *const missing[] = {
		[HARDWARE_SMIS] = "SMIs (the PMU msr has no event smi)",
		[HARDWARE_STEAL] = "steal time (the kernel does not account for it)",
		[HARDWARE_NMIS] = "NMIs (BTF or kallsyms lack irq_stat)",
		[HARDWARE_THROTTLES] = "throttling for heat (no thermal_throttle in sysfs)",
	};
	const int cpu = sched_getcpu();
	struct hardware *hardware;
	struct hardware_counts now;
	char names[128];
	/* Without them, nothing is counted that could be. */
	int err = caps_missing(false, names, sizeof(names)) ?: hardware_open(&hardware, &cpu, 1);
	bool any = false;
	size_t len = 0;

	if (err)
		return err;
	now = read_cpu_counts(hardware, &hardware->cpus[0],
			      hardware->cpus[0].smi_fd < 0 ? UINT64_MAX : 0);
	hardware_free(hardware);
	for (size_t i = 0; i < HARDWARE_NR && len < sizeof(detail->text); i++) {
		any |= now.counts[i] != UINT64_MAX;
		if (now.counts[i] == UINT64_MAX)
			len += snprintf(detail->text + len, sizeof(detail->text) - len, "%s%s",
					len ? ", " : "not counted: ", missing[i]);
	}
	return any ? 0 : -EOPNOTSUPP;
}

const struct probe hardware_probe = {
	"hardware",
	"what is not counted is missing from reports",
	false,
	probe_counters,
	"count SMIs, steal time, NMIs and throttling up to a spike",
};
