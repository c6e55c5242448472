/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of containers and similar objects of libraries, by debug information: the elements
 * of an object whose type is known by name (a table of patterns, contents.c), wherever they are.
 * Supports libstdc++ since 5, libc++ and Rust. The object's words must be consistent; else the
 * contents are unknown.
 */
#ifndef HEAP_CONTENTS_H
#define HEAP_CONTENTS_H

#include "heap/heap_scan.h"

enum contents_kind {
	CONTENTS_TEXT,     /* characters */
	CONTENTS_ELEMENTS, /* one after another */
	CONTENTS_PAIRS,    /* of a map: each element is a pair */
	CONTENTS_PARTS,    /* of types of their own: a tuple's */
	CONTENTS_ONE,      /* one thing, or nothing */
	CONTENTS_BITS,     /* of a std::bitset or std::vector<bool> */
	CONTENTS_POINTER,  /* what a smart pointer has: the pointer itself */
	CONTENTS_CALLED,   /* a function, by its name */
};

enum contents_way {
	CONTENTS_IN_ORDER,
	CONTENTS_LINKED,
	CONTENTS_TREE,
	CONTENTS_IN_PIECES,
	CONTENTS_RING,  /* in order from `begin` on; after `piece_count` places it goes on at 0 */
	CONTENTS_TABLE, /* before `address`, backwards, in `piece_count` places of `stride` bytes;
			 * bytes from `address` on say which of them are full (Rust's hashbrown) */
	CONTENTS_NODES, /* of a B-tree (Rust's), with keys and values in arrays of their own */
};

/* The layout of CONTENTS_NODES: offsets in a node. `height` is the number of levels below a node;
 * it counts down to the leaves. */
struct contents_nodes {
	unsigned height; /* of the first one, the root */
	uint32_t len, keys, values, edges, parent, place;
	uint32_t room;  /* keys of a node, at most */
	uint32_t value; /* type; TYPE_VOID: it is a set */
};

#define CONTENTS_PARTS_MOST 16u

struct contents {
	enum contents_kind kind;
	const char *what;   /* static: "vector" */
	uint64_t count;     /* of elements, characters, bits or parts */
	uint32_t unit;      /* of CONTENTS_TEXT: bytes of a character, 1, 2 or 4 */
	bool is_empty;      /* of CONTENTS_ONE and CONTENTS_CALLED: there is nothing */
	bool has_index;     /* of a variant: */
	uint64_t index;     /* … which alternative */
	uint32_t type;      /* of the elements; TYPE_VOID: not known */
	uint64_t address;   /* of the first element, the text, the thing */
	char name[256];     /* of CONTENTS_CALLED the function, of an `any` the type; "": unknown */
	bool is_type_shown; /* that precedes the value */
	/* How to get from one element to the next. */
	enum contents_way way;
	uint64_t node;                             /* the first */
	uint64_t end;                              /* what is no node any more, if not 0 */
	uint32_t next, value, left, right, parent; /* offsets in nodes */
	uint32_t stride;                           /* of CONTENTS_TABLE */
	uint64_t pieces, piece_count, begin;       /* of a deque: the table, elements a piece */
	struct contents_nodes nodes;
	uint32_t part_types[CONTENTS_PARTS_MOST]; /* of CONTENTS_PARTS */
	uint64_t part_addresses[CONTENTS_PARTS_MOST];
};

/* Returns whether objects of a type (plain) have contents; reads no memory. */
bool contents_knows(struct types *types, uint32_t plain);

/* Reads the contents of the object at `address`. Returns false if its type has none, or its words
 * are inconsistent.
 */
bool contents_read(const struct heap_scan *scan, struct types *types, uint32_t plain,
	uint64_t address, struct contents *ret);

/* Returns whether a map has separate keys and values: then each of its elements counts as two, and
 * the numbers of values are odd. */
static inline bool contents_are_apart(const struct contents *contents)
{
	return contents->way == CONTENTS_NODES && contents->nodes.value;
}

/* Calls `take` with each element, in order, at most `most` times, until it returns false. Returns
 * the number of elements (pairs count once): fewer than contents->count if a link is broken.
 */
uint64_t contents_each(const struct heap_scan *scan, struct types *types,
	const struct contents *contents, uint64_t most,
	bool (*take)(void *context, uint64_t number, uint32_t type, uint64_t address),
	void *context);

/* Returns whether the number of elements is shown before them ("[20]"). */
static inline bool contents_is_counted(const struct contents *contents)
{
	return contents->kind == CONTENTS_ELEMENTS || contents->kind == CONTENTS_PAIRS;
}

/* Finds the member `name` anywhere in a type: the bases and members of a type come before those of
 * its members. Returns false if there is none; the results are not touched. */
bool contents_member(struct types *types, uint32_t number, const char *name, uint64_t *ret_offset,
	uint32_t *ret_type);

#endif
