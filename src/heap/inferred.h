/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What blocks are that nothing else tells, by the declared types of what points to them. Globals
 * and objects of known classes come first; what they hold is then known, and what that holds. From
 * `static struct node *list` follow all nodes of the list, and their names as char[].
 *
 * A declaration is believed if the block's size and its pointers fit: as one of the type, or as
 * an array. void *, pointers into the middle of blocks, and those to a part of something larger say
 * nothing. Blocks that look like those that were found so are of their type, too, unless some of
 * these are of another, or what is in them says otherwise (inferred_alike.h).
 */
#ifndef HEAP_INFERRED_H
#define HEAP_INFERRED_H

#include "heap/heap_scan.h"

/* How it is known what a block of an inferred type is: "declared" (a member or a variable leads to
 * it), or "look-alike" (it only looks like others of the type); NULL: it is of no such type. The
 * scan is judged. */
const char *inferred_basis_name(const struct heap_scan *scan, uint32_t block);
/* At the end of heap_scan_find_leaks(). */
void inferred_count_alike(struct heap_scan *scan);

/* Which words of a type are pointers, and which can't be; of the first SHAPE_WORDS. What is in
 * neither may be anything: unions, bytes, what is as wide as a pointer and unsigned. */
struct word_map {
	uint64_t pointers, data;
	uint64_t vtables; /* of the pointers: to tables of virtual functions … */
	uint64_t code;    /* … and to functions */
	uint64_t texts;   /* characters of a short std::string, in its object */
};
void inferred_word_map(struct types *types, uint32_t type, struct word_map *ret);

#endif
