/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks related to a type of debug information: objects of it, those of classes that derive
 * from it, and blocks in which it is a part of something else.
 */
#ifndef HEAP_SUBTYPES_H
#define HEAP_SUBTYPES_H

#include "heap/heap_scan.h"

enum subtypes_how {
	SUBTYPES_SAME,
	SUBTYPES_DERIVED,  /* it is a base class, `offset` bytes from the beginning */
	SUBTYPES_VIRTUAL,  /* it is a virtual base class: where it lies only objects know */
	SUBTYPES_ELEMENTS, /* blocks are arrays of it */
	SUBTYPES_INSIDE,   /* it is a member of theirs, or of their elements */
};

/* A type of the scan's that has blocks. */
struct subtypes {
	uint32_t type;
	enum subtypes_how how;
	uint64_t offset; /* 0, but of SUBTYPES_DERIVED */
	/* Of SUBTYPES_SAME and SUBTYPES_DERIVED the wanted type as it is in them, with its virtual
	 * bases. */
	uint32_t layout;
};
DEFINE_VEC(subtypes_vec, struct subtypes)

struct subtype_set {
	struct subtypes_vec subtypes; /* the nearest first, of these those of the most blocks */
	uint32_t *of_type;            /* 1 + the number in `subtypes`; 0: it is none */
	uint32_t type_count;          /* of `of_type` */
};

/* Finds all types of the scan related to `layout`, a type of debug information that the scan knows.
 * The scan has types. */
struct error *heap_subtypes_find(
	const struct heap_scan *scan, uint32_t layout, struct subtype_set *ret) must_check_;
/* Makes a set of a single type of the scan, without looking for related ones. */
struct error *heap_subtypes_of_type(
	const struct heap_scan *scan, uint32_t type, struct subtype_set *ret) must_check_;
void heap_subtypes_deinit(struct subtype_set *set);

/* Keeps only objects of the type, whose offset in the block is known. */
void heap_subtypes_keep_objects(struct subtype_set *set);
/* Keeps only arrays of the type, whose elements are objects of it. */
void heap_subtypes_keep_arrays(struct subtype_set *set);

/* Returns the entry of a block's type; NULL if it is not in the set. */
static inline const struct subtypes *heap_subtypes_of(
	const struct heap_scan *scan, const struct subtype_set *set, uint32_t block)
{
	uint32_t type = heap_scan_type_of(scan, block);
	uint32_t number = type < set->type_count ? set->of_type[type] : 0;
	return number ? &set->subtypes.data[number - 1] : NULL;
}

/* Returns whether the set contains derived classes. */
static inline bool heap_subtypes_has_derived(const struct subtype_set *set)
{
	return set->subtypes.len > 1 ||
	       (set->subtypes.len && set->subtypes.data[0].how == SUBTYPES_DERIVED);
}

/* Returns the number of blocks of all types of the set. */
uint64_t heap_subtypes_blocks(const struct heap_scan *scan, const struct subtype_set *set);
/* Adds "5 Base, 4 Derived, 4 Further". */
void heap_subtypes_describe(
	const struct heap_scan *scan, const struct subtype_set *set, struct text *text);

#endif
