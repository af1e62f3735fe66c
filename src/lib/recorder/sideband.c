// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include "cpulist.h"

#define ONLINE "/sys/devices/system/cpu/online"
/* Per CPU: about 600 forks, execs and renames. */
#define RING_SIZE (64 << 10)
/* The same with mappings: a small program has 4, a browser hundreds. */
#define RING_SIZE_MAPS (256 << 10)

struct sideband {
	struct ring_event event;
	struct rings *rings;
	int *cpus;
	size_t nr_cpus;
	int root_fd;
	struct perfdata_buf tasks;	      /* at the start of the session */
	struct perfdata_build_ids *build_ids; /* used by sideband_write() only */
};

int sideband_open(struct sideband **ret, const struct perf_event_attr *attr, int root_fd,
		  const struct log *log)
{
	struct sideband *sideband = calloc(1, sizeof(*sideband));
	size_t pages = rings_pages(attr->mmap ? RING_SIZE_MAPS : RING_SIZE);
	int err;

	if (!sideband)
		return -ENOMEM;
	sideband->root_fd = root_fd;
	sideband->event.name = "dummy:HG";
	sideband->event.attr = *attr;
	sideband->event.attr.type = PERF_TYPE_SOFTWARE;
	sideband->event.attr.config = PERF_COUNT_SW_DUMMY;
	sideband->event.attr.comm = 1;
	sideband->event.attr.task = 1;
	err = cpulist_read(ONLINE, &sideband->cpus, &sideband->nr_cpus);
	if (!err)
		err = rings_open(&sideband->rings, &sideband->event, 1, sideband->cpus,
				 sideband->nr_cpus, pages, log);
	if (!err)
		err = perfdata_build_ids_new(&sideband->build_ids, root_fd);
	/* After the rings: a task that starts in between is in both. */
	if (!err)
		err = perfdata_put_tasks(&sideband->tasks, attr, root_fd);
	if (err) {
		sideband_free(sideband);
		return err;
	}
	*ret = sideband;
	return 0;
}

int sideband_cpu_online(struct sideband *sideband, int cpu)
{
	/* Old records (kernel patches, forks) are still needed. */
	return rings_join(sideband->rings, cpu);
}

struct perfdata_event sideband_event(const struct sideband *sideband,
				     const struct sideband_copy *copy)
{
	return (struct perfdata_event){ sideband->event.attr, sideband->event.name, copy->ids,
					copy->nr_ids };
}

int sideband_copy_rings(const struct rings *rings, size_t nr, struct sideband_copy **ret)
{
	struct sideband_copy *copy = calloc(1, sizeof(*copy) + nr * sizeof(copy->rings[0]));
	int err;

	if (!copy)
		return -ENOMEM;
	copy->nr = nr;
	copy->ids = rings_ids(rings, &copy->nr_ids);
	err = copy->ids ? rings_copy_running(rings, copy->rings) : -ENOMEM;
	if (err) {
		sideband_copy_free(copy);
		return err;
	}
	*ret = copy;
	return 0;
}

int sideband_copy(const struct sideband *sideband, struct sideband_copy **ret)
{
	return sideband_copy_rings(sideband->rings, sideband->nr_cpus, ret);
}

void sideband_copy_free(struct sideband_copy *copy)
{
	if (!copy)
		return;
	for (size_t i = 0; i < copy->nr; i++)
		free(copy->rings[i].data);
	free(copy->ids);
	free(copy);
}

static int put_maps(const struct sideband *sideband, struct perfdata_buf *buf, const int *maps_of)
{
	const struct perf_event_attr *attr = &sideband->event.attr;
	int err = 0;

	if (!maps_of)
		return perfdata_put_task_maps(buf, attr, sideband->root_fd, -1);
	for (; *maps_of && !err; maps_of++)
		err = perfdata_put_task_maps(buf, attr, sideband->root_fd, *maps_of);
	return err;
}

/* Maps of living tasks, and build ids of everything mapped so far. */
static int write_maps(const struct sideband *sideband, struct perfdata *pd,
		      const struct sideband_copy *copy, const int *maps_of)
{
	_cleanup_free_ struct perfdata_records *records = calloc(copy->nr + 1, sizeof(*records));
	struct perfdata_buf buf = {};
	int err;

	if (!records)
		return -ENOMEM;
	err = put_maps(sideband, &buf, maps_of);
	if (!err)
		err = perfdata_write(pd, buf.data, buf.len);
	records[0] = (struct perfdata_records){ buf.data, buf.len };
	for (size_t i = 0; i < copy->nr; i++)
		records[i + 1] =
			(struct perfdata_records){ copy->rings[i].data, copy->rings[i].size };
	if (!err)
		err = perfdata_put_build_ids(pd, sideband->build_ids, records, copy->nr + 1);
	perfdata_buf_release(&buf);
	return err;
}

/* Since Linux 6.3 (cf587db2ee02) kernel threads get their names at fork, without a COMM record:
 * perf would name them after their parent, kthreadd. */
static int write_kthreads(const struct sideband *sideband, struct perfdata *pd,
			  const struct sideband_copy *copy)
{
	struct perfdata_buf buf = {};
	int err = 0;

	for (size_t i = 0; i < copy->nr && !err; i++)
		err = records_put_kthreads(&buf, &copy->rings[i], sideband->root_fd);
	return records_flush(pd, &buf, err);
}

int sideband_write(const struct sideband *sideband, struct perfdata *pd,
		   const struct sideband_copy *copy, const int *maps_of)
{
	struct records_facts facts = {};
	struct perfdata_buf buf = {};
	int err;

	err = perfdata_put_kernel(&buf, &sideband->event.attr, sideband->root_fd);
	err = records_flush(pd, &buf, err);
	if (!err)
		err = perfdata_write(pd, sideband->tasks.data, sideband->tasks.len);
	if (!err)
		err = perfdata_put_tasks(&buf, &sideband->event.attr, sideband->root_fd);
	err = records_flush(pd, &buf, err);
	if (!err && (!maps_of || *maps_of))
		err = write_maps(sideband, pd, copy, maps_of);
	for (size_t i = 0; i < copy->nr && !err; i++)
		err = records_write(pd, &copy->rings[i], &facts);
	return err ?: write_kthreads(sideband, pd, copy);
}

void sideband_free(struct sideband *sideband)
{
	if (!sideband)
		return;
	rings_free(sideband->rings);
	perfdata_buf_release(&sideband->tasks);
	perfdata_build_ids_free(sideband->build_ids);
	free(sideband->cpus);
	free(sideband);
}
