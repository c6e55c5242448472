/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that libc has, or had and keeps the stacks of, on x86-64. A thread's descriptor says
 * where its stack is, so that neither a guard page nor the bounds of a mapping need to tell it: a
 * stack may have no guard, may be joined with other memory, or be the program's.
 *
 * glibc's are found by its own lists, of which each thread's descriptor is a link and the loader's
 * data (before glibc 2.34 libpthread's, of a static program its own) the heads. musl keeps no
 * stacks: its threads are those that run.
 */
#ifndef ROOTS_LIBC_THREADS_H
#define ROOTS_LIBC_THREADS_H

#include "base/vec.h"
#include "process/address_space.h"

struct libc_thread {
	uint64_t descriptor; /* the thread pointer */
	uint64_t start, end; /* of its stack, the descriptor included; empty: not known */
	bool has_ended;
	bool result_kept; /* it has ended, and nobody has asked for its result, but may */
};
DEFINE_VEC(libc_thread_vec, struct libc_thread)

struct libc_threads {
	struct libc_thread_vec threads; /* ascending by descriptor; none: no lists were found */
};

/* Finds the threads of a program. Empty on other machines. False: no memory. */
bool libc_threads_find(const struct address_space *space, struct libc_threads *ret);
void libc_threads_deinit(struct libc_threads *threads);

/* What glibc's descriptor at an address alone says. All of it is 0 if there is none. */
struct libc_thread libc_thread_at(const struct address_space *space, uint64_t descriptor);

/* The thread with that descriptor, or on whose stack an address is; NULL: there is none. */
const struct libc_thread *libc_threads_by_descriptor(
	const struct libc_threads *threads, uint64_t descriptor);
const struct libc_thread *libc_threads_by_stack(
	const struct libc_threads *threads, uint64_t address);

/* Whether a thread pointer's descriptor is musl's; false on other machines, or if it can't be read.
 */
bool libc_thread_is_musl(const struct address_space *space, uint64_t descriptor);

#endif
