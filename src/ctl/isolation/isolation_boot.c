// SPDX-License-Identifier: GPL-2.0-only
/* Parameters of the kernel: what they ask for, and what the kernel has made of them. */
#include "isolation/isolation.h"

#include "io.h"
#include "text.h"

#define CPU_FOLDER "sys/devices/system/cpu"

/* What the last `name=` of the command line is set to, or NULL; allocated. */
static char *boot_parameter(const char *cmdline, const char *name)
{
	_cleanup_free_ char *copy = strdup(cmdline);
	char *save = NULL, *value = NULL;
	size_t length = strlen(name);

	for (char *word = copy ? strtok_r(copy, " \n", &save) : NULL; word;
	     word = strtok_r(NULL, " \n", &save)) {
		if (!strcmp(word, "--"))
			break;
		if (!strncmp(word, name, length) && word[length] == '=')
			value = word + length + 1;
	}
	return value ? strdup(value) : NULL;
}

/* isolcpus= has flags before its CPUs. */
static const char *skip_flags(const char *value)
{
	while (value[0] >= 'a' && value[0] <= 'z' && !has_prefix(value, "all")) {
		size_t length = strcspn(value, ",");

		value += length + (value[length] == ',');
	}
	return value;
}

/* Whether the command line asks for it, as the end of a sentence. */
static void describe_request(const struct isolation *isolation, const char *cmdline,
			     const char *name, char *text, size_t size)
{
	_cleanup_free_ char *value = cmdline ? boot_parameter(cmdline, name) : NULL;
	bool has_flags = value && !strcmp(name, "isolcpus");
	struct cpu_overlap asked;

	if (!cmdline)
		snprintf(text, size, "the command line cannot be read");
	else if (!value)
		snprintf(text, size, "no %s= on the command line", name);
	else if (cpu_overlap_parse(isolation, has_flags ? skip_flags(value) : value, CPUS_LIST,
				   &asked))
		snprintf(text, size, "the command line has %s=%.100s", name, value);
	else if (asked.missing[0])
		snprintf(text, size, "%s=%.100s lacks CPU %s", name, value, asked.missing);
	else if (has_flags && skip_flags(value) != value && !strstr(value, "domain"))
		snprintf(text, size, "isolcpus=%.100s lacks domain", value);
	else
		snprintf(text, size, "%s=%.100s asks for it, but the kernel has refused: see dmesg",
			 name, value);
}

int isolation_read_domains(const struct isolation *isolation, struct cpu_overlap *isolated)
{
	struct cpu_overlap partition;
	int err = cpu_overlap_read(isolation, CPU_FOLDER "/isolated", CPUS_LIST, isolated);

	if (err || !isolated->missing[0])
		return err ? err : 1;
	return !cpu_overlap_read(isolation, "sys/fs/cgroup/cpuset.cpus.isolated", CPUS_LIST,
				 &partition) &&
	       !partition.missing[0];
}

static void judge_domains(const struct isolation *isolation, const char *cmdline)
{
	static const char name[] = "isolcpus", file[] = "/" CPU_FOLDER "/isolated";
	_cleanup_free_ char *remedy =
		strfmt("boot with isolcpus=domain,managed_irq,%s, or make an isolated "
		       "partition of cpuset (echo isolated >cpuset.cpus.partition)",
		       isolation->list);
	struct cpu_overlap isolated;
	char request[256];
	int ret = isolation_read_domains(isolation, &isolated);

	if (ret < 0) {
		isolation_report_unread(isolation, name, file, ret);
		return;
	}
	describe_request(isolation, cmdline, name, request, sizeof(request));
	if (ret)
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "the scheduler moves no task there by itself");
	else
		isolation_report(isolation, ISOLATION_BAD, name, file, remedy,
				 "CPU %s takes part in load balancing: %s", isolated.missing,
				 request);
}

static void judge_nohz_full(const struct isolation *isolation, const char *cmdline)
{
	static const char name[] = "nohz_full", file[] = "/" CPU_FOLDER "/nohz_full";
	_cleanup_free_ char *remedy =
		strfmt("boot with nohz_full=%s, the same CPUs as in isolcpus=", isolation->list);
	struct cpu_overlap full;
	char request[256];
	int err = cpu_overlap_read(isolation, file + 1, CPUS_LIST, &full);

	/* Without the option, the kernel has no such file. */
	if (err == -ENOENT && !faccessat(isolation->root_fd, CPU_FOLDER "/online", F_OK, 0)) {
		isolation_report(isolation, ISOLATION_BAD, name, file,
				 "use a kernel that has CONFIG_NO_HZ_FULL=y",
				 "this kernel cannot stop the tick of a busy CPU");
		return;
	}
	if (err) {
		isolation_report_unread(isolation, name, file, err);
		return;
	}
	describe_request(isolation, cmdline, name, request, sizeof(request));
	if (!full.missing[0])
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "the tick stops while a single task runs there");
	else
		isolation_report(isolation, ISOLATION_BAD, name, file, remedy,
				 "CPU %s keeps its tick: %s", full.missing, request);
}

/* New interrupts get the default affinity, which irqaffinity= sets. */
static void judge_irqaffinity(const struct isolation *isolation, const char *cmdline)
{
	static const char name[] = "irqaffinity", file[] = "/proc/irq/default_smp_affinity";
	_cleanup_free_ char *value = cmdline ? boot_parameter(cmdline, name) : NULL;
	struct cpu_overlap allowed;
	int err = cpu_overlap_read(isolation, file + 1, CPUS_MASK, &allowed);

	if (err)
		isolation_report_unread(isolation, name, file, err);
	else if (allowed.nr)
		isolation_report(isolation, ISOLATION_BAD, name, file,
				 "boot with irqaffinity= and the other CPUs, or write their mask "
				 "to this file",
				 "new interrupts may go to CPU %s: %s%.100s", allowed.in,
				 value	   ? "the command line has irqaffinity="
				 : cmdline ? "no irqaffinity= on the command line"
					   : "the command line cannot be read",
				 value ? value : "");
	else
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "new interrupts go to other CPUs");
}

void isolation_judge_boot(const struct isolation *isolation)
{
	char text[4096];
	const char *cmdline =
		read_text_at(isolation->root_fd, "proc/cmdline", text, sizeof(text)) ? NULL : text;

	judge_domains(isolation, cmdline);
	judge_nohz_full(isolation, cmdline);
	judge_irqaffinity(isolation, cmdline);
}
