/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_BASE_NOFILE_H
#define LIB_BASE_NOFILE_H

/* Raises the soft limit of open files to the hard limit: each event takes a descriptor per CPU. */
void nofile_raise(void);

#endif
