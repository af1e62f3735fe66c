// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#ifdef HAVE_LIBSYSTEMD

#include <string.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

#include "text.h"

#define FIELDS_MAX 20
#define PART(text)                                                                                 \
	{                                                                                          \
		(void *)(text), strlen(text)                                                       \
	}

bool systemd_is_built(void)
{
	return true;
}

bool systemd_wants_notify(void)
{
	return getenv("NOTIFY_SOCKET");
}

void systemd_notify(const char *state)
{
	/* A session survives the failure of its manager. */
	if (systemd_wants_notify())
		(void)sd_notify(0, state);
}

bool systemd_has_journal(void)
{
	/* libsystemd silently drops entries if journald is not running. */
	return !access("/run/systemd/journal/socket", W_OK);
}

int systemd_write_journal(int priority, const char *text)
{
	size_t size = strlen(text);

	if (size && text[size - 1] == '\n')
		size--;
	/* Unlike a line of a journal stream, an entry is not cut at 48K. */
	return sd_journal_send("MESSAGE=%.*s", (int)size, text, "PRIORITY=%d", priority,
			       "SYSLOG_IDENTIFIER=perf-poke-ctl", NULL);
}

int systemd_write_capture_entry(const char *message, char *const *fields)
{
	_cleanup_free_ char *text = strfmt("MESSAGE=%s", message);
	struct iovec parts[FIELDS_MAX] = {
		PART("PRIORITY=5"),
		PART("SYSLOG_IDENTIFIER=perf-poke-ctl"),
		/* Of the entries of captures: journalctl finds them all by it. */
		PART("MESSAGE_ID=8007c63591964d50a2e0b619d45c61b6"),
	};
	int nr = 3;

	if (!text)
		return -ENOMEM;
	parts[nr++] = (struct iovec)PART(text);
	for (; *fields && nr < FIELDS_MAX; fields++)
		parts[nr++] = (struct iovec)PART(*fields);
	return sd_journal_sendv(parts, nr);
}

#else

bool systemd_is_built(void)
{
	return false;
}

bool systemd_wants_notify(void)
{
	return false;
}

void systemd_notify(const char *state)
{
}

bool systemd_has_journal(void)
{
	return false;
}

int systemd_write_journal(int priority, const char *text)
{
	return -EOPNOTSUPP;
}

int systemd_write_capture_entry(const char *message, char *const *fields)
{
	return -EOPNOTSUPP;
}

#endif
