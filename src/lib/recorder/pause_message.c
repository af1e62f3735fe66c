// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The messages of the trigger, at which the kernel stops a trace. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "recorder/recorder.h"

/* A nonce keeps other BPF programs from pausing or resuming the trace. The messages are short and
 * differ in the first character: until the trace is paused, the kernel copies the message and
 * compares it with those of all events, at some 40 instructions per character. */
int pause_message_make(char *pause, char *resume, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char nonce[6];
	char text[sizeof(nonce) + 1] = "";

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -errno;
	for (size_t i = 0; i < sizeof(nonce); i++)
		text[i] = digits[nonce[i] % strlen(digits)];
	snprintf(pause, size, "-%s", text);
	if (resume)
		snprintf(resume, size, "+%s", text);
	return 0;
}

void pause_message_trigger(char *text, size_t size, const char *action, const char *message)
{
	snprintf(text, size, "%s if bpf_string ~ \"%s*\"", action, message);
}
