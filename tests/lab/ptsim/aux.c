// SPDX-License-Identifier: GPL-2.0-only
#include "ptsim.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

void *ptsim_aux_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct ptsim_aux *aux;

	/* As the driver of hardware does: samples are taken of what is overwritten only. */
	if (!nr_pages || (event->attr.aux_sample_size && !overwrite))
		return NULL;
	aux = kzalloc(sizeof(*aux), GFP_KERNEL);
	if (!aux)
		return NULL;
	aux->pages = pages;
	aux->size = (size_t)nr_pages << PAGE_SHIFT;
	aux->overwrite = overwrite;
	return aux;
}

void ptsim_aux_free(void *aux)
{
	kfree(aux);
}

void ptsim_aux_written(struct ptsim_aux *aux, size_t size)
{
	aux->head += size;
	aux->pending += size;
	aux->written += size;
	if (!aux->overwrite)
		aux->room -= size;
}

void ptsim_aux_write(struct ptsim_aux *aux, const void *data, size_t size)
{
	const char *from = data;
	u64 head = aux->head;

	ptsim_aux_written(aux, size);
	while (size) {
		size_t offset = head & (aux->size - 1);
		size_t part = min_t(size_t, size, PAGE_SIZE - offset_in_page(offset));

		memcpy((char *)aux->pages[offset >> PAGE_SHIFT] + offset_in_page(offset), from,
		       part);
		from += part;
		size -= part;
		head += part;
	}
}

void ptsim_emit(struct ptsim_stream *s, const void *data, size_t size)
{
	ptsim_aux_write(s->aux, data, size);
	s->since_psb += size;
	s->totals.bytes += size;
}
