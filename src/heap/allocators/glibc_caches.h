/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The caches that threads have of free blocks (malloc/malloc.c: tcache, from 2.26 on). */
#ifndef HEAP_GLIBC_CACHES_H
#define HEAP_GLIBC_CACHES_H

#include "heap/allocators/glibc.h"

#define GLIBC_CACHE_BINS_MAX 80u
#define GLIBC_FASTBINS 10u
#define GLIBC_FASTBINS_BEFORE 0x60u /* the bins of their arena */
#define GLIBC_LIST_MAX (1u << 26)

/* What a cache's memory says. */
struct glibc_cache_contents {
	uint32_t bins;
	bool between; /* its thread was just changing a list: that one's count is not its length */
	uint64_t lists[GLIBC_CACHE_BINS_MAX]; /* user addresses of their first blocks; 0: empty */
	uint32_t counts[GLIBC_CACHE_BINS_MAX];
};

/* Finds the threads' caches. `runs`: all areas, sorted. The only errors are of memory. */
struct error *glibc_caches_find(struct glibc *glibc, const struct heap_area_vec *runs) must_check_;

/* Finds what the cache at an address has; false: none is there. */
bool glibc_cache_read(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t address,
	struct glibc_cache_contents *ret);

/* A word that lists are followed by: read through glibc->pages, if there are any. */
bool glibc_word(const struct glibc *glibc, uint64_t address, uint64_t *ret);

/*
 * Follows a list of free blocks from its first user address (0: an empty one), at most `most`
 * blocks. Its links lead to addresses `before` bytes before user addresses. Adds what it finds to
 * *found, if that is not NULL. Returns how many are right; *ret_ends: whether it ends as it should.
 */
uint32_t glibc_list_follow(const struct glibc *glibc, const struct heap_area_vec *runs,
	uint64_t first, uint64_t before, enum glibc_links links, uint32_t most,
	struct glibc_addresses *found, bool *ret_ends);

/*
 * Adds to `cached` the blocks of fast bins that a thread is just merging: malloc_consolidate()
 * takes a bin's whole list first, and then nothing but that thread leads to it. `cached` is all
 * else, ascending; what is added is after it. False: no memory.
 */
bool glibc_detached_take(struct glibc *glibc, const struct heap_area_vec *runs);

/* Returns whether a block of an arena begins at this user address. */
bool glibc_block_is(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t address);

#endif
