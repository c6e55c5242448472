/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that two processes can map: a memfd, or where that is forbidden (a container's seccomp
 * profile) a file that is in no folder any more.
 */
#ifndef CAPTURE_SHARED_MEMORY_H
#define CAPTURE_SHARED_MEMORY_H

#include <stdint.h>

/*
 * Sparse memory of that many bytes, all zero. `name` is shown in the memory maps, of a file with a
 * path before it and something behind. The last place that is tried for a file is the folder of
 * `beside`, a path. A file is only made where there is room for all of it: whoever touches a page
 * that the file system has no room for is killed. The caller closes the descriptor (close-on-exec);
 * -1 with errno set: nowhere, errno is memfd_create's.
 */
int shared_memory_create(const char *name, uint64_t bytes, const char *beside);

#endif
