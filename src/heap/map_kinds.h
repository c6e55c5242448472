/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The purpose of each mapping of a program. */
#ifndef HEAP_MAP_KINDS_H
#define HEAP_MAP_KINDS_H

#include "base/text.h"
#include "heap/heap_scan.h"

enum map_kind {
	MAP_HEAP,     /* an allocator's blocks lie in it */
	MAP_STACK,    /* of a thread, or of one that has ended */
	MAP_DATA,     /* a module's writable memory, its .bss included */
	MAP_CODE,     /* of a module, or made at run time */
	MAP_CONSTANT, /* what a module has read-only */
	MAP_FILE,     /* any other file */
	MAP_SHARED,   /* memory that processes share */
	MAP_GUARD,    /* no access is allowed: guard pages, address space kept for later */
	MAP_KERNEL,   /* [vdso] and the like */
	MAP_OTHER,    /* memory that the program got itself */
	MAP_KINDS
};

/* Returns a static string: "heap", "stack"…; also used in JSON. */
const char *map_kind_name(enum map_kind kind);

/* Returns the purpose of `map`, a mapping of the scan's space. */
enum map_kind map_kind_of(const struct heap_scan *scan, const struct process_map *map);

/* Adds the owner of a mapping: "glibc, arena 1", "thread 12", "libc.so.6"; nothing if none is
 * known.
 */
void map_kind_describe(const struct heap_scan *scan, const struct process_map *map,
	enum map_kind kind, struct text *text);

#endif
