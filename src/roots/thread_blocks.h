/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where each thread has the thread-local variables of each module: one block for both, as the ELF
 * specification of thread-local storage has it (U. Drepper, "ELF Handling For Thread-Local
 * Storage", 3.4 and 4.4). On x86-64 (variant II) those of modules that were there from the start
 * lie below the thread pointer, on aarch64 (variant I) above it; those of later ones are blocks of
 * the heap. All are found in the thread's table (dtv) by the module's number, which the dynamic
 * linker keeps in its struct link_map; there it follows what the program headers say, and is told
 * by that.
 */
#ifndef ROOTS_THREAD_BLOCKS_H
#define ROOTS_THREAD_BLOCKS_H

#include "base/vec.h"
#include "process/address_space.h"

/* glibc: what describes a thread has so many bytes at most (struct pthread). */
#define ROOTS_DESCRIPTOR_BYTES 2304u

struct thread_block {
	uint64_t start, end;
	uint32_t module; /* index in the space, … */
	uint32_t thread; /* … and of the thread */
};
DEFINE_VEC(thread_block_vec, struct thread_block)

/* What lies around a thread's pointer: its description, and such blocks. */
struct thread_area {
	uint64_t start, end;
	uint32_t thread;
};
DEFINE_VEC(thread_area_vec, struct thread_area)

struct thread_blocks {
	struct thread_block_vec blocks; /* ascending */
	struct thread_area_vec areas;   /* one of each thread that has one, in their order */
};

/* The only errors are of memory. */
struct error *thread_blocks_find(
	const struct address_space *space, struct thread_blocks *ret) must_check_;
void thread_blocks_deinit(struct thread_blocks *blocks);

/* The block that an address lies in; NULL: none. Of those in the heap the heap tells whether they
 * are still there. */
const struct thread_block *thread_blocks_at(const struct thread_blocks *blocks, uint64_t address);

/* The first that ends behind an address; NULL: none. */
const struct thread_block *thread_blocks_from(const struct thread_blocks *blocks, uint64_t address);

/* The area of a thread; NULL: it has none. */
const struct thread_area *thread_blocks_area(const struct thread_blocks *blocks, uint32_t thread);

#endif
