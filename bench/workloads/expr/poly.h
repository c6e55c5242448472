/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Polynomials in up to 8 variables with whole coefficients: a list of terms, highest exponents
 * first, no zero coefficients; NULL is zero. Functions borrow and return what the caller owns.
 */
#ifndef EXPR_POLY_H
#define EXPR_POLY_H

#include "big.h"

#define POLY_VARIABLES 8

struct term {
	struct term *next;
	struct big *coefficient;
	uint64_t exponents; /* one byte a variable: at most 255 each */
};

#define _drop_poly_ __attribute__((__cleanup__(poly_dropp)))

void poly_drop(struct term *p);
static inline void poly_dropp(struct term **p)
{
	poly_drop(*p);
}
struct term *poly_constant(struct big *value);
struct term *poly_variable(unsigned variable);
struct term *poly_add(const struct term *a, const struct term *b);
struct term *poly_mul(const struct term *a, const struct term *b);
struct term *poly_pow(const struct term *a, unsigned power);
struct term *poly_derive(const struct term *a, unsigned variable);
struct big *poly_eval(const struct term *a, struct big *const values[POLY_VARIABLES]);
/* The greatest common divisor of the coefficients. */
struct big *poly_content(const struct term *a);

#endif
