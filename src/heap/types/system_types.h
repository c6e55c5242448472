/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that libc and the dynamic linker have in a program's heap, by what is in them, without
 * symbols: streams and their buffers (libio/bits/types/struct_FILE.h), open directories
 * (sysdeps/unix/sysv/linux/dirstream.h), threads' tables of thread-local memory and what hangs on
 * these (elf/dl-tls.c), descriptions of libraries that were loaded later (include/link.h). Of
 * glibc, x86-64 and aarch64, 2.17 to 2.42.
 */
#ifndef HEAP_SYSTEM_TYPES_H
#define HEAP_SYSTEM_TYPES_H

#include "heap/heap_scan.h"

/* Returns whether blocks of a type are memory of libraries' thread-local variables. */
bool system_types_is_thread_memory(const struct heap_type *type);

#endif
