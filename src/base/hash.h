/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashes for tables in memory: fast, well mixed, never stored. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* splitmix64's finaliser (Stafford's variant 13): a bijection; each input bit reaches each output.
 */
static inline uint64_t hash_u64(uint64_t value)
{
	value ^= value >> 30;
	value *= 0xbf58476d1ce4e5b9u;
	value ^= value >> 27;
	value *= 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

/* XXH3-64. */
uint64_t hash_bytes(const void *data, size_t len);

#endif
