/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of heap_show*.c alone: blocks as values of types. */
#ifndef VIEWS_HEAP_SHOW_PARTS_H
#define VIEWS_HEAP_SHOW_PARTS_H

#include "base/json.h"
#include "views/heap/heap_values.h"
#include "views/heap_layout_view.h"

struct show {
	const struct heap_page *page;
	struct heap_values values;
	struct text *out;
	struct json *json; /* NULL: text */
	size_t rows;
	size_t elements; /* so many of an array are shown */
};

/* Reads a block, which is laid out so from an offset on, for the values; the caller frees. NULL: no
 * memory. */
uint8_t *heap_show_read(
	struct show *show, uint32_t block, const struct heap_layout *layout, uint64_t offset);

/* How objects of one kind have what is laid out so: virtual bases lie elsewhere in each. */
struct heap_layout heap_show_layout(
	const struct show *show, const struct kin *kin, const struct heap_layout *layout);

/* Whether a member is shown: virtual bases whose place nobody knows are not, nor are bases without
 * members, as allocators are. */
bool heap_show_has(const struct types *types, const struct type_member *member);

/* Whether it is text by what holds it, which takes no debug information. */
static inline bool heap_show_is_string(const struct heap_layout *layout)
{
	return layout->is_array && layout->type == TYPE_VOID;
}

/* Adds the text of a string's memory, in quotes, where its characters have more bytes than one. */
void heap_show_add_wide(
	struct heap_values *values, const struct heap_layout *layout, struct text *text);

/* Whether what lies in it is shown: that is a pool (heap/types/pools.h). */
static inline bool heap_show_is_pool(const struct heap_layout *layout)
{
	return !layout->is_array && layout->type == TYPE_VOID;
}

/* All blocks of these types, a row each. */
struct error *heap_show_table(struct show *show, const struct kin_set *types,
	const struct heap_layout *layout) must_check_;

#endif
