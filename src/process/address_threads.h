/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds thread pointers that a core does not contain. */
#ifndef PROCESS_ADDRESS_THREADS_H
#define PROCESS_ADDRESS_THREADS_H

#include "process/address_space.h"

/*
 * Sets thread_pointer of the threads that have none, if glibc's descriptor of them is found in
 * memory. Cores of aarch64 have the thread pointer in a note (NT_ARM_TLS) that qemu does not write.
 * The only error is lack of memory.
 */
struct error *address_threads_find(struct address_space *space) must_check_;

/* Returns the thread pointer whose descriptor has its thread number at the address `number`; 0 if
 * there is none. */
uint64_t address_thread_pointer(const struct address_space *space, uint64_t number);

#endif
