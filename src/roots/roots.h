/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the roots: memory outside of the heap that holds blocks. That is registers, the live parts
 * of stacks, thread-local storage, data of modules, and other mappings. Cores, processes and
 * recorded processes all get their roots here.
 *
 * Stack of a thread:
 *
 *     guard | not in use any more | red zone, frames … | thread-local, descriptor | rest of page
 *           ^ start               ^ stack pointer - 128 ^ thread pointer - …               end ^
 *
 *   - A stack that libc or the kernel knows counts from the stack pointer on; memory below it is
 *     stale.
 *   - If a thread runs on another stack (a coroutine's, a signal's), its own stack counts whole,
 *     since it is unknown where the thread left it. All of the memory that it runs on counts too,
 *     since other stacks may be below.
 *   - The stack of an ended thread holds nothing, apart from the result of a thread that was not
 *     joined. Of the first thread's stack, what the kernel put there stays: arguments and
 *     environment.
 */
#ifndef ROOTS_ROOTS_H
#define ROOTS_ROOTS_H

#include "base/error.h"
#include "base/ranges.h"
#include "base/vec.h"
#include "process/address_space.h"
#include "roots/libc_threads.h"
#include "roots/thread_blocks.h"

enum memory_root_kind {
	MEMORY_ROOT_DATA, /* of a module */
	MEMORY_ROOT_STACK,
	MEMORY_ROOT_TLS, /* thread-local storage, including the thread's descriptor */
	MEMORY_ROOT_REGISTERS,
	MEMORY_ROOT_MAPPING, /* any other */
};

/* memory_root.thread of a root that belongs to no existing thread. */
#define MEMORY_ROOT_NO_THREAD UINT32_MAX

struct memory_root {
	enum memory_root_kind kind;
	uint64_t start, end; /* of memory */
	uint32_t thread; /* index in the space, of stacks, thread-local storage and registers; or
			    MEMORY_ROOT_NO_THREAD */
	bool is_guess;   /* a stack whose bounds are unknown */
	const struct process_map *map; /* of data and mappings; belongs to the space */
	/* Of registers, in the order of the space, which they belong to. NULL, with a count of 1:
	 * `value` stands for what is at `start`. */
	const uint64_t *values;
	size_t value_count;
	uint64_t value;
};
DEFINE_VEC(memory_root_vec, struct memory_root)

/* What the roots are searched in. */
struct roots_place {
	const struct address_space *space;
	const struct libc_threads *threads;
	const struct thread_blocks *blocks;
	const struct address_ranges *heaps;    /* joined; no thread's own stack is searched there */
	const struct address_ranges *excluded; /* joined; nothing there is a root */
};

/*
 * Finds all roots. `ret` has of each thread in turn its table of thread-local blocks, registers,
 * stack and thread-local storage; then tables of ended threads; then data and mappings by address.
 * A thread with a stack pointer that is not `stopped` has only a stack. The only error is lack of
 * memory.
 */
struct error *roots_find(const struct roots_place *place, struct memory_root_vec *ret) must_check_;

/* Returns whether a mapping belongs to the recorder and so holds no blocks: its libraries, with
 * their data that has no file and follows them, and memory shared with the collector. */
bool roots_map_is_of_recorder(const struct address_space *space, const struct process_map *map);

#endif
