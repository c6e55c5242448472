/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hashing of numbers that a file chooses. With a seed that the file cannot know, no file can be
 * crafted whose numbers all meet in one place of a table and make a reader crawl.
 */
#ifndef SOURCES_HPW_HASH_H
#define SOURCES_HPW_HASH_H

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/hash.h"

/* Returns the key, constant in a process: bytes that the kernel chose at its start. */
static inline uint64_t hpw_hash_seed(void)
{
	uint64_t seed = 0;
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof(seed));
	return seed;
}

static inline uint64_t hpw_hash(uint64_t seed, uint64_t value)
{
	return hash_u64(value ^ seed);
}

#endif
