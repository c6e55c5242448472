/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that look alike: of one size, with pointers at the same places, and with the same first
 * word if that says what they are. What a block is, is asked once for each class, not for each
 * block.
 *
 * A word that is NULL in all blocks of a class fits a class of the same size that has a pointer
 * there: such classes are one *group*.
 */
#ifndef HEAP_SHAPES_H
#define HEAP_SHAPES_H

#include "base/map.h"
#include "base/vec.h"
#include "heap/blocks/areas.h"
#include "heap/blocks/mapped.h"
#include "heap/python/python.h"
#include "search/word_bits.h"

/* This many words at the beginning of a block are looked at. */
#define SHAPE_WORDS WORD_BITS
/* Further ones are distinguished only by size, and answers are partial. */
#define CLASSES_MAX (1u << 25)
#define CLASSES_RECENT 256u

struct shape_key {
	uint64_t size;     /* of the block */
	uint64_t pointers; /* bit i: word i is a pointer */
	uint64_t head;     /* what the block begins with, if it is of a module: a vtable; of an
			    * object of Python's its type; else 0 */
};

struct heap_shape {
	struct shape_key key;
	uint64_t nulls;  /* bit i: word i is 0 in all of them */
	uint8_t head_at; /* the word that head is; > 0: objects of Python's */
	uint64_t blocks, bytes;
	uint64_t example; /* address of the first */
	uint32_t group;   /* class that stands for its group: it has the most pointers */
};
DEFINE_VEC(heap_shape_vec, struct heap_shape)

static inline uint64_t class_hash(struct shape_key key)
{
	return hash_u64(key.size * 0x9e3779b97f4a7c15ull ^ hash_u64(key.pointers) ^ key.head);
}
static inline bool class_equal(struct shape_key a, struct shape_key b)
{
	return a.size == b.size && a.pointers == b.pointers && a.head == b.head;
}
DEFINE_MAP(shape_map, struct shape_key, uint32_t, class_hash, class_equal)

struct heap_shapes {
	struct heap_shape_vec classes;
	struct shape_map map;
	struct mapped mapped;
	const struct address_space *space;
	size_t most;           /* CLASSES_MAX, but in tests */
	struct python *python; /* borrowed; NULL: there is none */
	/* Numbers of classes that were met lately, + 1; by a mix of their keys. */
	uint32_t recent[CLASSES_RECENT];
	uint64_t head, head_answer; /* the last word that was asked for, and whether it is one */
	uint64_t no_head_start, no_head_end; /* the last mapping without any */
};

struct error *heap_shapes_open(const struct address_space *space, enum pointer_rule rule,
	struct heap_shapes *ret) must_check_;
/* From now on heads are types of Python's, too. It must outlive the classes. */
void heap_shapes_use_python(struct heap_shapes *classes, struct python *python);
void heap_shapes_close(struct heap_shapes *classes);

/* Returns what can be said of the words that are looked at of a block; `bytes`: the first `len` of
 * its content. */
struct word_bits heap_class_words(const struct heap_block *block, const uint8_t *bytes, size_t len);

/* Counts a block; *ret: the number of its class. `bytes` as above. */
struct error *heap_shapes_add(struct heap_shapes *classes, const struct heap_block *block,
	const uint8_t *bytes, const struct word_bits *bits, uint32_t *ret) must_check_;

/* Counts all blocks of others, which were met after these: ret[i] is the number here of their
 * class i. */
struct error *heap_shapes_append(
	struct heap_shapes *classes, const struct heap_shapes *after, uint32_t *ret) must_check_;

/* Returns whether there are as many classes as may be: further blocks are distinguished by size
 * alone. */
static inline bool heap_shapes_are_full(const struct heap_shapes *classes)
{
	return classes->classes.len >= classes->most;
}

/* All blocks are counted: finds groups. */
struct error *heap_shapes_group(struct heap_shapes *classes) must_check_;

#endif
