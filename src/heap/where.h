/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds what is at an address: a block, a module, a stack, or only a mapping. */
#ifndef HEAP_WHERE_H
#define HEAP_WHERE_H

#include "heap/heap_scan.h"

enum heap_where_kind {
	HEAP_WHERE_NOWHERE,   /* nothing is mapped there */
	HEAP_WHERE_BLOCK,     /* a block in use, or into it */
	HEAP_WHERE_ALLOCATOR, /* an allocator's memory, and no block in use: free, or its own */
	HEAP_WHERE_MODULE,
	HEAP_WHERE_STACK,
	HEAP_WHERE_THREAD_LOCAL, /* thread-local storage, but for that in blocks */
	HEAP_WHERE_MAPPING,
};

struct heap_where {
	enum heap_where_kind kind;
	uint32_t block;          /* its number; of HEAP_WHERE_BLOCK */
	uint64_t start, offset;  /* of the block, the symbol, the mapping; and how far after */
	const char *type;        /* of the block */
	char member[96];         /* of it, at the offset; "": none, or none is known */
	char text[96];           /* of a `text` (texts.h) the first characters, as they are shown */
	struct heap_place place; /* of HEAP_WHERE_MODULE and HEAP_WHERE_THREAD_LOCAL */
	/* Of HEAP_WHERE_STACK, HEAP_WHERE_THREAD_LOCAL, and of blocks of thread-local memory. */
	pid_t tid;
	struct heap_stack_place frame; /* … */
	const struct process_map *map;
};

/* Finds what is at `address`. The scan has types. The only error is lack of memory. */
struct error *heap_where(
	const struct heap_scan *scan, uint64_t address, struct heap_where *ret) must_check_;

/* Finds the block in use at `address`. Otherwise returns ERROR_INPUT, which says what is there
 * instead. */
struct error *heap_where_block(
	const struct heap_scan *scan, uint64_t address, uint32_t *ret) must_check_;

/* Adds a description: "block 0x… + 8, Shape", "<main+0x12> in app", "stack of thread 12",
 * "thread-local <cache+0x8> in app of thread 12". */
struct text;
void heap_where_describe(const struct heap_where *where, struct text *text);

#endif
