/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of an address space, for callers that follow pointers in it: a
 * page is read when a word of it is wanted, and some of the last ones are kept.
 */
#ifndef HEAP_PAGE_CACHE_H
#define HEAP_PAGE_CACHE_H

#include "base/error.h"
#include "process/address_space.h"

#define PAGES_KEPT 512u

struct page_cache {
	const struct address_space *space;
	uint8_t *bytes;              /* of all that are kept */
	uint64_t starts[PAGES_KEPT]; /* by address; 1: none so far */
	uint32_t lens[PAGES_KEPT];   /* how much of each could be read */
	uint64_t reads;              /* so often the space was asked */
};

struct error *page_cache_open(
	const struct address_space *space, struct page_cache *ret) must_check_;
void page_cache_close(struct page_cache *pages);

/* As address_space_read(). What is longer than a page is read for itself. */
size_t page_cache_read(struct page_cache *pages, uint64_t address, void *ret, size_t bytes);
/* As address_space_word(). */
bool page_cache_word(struct page_cache *pages, uint64_t address, uint64_t *ret);

#endif
