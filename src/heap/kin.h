/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks have to do with a type of debug information's: objects of it, those of classes that
 * derive from it, and blocks in which it is a part of something else.
 */
#ifndef HEAP_KIN_H
#define HEAP_KIN_H

#include "heap/survey.h"

enum kin_how {
	KIN_SAME,
	KIN_DERIVED,  /* it is a base class, `offset` bytes from the beginning */
	KIN_VIRTUAL,  /* it is a virtual base class: where it lies only objects know */
	KIN_ELEMENTS, /* blocks are arrays of it */
	KIN_INSIDE,   /* it is a member of theirs, or of their elements */
};

/* A type of the survey's that has blocks. */
struct kin {
	uint32_t type;
	enum kin_how how;
	uint64_t offset; /* 0, but of KIN_DERIVED */
	/* Of KIN_SAME and KIN_DERIVED the wanted type as it is in them, with its virtual bases. */
	uint32_t layout;
};
DEFINE_VEC(kin_vec, struct kin)

struct kin_set {
	struct kin_vec kin;  /* the nearest first, of these those of the most blocks */
	uint32_t *of_type;   /* 1 + the number in `kin`; 0: it is none */
	uint32_t type_count; /* of `of_type` */
};

/* All that have to do with `layout`, a type of debug information's that the survey knows. The
 * survey is typed. */
struct error *heap_kin_find(
	const struct survey *survey, uint32_t layout, struct kin_set *ret) must_check_;
/* One of the survey's types alone: what blocks of it are is not asked. */
struct error *heap_kin_alone(
	const struct survey *survey, uint32_t type, struct kin_set *ret) must_check_;
void heap_kin_deinit(struct kin_set *set);

/* Leaves only those that are objects of the type, whose place in the block is known. */
void heap_kin_keep_objects(struct kin_set *set);
/* Leaves only arrays of the type, whose elements are objects of it. */
void heap_kin_keep_arrays(struct kin_set *set);

/* What a block is; NULL: of none of them. */
static inline const struct kin *heap_kin_of(
	const struct survey *survey, const struct kin_set *set, uint32_t block)
{
	uint32_t type = survey_type_of(survey, block);
	uint32_t number = type < set->type_count ? set->of_type[type] : 0;
	return number ? &set->kin.data[number - 1] : NULL;
}

/* Whether some are of classes that derive from it. */
static inline bool heap_kin_has_derived(const struct kin_set *set)
{
	return set->kin.len > 1 || (set->kin.len && set->kin.data[0].how == KIN_DERIVED);
}

/* Blocks of all of them. */
uint64_t heap_kin_blocks(const struct survey *survey, const struct kin_set *set);
/* Adds "5 Base, 4 Derived, 4 Further". */
void heap_kin_describe(const struct survey *survey, const struct kin_set *set, struct text *text);

#endif
