/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What objects of Python's hold, written as Python writes it: texts, numbers, lists, tuples, dicts,
 * sets and what is in them. Other objects are `<Type at 0x…>`. What is longer or deeper than
 * asked for is `…`.
 */
#ifndef HEAP_PYTHON_CONTENT_H
#define HEAP_PYTHON_CONTENT_H

#include "base/text.h"
#include "heap/python/python.h"

struct python_limits {
	size_t items;      /* of each container */
	size_t characters; /* of each text */
	unsigned depth;    /* of containers in containers */
	size_t bytes;      /* of all, roughly */
};

/* Returns the object that an address leads to: there, or after what is before it in its block. 0:
 * none is there. */
uint64_t python_object_at(struct python *python, uint64_t address);

/* Adds what it holds. *ret_cut: whether something was left out. */
void python_describe(struct python *python, uint64_t object, const struct python_limits *limits,
	struct text *ret, bool *ret_cut);

/* The parts. */

/* Returns whether the interpreter is of 3.12 or later. */
bool python_is_since_3_12(struct python *python);
/* Adds a number as Python writes it. False: the object is none, or makes no sense. */
bool python_number_add(struct python *python, uint64_t object, const struct python_type *type,
	struct text *ret, bool *ret_cut);

/* A dict that shares its keys with others has this many items at most (SHARED_KEYS_MAX_SIZE). */
#define PYTHON_SHARED_KEYS 30u

/* What goes through a container's items. */
struct python_items {
	struct python *python;
	uint64_t object;
	uint64_t count;      /* of items, as the container says */
	uint64_t at, left;   /* where the next one stands; how many places there may be left */
	uint32_t step;       /* from place to place */
	uint32_t key, value; /* where in a place; value: UINT32_MAX: it is in `values` */
	uint64_t values;
	uint32_t hash;           /* of a place; UINT32_MAX: it has none */
	bool has_values, unread; /* `unread`: memory that an item is in can't be read */
	/* Of a dict with `values`: numbers of its keys in its own order, if it says one. */
	uint8_t order[PYTHON_SHARED_KEYS], ordered, next;
};

/* Of a list, tuple, set or dict. False: it is none of them. */
bool python_items_begin(struct python *python, uint64_t object, const struct python_type *type,
	struct python_items *ret);
/* False: there are no more, or they are `unread`. *ret_value: 0 unless it is a dict. */
bool python_items_next(struct python_items *items, uint64_t *ret_key, uint64_t *ret_value);

#endif
