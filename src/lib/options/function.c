// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "options/function.h"

#include <string.h>

#include "base/kallsyms.h"

const char *function_name(const struct config *config)
{
	if (config->function)
		return strcmp(config->function, "any") ? config->function : NULL;
	return config_is_timerlat(config) ? TIMERLAT_FUNCTION : NULL;
}

int function_find(const struct config *config, uint64_t *address)
{
	const char *name = function_name(config);
	char *end;
	int err;

	*address = 0;
	if (!name)
		return 0;
	if (!strncmp(name, "0x", 2)) {
		errno = 0;
		*address = strtoull(name, &end, 16);
		if (*end || errno || !*address)
			return log_error(&config->log, -EINVAL,
					 "function '%s': not an address (0x...)", name);
		return 0;
	}
	err = kallsyms_find(name, address);
	if (err == -ENOENT && !config->function)
		log_error(&config->log, err,
			  "workload %s: the kernel has no function %s (built without "
			  "CONFIG_TIMERLAT_TRACER): use --workload cyclic",
			  config->workload == PERF_POKE_WORKLOAD_USER ? "user" : "timerlat", name);
	else if (err == -ENOENT)
		log_error(&config->log, err,
			  "function '%s': the kernel has no such symbol (see /proc/kallsyms)",
			  name);
	else if (err == -EPERM)
		log_error(&config->log, err,
			  "function '%s': the kernel hides its addresses: needs CAP_SYSLOG, and "
			  "kernel.kptr_restrict below 2",
			  name);
	else if (err == -ENOTUNIQ)
		log_error(&config->log, -EINVAL,
			  "function '%s': several symbols have this name: use an 0xADDRESS from "
			  "/proc/kallsyms",
			  name);
	else if (err)
		log_error(&config->log, err, "function '%s': cannot read /proc/kallsyms: %s", name,
			  strerror(-err));
	return err == -ENOTUNIQ ? -EINVAL : err;
}
