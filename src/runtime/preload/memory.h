/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: start of a process, of a thread, forks, mlockall. May touch: raw system calls.
 *
 * What the runtime maps into the program:
 *
 *     private, wiped at fork    the process (11 MiB), and 0.3 MiB for each ring that is in use
 *     shared with the collector rings, modules, call stacks (200 MiB; nearly all never touched)
 *
 * Both count where a program's limits count its own: private memory against RLIMIT_DATA and, where
 * the kernel promises no more than it has, against that; everything against RLIMIT_AS. So private
 * memory comes as it is needed, and where address space is short only a part of the shared memory
 * is mapped: fewer rings, the large ones first to go, and fewer call stacks.
 */
#ifndef RUNTIME_MEMORY_H
#define RUNTIME_MEMORY_H

#include "runtime/preload/process.h"

/* Whether the program may have HW_ADDRESS_SPACE_LEAST. */
bool rt_memory_may_be_had(void);

/* Makes rt_process; true if it is there. */
bool rt_memory_process(void);

/* The state of ring `ring`'s thread and its frames, made when it is first asked for and kept; NULL:
 * no memory, or no system calls to get some with. For the ring's owner alone. */
struct rt_thread *rt_memory_thread(uint32_t ring);

/* Makes those of all rings, as far as there is memory: soon no system call is possible. */
void rt_memory_threads_all(void);

/* madvise for all that fork wipes: MADV_KEEPONFORK, MADV_WIPEONFORK, MADV_DONTNEED (wipes it). */
void rt_memory_advise(int advice);

/* Maps what the collector's descriptor stands for, and fills in p's view of it. False: no room. */
bool rt_memory_share(struct rt_process *p, int memory);

/* Lets go of it, or puts private zero pages in its place. */
void rt_memory_unshare(struct rt_process *p);
void rt_memory_unshare_in_place(struct rt_process *p);

/*
 * The process is about to have so little address space: what was mapped for more, and is not in
 * use, is given back. Any thread, any moment.
 */
void rt_memory_shrink(struct rt_process *p, uint64_t limit);

/* Where the sampler's table is, made if need be: zero at first, RT_SAMPLER_BYTES. NULL: no memory.
 */
uint64_t *rt_memory_places(void);

/* Says in *shm where the private part is, but for rings that come later. */
void rt_memory_tell(struct hw_shm *shm);

/* Whether all of [start, end), a mapping of this process, is ours. */
bool rt_memory_is_ours(uint64_t start, uint64_t end);
/* munlock of all that is ours. */
void rt_memory_unlock(void);

#endif
