// SPDX-License-Identifier: GPL-2.0-only
#include "cli/systemd.h"

#include <stdarg.h>
#include <string.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

bool systemd_is_built(void)
{
	return true;
}

bool systemd_wants_notify(void)
{
	return getenv("NOTIFY_SOCKET");
}

void systemd_notify(const char *format, ...)
{
	_cleanup_free_ char *state = NULL;
	va_list args;

	if (!systemd_wants_notify())
		return;
	va_start(args, format);
	if (vasprintf(&state, format, args) < 0)
		state = NULL;
	va_end(args);
	/* A manager that does not listen is no reason to end a session. */
	if (state)
		(void)sd_notify(0, state);
}

bool systemd_has_journal(void)
{
	/* libsystemd drops entries without a word when nobody takes them. */
	return !access("/run/systemd/journal/socket", W_OK);
}

int systemd_journal(int priority, const char *text)
{
	static const char identifier[] = "SYSLOG_IDENTIFIER=perf-poke-ctl";
	_cleanup_free_ char *message = NULL;
	char level[32];
	struct iovec fields[3];
	size_t size = strlen(text);
	int length;

	if (size && text[size - 1] == '\n')
		size--;
	length = asprintf(&message, "MESSAGE=%.*s", (int)size, text);
	if (length < 0) {
		message = NULL;
		return -ENOMEM;
	}
	fields[0] = (struct iovec){ message, (size_t)length };
	fields[1].iov_base = level;
	fields[1].iov_len = (size_t)snprintf(level, sizeof(level), "PRIORITY=%d", priority);
	fields[2] = (struct iovec){ (char *)identifier, sizeof(identifier) - 1 };
	/* Not a line of a stream, which the journal would cut at 48K. */
	return sd_journal_sendv(fields, ARRAY_SIZE(fields));
}
