/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to inferred*.c: further conditions for blocks that look like those of a type, to get that
 * type. The type says so: a bool is 0 or 1, an enumeration has one of its values, a pointer leads
 * to what can be what it is declared to point to. Blocks that are declared to be of the type say
 * which of this the program keeps: uninitialised members, unions of its own and the like break a
 * rule, and then it is none.
 */
#ifndef HEAP_INFERRED_ALIKE_H
#define HEAP_INFERRED_ALIKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct inferring;
struct fact;

enum alike_kind {
	ALIKE_BOOLEAN,
	ALIKE_ENUM,
	ALIKE_INTEGER, /* is no text */
	ALIKE_FLOAT,   /* is of a size that people use */
	ALIKE_TEXT,    /* is text up to its NUL */
	ALIKE_POINTER, /* to what can be so */
	ALIKE_APART,   /* does not point to its own block */
	ALIKE_VECTOR,  /* of C++: its three pointers agree with each other and their block */
	ALIKE_STRING,  /* of libstdc++: so do pointer, length and capacity, and it ends with NUL */
	ALIKE_NOTHING, /* no rule */
};

struct alike_rule {
	uint32_t offset, size; /* bytes */
	uint32_t type;         /* plain; of a pointer what it points to */
	enum alike_kind kind;
	bool is_broken; /* by one that is declared to be of the type */
	bool is_met;    /* of text: not all were empty */
};
DEFINE_VEC(alike_rules, struct alike_rule)

/* Lets declared blocks say which rules their types keep. Before inferred_alike(). */
void inferred_learn_rules(struct inferring *inferring);

/* Returns whether a block of a class that looks like some of the heap's type may be one. */
bool inferred_alike(
	struct inferring *inferring, uint32_t block, uint32_t class, uint32_t heap_type);

/*
 * As above, for single blocks, once all are typed except for what pointers lead to: first of those
 * that are known to be of a type, plain (witnesses), then of others. Returns bits of the words
 * whose values are none that the type has there.
 */
uint64_t inferred_ask_values(
	struct inferring *inferring, uint32_t block, uint32_t layout, bool is_witness);

#endif
