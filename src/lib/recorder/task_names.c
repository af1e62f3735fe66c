// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include "cpulist.h"

#define ONLINE "/sys/devices/system/cpu/online"
/* Per CPU: about 600 forks, execs and renames. */
#define RING_SIZE (64 << 10)
/* The same with mappings: a small program has 4, a browser hundreds. */
#define RING_SIZE_MAPS (256 << 10)

struct task_names {
	struct ring_event event;
	struct rings *rings;
	int *cpus;
	size_t nr_cpus;
	int root_fd;
	struct perfdata_buf kernel, tasks;    /* at the start of the session */
	struct perfdata_build_ids *build_ids; /* used by task_names_write() only */
};

int task_names_open(struct task_names **ret, const struct perf_event_attr *attr, int root_fd,
		    const struct log *log)
{
	struct task_names *names = calloc(1, sizeof(*names));
	size_t pages = rings_pages_for_size(attr->mmap ? RING_SIZE_MAPS : RING_SIZE);
	int err;

	if (!names)
		return -ENOMEM;
	names->root_fd = root_fd;
	names->event.name = "dummy:HG";
	names->event.attr = *attr;
	names->event.attr.type = PERF_TYPE_SOFTWARE;
	names->event.attr.config = PERF_COUNT_SW_DUMMY;
	names->event.attr.comm = 1;
	names->event.attr.task = 1;
	err = cpulist_read(ONLINE, &names->cpus, &names->nr_cpus);
	if (!err)
		err = rings_open(&names->rings, &names->event, 1, names->cpus, names->nr_cpus,
				 pages, log);
	if (!err)
		err = perfdata_build_ids_new(&names->build_ids, root_fd);
	if (!err)
		err = perfdata_put_kernel(&names->kernel, attr, root_fd);
	/* After the rings: a task that starts in between is in both. */
	if (!err)
		err = perfdata_put_tasks(&names->tasks, attr, root_fd);
	if (err) {
		task_names_free(names);
		return err;
	}
	*ret = names;
	return 0;
}

int task_names_cpu_online(struct task_names *names, int cpu)
{
	/* Old records (kernel patches, forks) are still needed. */
	return rings_join_cpu(names->rings, cpu);
}

struct perfdata_event task_names_event(const struct task_names *names,
				       const struct ring_copies *copy)
{
	return (struct perfdata_event){ names->event.attr, names->event.name, copy->ids,
					copy->nr_ids };
}

int task_names_copy(const struct task_names *names, struct ring_copies **ret)
{
	return ring_copies_new(names->rings, names->nr_cpus, ret);
}

/* Maps of living tasks, and build ids of everything mapped so far. */
static int task_names_write_maps(const struct task_names *names, struct perfdata *pd,
				 const struct ring_copies *copy, const int *maps_of)
{
	_cleanup_free_ struct perfdata_records *records = calloc(copy->nr + 1, sizeof(*records));
	const struct perf_event_attr *attr = &names->event.attr;
	struct perfdata_buf buf = {};
	int err = 0;

	if (!records)
		return -ENOMEM;
	if (!maps_of)
		err = perfdata_put_task_maps(&buf, attr, names->root_fd, -1);
	for (; maps_of && *maps_of && !err; maps_of++)
		err = perfdata_put_task_maps(&buf, attr, names->root_fd, *maps_of);
	if (!err)
		err = perfdata_write(pd, buf.data, buf.len);
	records[0] = (struct perfdata_records){ buf.data, buf.len };
	for (size_t i = 0; i < copy->nr; i++)
		records[i + 1] =
			(struct perfdata_records){ copy->rings[i].data, copy->rings[i].size };
	if (!err)
		err = perfdata_put_build_ids(pd, names->build_ids, records, copy->nr + 1);
	perfdata_buf_release(&buf);
	return err;
}

/* Since Linux 6.3 (cf587db2ee02) kernel threads get their names at fork, without a COMM record:
 * perf would name them after their parent, kthreadd. */
static int task_names_write_kthreads(const struct task_names *names, struct perfdata *pd,
				     const struct ring_copies *copy)
{
	struct perfdata_buf buf = {};
	int err = 0;

	for (size_t i = 0; i < copy->nr && !err; i++)
		err = records_put_kthreads(&buf, &copy->rings[i], names->root_fd);
	return records_write_buf(pd, &buf, err);
}

int task_names_write(const struct task_names *names, struct perfdata *pd,
		     const struct ring_copies *copy, const int *maps_of)
{
	struct records_facts facts = {};
	struct perfdata_buf buf = {};
	int err;

	err = perfdata_write(pd, names->kernel.data, names->kernel.len);
	if (!err)
		err = perfdata_put_modules(&buf, &names->event.attr, names->root_fd);
	err = records_write_buf(pd, &buf, err);
	if (!err)
		err = perfdata_write(pd, names->tasks.data, names->tasks.len);
	if (!err)
		err = perfdata_put_tasks(&buf, &names->event.attr, names->root_fd);
	err = records_write_buf(pd, &buf, err);
	if (!err && (!maps_of || *maps_of))
		err = task_names_write_maps(names, pd, copy, maps_of);
	for (size_t i = 0; i < copy->nr && !err; i++)
		err = records_write_ring(pd, &copy->rings[i], &facts);
	return err ?: task_names_write_kthreads(names, pd, copy);
}

void task_names_free(struct task_names *names)
{
	if (!names)
		return;
	rings_free(names->rings);
	perfdata_buf_release(&names->kernel);
	perfdata_buf_release(&names->tasks);
	perfdata_build_ids_free(names->build_ids);
	free(names->cpus);
	free(names);
}
