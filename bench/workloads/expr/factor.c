/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small primes first, then Miller and Rabin's test, then the continued fraction, or Pollard's rho
 * where that is too short. All in big numbers: the idea of cfrac, a program that allocator
 * benchmarks have measured since 1993.
 */
#include "factor.h"

#include "cfrac.h"

#include <stdlib.h>

#define BUCKETS 4096
static struct factors *known[BUCKETS];

/* The root if a is a square, else NULL. */
static struct big *square_root(struct big *a)
{
	_drop_big_ struct big *root = big_sqrt(a);
	_drop_big_ struct big *square = big_mul(root, root);
	return big_cmp(square, a) == 0 ? big_ref(root) : NULL;
}

/* x * x + c modulo n. */
static struct big *rho_next(struct big *x, struct big *c, struct big *n)
{
	_drop_big_ struct big *square = big_mul(x, x);
	_drop_big_ struct big *sum = big_add(square, c);
	return big_mod(sum, n);
}

/* Pollard's rho: needs about the root of the smallest prime in steps; NULL when c is unlucky. */
static struct big *rho_divisor(struct big *n, unsigned constant)
{
	_drop_big_ struct big *c = big_from(constant);
	struct big *slow = big_from(2), *fast = big_from(2), *divisor = NULL;
	while (!divisor) {
		big_set(&slow, rho_next(slow, c, n));
		big_set(&fast, rho_next(fast, c, n));
		big_set(&fast, rho_next(fast, c, n));
		_drop_big_ struct big *distance = big_sub(slow, fast);
		_drop_big_ struct big *common = big_gcd(n, distance);
		if (!big_is_one(common))
			divisor = big_ref(common);
	}
	if (big_cmp(divisor, n) == 0)
		big_set(&divisor, NULL);
	big_drop(slow);
	big_drop(fast);
	return divisor;
}

static struct big *smallest_divisor(struct big *n, uint32_t from, uint32_t limit)
{
	for (uint32_t d = from; d < limit; d += d == 2 ? 1 : 2)
		if (big_mod_small(n, d) == 0)
			return big_from(d);
	return NULL;
}

/* Certain below 3.4e14, and as good as certain above. */
static bool is_prime(struct big *n)
{
	static const int bases[] = {2, 3, 5, 7, 11, 13, 17};
	_drop_big_ struct big *one = big_from(1), *two = big_from(2), *top = big_sub(n, one);
	struct big *odd = big_ref(top);
	unsigned twos = 0;
	for (; !big_is_odd(odd); twos++)
		big_set(&odd, big_div(odd, two));
	bool prime = true;
	for (size_t i = 0; prime && i < sizeof(bases) / sizeof(bases[0]); i++) {
		_drop_big_ struct big *base = big_from(bases[i]);
		struct big *x = big_powmod(base, odd, n);
		bool witness = !big_is_one(x) && big_cmp(x, top) != 0;
		for (unsigned j = 1; witness && j < twos; j++) {
			_drop_big_ struct big *square = big_mul(x, x);
			big_set(&x, big_mod(square, n));
			witness = big_cmp(x, top) != 0;
		}
		prime = !witness;
		big_drop(x);
	}
	big_drop(odd);
	return prime;
}

static struct big *large_divisor(struct big *n)
{
	static const unsigned multipliers[] = {1, 3, 5, 7, 11};
	_drop_big_ struct big *short_fractions = big_from(1ll << 44);
	struct big *divisor = square_root(n);
	if (big_cmp(n, short_fractions) > 0)
		for (size_t i = 0; !divisor && i < sizeof(multipliers) / sizeof(multipliers[0]);
			i++)
			divisor = cfrac_divisor(n, multipliers[i]);
	for (unsigned c = 1; !divisor; c++)
		divisor = rho_divisor(n, c);
	return divisor;
}

#define TRIAL_LIMIT 400
static struct big *divisor_of(struct big *n)
{
	_drop_big_ struct big *safe = big_from((int64_t)TRIAL_LIMIT * TRIAL_LIMIT);
	struct big *small = smallest_divisor(n, 2, TRIAL_LIMIT);
	if (small && big_cmp(small, n) == 0) {
		big_drop(small);
		return NULL;
	}
	if (small || big_cmp(n, safe) < 0 || is_prime(n))
		return small;
	return large_divisor(n);
}

const struct factors *factor(struct big *n)
{
	struct factors **bucket = &known[big_hash(n) % BUCKETS];
	for (const struct factors *f = *bucket; f; f = f->next)
		if (big_cmp(f->number, n) == 0)
			return f;
	struct factors *found = must_alloc(sizeof(*found));
	*found = (struct factors){.number = big_ref(n)};
	_drop_big_ struct big *divisor = divisor_of(n);
	if (divisor) {
		_drop_big_ struct big *other = big_div(n, divisor);
		found->left = factor(divisor);
		found->right = factor(other);
	}
	found->next = *bucket;
	*bucket = found;
	return found;
}

struct big *factors_product(const struct factors *f)
{
	if (!f->left)
		return big_ref(f->number);
	_drop_big_ struct big *left = factors_product(f->left);
	_drop_big_ struct big *right = factors_product(f->right);
	return big_mul(left, right);
}

unsigned factors_count(const struct factors *f)
{
	return f->left ? factors_count(f->left) + factors_count(f->right) : 1;
}
