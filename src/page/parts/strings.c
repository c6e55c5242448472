/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/strings.h"

void page_strings_init(struct page_strings *strings)
{
	arena_init(&strings->arena);
	page_string_list_init(&strings->list);
	page_string_numbers_init(&strings->numbers);
}

void page_strings_deinit(struct page_strings *strings)
{
	page_string_numbers_deinit(&strings->numbers);
	page_string_list_deinit(&strings->list);
	arena_deinit(&strings->arena);
}

/* Gives a string the next number. */
static bool push_string(struct page_strings *strings, const char *string, uint32_t *ret)
{
	const char *kept = arena_strdup(&strings->arena, string);
	if (!kept || !page_string_list_push(&strings->list, kept))
		return false;
	uint32_t *number = page_string_numbers_insert(&strings->numbers, kept, NULL);
	if (!number)
		return false;
	*ret = *number = (uint32_t)strings->list.len - 1;
	return true;
}

bool page_strings_add(struct page_strings *strings, const char *string, uint32_t *ret)
{
	uint32_t empty;
	*ret = 0;
	if (!strings->list.len && !push_string(strings, "", &empty))
		return false;
	if (!string || !*string)
		return true;
	const uint32_t *known = page_string_numbers_find(&strings->numbers, string);
	if (!known)
		return push_string(strings, string, ret);
	*ret = *known;
	return true;
}
