/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Schoolbook arithmetic below KARATSUBA limbs, Karatsuba's recursion from there on, and Knuth's
 * algorithm D (TAOCP volume 2, 4.3.1) for division. Every result is a block of its own, as in the
 * bignum libraries of most interpreters: that is what makes the program bound by allocation.
 */
#include "big.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KARATSUBA 12

void *must_alloc(size_t bytes)
{
	void *block = malloc(bytes);
	if (!block) {
		fputs("expr: out of memory\n", stderr);
		exit(1);
	}
	return block;
}

static struct big *big_new(uint32_t count)
{
	struct big *a = must_alloc(sizeof(*a) + count * sizeof(a->limb[0]));
	a->refs = 1;
	a->negative = false;
	a->count = count;
	return a;
}

/* Cuts leading zeros off; zero loses its sign. */
static struct big *trimmed(struct big *a)
{
	while (a->count && !a->limb[a->count - 1])
		a->count--;
	if (!a->count)
		a->negative = false;
	return a;
}

static struct big *big_from_u64(uint64_t value)
{
	struct big *a = big_new(2);
	a->limb[0] = (uint32_t)value;
	a->limb[1] = (uint32_t)(value >> 32);
	return trimmed(a);
}

struct big *big_from(int64_t value)
{
	struct big *a = big_from_u64(value < 0 ? -(uint64_t)value : (uint64_t)value);
	a->negative = value < 0;
	return a;
}

struct big *big_ref(struct big *a)
{
	a->refs++;
	return a;
}

void big_drop(struct big *a)
{
	if (a && --a->refs == 0)
		free(a);
}

void big_set(struct big **slot, struct big *value)
{
	big_drop(*slot);
	*slot = value;
}

static int mag_cmp(const struct big *a, const struct big *b)
{
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (uint32_t i = a->count; i-- > 0;)
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

int big_cmp(const struct big *a, const struct big *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	int order = mag_cmp(a, b);
	return a->negative ? -order : order;
}

uint32_t big_mod_small(const struct big *a, uint32_t m)
{
	uint64_t rest = 0;
	for (uint32_t i = a->count; i-- > 0;)
		rest = ((rest << 32) | a->limb[i]) % m;
	return (uint32_t)rest;
}

uint32_t big_hash(const struct big *a)
{
	uint32_t hash = a->negative ? 0x9e3779b9u : 0x85ebca6bu;
	for (uint32_t i = 0; i < a->count; i++)
		hash = (hash ^ a->limb[i]) * 0x01000193u;
	return hash;
}

static struct big *copy_with_sign(struct big *a, bool negative)
{
	if (a->negative == negative || !a->count)
		return big_ref(a);
	struct big *r = big_new(a->count);
	memcpy(r->limb, a->limb, a->count * sizeof(a->limb[0]));
	r->negative = negative;
	return r;
}

struct big *big_neg(struct big *a)
{
	return copy_with_sign(a, !a->negative);
}

struct big *big_abs(struct big *a)
{
	return copy_with_sign(a, false);
}

static struct big *mag_add(const struct big *a, const struct big *b)
{
	if (a->count < b->count) {
		const struct big *swap = a;
		a = b;
		b = swap;
	}
	struct big *r = big_new(a->count + 1);
	uint64_t carry = 0;
	for (uint32_t i = 0; i < a->count; i++) {
		carry += (uint64_t)a->limb[i] + (i < b->count ? b->limb[i] : 0);
		r->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	r->limb[a->count] = (uint32_t)carry;
	return trimmed(r);
}

/* |a| - |b| where |a| >= |b|. */
static struct big *mag_sub(const struct big *a, const struct big *b)
{
	struct big *r = big_new(a->count);
	int64_t borrow = 0;
	for (uint32_t i = 0; i < a->count; i++) {
		borrow += (int64_t)a->limb[i] - (i < b->count ? b->limb[i] : 0);
		r->limb[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
	return trimmed(r);
}

static struct big *signed_sum(struct big *a, struct big *b, bool b_negative)
{
	struct big *r;
	if (a->negative == b_negative) {
		r = mag_add(a, b);
		r->negative = a->negative && r->count;
	} else if (mag_cmp(a, b) >= 0) {
		r = mag_sub(a, b);
		r->negative = a->negative && r->count;
	} else {
		r = mag_sub(b, a);
		r->negative = b_negative && r->count;
	}
	return r;
}

struct big *big_add(struct big *a, struct big *b)
{
	return signed_sum(a, b, b->negative);
}

struct big *big_sub(struct big *a, struct big *b)
{
	return signed_sum(a, b, !b->negative);
}

static struct big *mul_school(const struct big *a, const struct big *b)
{
	struct big *r = big_new(a->count + b->count);
	memset(r->limb, 0, r->count * sizeof(r->limb[0]));
	for (uint32_t i = 0; i < a->count; i++) {
		uint64_t carry = 0;
		for (uint32_t j = 0; j < b->count; j++) {
			carry += (uint64_t)a->limb[i] * b->limb[j] + r->limb[i + j];
			r->limb[i + j] = (uint32_t)carry;
			carry >>= 32;
		}
		r->limb[i + b->count] = (uint32_t)carry;
	}
	return trimmed(r);
}

/* Limbs [from, from + count) of |a|, as far as it has them. */
static struct big *part(const struct big *a, uint32_t from, uint32_t count)
{
	if (from >= a->count)
		return big_new(0);
	if (count > a->count - from)
		count = a->count - from;
	struct big *r = big_new(count);
	memcpy(r->limb, a->limb + from, count * sizeof(r->limb[0]));
	return trimmed(r);
}

static void add_shifted(struct big *sum, const struct big *a, uint32_t limbs)
{
	uint64_t carry = 0;
	for (uint32_t i = 0; i < a->count || carry; i++) {
		carry += (uint64_t)sum->limb[i + limbs] + (i < a->count ? a->limb[i] : 0);
		sum->limb[i + limbs] = (uint32_t)carry;
		carry >>= 32;
	}
}

static struct big *mag_mul(const struct big *a, const struct big *b);

static struct big *mul_karatsuba(const struct big *a, const struct big *b)
{
	uint32_t half = ((a->count > b->count ? a->count : b->count) + 1) / 2;
	_drop_big_ struct big *a0 = part(a, 0, half), *a1 = part(a, half, half);
	_drop_big_ struct big *b0 = part(b, 0, half), *b1 = part(b, half, half);
	_drop_big_ struct big *low = mag_mul(a0, b0), *high = mag_mul(a1, b1);
	_drop_big_ struct big *sum_a = mag_add(a0, a1), *sum_b = mag_add(b0, b1);
	_drop_big_ struct big *cross = mag_mul(sum_a, sum_b);
	_drop_big_ struct big *less = mag_sub(cross, low), *middle = mag_sub(less, high);

	struct big *r = big_new(a->count + b->count + 1);
	memset(r->limb, 0, r->count * sizeof(r->limb[0]));
	add_shifted(r, low, 0);
	add_shifted(r, middle, half);
	add_shifted(r, high, 2 * half);
	return trimmed(r);
}

static struct big *mag_mul(const struct big *a, const struct big *b)
{
	if (a->count < KARATSUBA || b->count < KARATSUBA)
		return mul_school(a, b);
	return mul_karatsuba(a, b);
}

struct big *big_mul(struct big *a, struct big *b)
{
	struct big *r = mag_mul(a, b);
	r->negative = r->count && a->negative != b->negative;
	return r;
}

static struct big *div_small(const struct big *a, uint32_t b, uint32_t *rest)
{
	struct big *quotient = big_new(a->count);
	uint64_t r = 0;
	for (uint32_t i = a->count; i-- > 0;) {
		r = (r << 32) | a->limb[i];
		quotient->limb[i] = (uint32_t)(r / b);
		r %= b;
	}
	*rest = (uint32_t)r;
	return trimmed(quotient);
}

static struct big *shifted_left(const struct big *a, unsigned bits)
{
	struct big *r = big_new(a->count + 1);
	uint64_t carry = 0;
	for (uint32_t i = 0; i < a->count; i++) {
		carry |= (uint64_t)a->limb[i] << bits;
		r->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	r->limb[a->count] = (uint32_t)carry;
	return r;
}

static struct big *shifted_right(const struct big *a, unsigned bits)
{
	struct big *r = big_new(a->count);
	for (uint32_t i = 0; i < a->count; i++) {
		uint64_t both = a->limb[i];
		if (i + 1 < a->count)
			both |= (uint64_t)a->limb[i + 1] << 32;
		r->limb[i] = (uint32_t)(both >> bits);
	}
	return trimmed(r);
}

/* One digit of algorithm D: steps D3 to D6. */
static uint32_t quotient_digit(uint32_t *u, const uint32_t *v, uint32_t n)
{
	uint64_t top = ((uint64_t)u[n] << 32) | u[n - 1];
	uint64_t digit = top / v[n - 1], rest = top % v[n - 1];
	while (digit >> 32 || digit * v[n - 2] > ((rest << 32) | u[n - 2])) {
		digit--;
		rest += v[n - 1];
		if (rest >> 32)
			break;
	}
	uint64_t carry = 0;
	int64_t borrow = 0;
	for (uint32_t i = 0; i < n; i++) {
		carry += digit * v[i];
		borrow += (int64_t)u[i] - (uint32_t)carry;
		u[i] = (uint32_t)borrow;
		borrow >>= 32;
		carry >>= 32;
	}
	borrow += (int64_t)u[n] - (int64_t)carry;
	u[n] = (uint32_t)borrow;
	if (borrow >= 0)
		return (uint32_t)digit;

	carry = 0;
	for (uint32_t i = 0; i < n; i++) {
		carry += (uint64_t)u[i] + v[i];
		u[i] = (uint32_t)carry;
		carry >>= 32;
	}
	u[n] += (uint32_t)carry;
	return (uint32_t)digit - 1;
}

/* |a| / |b| for b of two limbs and more. */
static struct big *div_long(const struct big *a, const struct big *b, struct big **ret_rest)
{
	unsigned shift = (unsigned)__builtin_clz(b->limb[b->count - 1]);
	struct big *u = shifted_left(a, shift);
	_drop_big_ struct big *v = shifted_left(b, shift);
	uint32_t n = b->count, digits = a->count - n + 1;
	struct big *quotient = big_new(digits);
	for (uint32_t i = digits; i-- > 0;)
		quotient->limb[i] = quotient_digit(u->limb + i, v->limb, n);
	u->count = n;
	*ret_rest = shifted_right(u, shift);
	big_drop(u);
	return trimmed(quotient);
}

/* Both owned by the caller. */
static void divide(struct big *a, struct big *b, struct big **ret_quotient, struct big **ret_rest)
{
	if (big_is_zero(b)) {
		fputs("expr: division by zero\n", stderr);
		exit(1);
	}
	struct big *quotient, *rest;
	if (mag_cmp(a, b) < 0) {
		quotient = big_from(0);
		rest = big_ref(a);
	} else if (b->count == 1) {
		uint32_t small;
		quotient = div_small(a, b->limb[0], &small);
		rest = big_from_u64(small);
		rest->negative = a->negative && rest->count;
	} else {
		quotient = div_long(a, b, &rest);
		rest->negative = a->negative && rest->count;
	}
	quotient->negative = quotient->count && a->negative != b->negative;
	*ret_quotient = quotient;
	*ret_rest = rest;
}

struct big *big_div(struct big *a, struct big *b)
{
	struct big *quotient, *rest;
	divide(a, b, &quotient, &rest);
	big_drop(rest);
	return quotient;
}

struct big *big_mod(struct big *a, struct big *b)
{
	struct big *quotient, *rest;
	divide(a, b, &quotient, &rest);
	big_drop(quotient);
	return rest;
}

struct big *big_gcd(struct big *a, struct big *b)
{
	if (big_is_zero(b))
		return big_abs(a);
	_drop_big_ struct big *rest = big_mod(a, b);
	return big_gcd(b, rest);
}

struct big *big_pow(struct big *a, unsigned power)
{
	if (power == 0)
		return big_from(1);
	if (power == 1)
		return big_ref(a);
	_drop_big_ struct big *root = big_pow(a, power / 2);
	_drop_big_ struct big *square = big_mul(root, root);
	return power & 1 ? big_mul(square, a) : big_ref(square);
}

static struct big *mulmod(struct big *a, struct big *b, struct big *m)
{
	_drop_big_ struct big *product = big_mul(a, b);
	return big_mod(product, m);
}

struct big *big_powmod(struct big *a, struct big *e, struct big *m)
{
	struct big *r = big_from(1);
	for (uint32_t i = e->count; i-- > 0;)
		for (unsigned bit = 32; bit-- > 0;) {
			big_set(&r, mulmod(r, r, m));
			if (e->limb[i] >> bit & 1)
				big_set(&r, mulmod(r, a, m));
		}
	return r;
}

struct big *big_sqrt(struct big *a)
{
	if (big_is_zero(a))
		return big_ref(a);
	/* Newton's method from above, from the next power of two. */
	unsigned bits = a->count * 32 - (unsigned)__builtin_clz(a->limb[a->count - 1]);
	unsigned start = (bits + 1) / 2;
	struct big *x = big_new(start / 32 + 1);
	memset(x->limb, 0, x->count * sizeof(x->limb[0]));
	x->limb[start / 32] = 1u << start % 32;
	for (;;) {
		_drop_big_ struct big *other = big_div(a, x);
		_drop_big_ struct big *sum = big_add(x, other);
		struct big *next = shifted_right(sum, 1);
		if (big_cmp(next, x) >= 0) {
			big_drop(next);
			return x;
		}
		big_set(&x, next);
	}
}

char *big_to_text(struct big *a)
{
	size_t room = (size_t)a->count * 10 + 3;
	char *text = must_alloc(room);
	char *at = text + room;
	*--at = '\0';
	struct big *left = big_abs(a);
	while (!big_is_zero(left)) {
		uint32_t digits;
		big_set(&left, div_small(left, 1000000000, &digits));
		for (int i = 0; i < 9 && (digits || !big_is_zero(left)); i++, digits /= 10)
			*--at = (char)('0' + digits % 10);
	}
	big_drop(left);
	if (!*at)
		*--at = '0';
	if (a->negative)
		*--at = '-';
	memmove(text, at, (size_t)(text + room - at));
	return text;
}

struct big *big_from_digits(const char *digits, size_t length)
{
	/* 9 digits are always below 2^30: a limb holds them. */
	struct big *r = big_new((uint32_t)(length / 9 + 1));
	memset(r->limb, 0, r->count * sizeof(r->limb[0]));
	for (size_t i = 0; i < length; i++) {
		uint64_t carry = (uint64_t)(digits[i] - '0');
		for (uint32_t j = 0; j < r->count; j++) {
			carry += (uint64_t)r->limb[j] * 10;
			r->limb[j] = (uint32_t)carry;
			carry >>= 32;
		}
	}
	return trimmed(r);
}
