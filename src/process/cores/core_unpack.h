/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decompresses cores, as systemd-coredump keeps them (zstd, lz4, xz), or gzip, into a file without
 * a name in $TMPDIR, or /var/tmp, with holes for zeros. That is needed since a core is read at
 * random places.
 */
#ifndef PROCESS_CORE_UNPACK_H
#define PROCESS_CORE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Returns whether `len` bytes are the beginning of a file in a known compressed format; 6 are
 * enough. */
bool core_is_packed(const void *head, size_t len);

/*
 * Decompresses an open file from its beginning into *ret_fd. *ret_cut: the file is truncated, and
 * *ret_fd has what came before. Returns ERROR_INPUT if the file is damaged or decompresses to more
 * than a core of that size can, ERROR_ENVIRONMENT if there is no space for the result.
 */
struct error *core_unpack(int fd, const char *path, int *ret_fd, bool *ret_cut) must_check_;

#endif
