// SPDX-License-Identifier: GPL-2.0-only
#include "cause/fingerprint.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "json_util.h"
#include "kernel_function.h"
#include "text.h"
#include "util.h"

char *fingerprint_text(const struct fingerprint *fingerprint)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	fprintf(file, "v%d %s", FINGERPRINT_VERSION, fingerprint->kind);
	for (size_t i = 0; i < fingerprint->nr; i++)
		fprintf(file, "%c%s", i ? '<' : ' ', fingerprint->frames[i]);
	if (fingerprint->sender[0])
		fprintf(file, " from %s", fingerprint->sender);
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}

bool fingerprint_has_task(const struct fingerprint *fingerprint)
{
	for (size_t i = 0; i < fingerprint->nr; i++) {
		if (has_prefix(fingerprint->frames[i], FINGERPRINT_TASK))
			return true;
	}
	return false;
}

/* For display: without the brackets of an entry or the prefix of a task. */
static void put_display_name(char *buf, const char *frame)
{
	size_t length;

	if (!strncmp(frame, FINGERPRINT_TASK, strlen(FINGERPRINT_TASK)))
		frame += strlen(FINGERPRINT_TASK);
	frame += *frame == '[';
	length = strlen(frame);
	if (length && frame[length - 1] == ']')
		length--;
	snprintf(buf, FINGERPRINT_NAME_SIZE, "%.*s", (int)length, frame);
}

void fingerprint_seal(struct fingerprint *fingerprint)
{
	_cleanup_free_ char *text = fingerprint_text(fingerprint);
	char name[FINGERPRINT_NAME_SIZE] = "";

	if (!text)
		return;
	fingerprint->hash =
		(uint32_t)crc32(0, (const unsigned char *)text, (unsigned int)strlen(text));
	if (fingerprint->nr)
		put_display_name(name, fingerprint->frames[0]);
	snprintf(fingerprint->id, sizeof(fingerprint->id), "%s%s%s:%08" PRIx32, fingerprint->kind,
		 *name ? "/" : "", name, fingerprint->hash);
}

json_object *fingerprint_json(const struct fingerprint *fingerprint)
{
	json_object *object, *chain;

	if (!fingerprint->kind[0])
		return NULL;
	object = json_object_new_object();
	chain = json_object_new_array();
	json_add_int(object, "version", FINGERPRINT_VERSION);
	json_add_text(object, "id", fingerprint->id);
	json_add_text(object, "kind", fingerprint->kind);
	for (size_t i = 0; i < fingerprint->nr; i++)
		json_push_text(chain, fingerprint->frames[i]);
	json_add(object, "chain", chain);
	json_add_name(object, "sender", fingerprint->sender);
	return object;
}

/* A name that fingerprints could have, for a buffer of FINGERPRINT_NAME_SIZE. */
static bool read_fingerprint_name(json_object *value, char *buf)
{
	const char *text = json_object_get_string(value);

	if (!json_object_is_type(value, json_type_string) || !*text ||
	    strlen(text) >= FINGERPRINT_NAME_SIZE || strpbrk(text, " <>\t\r\n"))
		return false;
	return !strcmp(text_copy_printable(buf, FINGERPRINT_NAME_SIZE, text), text);
}

int fingerprint_from_json(struct fingerprint *fingerprint, json_object *json)
{
	const char *kind = json_text_of(json, "kind");
	json_object *chain, *sender;
	size_t nr;

	*fingerprint = (struct fingerprint){ 0 };
	if (!json_object_object_get_ex(json, "chain", &chain) ||
	    !json_object_is_type(chain, json_type_array) || !*kind ||
	    strlen(kind) >= sizeof(fingerprint->kind) || strpbrk(kind, " /:<>"))
		return -EINVAL;
	text_copy_printable(fingerprint->kind, sizeof(fingerprint->kind), kind);
	nr = json_object_array_length(chain);
	if (nr > FINGERPRINT_FRAMES_MAX)
		return -EINVAL;
	for (; fingerprint->nr < nr; fingerprint->nr++) {
		if (!read_fingerprint_name(json_object_array_get_idx(chain, fingerprint->nr),
					   fingerprint->frames[fingerprint->nr]))
			return -EINVAL;
	}
	if (json_object_object_get_ex(json, "sender", &sender) && sender &&
	    !read_fingerprint_name(sender, fingerprint->sender))
		return -EINVAL;
	/* The hash in the file is not trusted. */
	fingerprint_seal(fingerprint);
	return 0;
}

/* Copies up to the first of `ends`. */
static void copy_printable_until(char *buf, const char *name, const char *ends)
{
	size_t nr = strcspn(name, ends);

	if (nr >= FINGERPRINT_NAME_SIZE)
		nr = FINGERPRINT_NAME_SIZE - 1;
	for (size_t i = 0; i < nr; i++) {
		unsigned char c = (unsigned char)name[i];

		buf[i] = c <= ' ' || c == 127 || c == '<' || c == '>' ? '_' : (char)c;
	}
	buf[nr] = '\0';
}

void fingerprint_function_name(char *buf, const char *name)
{
	static const char *const prefixes[] = { "__pfx_", "__cfi_", "." };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (has_prefix(name, prefixes[i]))
			name += strlen(prefixes[i]);
	}
	/* Compiler suffixes: .isra.0, .constprop.0, .part.0, .cold, .llvm.1234. C symbols have no
	 * dot. */
	copy_printable_until(buf, name, ".+ \t");
}

static void put_entry_token(char *token, const char *name)
{
	snprintf(token, FINGERPRINT_NAME_SIZE, "[%.*s]", FINGERPRINT_NAME_SIZE - 3, name);
}

enum frame_role fingerprint_frame_role(char *token, const char *function)
{
	const char *entry = kernel_function_after(function, KERNEL_BEFORE_VECTOR);
	/* A system call's function, such as __x64_sys_write, or ksys_write(), to which it jumps. */
	const char *found = kernel_function_after(function, KERNEL_BEFORE_SYSCALL);
	const struct kernel_function *row;

	if (!found) {
		row = kernel_function_find(entry ?: function, KERNEL_ENTRY);
		found = row ? row->token : entry;
	}
	if (!found)
		return kernel_function_find(function, KERNEL_GLUE) ? FRAME_GLUE : FRAME_FUNCTION;
	put_entry_token(token, found);
	return FRAME_ENTRY;
}

void fingerprint_entry_token(char *token, const char *name)
{
	char text[FINGERPRINT_NAME_SIZE];

	if (has_prefix(name, "irq ")) {
		name += strlen("irq ");
		name += strspn(name, "0123456789");
		fingerprint_irq_name(text, name + (*name == ' '));
		snprintf(token, FINGERPRINT_NAME_SIZE, "[irq:%.*s]", FINGERPRINT_NAME_SIZE - 7,
			 text);
		return;
	}
	fingerprint_function_name(text, name);
	if (fingerprint_frame_role(token, text) != FRAME_ENTRY)
		put_entry_token(token, text);
}

/* Such as `irq/45-nvme0q1`. */
static bool put_irq_thread_name(char *buf, const char *comm)
{
	char name[FINGERPRINT_NAME_SIZE];
	const char *at = comm + strlen("irq/");

	if (!has_prefix(comm, "irq/") || !isdigit((unsigned char)*at))
		return false;
	at += strspn(at, "0123456789");
	/* The kernel truncates task names; `s-` marks a second handler. */
	at += *at == '-';
	if (has_prefix(at, "s-"))
		at += 2;
	fingerprint_irq_name(name, at);
	snprintf(buf, FINGERPRINT_NAME_SIZE, "irq/%.*s", FINGERPRINT_NAME_SIZE - 5, name);
	return true;
}

/* Cuts at the first separator before a number, as in `ksoftirqd/1` and `pool-12`. */
void fingerprint_task_name(char *buf, const char *comm)
{
	size_t end = 0;

	if (put_irq_thread_name(buf, comm))
		return;
	if (has_prefix(comm, "kworker/") || has_prefix(comm, "kworker+"))
		comm = "kworker";
	while (comm[end] &&
	       !(end && strchr("/-:#_ .", comm[end]) && isdigit((unsigned char)comm[end + 1])))
		end++;
	copy_printable_until(buf, comm, "");
	if (end < FINGERPRINT_NAME_SIZE)
		buf[end] = '\0';
}

static bool is_name_separator(char c)
{
	return !isalnum((unsigned char)c);
}

/* Names of hardware begin with one letter and a number: i8042, i915, e1000e, r8169. */
static bool is_hardware_number(const char *name, size_t at)
{
	return at && isalpha((unsigned char)name[at - 1]) &&
	       (at == 1 || is_name_separator(name[at - 2])) &&
	       isdigit((unsigned char)name[at + 1]) && isdigit((unsigned char)name[at + 2]);
}

/* The end of `0q1`: an instance and its queue. */
static size_t skip_instance_number(const char *name, size_t at)
{
	size_t end = at + strspn(name + at, "0123456789");

	if (name[end] == 'q' && isdigit((unsigned char)name[end + 1]))
		end += 1 + strspn(name + end + 1, "0123456789");
	return end;
}

void fingerprint_irq_name(char *buf, const char *name)
{
	char text[FINGERPRINT_NAME_SIZE];
	size_t nr = 0, at = 0;

	/* ahci[0000:00:1f.2], mlx5_comp3@pci:0000:01:00.0, snd_hda_intel:card0 */
	copy_printable_until(text, name, "[@:");
	while (text[at]) {
		size_t digits = strspn(text + at, "0123456789");

		if (digits && is_hardware_number(text, at)) {
			memcpy(buf + nr, text + at, digits);
			nr += digits;
			at += digits;
		} else if (digits) {
			at = skip_instance_number(text, at);
		} else {
			buf[nr++] = text[at++];
		}
	}
	while (nr && is_name_separator(buf[nr - 1]))
		nr--;
	buf[nr] = '\0';
}
