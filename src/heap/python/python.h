/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects of CPython (Include/object.h), 2.7 and 3.6 to 3.13, by what they point to: each has a
 * reference count and the address of its type after it (ob_type); a type is an object, too, whose
 * type's type… is `type`, the type of itself, which is in the interpreter's data.
 *
 * An object is not where its block begins if the garbage collector knows it: there are two words
 * of the collector's before it, and from 3.11 on two more for classes of Python's.
 */
#ifndef HEAP_PYTHON_H
#define HEAP_PYTHON_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "heap/blocks/areas.h"
#include "process/address_space.h"

/* What an object has beside it. */
enum python_parts {
	PYTHON_PARTS_NONE,
	PYTHON_PARTS_DICT,
	PYTHON_PARTS_LIST,
	PYTHON_PARTS_SET,
	PYTHON_PARTS_TYPE,
};

/* Include/object.h, tp_flags: kinds of types, the same in all versions. */
#define PYTHON_FLAG_OLD_INT (1ull << 23) /* of Python 2 */
#define PYTHON_FLAG_INT (1ull << 24)
#define PYTHON_FLAG_LIST (1ull << 25)
#define PYTHON_FLAG_TUPLE (1ull << 26)
#define PYTHON_FLAG_BYTES (1ull << 27) /* `str` of Python 2 */
#define PYTHON_FLAG_TEXT (1ull << 28)
#define PYTHON_FLAG_DICT (1ull << 29)
#define PYTHON_FLAG_TYPE (1ull << 31)

struct python_type {
	uint64_t address;
	const char *name; /* as tp_name: "dict", "collections.deque" */
	uint64_t basic_bytes;
	uint64_t own_bytes; /* tp_basicsize, which may count the first item */
	uint64_t item_bytes;
	uint64_t flags;  /* tp_flags: PYTHON_FLAG_* */
	bool collected;  /* its objects are known to the garbage collector */
	bool has_values; /* they may have attributes in a table of values */
	enum python_parts parts;
};
DEFINE_VEC(python_types, struct python_type)

static inline bool python_same(uint64_t a, uint64_t b)
{
	return a == b;
}
/* Of an address: number of the type + 1; 0: no type is there. */
DEFINE_MAP(python_known, uint64_t, uint32_t, hash_u64, python_same)

DEFINE_VEC(python_addresses, uint64_t)

struct python {
	const struct address_space *space; /* borrowed */
	/* Of `type`, ascending; one for each interpreter; none: no Python. */
	struct python_addresses roots;
	struct python_types types; /* those that were asked for */
	struct python_known known;
	struct arena arena;
	const struct heap_area_vec *areas; /* borrowed; NULL: not known yet */
	uint64_t low, high;                /* an area of small blocks, which hold no type */
	bool is_debugged; /* its blocks begin with what PYTHONMALLOC=debug adds: python_is_lead() */
	uint32_t others_most; /* this many addresses without a type are remembered: python.c */
};

/* Looks for interpreters. */
struct error *python_find(const struct address_space *space, struct python *ret) must_check_;
void python_close(struct python *python);

static inline bool python_is_there(const struct python *python)
{
	return python->roots.len;
}

/* What PYTHONMALLOC=debug puts before what a block holds, in bytes: once, or of what does not come
 * from pymalloc twice. */
#define PYTHON_DEBUG_ONCE 16u
#define PYTHON_DEBUG_TWICE 32u

/* Returns how far from a block's beginning what the interpreter has there begins, at most. */
static inline uint64_t python_lead_most(const struct python *python)
{
	return python->is_debugged ? PYTHON_DEBUG_TWICE : 0;
}

/* Returns whether what the interpreter has in a block may begin this many bytes after its
 * beginning. */
static inline bool python_is_lead(const struct python *python, uint64_t bytes)
{
	return python->is_debugged ? bytes == PYTHON_DEBUG_ONCE || bytes == PYTHON_DEBUG_TWICE
				   : !bytes;
}

/* Returns how many words PYTHONMALLOC=debug has put before what a block holds, by its content. */
unsigned python_debug_words(uint64_t size, const uint8_t *bytes);

/* Returns the type at an address; NULL: there is none. They stay until the next question. */
const struct python_type *python_type(struct python *python, uint64_t address);

/* As above, for an object that was asked about before. */
const struct python_type *python_type_known(const struct python *python, uint64_t address);

/* Returns the type of an object; NULL: there is none. */
const struct python_type *python_type_of(struct python *python, uint64_t object);
/* Finds what a type is derived from; 0: nothing. False: it can't be read. */
bool python_type_base(const struct python *python, uint64_t type, uint64_t *ret);
/* Returns whether a type is called so, or derived from one that is. */
bool python_type_is(const struct python *python, uint64_t type, const char *name);

/*
 * Returns the word of a block where its type stands, by its content, of which `pointers` says which
 * words may be pointers; 0: it is no object. *ret: the type's address.
 */
unsigned python_head(struct python *python, uint64_t size, const uint8_t *bytes, uint64_t pointers,
	uint64_t *ret);

#endif
