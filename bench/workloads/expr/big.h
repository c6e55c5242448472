/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole numbers of any size, as immutable reference-counted blocks on the heap. Functions borrow
 * their arguments and return a value that the caller owns and drops.
 */
#ifndef EXPR_BIG_H
#define EXPR_BIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct big {
	uint32_t refs;
	bool negative;   /* never for zero */
	uint32_t count;  /* limbs in use; 0 is zero; the last one is not 0 */
	uint32_t limb[]; /* base 2^32, least significant first */
};

#define _drop_big_ __attribute__((__cleanup__(big_dropp)))

void *must_alloc(size_t bytes);

struct big *big_from(int64_t value);
struct big *big_ref(struct big *a);
void big_drop(struct big *a);
static inline void big_dropp(struct big **a)
{
	big_drop(*a);
}
/* *slot takes the ownership of value; what it held is dropped. */
void big_set(struct big **slot, struct big *value);

int big_cmp(const struct big *a, const struct big *b);
static inline bool big_is_zero(const struct big *a)
{
	return a->count == 0;
}
static inline bool big_is_one(const struct big *a)
{
	return a->count == 1 && a->limb[0] == 1 && !a->negative;
}
static inline bool big_is_odd(const struct big *a)
{
	return a->count && (a->limb[0] & 1);
}
/* |a| mod m, without a new number. */
uint32_t big_mod_small(const struct big *a, uint32_t m);
uint32_t big_hash(const struct big *a);

struct big *big_neg(struct big *a);
struct big *big_abs(struct big *a);
struct big *big_add(struct big *a, struct big *b);
struct big *big_sub(struct big *a, struct big *b);
struct big *big_mul(struct big *a, struct big *b);
/* Truncates towards zero, as C does. */
struct big *big_div(struct big *a, struct big *b);
struct big *big_mod(struct big *a, struct big *b);
struct big *big_gcd(struct big *a, struct big *b);
struct big *big_pow(struct big *a, unsigned power);
/* a^e mod m, for a, e >= 0 and m > 0. */
struct big *big_powmod(struct big *a, struct big *e, struct big *m);
/* The largest r with r * r <= a, for a >= 0. */
struct big *big_sqrt(struct big *a);

/* Decimal text: the caller frees it. */
char *big_to_text(struct big *a);
struct big *big_from_digits(const char *digits, size_t length);

#endif
