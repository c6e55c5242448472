/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that libc knows on x86-64: running ones, and ended ones whose stacks it keeps. A
 * thread's descriptor says where its stack is. That is more reliable than guard pages and the
 * bounds of mappings, since a stack may have no guard, may be joined with other memory, or belong
 * to the program.
 *
 * glibc's threads are found by its own lists. Each thread's descriptor is a link of a list; the
 * heads are in the data of the loader (before glibc 2.34 of libpthread, in a static program its
 * own). musl keeps no stacks: its threads are the running ones.
 */
#ifndef ROOTS_LIBC_THREADS_H
#define ROOTS_LIBC_THREADS_H

#include "base/vec.h"
#include "process/address_space.h"

struct libc_thread {
	uint64_t descriptor; /* the thread pointer */
	uint64_t start, end; /* of its stack, the descriptor included; empty: not known */
	bool has_ended;
	bool result_kept; /* it has ended and can still be joined: its result is kept */
};
DEFINE_VEC(libc_thread_vec, struct libc_thread)

struct libc_threads {
	struct libc_thread_vec threads; /* ascending by descriptor; none: no lists were found */
};

/* Finds the threads of a program; none on other machines. Returns false if there is no memory. */
bool libc_threads_find(const struct address_space *space, struct libc_threads *ret);
void libc_threads_deinit(struct libc_threads *threads);

/* Returns what glibc's descriptor at an address says; all fields are 0 if there is none. */
struct libc_thread libc_thread_at(const struct address_space *space, uint64_t descriptor);

/* Return the thread with that descriptor, or the thread whose stack contains `address`; NULL if
 * there is none. */
const struct libc_thread *libc_threads_by_descriptor(
	const struct libc_threads *threads, uint64_t descriptor);
const struct libc_thread *libc_threads_by_stack(
	const struct libc_threads *threads, uint64_t address);

/* Returns whether a descriptor is musl's; false on other machines, or if it can't be read. */
bool libc_thread_is_musl(const struct address_space *space, uint64_t descriptor);

#endif
