/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of blocks, by their numbers: where it is in a vector. */
#ifndef HEAP_BLOCK_NUMBERS_H
#define HEAP_BLOCK_NUMBERS_H

#include "base/map.h"

static inline uint64_t block_number_hash(uint32_t block)
{
	return hash_u64(block);
}
static inline bool block_number_same(uint32_t a, uint32_t b)
{
	return a == b;
}
DEFINE_MAP(block_numbers, uint32_t, uint32_t, block_number_hash, block_number_same)

#endif
