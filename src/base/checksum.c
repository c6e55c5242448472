/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/checksum.h"

#include <xxhash.h>

#include "base/hash.h"

uint64_t checksum64(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

uint64_t hash_bytes(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}
