/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions as immutable reference-counted trees. Functions borrow their arguments and return
 * what the caller owns.
 */
#ifndef EXPR_TREE_H
#define EXPR_TREE_H

#include "big.h"
#include "poly.h"

struct tree;

#define _drop_tree_ __attribute__((__cleanup__(tree_dropp)))

/* A small generator of its own: the same numbers on every libc. */
struct dice {
	uint64_t state;
};
unsigned dice_roll(struct dice *dice, unsigned sides);

void tree_drop(struct tree *t);
static inline void tree_dropp(struct tree **t)
{
	tree_drop(*t);
}
struct tree *tree_random(struct dice *dice, unsigned depth);
struct tree *tree_simplify(struct tree *t);
struct tree *tree_derive(struct tree *t, unsigned variable);
struct term *tree_expand(const struct tree *t);
struct big *tree_eval(const struct tree *t, struct big *const values[POLY_VARIABLES]);

/* As text, to be freed, and back; NULL when it does not parse. */
char *tree_to_text(const struct tree *t);
struct tree *tree_parse(const char *text);

#endif
