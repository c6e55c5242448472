/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that are as large as several structures of the type that a pointer to their start is
 * declared to lead to. Most are arrays. A chunk of an allocator looks the same that begins with a
 * header and has structures of that size after it: the evidence is that pointers to other
 * structures lead into it. So such a block stays unknown, and only the first structure leads on,
 * until all that is declared otherwise was followed. Pointers that lead to what was there before
 * are few: one in 16 says nothing.
 */
#ifndef HEAP_INFERRED_ARRAYS_H
#define HEAP_INFERRED_ARRAYS_H

#include "heap/inferred/inferred_find.h"

/* Returns what is known of such blocks while types are inferred; NULL: no memory. */
struct inferred_arrays *inferred_arrays_create(void);
void inferred_arrays_destroy(struct inferred_arrays *arrays);

/* A block of unknown type may be an array of a type, plain: `number` of the heap's. Returns whether
 * that is still to be asked. False: say it now, or, if `*ret_is_not`, never. */
bool inferred_doubt_array(struct inferring *inferring, uint32_t block, uint32_t type,
	uint32_t number, bool *ret_is_not);
/* If it is one, this many bytes of the block are elements. */
void inferred_end_array(struct inferring *inferring, uint32_t block, uint64_t bytes);
/* Returns the elements' type, plain, of a block that may be an array; TYPE_VOID: it is asked of no
 * more. */
uint32_t inferred_array_in_doubt(const struct inferring *inferring, uint32_t block);
/* The first pointer to a structure of a type at that place leads into a block that may be an array:
 * whether it is known to be one by that, since many lead to its elements and none to anything else.
 */
void inferred_count_in_array(
	struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type);
/* As above, if the block was already known to be an array for that reason. */
void inferred_count_late(
	struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type);
/* Withdraws types of arrays that later pointers contradict; the answer is then marked partial
 * (limits.h). */
void inferred_check_arrays(struct inferring *inferring);
/* Says which blocks are arrays, of those that nothing speaks against: first those whose elements
 * have no pointer to their own type, as the headers of chunks have, and when there are none the
 * others. Returns whether there was any: its elements are to be followed. */
bool inferred_take_arrays(struct inferring *inferring);

/* Returns whether a structure at an offset of a block can be nothing that an array of `element`
 * has: neither an element nor in one, nor the beginning of one by another name. */
bool inferred_is_against(
	const struct inferring *inferring, uint32_t element, uint64_t offset, uint32_t type);

#endif
