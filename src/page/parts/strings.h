/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The strings of a page, each once; columns have their numbers. */
#ifndef PAGE_STRINGS_H
#define PAGE_STRINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

static inline uint64_t page_string_hash(const char *string)
{
	return hash_bytes(string, strlen(string));
}

static inline bool page_string_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

DEFINE_VEC(page_string_list, const char *)
DEFINE_MAP(page_string_numbers, const char *, uint32_t, page_string_hash, page_string_equal)

struct page_strings {
	struct arena arena; /* where they live */
	struct page_string_list list;
	struct page_string_numbers numbers;
};

void page_strings_init(struct page_strings *strings);
void page_strings_deinit(struct page_strings *strings);

/* Sets *ret to the number of a string, which is copied if it is new; that of "" and NULL is 0.
 * False: no memory. */
bool page_strings_add(struct page_strings *strings, const char *string, uint32_t *ret);

#endif
