/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where each thread has the thread-local variables of each module: one block for each thread and
 * module (U. Drepper, "ELF Handling For Thread-Local Storage", 3.4 and 4.4). Blocks of modules that
 * were loaded at the start lie below the thread pointer on x86-64 (variant II) and above it on
 * aarch64 (variant I). Blocks of modules that were loaded later are blocks of the heap. All are
 * found in the thread's table (dtv) by the module's number. The dynamic linker keeps that in its
 * struct link_map, after values that the program headers have too, by which it is found.
 */
#ifndef ROOTS_THREAD_BLOCKS_H
#define ROOTS_THREAD_BLOCKS_H

#include "base/vec.h"
#include "process/address_space.h"

/* The largest size of a thread's descriptor in glibc (struct pthread), in bytes. */
#define ROOTS_DESCRIPTOR_BYTES 2304u

struct thread_block {
	uint64_t start, end;
	uint32_t module; /* index in space->modules */
	uint32_t thread; /* index in space->threads */
};
DEFINE_VEC(thread_block_vec, struct thread_block)

/* The memory around a thread pointer: the thread's descriptor and its blocks. */
struct thread_area {
	uint64_t start, end;
	uint32_t thread;
};
DEFINE_VEC(thread_area_vec, struct thread_area)

struct thread_blocks {
	struct thread_block_vec blocks; /* ascending */
	struct thread_area_vec areas;   /* of each thread that has one, in the order of threads */
};

/* Finds the blocks of all threads. The only error is lack of memory. */
struct error *thread_blocks_find(
	const struct address_space *space, struct thread_blocks *ret) must_check_;
void thread_blocks_deinit(struct thread_blocks *blocks);

/* Returns the block that an address lies in; NULL if there is none. Whether a block in the heap is
 * still allocated only the heap can say. */
const struct thread_block *thread_blocks_at(const struct thread_blocks *blocks, uint64_t address);

/* Returns the first block that ends after an address; NULL if there is none. */
const struct thread_block *thread_blocks_from(const struct thread_blocks *blocks, uint64_t address);

/* Returns the area of a thread; NULL if it has none. */
const struct thread_area *thread_blocks_area(const struct thread_blocks *blocks, uint32_t thread);

#endif
