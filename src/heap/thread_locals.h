/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread-local variable an address is, by symbol tables and debug information. */
#ifndef HEAP_THREAD_LOCALS_H
#define HEAP_THREAD_LOCALS_H

#include "heap/heap_scan.h"

/* The number of the thread whose thread-local storage, its description included, an address outside
 * of blocks is in. False: none's. */
bool thread_locals_has(const struct heap_scan *scan, uint64_t address, uint32_t *ret_thread);

/* The variable at an address of such storage; where no name is known, how far it is in the module's
 * part; no module: it is no module's. The only errors are of memory. */
struct error *thread_locals_place(
	const struct heap_scan *scan, uint64_t address, struct heap_place *ret) must_check_;

/* Finds the variable as it is declared; its start is an address. False: none is known; types of its
 * module must be. */
bool thread_locals_declared(
	const struct heap_scan *scan, uint64_t address, struct heap_global *ret);

/* Adds the variable, and the member in it, that is at an offset of a block which a thread got
 * for a library's: "cache", "cache.first". Nothing if it is no such block, or none is known. */
void thread_locals_add_member(
	const struct heap_scan *scan, uint32_t block, uint64_t offset, struct text *text);
/* The thread that has the block for that; 0: none has. */
pid_t thread_locals_owner(const struct heap_scan *scan, uint32_t block);
/* The library whose variables these are; NULL: it is no such block. */
const struct address_module *thread_locals_module(const struct heap_scan *scan, uint32_t block);

#endif
