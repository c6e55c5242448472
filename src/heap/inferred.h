/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Infers the types of the remaining blocks from the declared types of pointers to them. Globals and
 * objects of known classes come first; the blocks that they point to are then known, and so on.
 * From `static struct node *list` follow all nodes of the list, and their names as char[].
 *
 * A declaration is believed if the block's size and its pointers fit: as one of the type, or as an
 * array. void *, pointers into the middle of blocks, and those to a part of something larger are no
 * evidence. Blocks that look like inferred ones get their type, too, unless some of these are of
 * another, or what is in them says otherwise (inferred_alike.h).
 */
#ifndef HEAP_INFERRED_H
#define HEAP_INFERRED_H

#include "heap/heap_scan.h"

/* Returns the evidence for the inferred type of a block: "declared" (a member or a variable leads
 * to it), or "look-alike" (it only looks like others of the type); NULL: it is of no such type.
 * Finds the isolated blocks. The scan has leaks. */
const char *inferred_basis_name(const struct heap_scan *scan, uint32_t block);
/* Called at the end of heap_scan_find_leaks(). */
void inferred_count_alike(struct heap_scan *scan);

/* The words of a type that are pointers, and those that can't be, of the first SHAPE_WORDS. Words
 * in neither set may be anything: unions, bytes, unsigned values as wide as a pointer. */
struct word_map {
	uint64_t pointers, data;
	uint64_t vtables; /* of the pointers: to tables of virtual functions … */
	uint64_t code;    /* … and to functions */
	uint64_t texts;   /* characters of a short std::string, in its object */
};
void inferred_word_map(struct types *types, uint32_t type, struct word_map *ret);

#endif
