/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* XXH3-64 with seed 0, as stored in recordings. */
uint64_t checksum64(const void *data, size_t len);

#endif
