/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which memory holds blocks from outside, as src/roots finds it. What is an allocator's is none:
 * areas with all that their maker has there, and its metadata elsewhere. Blocks that a thread is
 * just freeing have roots of their own (freeing.h).
 */
#ifndef HEAP_ROOTS_H
#define HEAP_ROOTS_H

#include "base/error.h"
#include "base/vec.h"
#include "heap/heap.h"
#include "roots/thread_blocks.h"
#include "search/search.h"

enum heap_root_kind {
	HEAP_ROOT_DATA, /* of a module */
	HEAP_ROOT_STACK,
	HEAP_ROOT_TLS, /* thread-local storage, the thread's descriptor included */
	HEAP_ROOT_REGISTERS,
	HEAP_ROOT_MAPPING,   /* any other */
	HEAP_ROOT_COLLECTOR, /* a garbage collector, of what it has not freed so far */
	HEAP_ROOT_KINDS
};

struct heap_root {
	enum heap_root_kind kind;
	uint64_t start, end;    /* of memory */
	uint32_t thread;        /* index in the space; of stacks, thread-local storage, registers */
	const uint64_t *values; /* of registers, or a word that stands for what is at start */
	size_t value_count;
	uint64_t value; /* what `values` may point to */
};
DEFINE_VEC(heap_root_vec, struct heap_root)

/* Returns where a word is that was found in a root: `address`, unless another word represents it.
 */
static inline uint64_t heap_root_address(const struct heap_root *root, uint64_t address)
{
	return root->values ? root->start : address;
}

/* Fills `ret`, in the order in which they claim blocks: data, thread-local storage, registers,
 * stacks, unknown mappings last. */
struct error *heap_roots_find(const struct heap *heap, const struct thread_blocks *blocks,
	struct heap_root_vec *ret) must_check_;

#endif
