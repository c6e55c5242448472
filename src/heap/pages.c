/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/pages.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define NO_PAGE 1u

struct error *pages_open(const struct address_space *space, struct pages *ret)
{
	*ret = (struct pages){.space = space, .bytes = malloc(PAGES_KEPT * (size_t)PAGE_BYTES)};
	for (size_t i = 0; i < PAGES_KEPT; i++)
		ret->starts[i] = NO_PAGE;
	return ret->bytes ? NULL : error_no_memory();
}

void pages_close(struct pages *pages)
{
	free(pages->bytes);
	pages->bytes = NULL;
}

bool pages_word(struct pages *pages, uint64_t address, uint64_t *ret)
{
	uint64_t start = address & ~(uint64_t)(PAGE_BYTES - 1);
	size_t into = (size_t)(address - start), slot = start / PAGE_BYTES % PAGES_KEPT;
	uint8_t *page = pages->bytes + slot * PAGE_BYTES;
	if (into > PAGE_BYTES - sizeof(*ret)) {
		pages->reads++;
		return address_space_word(pages->space, address, ret);
	}
	if (pages->starts[slot] != start) {
		pages->reads++;
		pages->starts[slot] = start;
		pages->lens[slot] =
			(uint32_t)address_space_read(pages->space, start, page, PAGE_BYTES);
	}
	if (into + sizeof(*ret) > pages->lens[slot])
		return false;
	memcpy(ret, page + into, sizeof(*ret));
	return true;
}
