/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The caches that threads have of free blocks (malloc/malloc.c: tcache, from 2.26 on). */
#ifndef HEAP_GLIBC_CACHES_H
#define HEAP_GLIBC_CACHES_H

#include "heap/glibc.h"

#define GLIBC_CACHE_BINS_MAX 80u

/* What a cache's memory says. */
struct glibc_cache_contents {
	uint32_t bins;
	bool has_counts; /* else `counts` tell nothing */
	bool between; /* its thread was just changing a list: that one's count is not its length */
	uint64_t lists[GLIBC_CACHE_BINS_MAX]; /* user addresses of their first blocks; 0: empty */
	uint32_t counts[GLIBC_CACHE_BINS_MAX];
};

/* Finds the threads' caches. `runs`: all areas, sorted. The only errors are of memory. */
struct error *glibc_caches_find(struct glibc *glibc, const struct heap_area_vec *runs) must_check_;

/* What the cache at an address has; false: none is there. */
bool glibc_cache_read(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t address,
	struct glibc_cache_contents *ret);

/* A word that lists are followed by: read through glibc->pages, if there are any. */
bool glibc_word(const struct glibc *glibc, uint64_t address, uint64_t *ret);

/* Whether a block of an arena begins at this user address. */
bool glibc_block_is(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t address);

#endif
