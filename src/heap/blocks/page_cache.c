/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/page_cache.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define NO_PAGE 1u

struct error *page_cache_open(const struct address_space *space, struct page_cache *ret)
{
	*ret = (struct page_cache){
		.space = space, .bytes = malloc(PAGES_KEPT * (size_t)PAGE_BYTES)};
	for (size_t i = 0; i < PAGES_KEPT; i++)
		ret->starts[i] = NO_PAGE;
	return ret->bytes ? NULL : error_no_memory();
}

void page_cache_close(struct page_cache *pages)
{
	free(pages->bytes);
	pages->bytes = NULL;
}

/* At most `bytes` of one page. */
static size_t read_of_page(struct page_cache *pages, uint64_t address, void *ret, size_t bytes)
{
	uint64_t start = address & ~(uint64_t)(PAGE_BYTES - 1);
	size_t into = (size_t)(address - start), slot = start / PAGE_BYTES % PAGES_KEPT;
	uint8_t *page = pages->bytes + slot * PAGE_BYTES;
	if (pages->starts[slot] != start) {
		pages->reads++;
		pages->starts[slot] = start;
		pages->lens[slot] =
			(uint32_t)address_space_read(pages->space, start, page, PAGE_BYTES);
	}
	size_t there = pages->lens[slot] > into ? pages->lens[slot] - into : 0;
	size_t room = PAGE_BYTES - into, wanted = bytes < room ? bytes : room;
	wanted = wanted < there ? wanted : there;
	memcpy(ret, page + into, wanted);
	return wanted;
}

size_t page_cache_read(struct page_cache *pages, uint64_t address, void *ret, size_t bytes)
{
	if (bytes > PAGE_BYTES) {
		pages->reads++;
		return address_space_read(pages->space, address, ret, bytes);
	}
	size_t room = PAGE_BYTES - (size_t)(address & (PAGE_BYTES - 1));
	size_t got = read_of_page(pages, address, ret, bytes);
	if (got == room && got < bytes)
		got += read_of_page(pages, address + got, (char *)ret + got, bytes - got);
	return got;
}

bool page_cache_word(struct page_cache *pages, uint64_t address, uint64_t *ret)
{
	return page_cache_read(pages, address, ret, sizeof(*ret)) == sizeof(*ret);
}
