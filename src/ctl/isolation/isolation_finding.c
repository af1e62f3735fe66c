// SPDX-License-Identifier: GPL-2.0-only
/* What the judges share: sets of CPUs, files, and how a finding is made. */
#include "isolation/isolation.h"

#include <stdarg.h>

#include "cpulist.h"
#include "io.h"

const char *isolation_verdict_name(enum isolation_verdict verdict)
{
	static const char *const names[] = { "fine", "note", "bad", "unknown" };

	return names[verdict];
}

static void format_cpus(char *text, size_t size, const int *cpus, size_t nr)
{
	_cleanup_free_ char *list = NULL;

	text[0] = '\0';
	if (nr && !cpulist_format(cpus, nr, &list))
		snprintf(text, size, "%s", list);
}

/* Groups of 32 bits, the highest first. */
static int parse_cpu_mask(const char *text, int **ret, size_t *nr)
{
	size_t digits = 0, bit = 0;
	_cleanup_free_ int *cpus = NULL;

	for (const char *c = text; *c; c++)
		digits += *c != ',';
	if (!digits || strspn(text, "0123456789abcdefABCDEF,") != strlen(text))
		return -EINVAL;
	cpus = calloc(4 * digits, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	*nr = 0;
	for (size_t i = strlen(text); i--;) {
		char digit[2] = { text[i] };
		unsigned long value = strtoul(digit, NULL, 16);

		if (text[i] == ',')
			continue;
		for (int b = 0; b < 4; b++, bit++) {
			if (value & 1UL << b)
				cpus[(*nr)++] = bit;
		}
	}
	*ret = TAKE_PTR(cpus);
	return 0;
}

int cpu_overlap_parse(const struct isolation *isolation, const char *text, enum cpu_format format,
		      struct cpu_overlap *overlap)
{
	_cleanup_free_ int *set = NULL, *in = NULL, *missing = NULL;
	size_t nr = 0, nr_missing = 0;
	int err = 0;

	*overlap = (struct cpu_overlap){ 0 };
	if (format == CPUS_MASK)
		err = parse_cpu_mask(text, &set, &nr);
	else if (*text && strcmp(text, "(null)"))
		err = cpulist_parse(text, &set, &nr);
	if (err)
		return err;
	in = calloc(isolation->nr_cpus, sizeof(*in));
	missing = calloc(isolation->nr_cpus, sizeof(*missing));
	if (!in || !missing)
		return -ENOMEM;
	for (size_t i = 0; i < isolation->nr_cpus; i++) {
		if (cpulist_missing(&isolation->cpus[i], 1, set, nr) < 0)
			in[overlap->nr++] = isolation->cpus[i];
		else
			missing[nr_missing++] = isolation->cpus[i];
	}
	overlap->has_others = nr > overlap->nr;
	format_cpus(overlap->in, sizeof(overlap->in), in, overlap->nr);
	format_cpus(overlap->missing, sizeof(overlap->missing), missing, nr_missing);
	return 0;
}

int cpu_overlap_read(const struct isolation *isolation, const char *path, enum cpu_format format,
		     struct cpu_overlap *overlap)
{
	char text[4096];
	int err = read_text_at(isolation->root_fd, path, text, sizeof(text));

	return err ? err : cpu_overlap_parse(isolation, text, format, overlap);
}

int isolation_read_text(const struct isolation *isolation, char *text, size_t size,
			const char *format, ...)
{
	char path[256];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return read_text_at(isolation->root_fd, path, text, size);
}

void isolation_report(const struct isolation *isolation, enum isolation_verdict verdict,
		      const char *name, const char *file, const char *remedy, const char *format,
		      ...)
{
	char detail[512];
	const struct isolation_finding finding = {
		.name = name,
		.verdict = verdict,
		.file = file ? file : "",
		.detail = detail,
		.remedy = remedy && verdict != ISOLATION_FINE ? remedy : "",
	};
	va_list args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	isolation->fn(isolation->ctx, &finding);
}

void isolation_report_unread(const struct isolation *isolation, const char *name, const char *file,
			     int err)
{
	isolation_report(isolation, ISOLATION_UNKNOWN, name, file,
			 err == -EACCES || err == -EPERM ? "run it as root" : NULL,
			 "cannot be read: %s", strerror(-err));
}
