/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What blocks are. A type is a name and what kind of thing it is; blocks that nothing names are of
 * the type of their group. Recognisers say what classes of blocks are, one after another: what an
 * earlier one has said stays.
 */
#ifndef HEAP_TYPES_H
#define HEAP_TYPES_H

#include <assert.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "heap/inferred/held.h"
#include "heap/scan/repeats.h"
#include "heap/scan/shapes.h"
#include "search/search.h"
#include "search/sites.h"
#include "symbols/strings.h"

enum heap_type_kind {
	HEAP_TYPE_GROUP,       /* unknown: blocks that look alike */
	HEAP_TYPE_CXX,         /* an object of a C++ class with a vtable */
	HEAP_TYPE_CONTAINER,   /* memory of a C++ container: a node, a table of buckets */
	HEAP_TYPE_STRING,      /* characters */
	HEAP_TYPE_PYTHON,      /* a Python object */
	HEAP_TYPE_PYTHON_PART, /* memory that one has beside it */
	HEAP_TYPE_SYSTEM,      /* of libc's: FILE, a thread's table of thread-local memory… */
	HEAP_TYPE_GO,          /* an element of a span of Go's, whose type nothing says */
	HEAP_TYPE_INFERRED,    /* what a pointer's declared type says of what it points to */
	HEAP_TYPE_KINDS
};

/* Static: "c++", "container"…; of JSON too. */
const char *heap_type_kind_name(enum heap_type_kind kind);

struct heap_type {
	const char *name;
	enum heap_type_kind kind;
	uint32_t class;            /* of a group: the class that stands for it */
	struct heap_repeat repeat; /* of a group: the elements of which its blocks are arrays */
	uint64_t blocks, bytes;
	uint64_t alike; /* of the blocks: nothing declares that they are, they look like it */
	/* Bit i: pointers to word i of its blocks are what holds them. 0: only those to the start.
	 */
	uint64_t starts;
	/* Of tables that are held by a pointer after their places: the size of one, of which there
	 * is a power of two; 0: of others. */
	uint64_t place;
	/* Of symbols/types.h: what its blocks are, or what they are arrays of; 0: not known. */
	uint32_t layout;
	bool is_array, layout_wanted;
	bool has_more;   /* its blocks have something after the object that debug information does
			  * not know */
	bool is_pool;    /* what lies in its blocks, each has for itself (pools.h) */
	uint32_t header; /* of an array: where its elements begin, after their number; 0: none */
	/* Of memory of strings: where the text begins, and how many bytes a character has (0: one).
	 */
	uint8_t text_at, text_unit;
	/* Python's. Bit i: objects that begin at word i of its blocks are in the garbage
	 * collector's list, whose links are the words before them: this many. */
	uint64_t listed;
	uint8_t links;
};
DEFINE_VEC(heap_type_vec, struct heap_type)

struct type_key {
	const char *name;
	enum heap_type_kind kind;
};
static inline uint64_t type_key_hash(struct type_key key)
{
	return hash_bytes(key.name, __builtin_strlen(key.name)) + (uint64_t)key.kind;
}
static inline bool type_key_equal(struct type_key a, struct type_key b)
{
	return a.kind == b.kind && !__builtin_strcmp(a.name, b.name);
}
DEFINE_MAP(type_map, struct type_key, uint32_t, type_key_hash, type_key_equal)

#define HEAP_TYPE_NONE UINT32_MAX
#define HEAP_SHAPE_NONE UINT32_MAX

/* The types of families: blocks that are of one type, whatever that turns out to be. */
DEFINE_VEC(heap_family_vec, uint32_t)
/* Labels from here on are families'. A family has HEAP_FAMILY_LEAST blocks or more, and no block is
 * in two: there are labels for all that a heap can have. */
#define HEAP_FAMILY_LABELS (1u << 27)
#define HEAP_FAMILY_LEAST 64u
static_assert(HEAP_FAMILY_LABELS + SPACE_BLOCKS_MAX / HEAP_FAMILY_LEAST <= 1u << NODE_SITE_BITS,
	"all families have labels");

static inline uint64_t vector_end_hash(uint32_t block)
{
	return hash_u64(block);
}
static inline bool vector_end_equal(uint32_t a, uint32_t b)
{
	return a == b;
}
/* Of a std::vector's memory, in bytes. */
struct vector_end {
	uint64_t end;  /* of its elements */
	uint64_t room; /* that the vector has for them */
};
DEFINE_MAP(vector_end_map, uint32_t, struct vector_end, vector_end_hash, vector_end_equal)
/* Of the table of a std::deque's blocks, in bytes: where those begin and end that it has. */
struct table_part {
	uint64_t begin, end;
};
DEFINE_MAP(table_part_map, uint32_t, struct table_part, vector_end_hash, vector_end_equal)

struct heap_types {
	struct heap_type_vec types;
	struct type_map map;
	uint32_t *of_shape; /* HEAP_TYPE_NONE: not known so far */
	size_t shape_count;
	struct heap_family_vec families;
	/* By blocks: of the vectors that were found to have room for more elements. */
	struct vector_end_map vector_ends;
	struct table_part_map table_parts; /* of the deques that were found */
	struct held held;
	struct arena arena;
};

/* NULL: the block is no such vector's. */
static inline struct vector_end *heap_types_vector_end(
	const struct heap_types *types, uint32_t block)
{
	return types->vector_ends.len ? vector_end_map_find(&types->vector_ends, block) : NULL;
}

/* NULL: the block is no such table. */
static inline const struct table_part *heap_types_table_part(
	const struct heap_types *types, uint32_t block)
{
	return types->table_parts.len ? table_part_map_find(&types->table_parts, block) : NULL;
}

struct error *heap_types_open(
	const struct heap_shapes *classes, struct heap_types *ret) must_check_;
void heap_types_close(struct heap_types *types);

/* Finds the type of that name, a new one if there is none. The name is copied. */
struct error *heap_types_add(struct heap_types *types, enum heap_type_kind kind, const char *name,
	uint32_t *ret) must_check_;

/* Says what the blocks of a class are, unless that is known. */
void heap_types_assign(struct heap_types *types, uint32_t class, uint32_t type);

/*
 * What is known of one block while types are assigned (until heap_scan_find_types() returns;
 * afterwards heap_scan_type_of() has its type). It is one of three things: its class, as of all
 * blocks at first; a type of its own, which its class says nothing of; or a family, whose blocks
 * are of one type. The search keeps it as the block's site.
 */
struct block_label {
	uint32_t number; /* class, shape_count + type, or HEAP_FAMILY_LABELS + family */
};

static inline struct block_label block_label(const struct search *search, uint32_t block)
{
	return (struct block_label){search_block_site(search, block)};
}
static inline void block_set_label(struct search *search, uint32_t block, struct block_label label)
{
	search_block_set_site(search, block, label.number);
}
/* Returns the class that a block had at first, whatever it has become. */
static inline uint32_t block_first_shape(const struct search *search, uint32_t block)
{
	return search_block_first_site(search, block);
}
/* Takes back what was said of one block: it is its class again. */
static inline void block_reset_label(struct search *search, uint32_t block)
{
	block_set_label(search, block, (struct block_label){block_first_shape(search, block)});
}

/* Returns the label of blocks of a type. */
static inline struct block_label heap_types_label(const struct heap_types *types, uint32_t type)
{
	return (struct block_label){(uint32_t)types->shape_count + type};
}
/* HEAP_SHAPE_NONE: the block has a type or a family of its own. */
static inline uint32_t heap_types_shape(const struct heap_types *types, struct block_label label)
{
	return label.number < types->shape_count ? label.number : HEAP_SHAPE_NONE;
}
static inline bool block_label_is_family(struct block_label label)
{
	return label.number >= HEAP_FAMILY_LABELS;
}
/* HEAP_TYPE_NONE: not known so far. */
static inline uint32_t heap_types_of_label(const struct heap_types *types, struct block_label label)
{
	if (label.number < types->shape_count)
		return types->of_shape[label.number];
	return block_label_is_family(label)
		       ? types->families.data[label.number - HEAP_FAMILY_LABELS]
		       : label.number - (uint32_t)types->shape_count;
}

/* A new family, whose blocks are of that type so far; *ret: their label. */
struct error *heap_types_add_family(
	struct heap_types *types, uint32_t type, struct block_label *ret) must_check_;
/* From now on the family's blocks are of another type. */
static inline void heap_types_set_family(
	struct heap_types *types, struct block_label label, uint32_t type)
{
	types->families.data[label.number - HEAP_FAMILY_LABELS] = type;
}

/* What is still unknown becomes a group's. */
struct error *heap_types_finish(
	struct heap_types *types, const struct heap_shapes *classes) must_check_;

#endif
