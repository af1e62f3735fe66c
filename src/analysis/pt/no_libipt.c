// SPDX-License-Identifier: GPL-2.0-only
/* Stubs for a build without libipt. Files are still mapped to their functions, for samples of
 * events. */
#include <string.h>

#include "code/code_parts.h"
#include "pt/decode.h"

bool decode_is_built(void)
{
	return false;
}

int decode_new(struct decode **ret, const struct decode_opts *opts, char **why)
{
	*why = strdup("this build has no libipt: rebuild with it, or install perf and use script");
	return -ENOTSUP;
}

/* The others take what decode_new() never returned. */
void decode_free(struct decode *decode)
{
}

int decode_next(struct decode *decode, const struct decode_item **items, size_t *nr)
{
	return -ENOTSUP;
}

const char *decode_thread_name(struct decode *decode, int tid, uint64_t time)
{
	return NULL;
}

const struct symbol *decode_symbol(struct decode *decode, const struct decode_item *item,
				   uint64_t ip)
{
	return NULL;
}

int decode_code_files(struct decode *decode, struct code_file **files, size_t *nr)
{
	return -ENOTSUP;
}

void decode_error_text(int error, uint64_t ip, char *text, size_t size)
{
	*text = '\0';
}

void decode_stats(const struct decode *decode, struct decode_stats *stats)
{
	*stats = (struct decode_stats){ 0 };
}

int code_cache_new(struct pt_image_section_cache **ret)
{
	*ret = NULL;
	return 0;
}

void code_cache_free(struct pt_image_section_cache *cache)
{
}

/* Nobody looks up sections by number. */
int code_cache_add(struct pt_image_section_cache *cache, const struct code_section *section)
{
	return 0;
}
