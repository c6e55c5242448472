/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: start of a process, of a thread, forks, mlockall. May touch: raw system calls.
 *
 * What the runtime maps into the program:
 *
 *     private, wiped at fork    the process (11 MiB), and 0.4 MiB for each ring that is in use
 *     shared with the collector rings, modules, call stacks (535 MiB; nearly all never touched)
 *
 * Both count where a program's limits count its own: private memory against RLIMIT_DATA and, where
 * the kernel promises no more than it has, against that; everything against RLIMIT_AS. So private
 * memory comes as it is needed, and where address space is short only a part of the shared memory
 * is mapped: fewer rings, the large ones first to go, and fewer call stacks.
 */
#ifndef RUNTIME_MEMORY_H
#define RUNTIME_MEMORY_H

#include "runtime/preload/process.h"

/* Returns whether the program's limits allow HW_ADDRESS_SPACE_LEAST. */
bool rt_memory_may_be_had(void);

/* Makes rt_process, unless it exists. Returns whether it exists. */
bool rt_memory_process(void);

/* Returns the state of the thread of ring `ring` with its frames, which is made at the first call
 * and kept. Returns NULL if there is no memory, or no system call is allowed to get some. For the
 * ring's owner alone. */
struct rt_thread *rt_memory_thread(uint32_t ring);

/* Makes the states of all rings, as far as there is memory, before system calls are forbidden. */
void rt_memory_threads_all(void);

/* Calls madvise for all memory that fork wipes: MADV_KEEPONFORK, MADV_WIPEONFORK, or MADV_DONTNEED
 * (which wipes it). */
void rt_memory_advise(int advice);

/* Maps the memory of the collector's descriptor and sets p's fields for it. Returns false if there
 * is no room. */
bool rt_memory_share(struct rt_process *p, int memory);

/* Unmap the shared memory, or replace it by private zero pages. */
void rt_memory_unshare(struct rt_process *p);
void rt_memory_unshare_in_place(struct rt_process *p);

/*
 * Unmaps unused shared memory, since the process is about to have only `limit` bytes of address
 * space. Any thread, any moment.
 */
void rt_memory_shrink(struct rt_process *p, uint64_t limit);

/* Returns the sampler's table of RT_SAMPLER_BYTES bytes, which is made at the first call and is
 * zero then; NULL if there is no memory. */
uint64_t *rt_memory_places(void);

/* Writes to *shm where the private memory is, except that of rings that come later. */
void rt_memory_report(struct hw_shm *shm);

/* Returns whether all of [start, end), a mapping of this process, is the runtime's. */
bool rt_memory_is_ours(uint64_t start, uint64_t end);
/* Calls munlock for all memory of the runtime. */
void rt_memory_unlock(void);

#endif
