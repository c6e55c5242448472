/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds thread-local variables by address, from symbol tables and debug information. */
#ifndef HEAP_THREAD_LOCALS_H
#define HEAP_THREAD_LOCALS_H

#include "heap/heap_scan.h"

/* Finds the thread whose thread-local storage, its descriptor included, contains an address outside
 * of blocks. Returns false if there is none. */
bool thread_locals_has(const struct heap_scan *scan, uint64_t address, uint32_t *ret_thread);

/* Finds the variable at an address of thread-local storage; without a name, the offset in the
 * module's part; without a module, it belongs to none. The only error is lack of memory. */
struct error *thread_locals_place(
	const struct heap_scan *scan, uint64_t address, struct heap_place *ret) must_check_;

/* Finds the variable as it is declared; its start is an address. False: none is known; types of its
 * module must be. */
bool thread_locals_declared(
	const struct heap_scan *scan, uint64_t address, struct heap_global *ret);

/* Adds the variable, and the member in it, at an offset of a block that contains a library's
 * thread-local variables: "cache", "cache.first". Adds nothing if it is no such block, or no
 * variable is known. */
void thread_locals_add_member(
	const struct heap_scan *scan, uint32_t block, uint64_t offset, struct text *text);
/* Returns the thread that owns such a block; 0 if it is none. */
pid_t thread_locals_owner(const struct heap_scan *scan, uint32_t block);
/* Returns the library whose variables such a block contains; NULL if it is none. */
const struct address_module *thread_locals_module(const struct heap_scan *scan, uint32_t block);

#endif
