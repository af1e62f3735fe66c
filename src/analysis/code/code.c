// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include <search.h>
#include <string.h>

#include "array.h"
#include "code/code_parts.h"
#include "code/files.h"
#include "code/names.h"
#include "code/symbolizer.h"
#include "code/symbols.h"
#include "text.h"

#define KERNEL_NAME "[kernel.kallsyms]"
/* libipt's limited cache takes four times the size of a section. */
#define SECTION_SIZE (32u << 20)

/* A traced file, or a mapping without one. */
struct code_traced {
	struct files_wanted wanted;
	char *name, *path, *why;
	int fd;		 /* without a path of its own; else -1 */
	uint32_t number; /* of the symbolizer */
	struct symbols symbols;
	const struct symbol *unnamed;
	uint64_t ip; /* first address executed */
	struct code_traced *next;
};

struct code {
	pthread_mutex_t lock;
	const struct sideband *sideband;
	struct symbol_table symbols;
	struct files_places places;
	struct symbolizer *symbolizer, *own_symbolizer;
	bool wants_inlined;
	struct code_inlines **inlines; /* all, to be freed */
	size_t nr_inlines;
	struct pt_image_section_cache *cache;
	struct kcore kcore;
	struct patches *patches;
	struct code_traced *files, kernel;
	void *by_name;			/* tree of files */
	void *by_place;			/* tree of sections */
	struct code_section **sections; /* by number, from 1 */
	size_t nr_sections, room_sections;
	const struct symbol *unknown;
};

bool code_is_kernel(uint64_t ip)
{
	return ip >> 63;
}

struct pt_image_section_cache *code_sections(const struct code *code)
{
	return code->cache;
}

const struct sideband *code_sideband(const struct code *code)
{
	return code->sideband;
}

uint64_t code_next_change(const struct code *code, uint64_t time)
{
	return patches_until(code->patches, time);
}

bool code_kernel_only(const struct code *code)
{
	const struct sideband_pt *pt = sideband_pt(code->sideband);

	return pt->found && !pt->user;
}

/* [FILE] */
static const struct symbol *unnamed_file_symbol(struct code *code, struct code_traced *file)
{
	const char *slash = strrchr(file->name, '/'), *base = slash ? slash + 1 : file->name;
	_cleanup_free_ char *text = NULL;

	if (file->unnamed)
		return file->unnamed;
	text = strfmt("[%s]", base);
	if (!text)
		return NULL;
	file->unnamed = symbol_table_keep(&code->symbols, text, 0, 0, file == &code->kernel);
	return file->unnamed;
}

/* Programs that the kernel generates and removes meanwhile are known only from their records. An
 * address may be one's after another's. */
static const struct sideband_ksymbol *find_recorded_ksymbol(const struct code *code, uint64_t ip,
							    uint64_t time)
{
	const struct sideband_kernel *kernel = sideband_kernel(code->sideband);
	size_t nr = ARRAY_COUNT_BEFORE(kernel->nr_ksymbols, i, kernel->ksymbols[i].time <= time);

	for (size_t i = nr; i-- > 0;) {
		const struct sideband_ksymbol *symbol = &kernel->ksymbols[i];

		if (ip >= symbol->start && ip - symbol->start < symbol->len)
			return symbol->removed ? NULL : symbol;
	}
	/* What is removed later was there before the records. */
	for (size_t i = nr; i < kernel->nr_ksymbols; i++) {
		const struct sideband_ksymbol *symbol = &kernel->ksymbols[i];

		if (ip >= symbol->start && ip - symbol->start < symbol->len)
			return symbol->removed ? symbol : NULL;
	}
	return NULL;
}

static const struct symbol *find_kernel_symbol(struct code *code, uint64_t ip, uint64_t time)
{
	const struct symbols_entry *entry = symbols_find(&code->kcore.symbols, ip);
	const struct sideband_ksymbol *made = find_recorded_ksymbol(code, ip, time);

	if (made && (!entry || entry->start < made->start))
		return symbol_table_keep(&code->symbols, made->name, made->start,
					 made->start + made->len, true);
	if (!entry)
		return unnamed_file_symbol(code, &code->kernel);
	return symbol_table_keep(&code->symbols, symbols_name(&code->kcore.symbols, entry),
				 entry->start, entry->end, true);
}

static const struct symbol *find_file_symbol(struct code *code, const struct code_section *section,
					     uint64_t ip)
{
	uint64_t base = section->start - section->offset;
	const struct symbols_entry *entry = symbols_find(&section->file->symbols, ip - base);
	_cleanup_free_ char *plain = NULL;
	const struct symbol *symbol;
	const char *name;

	if (!entry)
		return unnamed_file_symbol(code, section->file);
	name = symbols_name(&section->file->symbols, entry);
	plain = demangle(name);
	symbol = symbol_table_keep(&code->symbols, plain ?: name, entry->start + base,
				   entry->end + base, false);
	if (symbol && symbol->file == SYMBOL_NO_FILE && !has_suffix(name, "@plt")) {
		((struct symbol *)symbol)->file = section->file->number;
		((struct symbol *)symbol)->offset = entry->start;
	}
	return symbol;
}

const struct symbol *code_symbol_at(struct code *code, const struct code_section *section,
				    uint64_t ip, uint64_t time)
{
	const struct symbol *symbol;

	pthread_mutex_lock(&code->lock);
	if (code_is_kernel(ip))
		symbol = find_kernel_symbol(code, ip, time);
	else
		symbol = section ? find_file_symbol(code, section, ip) : code->unknown;
	pthread_mutex_unlock(&code->lock);
	return symbol;
}

struct code_inlines *code_inlines_of(struct code *code, const struct symbol *symbol)
{
	struct symbol *asked = (struct symbol *)symbol;
	struct code_inlines *inlines;

	if (!code->wants_inlined)
		return NULL;
	pthread_mutex_lock(&code->lock);
	if (!asked->asked_inlines && symbol->file != SYMBOL_NO_FILE &&
	    !array_grow(&code->inlines, code->nr_inlines, sizeof(*code->inlines))) {
		asked->asked_inlines = true;
		asked->inlines = code_inlines_new(code->symbolizer, symbol);
		code->inlines[code->nr_inlines++] = asked->inlines;
	}
	inlines = asked->inlines;
	pthread_mutex_unlock(&code->lock);
	return inlines;
}

static int compare_build_ids(const struct build_id *a, const struct build_id *b)
{
	return a->size != b->size ? a->size - b->size : memcmp(a->bytes, b->bytes, a->size);
}

static int compare_traced_files(const void *a, const void *b)
{
	const struct code_traced *one = a, *other = b;

	return strcmp(one->wanted.name, other->wanted.name)
		       ?: compare_build_ids(&one->wanted.id, &other->wanted.id);
}

static void free_traced_file(struct code_traced *file)
{
	free(file->name);
	free(file->path);
	free(file->why);
	symbols_release(&file->symbols);
	closep(&file->fd);
}

static int set_missing_reason(struct code_traced *file, char *why)
{
	file->why = why;
	return why ? 0 : -ENOMEM;
}

static int open_traced_file(struct code *code, struct code_traced *file)
{
	_cleanup_close_ int fd = -1;
	int err;

	if (file->name[0] != '/' && strcmp(file->name, "[vdso]"))
		return set_missing_reason(file, strdup("it is no file"));
	fd = files_open_wanted(&code->places, &file->wanted, &file->path);
	if (fd < 0)
		return fd == -ENOMEM
			       ? fd
			       : set_missing_reason(file, files_explain_error(&code->places,
									      &file->wanted, fd));
	err = symbolizer_open_file(code->symbolizer, &file->wanted, fd, &file->symbols,
				   &file->number);
	if (err == -ENOEXEC) {
		free(TAKE_PTR(file->path));
		return set_missing_reason(file, strdup("it is no ELF file"));
	}
	if (!err && file->path && !strncmp(file->path, "/proc/self/fd/", 14))
		file->fd = TAKE_FD(fd);
	return err;
}

static int find_traced_file(struct code *code, const struct sideband_map *map,
			    struct code_traced **ret)
{
	struct code_traced key = { .wanted.name = map->name }, *file;
	struct code_traced *const *found;
	int err = -ENOMEM;

	if (map->build_id && map->build_id_size <= sizeof(key.wanted.id.bytes)) {
		key.wanted.id.size = map->build_id_size;
		memcpy(key.wanted.id.bytes, map->build_id, map->build_id_size);
	}
	found = tfind(&key, &code->by_name, compare_traced_files);
	if (found) {
		*ret = *found;
		return 0;
	}
	file = calloc(1, sizeof(*file));
	if (!file)
		return err;
	file->fd = -1;
	file->number = SYMBOLIZER_NO_FILE;
	file->name = strdup(map->name);
	if (file->name) {
		file->wanted = (struct files_wanted){ file->name, key.wanted.id };
		err = open_traced_file(code, file);
	}
	if (!err && !tsearch(file, &code->by_name, compare_traced_files))
		err = -ENOMEM;
	if (err) {
		free_traced_file(file);
		free(file);
		return err;
	}
	file->next = code->files;
	code->files = file;
	*ret = file;
	return 0;
}

static int compare_sections(const void *a, const void *b)
{
	const struct code_section *one = a, *other = b;

	return strcmp(one->path, other->path)
		       ?: array_compare(one->start, other->start)
		       ?: array_compare(one->offset, other->offset)
		       ?: array_compare(one->size, other->size);
}

static int number_code_section(struct code *code, struct code_section *section)
{
	size_t room = code->room_sections;

	section->isid = code_cache_add(code->cache, section);
	if (section->isid < 0)
		return section->isid;
	while (room <= (size_t)section->isid)
		room = room ? 2 * room : 64;
	if (room > code->room_sections) {
		struct code_section **more =
			reallocarray(code->sections, room, sizeof(struct code_section *));

		if (!more)
			return -ENOMEM;
		memset(more + code->room_sections, 0,
		       (room - code->room_sections) * sizeof(struct code_section *));
		code->sections = more;
		code->room_sections = room;
	}
	return 0;
}

static int find_code_section(struct code *code, const struct code_section *wanted,
			     const struct code_section **ret)
{
	struct code_section *const *found = tfind(wanted, &code->by_place, compare_sections);
	struct code_section *section = found ? NULL : malloc(sizeof(*section));
	int err;

	if (found) {
		*ret = *found;
		return 0;
	}
	if (!section)
		return -ENOMEM;
	*section = *wanted;
	err = number_code_section(code, section);
	if (!err && !tsearch(section, &code->by_place, compare_sections))
		err = -ENOMEM;
	if (err) {
		free(section);
		return err;
	}
	/* If a mapping exceeds its file, libipt truncates it, and may return the number of an
	 * existing section of that size. */
	if (!code->sections[section->isid])
		code->sections[section->isid] = section;
	*ret = section;
	return 0;
}

/* Limits it to the size of a section. */
static void limit_to_section_size(struct code_region *region, uint64_t ip)
{
	region->start += (ip - region->start) / SECTION_SIZE * SECTION_SIZE;
	if (region->end - region->start > SECTION_SIZE)
		region->end = region->start + SECTION_SIZE;
}

static int find_kernel_region(struct code *code, uint64_t time, uint64_t ip,
			      struct code_region *region)
{
	const struct kcore_segment *segment = kcore_find(&code->kcore, ip);
	struct code_section wanted = {};

	*region = (struct code_region){ .start = segment ? segment->start : 0,
					.end = segment ? segment->end : UINT64_MAX };
	region->site = patches_find(code->patches, ip, &region->start, &region->end);
	if (region->site) {
		if (!patches_version(code->patches, region->site, time, &region->version))
			return -ENOENT;
		region->start = region->site->start;
		region->end = region->site->end;
		wanted.path = patches_path(code->patches);
		wanted.offset =
			region->site->offset + region->version * (region->end - region->start);
	} else if (segment) {
		limit_to_section_size(region, ip);
		wanted.path = code->kcore.path;
		wanted.offset = segment->offset + region->start - segment->start;
	} else {
		return -ENOENT;
	}
	wanted.start = region->start;
	wanted.size = region->end - region->start;
	return find_code_section(code, &wanted, &region->section);
}

static int find_user_region(struct code *code, const struct sideband_maps *maps, uint64_t ip,
			    struct code_region *region)
{
	const struct sideband_map *map = sideband_find_map(maps, ip);
	struct code_section wanted = {};
	int err;

	if (!map || map->is_data)
		return -ENOENT;
	err = find_traced_file(code, map, &wanted.file);
	if (err)
		return err;
	if (!wanted.file->ip)
		wanted.file->ip = ip;
	if (!wanted.file->path)
		return -ENOENT;
	*region = (struct code_region){ .start = map->start, .end = map->end };
	limit_to_section_size(region, ip);
	wanted.path = wanted.file->path;
	wanted.offset = map->pgoff + (region->start - map->start);
	wanted.size = region->end - region->start;
	wanted.start = region->start;
	return find_code_section(code, &wanted, &region->section);
}

int code_find_region(struct code *code, const struct sideband_maps *maps, uint64_t time,
		     uint64_t ip, struct code_region *region)
{
	int err;

	pthread_mutex_lock(&code->lock);
	if (!code_is_kernel(ip)) {
		err = find_user_region(code, maps, ip, region);
	} else {
		err = find_kernel_region(code, time, ip, region);
		if (!code->kernel.ip)
			code->kernel.ip = ip;
	}
	pthread_mutex_unlock(&code->lock);
	return err;
}

const struct code_section *code_find_section(struct code *code, int isid)
{
	const struct code_section *section = NULL;

	pthread_mutex_lock(&code->lock);
	if (isid > 0 && (size_t)isid < code->room_sections)
		section = code->sections[isid];
	pthread_mutex_unlock(&code->lock);
	return section;
}

int code_kernel_symbol(const struct code *code, const char *name, uint64_t *start, uint64_t *end)
{
	const struct symbols_entry *entry = symbols_by_name(&code->kcore.symbols, name);

	if (!entry)
		return -ENOENT;
	*start = entry->start;
	*end = entry->end;
	return 0;
}

/* perf's name of the kernel's mapping contains the symbol: `[kernel.kallsyms]_text`. */
static int open_kernel_code(struct code *code, const char *data)
{
	const struct sideband_kernel *kernel = sideband_kernel(code->sideband);
	const char *text = "";
	uint64_t start = 0;
	int err;

	for (size_t i = 0; i < kernel->nr_maps; i++) {
		const struct sideband_map *map = &kernel->maps[i];

		if (strncmp(map->name, KERNEL_NAME, strlen(KERNEL_NAME)))
			continue;
		text = map->name + strlen(KERNEL_NAME);
		start = map->pgoff;
	}
	err = kcore_open(&code->kcore, data, text, start);
	if (!err)
		err = patches_new(&code->patches, kernel, &code->kcore);
	code->kernel.name = strdup(KERNEL_NAME);
	return err ?: code->kernel.name ? 0 : -ENOMEM;
}

int code_new(struct code **ret, const struct code_opts *opts, char **why)
{
	struct code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	pthread_mutex_init(&code->lock, NULL);
	code->sideband = opts->sideband;
	code->symbolizer = opts->symbolizer;
	code->wants_inlined = opts->inlined;
	code->kernel.fd = code->kcore.fd = -1;
	err = names_new(&code->symbols.texts);
	err = err ?: open_kernel_code(code, opts->data);
	if (!err) {
		code->unknown = symbol_table_keep(&code->symbols, "[unknown]", 0, 0, false);
		if (opts->buildid_dir)
			code->places.buildid_dir = strdup(opts->buildid_dir);
		if (opts->symfs)
			code->places.symfs = strdup(opts->symfs);
		if (!code->unknown || (opts->buildid_dir && !code->places.buildid_dir) ||
		    (opts->symfs && !code->places.symfs))
			err = -ENOMEM;
	}
	if (!err && !code->symbolizer) {
		err = symbolizer_new(&code->own_symbolizer, &code->places);
		code->symbolizer = code->own_symbolizer;
	}
	err = err ?: code_cache_new(&code->cache);
	if (!err) {
		*ret = code;
		return 0;
	}
	if (err != -ENOMEM)
		*why = strfmt("the patches of the kernel's code: %s", strerror(-err));
	code_free(code);
	return err;
}

static void keep_tree_node(void *node)
{
}

void code_free(struct code *code)
{
	if (!code)
		return;
	code_cache_free(code->cache);
	for (size_t i = 0; i < code->nr_inlines; i++)
		code_inlines_free(code->inlines[i]);
	free(code->inlines);
	tdestroy(code->by_place, free);
	tdestroy(code->by_name, keep_tree_node);
	while (code->files) {
		struct code_traced *file = code->files;

		code->files = file->next;
		free_traced_file(file);
		free(file);
	}
	free_traced_file(&code->kernel);
	symbol_table_release(&code->symbols);
	free(code->sections);
	patches_free(code->patches);
	symbolizer_free(code->own_symbolizer);
	kcore_close(&code->kcore);
	free((char *)code->places.buildid_dir);
	free((char *)code->places.symfs);
	pthread_mutex_destroy(&code->lock);
	free(code);
}

static struct code_file describe_code_file(const struct code_traced *file)
{
	return (struct code_file){
		.name = file->name,
		.id = file->wanted.id,
		.path = file->path,
		.why = file->why,
		.ip = file->ip,
	};
}

int code_files(struct code *code, struct code_file **files, size_t *nr)
{
	size_t room = 1, at = 0;
	struct code_file *list;

	for (const struct code_traced *file = code->files; file; file = file->next)
		room++;
	list = calloc(room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	if (code->kernel.ip) {
		list[at] = describe_code_file(&code->kernel);
		list[at].path = code->kcore.why ? NULL : code->kcore.path;
		list[at++].why = code->kcore.why;
	}
	for (const struct code_traced *file = code->files; file; file = file->next) {
		if (file->ip)
			list[at++] = describe_code_file(file);
	}
	*files = list;
	*nr = at;
	return 0;
}
