/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prime factors of numbers up to about 100 bits, with a memory of what was found. */
#ifndef EXPR_FACTOR_H
#define EXPR_FACTOR_H

#include "big.h"

/* A binary tree of what is known about a number: split in two, or prime when left is NULL. It lives
 * until the program ends. */
struct factors {
	struct factors *next; /* in its bucket */
	struct big *number;
	const struct factors *left, *right;
};

/* n >= 2. */
const struct factors *factor(struct big *n);
/* The product of the leaves: the number again, if all is well. */
struct big *factors_product(const struct factors *f);
unsigned factors_count(const struct factors *f);

#endif
