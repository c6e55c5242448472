/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that two processes can map: a memfd, or where that is forbidden (a container's seccomp
 * profile) a file that is in no folder any more.
 */
#ifndef CAPTURE_SHARED_MEMORY_H
#define CAPTURE_SHARED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "format/shm.h"

/* How the names of all sessions' memory begin: see session_mapping(). */
#define SHARED_MEMORY_PREFIX "heapwise-rings."

/*
 * Sparse memory of that many bytes, all zero. `name` is shown in the memory maps, of a file with a
 * path before it and something after. The last place that is tried for a file is the folder of
 * `beside`, a path. A file is only made where there is room for all of it: a process that touches a
 * page that the file system has no room for is killed. A memfd is sealed: its size can not be
 * changed; of a file the other process can: see shared_memory_survive(). The caller closes the
 * descriptor (close-on-exec); -1 with errno set: nowhere, errno is memfd_create's.
 */
int shared_memory_create(const char *name, uint64_t bytes, const char *beside);

/*
 * Lets this process survive when another process truncates a file that is mapped as such memory:
 * the whole mapping becomes zeros. (Handles SIGBUS.)
 */
void shared_memory_survive(void);

/* Returns whether that has happened to a mapping, or its first page was overwritten. */
bool shared_memory_is_torn(const struct hw_shm *shm);

#endif
