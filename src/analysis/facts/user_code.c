// SPDX-License-Identifier: GPL-2.0-only
#include "facts/user_code.h"

#include <string.h>

#include "build_id.h"
#include "code/code_parts.h"

void user_code_release(struct user_code *user)
{
	for (size_t i = 0; i < USER_CODE_MAPS; i++)
		sideband_maps_release(&user->maps[i].maps);
	code_free(user->code);
	sideband_free(user->sideband);
	free(user->buildid_dir);
}

/* Mappings may be unknown. */
static void user_code_open(struct user_code *user)
{
	struct code_opts opts = {
		.data = user->data,
		.buildid_dir = user->buildid_dir,
		.symfs = user->symfs,
		.symbolizer = user->symbolizer,
	};
	_cleanup_free_ char *why = NULL;

	user->tried = true;
	if (sideband_new(&user->sideband, user->file, &why))
		return;
	opts.sideband = user->sideband;
	if (code_new(&user->code, &opts, &why))
		user->code = NULL;
}

/* The mappings of a process at a time; NULL if out of memory. */
static const struct sideband_maps *user_code_maps_of(struct user_code *user, int pid, uint64_t time)
{
	struct user_code_maps *kept = &user->maps[(unsigned int)pid % USER_CODE_MAPS];

	if (kept->pid == pid && time >= kept->maps.from && time < kept->maps.until)
		return &kept->maps;
	sideband_maps_release(&kept->maps);
	kept->pid = pid;
	return sideband_maps(user->sideband, pid, time, &kept->maps) ? NULL : &kept->maps;
}

/* Also of one that is not here. */
static void name_mapped_file(const struct sideband_maps *maps, struct names *names,
			     uint64_t address, struct samples_file *file)
{
	const struct sideband_map *map = sideband_find_map(maps, address);
	struct build_id id = {};
	char hex[BUILD_ID_HEX_SIZE];

	if (!map || map->is_data)
		return;
	file->path = names_add(names, map->name);
	if (!map->build_id || map->build_id_size > sizeof(id.bytes))
		return;
	id.size = map->build_id_size;
	memcpy(id.bytes, map->build_id, id.size);
	build_id_format(&id, hex);
	file->build_id = names_add(names, hex);
}

uint32_t user_code_name(void *context, struct names *names, const struct tracepoint_event *event,
			uint64_t address, struct samples_file *file)
{
	struct user_code *user = context;
	const struct sideband_maps *maps;
	const struct symbol *symbol;
	struct code_region region;
	uint32_t name;

	if (!user->tried)
		user_code_open(user);
	maps = user->code ? user_code_maps_of(user, event->pid, event->time) : NULL;
	if (maps && file)
		name_mapped_file(maps, names, address, file);
	if (!maps || code_find_region(user->code, maps, event->time, address, &region))
		return 0;
	symbol = code_symbol_at(user->code, region.section, address, event->time);
	name = symbol ? names_add(names, symbol->text) : 0;
	if (name && symbol->file != SYMBOL_NO_FILE) {
		names_set_origin(names, name, symbol->file, symbol->offset);
		if (file)
			file->offset = symbol->offset;
	}
	return name;
}
