/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Access to tracefs, mounted or not. */
#ifndef LIB_TRACEFS_H
#define LIB_TRACEFS_H

/* A directory descriptor of tracefs, owned by the caller. Where it is not mounted, of a mount of
 * our own that is attached nowhere and goes away with the descriptor. -EPERM, -ENODEV: the kernel
 * has none, or not for us. */
int tracefs_open(void);

#endif
