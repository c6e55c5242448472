/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a question about a heap is about: a block, or a type and what is of it. */
#ifndef QUERY_HEAP_SUBJECT_H
#define QUERY_HEAP_SUBJECT_H

#include "heap/subtypes.h"
#include "query/heap_session.h"

struct heap_subject {
	uint32_t block; /* SPACE_NONE: blocks of types */
	uint32_t type;  /* the scan's of that name; HEAP_TYPE_NONE: none is called so */
	struct subtype_set subtypes; /* the types: that one, those of classes that derive from it */
	uint32_t layout; /* of debug information: the type that they are; TYPE_VOID: not known */
};

/*
 * The block at an address; or what is of a type, named as the heap has it or as debug information
 * does. The heap is scanned. ERROR_INPUT: no block is of that type; what there is of it instead is
 * said, in the words of `verb`, which is what the user calls the question.
 */
struct error *heap_subject_find(struct heap_session *session, const char *verb, const char *word,
	struct heap_subject *ret) must_check_;
/* As above, also for types that only arrays are of, or pools have in them (pools.h): `subtypes` has
 * those arrays, and may be empty; `layout` says the type. */
struct error *heap_subject_find_anywhere(struct heap_session *session, const char *verb,
	const char *word, struct heap_subject *ret) must_check_;
/* The address that a word is; false: it is none. */
bool heap_subject_address(const char *word, uint64_t *ret);
void heap_subject_deinit(struct heap_subject *subject);

/* The block at an address, or all of a type that the heap has; the other is SPACE_NONE, or
 * HEAP_TYPE_NONE. ERROR_USAGE: the word is neither. */
struct error *heap_subject_own(const struct heap_scan *scan, const char *word, uint32_t *ret_block,
	uint32_t *ret_type) must_check_;

/* What a word means: a block, a type of the scan's, or else one of debug information's; the
 * others are SPACE_NONE, HEAP_TYPE_NONE and TYPE_VOID. */
struct error *heap_subject_word(struct heap_session *session, const char *word, uint32_t *ret_block,
	uint32_t *ret_type, uint32_t *ret_layout) must_check_;

/* A type of debug information's by its whole name, or as people write it. */
struct error *heap_subject_type(struct heap_session *session, const char *name,
	struct types **ret_types, uint32_t *ret) must_check_;
struct error *heap_subject_no_debug_information(void) must_check_;
/* That nothing is known of what lies `offset` bytes into the block at `start`. */
struct error *heap_subject_nothing_at(uint64_t start, uint64_t offset) must_check_;

#endif
