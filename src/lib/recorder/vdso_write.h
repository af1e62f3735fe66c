/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_RECORDER_VDSO_WRITE_H
#define LIB_RECORDER_VDSO_WRITE_H

/* Puts the vDSO, which perf finds nowhere else, into the folder dirfd, as a folder `buildid` for
 * perf's --buildid-dir. Returns 0 or a negative errno. */
int vdso_write(int dirfd);

#endif
