// SPDX-License-Identifier: GPL-2.0-only
#include <stdalign.h>
#include <string.h>

#include "array.h"
#include "code/code_parts.h"
#include "code/insns.h"

/* Cached images of processes; recreating one is cheap. */
#define IMAGES 256
#define BLOCKS_ROOM 4096 /* a power of two */
/* Maximum length of an instruction. */
#define INSN_MAX 15
/* Larger blocks are walked instruction by instruction. */
#define SCAN_MAX 512
#define POOL_SIZE (64 << 10)

/* The code that a process can execute until its mappings change. Sections are added when they are
 * first executed. */
struct image {
	struct code_view *view;
	struct pt_image *image;
	/* The same without sections: since libipt 2.2 the instruction decoder is a block decoder
	 * inside, which continues after jumps and stores those blocks in the caches of sections. */
	struct pt_image *bytes;
	struct sideband_maps maps;
	int pid;
	uint64_t time; /* time of its kernel patches */
	uint64_t used; /* number of its last request */
	struct code_region *regions;
	size_t nr;
};

/* An entry of the cache; all zero: free. */
struct slot {
	uint64_t ip;
	uint64_t place; /* span to the last instruction, then the section (PLACE_BITS) */
	const struct code_block *block;
};

#define PLACE_BITS 32

struct pool {
	struct pool *next;
	size_t used;
	alignas(16) uint8_t bytes[POOL_SIZE];
};

struct code_view {
	struct code *code;
	struct insns *insns;
	struct image *images[IMAGES], *current, *recent;
	size_t nr_images;
	uint64_t requests;
	struct slot *slots;
	uint32_t nr_slots, mask;
	struct pool *pool;
	struct code_row *rows; /* rows of the current block */
	size_t room_rows;
};

static void free_process_image(struct image *image)
{
	if (!image)
		return;
	pt_image_free(image->image);
	pt_image_free(image->bytes);
	sideband_maps_release(&image->maps);
	free(image->regions);
	free(image);
}

void code_view_free(struct code_view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->nr_images; i++)
		free_process_image(view->images[i]);
	while (view->pool) {
		struct pool *next = view->pool->next;

		free(view->pool);
		view->pool = next;
	}
	insns_free(view->insns);
	free(view->slots);
	free(view->rows);
	free(view);
}

int code_view_new(struct code_view **ret, struct code *code)
{
	struct code_view *view = calloc(1, sizeof(*view));

	if (!view)
		return -ENOMEM;
	view->code = code;
	view->mask = BLOCKS_ROOM - 1;
	view->slots = calloc(BLOCKS_ROOM, sizeof(*view->slots));
	if (!view->slots || insns_new(&view->insns)) {
		code_view_free(view);
		return -ENOMEM;
	}
	*ret = view;
	return 0;
}

static const struct code_region *find_image_region(const struct image *image, uint64_t ip)
{
	for (size_t i = 0; i < image->nr; i++) {
		if (ip >= image->regions[i].start && ip < image->regions[i].end)
			return &image->regions[i];
	}
	return NULL;
}

static int keep_image_region(struct image *image, const struct code_region *region)
{
	if (array_grow(&image->regions, image->nr, sizeof(*region)))
		return -ENOMEM;
	image->regions[image->nr++] = *region;
	return 0;
}

/* libipt asks for bytes outside all sections: adds the section. */
static int read_image_bytes(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
			    void *context)
{
	struct image *image = context;
	struct pt_image_section_cache *sections = code_sections(image->view->code);
	struct code_region region;

	if (!find_image_region(image, ip)) {
		int err =
			code_find_region(image->view->code, &image->maps, image->time, ip, &region);

		if (err)
			return err == -ENOMEM ? -pte_nomem : -pte_nomap;
		if (keep_image_region(image, &region))
			return -pte_nomem;
		err = pt_image_add_cached(image->image, sections, region.section->isid, NULL);
		if (err < 0)
			return err;
	}
	return pt_iscache_read(sections, buffer, size, find_image_region(image, ip)->section->isid,
			       ip);
}

static struct pt_image *new_reading_image(struct image *image)
{
	struct pt_image *made = pt_image_alloc(NULL);

	if (made)
		pt_image_set_callback(made, read_image_bytes, image);
	return made;
}

static int renew_code_image(struct image *image)
{
	struct pt_image *fresh = new_reading_image(image);

	if (!fresh)
		return -ENOMEM;
	pt_image_free(image->image);
	image->image = fresh;
	image->nr = 0;
	return 0;
}

static int new_process_image(struct code_view *view, int pid, uint64_t time, struct image **ret)
{
	struct image *image = calloc(1, sizeof(*image));
	int err = -ENOMEM;

	if (!image)
		return err;
	image->view = view;
	image->pid = pid;
	image->time = time;
	image->maps.until = UINT64_MAX;
	if (pid >= 0)
		err = sideband_maps(code_sideband(view->code), pid, time, &image->maps);
	else
		err = 0;
	err = err ?: renew_code_image(image);
	image->bytes = err ? NULL : new_reading_image(image);
	if (!err && !image->bytes)
		err = -ENOMEM;
	if (err)
		free_process_image(image);
	else
		*ret = image;
	return err;
}

/* The least recently used image except the current one. */
static struct image **place_for_image(struct code_view *view)
{
	struct image **oldest = NULL;

	if (view->nr_images < IMAGES)
		return &view->images[view->nr_images++];
	for (size_t i = 0; i < IMAGES; i++) {
		struct image **image = &view->images[i];

		if (*image != view->current && (!oldest || (*image)->used < (*oldest)->used))
			oldest = image;
	}
	free_process_image(*oldest);
	*oldest = NULL;
	return oldest;
}

static bool image_is_valid_for(const struct image *image, int pid, uint64_t time)
{
	return image->pid == pid && time >= image->maps.from && time < image->maps.until;
}

static struct image *find_process_image(struct code_view *view, int pid, uint64_t time)
{
	struct image *image = view->recent;

	if (code_kernel_only(view->code))
		pid = -1;
	if (image && image_is_valid_for(image, pid, time))
		return image;
	image = NULL;
	for (size_t i = 0; i < view->nr_images && !image; i++) {
		if (image_is_valid_for(view->images[i], pid, time))
			image = view->images[i];
	}
	if (!image) {
		if (new_process_image(view, pid, time, &image))
			return NULL;
		*place_for_image(view) = image;
	}
	image->used = ++view->requests;
	view->recent = image;
	return image;
}

/* Whether the image has the kernel patches of that time. */
static bool image_has_patches(const struct image *image, uint64_t time)
{
	for (size_t i = 0; i < image->nr; i++) {
		const struct code_region *region = &image->regions[i];
		struct code_region now;

		if (region->site &&
		    (code_find_region(image->view->code, &image->maps, time, region->start, &now) ||
		     now.version != region->version))
			return false;
	}
	return true;
}

struct pt_image *code_view_image(struct code_view *view, int pid, uint64_t time, uint64_t *until)
{
	struct image *image = find_process_image(view, pid, time);

	if (!image)
		return NULL;
	if (image->time != time && !image_has_patches(image, time) && renew_code_image(image))
		return NULL;
	image->time = time;
	view->current = image;
	*until = code_next_change(view->code, time);
	if (image->maps.until < *until)
		*until = image->maps.until;
	return image->image;
}

const struct symbol *code_view_symbol(struct code_view *view, int pid, uint64_t time, uint64_t ip)
{
	const struct code_region *known;
	struct code_region region = {};
	struct image *image;

	if (code_is_kernel(ip))
		return code_symbol_at(view->code, NULL, ip, time);
	image = find_process_image(view, pid, time);
	if (!image)
		return NULL;
	known = find_image_region(image, ip);
	if (known)
		region = *known;
	else if (code_find_region(view->code, &image->maps, time, ip, &region) == -ENOMEM)
		return NULL;
	return code_symbol_at(view->code, region.section, ip, time);
}

static void *allocate_from_pool(struct code_view *view, size_t size)
{
	struct pool *pool = view->pool;
	void *taken;

	size = (size + 15) & ~(size_t)15;
	if (!pool || sizeof(pool->bytes) - pool->used < size) {
		size_t room = size > sizeof(pool->bytes) ? size - sizeof(pool->bytes) : 0;

		pool = malloc(sizeof(*pool) + room);
		if (!pool)
			return NULL;
		pool->next = view->pool;
		pool->used = 0;
		view->pool = pool;
	}
	taken = pool->bytes + pool->used;
	pool->used = size > sizeof(pool->bytes) ? sizeof(pool->bytes) : pool->used + size;
	return taken;
}

static int append_code_row(struct code_view *view, uint32_t *nr, const struct code_row *row)
{
	if (*nr == view->room_rows && array_grow(&view->rows, view->room_rows++, sizeof(*row)))
		return -ENOMEM;
	view->rows[(*nr)++] = *row;
	return 0;
}

static void set_block_branch(struct code_block *block, const struct pt_insn *insn)
{
	block->length = insn->size;
	block->iclass = (uint8_t)insn->iclass;
	block->branch = (uint8_t)insn_code_branch(insn);
}

/* The common case: one function, no instruction that may change interrupts or wait for one. */
static bool is_block_one_row(const struct code_view *view, const struct code_section *section,
			     const struct symbol *symbol, const struct pt_block *block)
{
	uint64_t span = block->end_ip - block->ip + INSN_MAX;
	uint8_t bytes[SCAN_MAX];
	int nr;

	if (span > sizeof(bytes) || !section || !symbol_contains(symbol, block->end_ip))
		return false;
	nr = pt_iscache_read(code_sections(view->code), bytes, span, section->isid, block->ip);
	for (int i = 0; i < nr; i++) {
		if (insns_may_change_irqs(bytes[i]) || insns_may_wait(bytes + i, (size_t)(nr - i)))
			return false;
	}
	return nr > 0 && block->ip + (uint64_t)nr > block->end_ip;
}

static const struct code_chain *find_inlined_chain(struct code_view *view,
						   const struct symbol *symbol, uint64_t ip)
{
	const struct code_inlines *inlines = code_inlines_of(view->code, symbol);

	return inlines ? code_chain_at(inlines, ip) : NULL;
}

/* Rows end with their function, what is inlined in it, and where interrupts may change. */
static int walk_block_insns(struct code_view *view, const struct code_section *section,
			    const struct pt_block *block, struct code_block *made)
{
	struct code_row row = { .first = block->ip };
	uint64_t next = block->ip;
	struct pt_insn insn;

	if (insns_begin(view->insns, view->current->bytes, block->ip, block->mode))
		return -ENODATA;
	while (next <= block->end_ip && insns_next(view->insns, &insn) && insn.ip == next) {
		const struct symbol *symbol = row.symbol;
		const struct code_chain *chain;

		if (!symbol || !symbol_contains(symbol, insn.ip))
			symbol = code_symbol_at(view->code, section, insn.ip, view->current->time);
		if (!symbol)
			return -ENOMEM;
		chain = find_inlined_chain(view, symbol, insn.ip);
		if (row.insns && (row.irqs || symbol != row.symbol || chain != row.chain)) {
			if (append_code_row(view, &made->nr_rows, &row))
				return -ENOMEM;
			row = (struct code_row){ .first = insn.ip };
		}
		row.symbol = symbol;
		row.chain = chain;
		row.last = insn.ip;
		row.irqs = (uint8_t)insn_irq_change(&insn);
		made->waits |= insn_waits(&insn);
		row.insns++;
		made->insns++;
		next = insn.ip + insn.size;
	}
	if (!row.insns || row.last != block->end_ip || made->insns != block->ninsn)
		return -ENODATA;
	set_block_branch(made, &insn);
	return append_code_row(view, &made->nr_rows, &row);
}

/* Like libipt, without decoding the code in between. */
static int make_whole_block(struct code_view *view, const struct pt_block *block,
			    const struct symbol *symbol, struct code_block *made)
{
	struct pt_insn insn = { .iclass = block->iclass, .mode = block->mode };
	struct code_row row = {
		.first = block->ip,
		.last = block->end_ip,
		.insns = block->ninsn,
		.symbol = symbol,
		.chain = find_inlined_chain(view, symbol, block->ip),
	};

	if (insns_begin(view->insns, view->current->bytes, block->end_ip, block->mode) ||
	    !insns_next(view->insns, &insn)) {
		insn.iclass = block->iclass;
		insn.size = 0;
	}
	set_block_branch(made, &insn);
	if (block->ninsn == 1) {
		row.irqs = (uint8_t)insn_irq_change(&insn);
		made->waits = insn_waits(&insn);
	}
	made->insns = block->ninsn;
	made->nr_rows = 0;
	return append_code_row(view, &made->nr_rows, &row);
}

/* Neighbouring code is neighbouring in the cache, because it is looked up together. */
static inline uint32_t hash_address(uint64_t ip)
{
	uint64_t line = (ip >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return (uint32_t)(line << 3 | (ip >> 3 & 7));
}

static int grow_block_cache(struct code_view *view)
{
	uint32_t mask = 2 * view->mask + 1;
	struct slot *slots = calloc((size_t)mask + 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i <= view->mask; i++) {
		const struct slot *slot = &view->slots[i];
		uint32_t to = hash_address(slot->ip);

		if (!slot->block)
			continue;
		while (slots[to & mask].block)
			to++;
		slots[to & mask] = *slot;
	}
	free(view->slots);
	view->slots = slots;
	view->mask = mask;
	return 0;
}

/* Not inlined, to keep the common case short. */
static __attribute__((noinline)) const struct code_block *
add_block_to_cache(struct code_view *view, const struct pt_block *block, struct slot key)
{
	const struct code_section *section =
		code_find_section(view->code, (int)(uint32_t)key.place);
	const struct symbol *symbol =
		code_symbol_at(view->code, section, block->ip, view->current->time);
	struct code_block made = { .first = block->ip, .last = block->end_ip }, *kept;
	uint32_t i = hash_address(key.ip);
	struct code_row *rows;
	int err = -ENODATA;

	if (!symbol || (2 * view->nr_slots > view->mask && grow_block_cache(view)))
		return NULL;
	if (code_inlines_of(view->code, symbol) || !is_block_one_row(view, section, symbol, block))
		err = walk_block_insns(view, section, block, &made);
	if (err == -ENODATA)
		err = make_whole_block(view, block, symbol, &made);
	kept = err ? NULL : allocate_from_pool(view, sizeof(*kept));
	rows = kept ? allocate_from_pool(view, made.nr_rows * sizeof(*rows)) : NULL;
	if (!rows)
		return NULL;
	memcpy(rows, view->rows, made.nr_rows * sizeof(*rows));
	made.rows = rows;
	if (made.nr_rows == 1 && rows->irqs == IRQ_SAME && !made.waits &&
	    !code_inlines_of(view->code, rows->symbol))
		made.symbol = rows->symbol;
	*kept = made;
	key.block = kept;
	while (view->slots[i & view->mask].block)
		i++;
	view->slots[i & view->mask] = key;
	view->nr_slots++;
	return kept;
}

/* libipt does not know it yet for the first instruction of a file. */
static __attribute__((noinline)) uint32_t find_section_number(const struct code_view *view,
							      uint64_t ip)
{
	const struct code_region *region = find_image_region(view->current, ip);

	return region ? (uint32_t)region->section->isid : 0;
}

const struct code_block *code_view_block(struct code_view *view, const struct pt_block *block)
{
	uint64_t span = block->end_ip - block->ip;
	uint32_t isid = (uint32_t)block->isid;
	struct slot key = { .ip = block->ip };

	/* Not produced by libipt. */
	if (span >> PLACE_BITS)
		return NULL;
	if (!isid)
		isid = find_section_number(view, block->ip);
	key.place = span << PLACE_BITS | isid;
	for (uint32_t i = hash_address(key.ip);; i++) {
		const struct slot *slot = &view->slots[i & view->mask];

		if (slot->ip == key.ip && slot->place == key.place && slot->block)
			return slot->block;
		if (!slot->block)
			return add_block_to_cache(view, block, key);
	}
}
