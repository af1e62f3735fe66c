/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's names of types, for the files of ptsim that the plugin is made of too */
#ifndef PTEMU_LINUX_TYPES_H
#define PTEMU_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#endif
