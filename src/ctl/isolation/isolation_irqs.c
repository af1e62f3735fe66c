// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts of devices, and work items: where they may run. */
#include "isolation/isolation.h"

#include <ctype.h>
#include <sys/stat.h>

#include "io.h"
#include "text.h"

#define NAMES_MAX 5
#define IRQ_FOLDER "proc/irq"
#define WORKQUEUES "sys/devices/virtual/workqueue"

struct irqs_seen {
	size_t nr_there, nr_own, nr_allowed, nr_unread;
	char *there, *own, *allowed;
};

static void list_add(char **list, size_t *nr, const char *item)
{
	if ((*nr)++ < NAMES_MAX)
		text_list_append(list, item);
}

/* The kernel has a folder for each handler; an interrupt without one never comes. */
static bool irq_handler(int irq_fd, char *name, size_t size)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;

	if (opendir_at(&dir, irq_fd, "."))
		return false;
	while ((entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] == '.' || fstatat(irq_fd, entry->d_name, &st, 0) ||
		    !S_ISDIR(st.st_mode))
			continue;
		snprintf(name, size, "%s", CLEAN_TO(63, entry->d_name));
		return true;
	}
	return false;
}

/* CONFIG_GENERIC_IRQ_DEBUGFS says it. Newer kernels let nobody write the affinity of an interrupt
 * that user space cannot move. */
static const char *irq_kind(const struct isolation *isolation, int irq_fd, const char *number)
{
	char text[4096];
	struct stat st;

	if (!isolation_read_text(isolation, text, sizeof(text), "sys/kernel/debug/irq/irqs/%s",
				 number))
		return strstr(text, "IRQD_AFFINITY_MANAGED") ? ", managed" : "";
	if (!fstatat(irq_fd, "smp_affinity", &st, 0) && !(st.st_mode & S_IWUSR))
		return ", managed or bound";
	return "";
}

static void see_irq(const struct isolation *isolation, struct irqs_seen *seen, int irq_fd,
		    const char *number)
{
	struct cpu_overlap allowed, effective;
	char text[4096], handler[64];
	_cleanup_free_ char *item = NULL;
	const char *kind;

	if (!irq_handler(irq_fd, handler, sizeof(handler)))
		return;
	if (read_text_at(irq_fd, "smp_affinity_list", text, sizeof(text)) ||
	    cpu_overlap_parse(isolation, text, CPUS_LIST, &allowed)) {
		seen->nr_unread++;
		return;
	}
	/* Without the file, the kernel may deliver it wherever it is allowed. */
	if (read_text_at(irq_fd, "effective_affinity_list", text, sizeof(text)) ||
	    cpu_overlap_parse(isolation, text, CPUS_LIST, &effective))
		effective = allowed;
	if (!allowed.nr && !effective.nr)
		return;
	kind = irq_kind(isolation, irq_fd, number);
	item = strfmt("%s (%s%s)", number, handler, kind);
	if (*kind && !allowed.has_others)
		list_add(&seen->own, &seen->nr_own, item);
	/* One that may go nowhere else moves when it comes for the next time. */
	else if (effective.nr || !allowed.has_others)
		list_add(&seen->there, &seen->nr_there, item);
	else
		list_add(&seen->allowed, &seen->nr_allowed, item);
}

static void report_irqs(const struct isolation *isolation, const struct irqs_seen *seen)
{
	static const char name[] = "irqs", file[] = "/proc/irq/N/effective_affinity_list";

	if (seen->nr_there)
		isolation_report(isolation, ISOLATION_BAD, name, file,
				 "write other CPUs to /proc/irq/N/smp_affinity_list, and keep "
				 "irqbalance away (IRQBALANCE_BANNED_CPULIST); the kernel refuses "
				 "it of a managed one, which isolcpus=managed_irq moves",
				 "%zu interrupts are delivered to CPU %s: %s%s", seen->nr_there,
				 isolation->list, seen->there,
				 seen->nr_there > NAMES_MAX ? " ..." : "");
	else if (seen->nr_unread)
		isolation_report(isolation, ISOLATION_UNKNOWN, name, file, "run it as root",
				 "the affinity of %zu interrupts cannot be read", seen->nr_unread);
	else
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "no device's interrupt is delivered there");
	if (seen->nr_own)
		isolation_report(isolation, ISOLATION_NOTE, name, file,
				 "let no task there use the device, or give it fewer queues",
				 "%zu interrupts belong to queues of these CPUs alone, and come "
				 "only if a task there uses them: %s%s",
				 seen->nr_own, seen->own, seen->nr_own > NAMES_MAX ? " ..." : "");
	if (seen->nr_allowed)
		isolation_report(isolation, ISOLATION_NOTE, name, "/proc/irq/N/smp_affinity_list",
				 "write other CPUs to /proc/irq/N/smp_affinity_list; a managed "
				 "one stays away with isolcpus=managed_irq",
				 "%zu interrupts may move there: %s%s", seen->nr_allowed,
				 seen->allowed, seen->nr_allowed > NAMES_MAX ? " ..." : "");
}

void isolation_judge_irqs(const struct isolation *isolation)
{
	_cleanup_closedir_ DIR *irqs = NULL;
	struct irqs_seen seen = { 0 };
	struct dirent *entry;
	int err = opendir_at(&irqs, isolation->root_fd, IRQ_FOLDER);

	if (err) {
		isolation_report_unread(isolation, "irqs", "/" IRQ_FOLDER, err);
		return;
	}
	while ((entry = readdir(irqs))) {
		_cleanup_close_ int fd = -1;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		fd = openat(dirfd(irqs), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			see_irq(isolation, &seen, fd, entry->d_name);
		else
			seen.nr_unread++;
	}
	report_irqs(isolation, &seen);
	free(seen.there);
	free(seen.own);
	free(seen.allowed);
}

/* A workqueue runs where both its mask and the one of all allow it; if none is left, by the
 * latter. */
void isolation_judge_workqueues(const struct isolation *isolation)
{
	static const char name[] = "workqueues", file[] = "/" WORKQUEUES "/cpumask";
	_cleanup_closedir_ DIR *queues = NULL;
	_cleanup_free_ char *names = NULL;
	struct cpu_overlap all, own;
	struct dirent *entry;
	size_t nr = 0;
	int err = cpu_overlap_read(isolation, file + 1, CPUS_MASK, &all);

	if (err) {
		isolation_report_unread(isolation, name, file, err);
		return;
	}
	if (!all.nr) {
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "work items that are bound to no CPU run elsewhere");
		return;
	}
	if (!opendir_at(&queues, isolation->root_fd, WORKQUEUES)) {
		while ((entry = readdir(queues))) {
			char path[512];

			snprintf(path, sizeof(path), WORKQUEUES "/%s/cpumask", entry->d_name);
			if (entry->d_name[0] != '.' &&
			    !cpu_overlap_read(isolation, path, CPUS_MASK, &own) && own.nr)
				list_add(&names, &nr, CLEAN_TO(63, entry->d_name));
		}
	}
	isolation_report(isolation, ISOLATION_BAD, name, file,
			 "write the mask of the other CPUs to this file",
			 "work items that are bound to no CPU may run on CPU %s%s%s%s", all.in,
			 nr ? "; workqueues that allow it: " : "", nr ? names : "",
			 nr > NAMES_MAX ? " ..." : "");
}
