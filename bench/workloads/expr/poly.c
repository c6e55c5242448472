/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums merge sorted lists; products halve the first factor until it is one term, so that stacks
 * are as deep as the logarithm of its length. */
#include "poly.h"

#include <stdlib.h>

/* Takes the ownership of the coefficient; a zero one gives no term. */
static struct term **append(struct term **end, struct big *coefficient, uint64_t exponents)
{
	if (big_is_zero(coefficient)) {
		big_drop(coefficient);
		return end;
	}
	struct term *t = must_alloc(sizeof(*t));
	*t = (struct term){.coefficient = coefficient, .exponents = exponents};
	*end = t;
	return &t->next;
}

void poly_drop(struct term *p)
{
	while (p) {
		struct term *next = p->next;
		big_drop(p->coefficient);
		free(p);
		p = next;
	}
}

struct term *poly_constant(struct big *value)
{
	struct term *p = NULL;
	append(&p, big_ref(value), 0);
	return p;
}

struct term *poly_variable(unsigned variable)
{
	struct term *p = NULL;
	append(&p, big_from(1), 1ull << variable * 8);
	return p;
}

struct term *poly_add(const struct term *a, const struct term *b)
{
	struct term *sum = NULL, **end = &sum;
	while (a || b) {
		if (!b || (a && a->exponents > b->exponents)) {
			end = append(end, big_ref(a->coefficient), a->exponents);
			a = a->next;
		} else if (!a || b->exponents > a->exponents) {
			end = append(end, big_ref(b->coefficient), b->exponents);
			b = b->next;
		} else {
			end = append(end, big_add(a->coefficient, b->coefficient), a->exponents);
			a = a->next;
			b = b->next;
		}
	}
	return sum;
}

static struct term *scaled(const struct term *by, const struct term *b)
{
	struct term *product = NULL, **end = &product;
	for (; b; b = b->next)
		end = append(end, big_mul(by->coefficient, b->coefficient),
			by->exponents + b->exponents);
	return product;
}

/* The product of the first count terms of a with b. */
static struct term *mul_first(const struct term *a, unsigned count, const struct term *b)
{
	if (count == 1)
		return scaled(a, b);
	const struct term *second = a;
	for (unsigned i = 0; i < count / 2; i++)
		second = second->next;
	_drop_poly_ struct term *low = mul_first(a, count / 2, b);
	_drop_poly_ struct term *high = mul_first(second, count - count / 2, b);
	return poly_add(low, high);
}

struct term *poly_mul(const struct term *a, const struct term *b)
{
	unsigned count = 0;
	for (const struct term *t = a; t; t = t->next)
		count++;
	return count && b ? mul_first(a, count, b) : NULL;
}

struct term *poly_pow(const struct term *a, unsigned power)
{
	if (power == 0) {
		_drop_big_ struct big *one = big_from(1);
		return poly_constant(one);
	}
	_drop_poly_ struct term *root = poly_pow(a, power / 2);
	struct term *square = poly_mul(root, root);
	if (!(power & 1))
		return square;
	struct term *odd = poly_mul(square, a);
	poly_drop(square);
	return odd;
}

static unsigned exponent(const struct term *t, unsigned variable)
{
	return t->exponents >> variable * 8 & 0xff;
}

struct term *poly_derive(const struct term *a, unsigned variable)
{
	struct term *derived = NULL, **end = &derived;
	for (; a; a = a->next) {
		_drop_big_ struct big *factor = big_from(exponent(a, variable));
		if (!big_is_zero(factor))
			end = append(end, big_mul(a->coefficient, factor),
				a->exponents - (1ull << variable * 8));
	}
	return derived;
}

static struct big *term_eval(const struct term *t, struct big *const values[POLY_VARIABLES])
{
	struct big *product = big_ref(t->coefficient);
	for (unsigned v = 0; v < POLY_VARIABLES; v++) {
		if (!exponent(t, v))
			continue;
		_drop_big_ struct big *factor = big_pow(values[v], exponent(t, v));
		big_set(&product, big_mul(product, factor));
	}
	return product;
}

struct big *poly_eval(const struct term *a, struct big *const values[POLY_VARIABLES])
{
	struct big *sum = big_from(0);
	for (; a; a = a->next) {
		_drop_big_ struct big *value = term_eval(a, values);
		big_set(&sum, big_add(sum, value));
	}
	return sum;
}

struct big *poly_content(const struct term *a)
{
	struct big *content = big_from(0);
	for (; a && !big_is_one(content); a = a->next)
		big_set(&content, big_gcd(content, a->coefficient));
	return content;
}
