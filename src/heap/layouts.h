/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layouts of blocks of known types, by debug information. */
#ifndef HEAP_LAYOUTS_H
#define HEAP_LAYOUTS_H

#include "base/arena.h"
#include "base/vec.h"
#include "symbols/types.h"

/* What an allocator may give more than was asked for: glibc's, of small blocks. */
#define LAYOUT_SPARE 24u

/* The name of a class as it is shown, and as debug information has it. */
struct plain_name {
	const char *plain, *whole;
};
DEFINE_VEC(plain_names, struct plain_name)

struct heap_layouts {
	struct types *types;      /* borrowed; NULL: not asked for yet */
	struct plain_names names; /* of templates; sorted */
	bool has_names;
	bool has_all; /* those of all modules were added */
	bool has_any; /* there was one */
	struct arena arena;
};

/* The layout of a block: `count` elements of a type. */
struct heap_layout {
	uint32_t type; /* TYPE_VOID: unknown */
	uint64_t size; /* of one */
	uint64_t count;
	bool is_array;   /* else count is 1 */
	uint64_t header; /* where the first begins; 0, but for arrays after their number, and where
			  * a view shows a part of a block */
	uint64_t room;   /* capacity
			  * of a std::vector in elements; 0: the number of elements is unknown */
	uint64_t after;  /* bytes after it that belong to the block and are no part of the type */
	uint8_t unit;    /* of a string's memory, whose type is unknown: bytes of a character, 1, 2
			  * or 4; 0 of all else */
};

struct heap_scan;

/* Reads the types of all modules. *ret_any: whether there are any. */
struct error *heap_layouts_open(struct heap_scan *scan, bool *ret_any) must_check_;
void heap_layouts_close(struct heap_layouts *layouts);

/* Returns
 * the known type with the shown name `plain` that fits into `usable` bytes, or TYPE_VOID. */
uint32_t heap_layouts_find(struct heap_layouts *layouts, const char *plain, uint64_t usable);

/* Finds the layout of the C++ class of the blocks of a heap class. */
void heap_layouts_of_class(struct heap_scan *scan, uint32_t class);

/* Finds the layout of a block; the scan has types. Returns false if it is unknown. */
bool heap_layout_of(const struct heap_scan *scan, uint32_t block, struct heap_layout *ret);

/* Adds ", room for 7 elements" for an array, or the number of bytes after an object. */
void heap_layout_add_extent(const struct heap_layout *layout, struct text *text);

/* The declared variable at an address. */
struct heap_global {
	struct types_variable variable;
	uint64_t start;  /* address */
	uint64_t offset; /* of the address in it */
};
/* Finds the variable at `address`. Returns false if none is known; the types of its module must be
 * read. */
bool heap_layouts_global(const struct heap_scan *scan, uint64_t address, struct heap_global *ret);

/* Adds the member at an offset of a block with that layout: "next", "[3].name"; nothing if there is
 * none. */
void heap_layout_add_member(const struct heap_scan *scan, const struct heap_layout *layout,
	uint64_t offset, struct text *text);

#endif
