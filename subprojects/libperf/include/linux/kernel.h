/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* libperf's internal headers need the kernel's <linux/kernel.h>, and <sys/sysinfo.h> then finds it, too.
 * Its ARRAY_SIZE must not meet the one of the program. */
#pragma push_macro("ARRAY_SIZE")
#undef ARRAY_SIZE
#include_next <linux/kernel.h>
#pragma pop_macro("ARRAY_SIZE")
