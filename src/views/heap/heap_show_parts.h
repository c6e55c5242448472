/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of heap_show*.c alone: blocks as values of types. */
#ifndef VIEWS_HEAP_SHOW_PARTS_H
#define VIEWS_HEAP_SHOW_PARTS_H

#include "base/vec.h"
#include "table/answer.h"
#include "views/heap/heap_contents_view.h"
#include "views/heap/heap_extent.h"
#include "views/heap/heap_values.h"
#include "views/heap_layout_view.h"

/* Members, of a block; types that contain themselves are damaged files'. */
#define SHOW_ROWS_MOST 4000u

/* A member of a block, or an element: each before those inside of it. */
struct shown_member {
	char *name;
	unsigned level;
	uint32_t type;
	uint64_t bits; /* from where what is shown begins */
	uint32_t bit_size;
	bool has_value, is_held; /* … which is a container's */
	bool opens;              /* others are inside of it */
	bool is_more;            /* no member, but a line for people: `more` are left out */
	uint64_t more;           /* of its elements */
};
DEFINE_VEC(shown_members, struct shown_member)

struct show {
	const struct heap_page *page;
	struct heap_values values;
	struct answer *answer;
	bool is_brief, no_memory;
	size_t rows;
	size_t elements; /* so many of an array are shown */
	/* The block, as it is laid out. */
	uint32_t block;
	struct heap_layout layout;
	uint64_t at, more;
	const struct heap_type *type;
	struct heap_pool_rows pool;
	bool is_pool;
	struct shown_members members;
	struct heap_contents held; /* of the member whose cell was filled last */
};

/* Makes the rows of the block that was read, as show->layout has it; none if that is a text. */
void heap_show_fill(struct show *show);
void heap_show_deinit(struct show *show);
/* Whether a block is told as one text rather than as characters. */
bool heap_show_is_text(const struct show *show, const struct heap_layout *layout);

/* Reads a block, which is laid out so from an offset on, for the values; the caller frees. NULL: no
 * memory. */
uint8_t *heap_show_read(
	struct show *show, uint32_t block, const struct heap_layout *layout, uint64_t offset);

/* How objects of one kind have what is laid out so: virtual bases lie elsewhere in each. */
struct heap_layout heap_show_layout(
	const struct show *show, const struct subtypes *subtypes, const struct heap_layout *layout);

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

/* The whole answer about all blocks of these types, a row each. Programs that read JSON get the
 * document as it is described by `type`. */
struct error *heap_show_table(struct show *show, const struct answer_type *type,
	const struct subtype_set *types, const struct heap_layout *layout) must_check_;

#endif
