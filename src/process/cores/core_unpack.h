/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cores that are packed: as systemd-coredump keeps them (zstd, lz4, xz), or gzip. They are unpacked
 * into a file without a name in $TMPDIR, or /var/tmp, with holes for zeros: a core is read here and
 * there, not from its beginning to its end.
 */
#ifndef PROCESS_CORE_UNPACK_H
#define PROCESS_CORE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Whether these first bytes of a file are of a packing that is known; 6 are enough. */
bool core_is_packed(const void *head, size_t len);

/*
 * Unpacks an open file from its beginning. *ret_cut: it ends too early, and what came before is
 * there. ERROR_INPUT: it is damaged, or unpacks to more than a core of that size can.
 * ERROR_ENVIRONMENT: there is no room for it.
 */
struct error *core_unpack(int fd, const char *path, int *ret_fd, bool *ret_cut) must_check_;

#endif
