/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that libc has, or had and keeps the stacks of: told by its own lists, of which each
 * thread's descriptor is a link and the loader's data (before glibc 2.34 libpthread's) the heads.
 * A descriptor says where its stack is, so that neither a guard page nor the bounds of a mapping
 * need to tell it: a stack may have no guard, may be joined with other memory, or be the program's.
 */
#ifndef CAPTURE_LEAK_THREADS_H
#define CAPTURE_LEAK_THREADS_H

#include "base/vec.h"
#include "capture/leaks/leak_roots.h"

struct leak_thread {
	uint64_t descriptor;
	uint64_t start, end; /* of its stack, the descriptor included; empty: not known */
	bool has_ended;
	bool result_kept; /* it has, and nobody has asked for its result, but may */
};
DEFINE_VEC(leak_thread_vec, struct leak_thread)

/* By descriptors; none: the lists were not found. False: no memory. */
bool leak_threads_find(const struct leak_place *place, struct leak_thread_vec *ret);

/* What is told of one by its descriptor alone; all of it is unknown if there is none. */
struct leak_thread leak_thread_at(const struct leak_place *place, uint64_t descriptor);

/* The one with that descriptor, or on whose stack an address is; NULL: there is none. */
const struct leak_thread *leak_threads_by_descriptor(
	const struct leak_thread_vec *threads, uint64_t descriptor);
const struct leak_thread *leak_threads_by_stack(
	const struct leak_thread_vec *threads, uint64_t address);

#endif
