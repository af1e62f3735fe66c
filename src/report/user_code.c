// SPDX-License-Identifier: GPL-2.0-only
#include "user_code.h"

#include <string.h>

#include "code.h"
#include "sideband.h"

struct user_code {
	struct sideband *sideband;
	struct code *code;
	struct code_view *view;
};

void user_code_free(struct user_code *user)
{
	if (!user)
		return;
	code_view_free(user->view);
	code_free(user->code);
	sideband_free(user->sideband);
	free(user);
}

int user_code_new(struct user_code **ret, const struct perfdata_file *file, const char *data,
		  const char *buildid_dir, const char *symfs)
{
	struct user_code *user = calloc(1, sizeof(*user));
	struct code_opts opts = { .data = data, .buildid_dir = buildid_dir, .symfs = symfs };
	_cleanup_free_ char *why = NULL;
	int r;

	if (!user)
		return -ENOMEM;
	r = sideband_new(&user->sideband, file, &why);
	opts.sideband = user->sideband;
	if (!r)
		r = code_new(&user->code, &opts, &why);
	if (!r)
		r = code_view_new(&user->view, user->code);
	if (r)
		user_code_free(user);
	else
		*ret = user;
	return r;
}

uint32_t user_code_name(void *context, struct names *names, const struct tracepoint_event *event,
			uint64_t address)
{
	struct user_code *user = context;
	const struct symbol *symbol =
		code_view_symbol(user->view, event->pid, event->time, address);

	if (!symbol || !symbol->text || !strcmp(symbol->text, "[unknown]"))
		return 0;
	return names_add(names, symbol->text);
}
