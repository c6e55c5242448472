/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread pointers that a core does not tell. */
#ifndef PROCESS_ADDRESS_THREADS_H
#define PROCESS_ADDRESS_THREADS_H

#include "process/address_space.h"

/*
 * Sets thread_pointer of the threads that have none, as far as what glibc keeps of them is found in
 * memory: cores of aarch64 have it in a note (NT_ARM_TLS) that qemu does not write. The only errors
 * are of memory.
 */
struct error *address_threads_find(struct address_space *space) must_check_;

/* The thread pointer that belongs to the thread's number at an address; 0: none. */
uint64_t address_thread_pointer(const struct address_space *space, uint64_t number);

#endif
