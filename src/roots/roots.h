/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which memory of a program holds blocks from outside of its heap: registers, the live parts of
 * stacks, thread-local storage, data of modules, and other mappings. The one answer for cores,
 * processes and recorded processes that are searched.
 *
 * Stack of a thread:
 *
 *     guard | not in use any more | red zone, frames … | thread-local, descriptor | rest of page
 *           ^ start               ^ stack pointer - 128 ^ thread pointer - …               end ^
 *
 *   - A stack that libc or the kernel knows counts from the stack pointer on. What is below is of
 *     the past.
 *   - A thread that runs elsewhere (a coroutine's stack, a signal's) has its own stack counted
 *     whole, since nobody knows where it was left; and all of the memory that it runs on, since
 *     other stacks may be below.
 *   - The stack of a thread that has ended holds nothing, apart from the result that nobody has
 *     asked for yet. Of the first thread's stack there is left what the kernel put there: arguments
 *     and environment.
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
	MEMORY_ROOT_TLS, /* thread-local storage, the thread's descriptor included */
	MEMORY_ROOT_REGISTERS,
	MEMORY_ROOT_MAPPING, /* any other */
};

/* Of a root that belongs to no thread that is there. */
#define MEMORY_ROOT_NO_THREAD UINT32_MAX

struct memory_root {
	enum memory_root_kind kind;
	uint64_t start, end; /* of memory */
	uint32_t thread; /* index in the space, of stacks, thread-local storage and registers; or
			    MEMORY_ROOT_NO_THREAD */
	bool is_guess;   /* of a stack: where it begins and ends is not known */
	const struct process_map *map; /* of data and mappings; belongs to the space */
	/* Of registers, in the order of the space, which they belong to. NULL, with a count of 1:
	 * `value` stands for what is at `start`. */
	const uint64_t *values;
	size_t value_count;
	uint64_t value;
};
DEFINE_VEC(memory_root_vec, struct memory_root)

struct roots_place {
	const struct address_space *space;
	const struct libc_threads *threads;
	const struct thread_blocks *blocks;
	const struct address_ranges *heaps; /* joined; no thread's own stack is looked for there */
	const struct address_ranges *excluded; /* joined; nothing there is a root */
};

/*
 * Fills `ret`: of each thread in turn its thread-local table, registers, stack and thread-local
 * storage, then tables of ended threads, then data and mappings by address. A thread with a stack
 * pointer that is not `stopped` has a stack alone. The only errors are of memory.
 */
struct error *roots_find(const struct roots_place *place, struct memory_root_vec *ret) must_check_;

/* Whether a mapping is what recording brings along, whose addresses are nobody's pointers: its
 * libraries, with what of their data has no file and follows, and memory shared with the collector.
 */
bool roots_map_is_of_recorder(const struct address_space *space, const struct process_map *map);

#endif
