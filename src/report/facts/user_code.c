// SPDX-License-Identifier: GPL-2.0-only
#include "facts/user_code.h"

#include <string.h>

#include "code/code.h"
#include "sideband/sideband.h"

void user_code_release(struct user_code *user)
{
	code_view_free(user->view);
	code_free(user->code);
	sideband_free(user->sideband);
	free(user->buildid_dir);
}

/* What was mapped may be unknown. */
static void open_view(struct user_code *user)
{
	struct code_opts opts = {
		.data = user->data,
		.buildid_dir = user->buildid_dir,
		.symfs = user->symfs,
	};
	_cleanup_free_ char *why = NULL;

	user->tried = true;
	if (sideband_new(&user->sideband, user->file, &why))
		return;
	opts.sideband = user->sideband;
	if (!code_new(&user->code, &opts, &why) && code_view_new(&user->view, user->code))
		user->view = NULL;
}

uint32_t user_code_name(void *context, struct names *names, const struct tracepoint_event *event,
			uint64_t address)
{
	struct user_code *user = context;
	const struct symbol *symbol;

	if (!user->tried)
		open_view(user);
	if (!user->view)
		return 0;
	symbol = code_view_symbol(user->view, event->pid, event->time, address);
	if (!symbol || !symbol->text || !strcmp(symbol->text, "[unknown]"))
		return 0;
	return names_add(names, symbol->text);
}
