/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Morrison and Brillhart's method (Mathematics of Computation 29, 1975). The continued fraction of
 * the square root of k * n gives numerators A and small q with A^2 = +-q modulo n. Where q falls
 * apart into primes of a base, that is a relation; linear algebra modulo 2 finds products of
 * relations in which every prime is even: x^2 = y^2 modulo n, and gcd(x - y, n) may divide n.
 */
#include "cfrac.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PRIMES 256
#define SPARE 12
#define MOST_RELATIONS (MOST_PRIMES + SPARE)
#define MOST_STEPS 4000000

struct bits {
	uint64_t word[(MOST_RELATIONS + 63) / 64];
};

static bool bit(const struct bits *b, unsigned at)
{
	return b->word[at / 64] >> at % 64 & 1;
}

static void bit_flip(struct bits *b, unsigned at)
{
	b->word[at / 64] ^= 1ull << at % 64;
}

static void bits_add(struct bits *to, const struct bits *b)
{
	for (size_t i = 0; i < sizeof(b->word) / sizeof(b->word[0]); i++)
		to->word[i] ^= b->word[i];
}

struct relation {
	struct big *a;
	unsigned char power[MOST_PRIMES]; /* of each prime in q; that of -1 first */
};

/* One search. The base starts with -1, which counts as a prime. */
struct search {
	struct big *n, *kn, *root;
	struct big *p, *q, *q_before; /* the fraction's state */
	struct big *a, *a_before;     /* numerators modulo n */
	bool odd_step;
	unsigned primes;
	uint32_t prime[MOST_PRIMES];
	unsigned relations, wanted;
	struct relation *relation[MOST_RELATIONS];
};

static uint32_t powmod_small(uint32_t a, uint32_t e, uint32_t m)
{
	uint64_t r = 1;
	for (uint64_t square = a; e; e >>= 1, square = square * square % m)
		if (e & 1)
			r = r * square % m;
	return (uint32_t)r;
}

/* Only primes modulo which kn is a square can divide a q. */
static void choose_base(struct search *s, unsigned wanted)
{
	s->prime[s->primes++] = 1;
	s->prime[s->primes++] = 2;
	for (uint32_t candidate = 3; s->primes < wanted; candidate += 2) {
		bool prime = true;
		for (uint32_t d = 3; prime && d * d <= candidate; d += 2)
			prime = candidate % d != 0;
		uint32_t rest = prime ? big_mod_small(s->kn, candidate) : 0;
		if (prime && (!rest || powmod_small(rest, candidate / 2, candidate) == 1))
			s->prime[s->primes++] = candidate;
	}
}

static void search_close(struct search *s)
{
	struct big *owned[] = {s->kn, s->root, s->p, s->q, s->q_before, s->a, s->a_before};
	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
		big_drop(owned[i]);
	for (unsigned i = 0; i < s->relations; i++) {
		big_drop(s->relation[i]->a);
		free(s->relation[i]);
	}
	free(s);
}

static struct search *search_open(struct big *n, unsigned multiplier)
{
	struct search *s = must_alloc(sizeof(*s));
	memset(s, 0, sizeof(*s));
	_drop_big_ struct big *k = big_from(multiplier);
	s->n = n;
	s->kn = big_mul(k, n);
	s->root = big_sqrt(s->kn);
	_drop_big_ struct big *square = big_mul(s->root, s->root);
	s->p = big_ref(s->root);
	s->q_before = big_from(1);
	s->q = big_sub(s->kn, square);
	s->a_before = big_from(1);
	s->a = big_mod(s->root, n);
	s->odd_step = true;
	unsigned bits = n->count * 32 - (unsigned)__builtin_clz(n->limb[n->count - 1]);
	unsigned wanted = 16 + (bits > 50 ? (bits - 50) * 4 : 0);
	choose_base(s, wanted < MOST_PRIMES ? wanted : MOST_PRIMES);
	s->wanted = s->primes + SPARE;
	return s;
}

static void step_numerator(struct search *s, struct big *b)
{
	_drop_big_ struct big *product = big_mul(b, s->a);
	_drop_big_ struct big *sum = big_add(product, s->a_before);
	big_set(&s->a_before, s->a);
	s->a = big_mod(sum, s->n);
}

static void step_fraction(struct search *s)
{
	_drop_big_ struct big *sum = big_add(s->root, s->p);
	_drop_big_ struct big *b = big_div(sum, s->q);
	_drop_big_ struct big *product = big_mul(b, s->q);
	struct big *p = big_sub(product, s->p);
	_drop_big_ struct big *change = big_sub(s->p, p);
	_drop_big_ struct big *part = big_mul(b, change);
	struct big *q = big_add(s->q_before, part);
	big_set(&s->q_before, s->q);
	s->q = q;
	big_set(&s->p, p);
	step_numerator(s, b);
	s->odd_step = !s->odd_step;
}

/* Divides q by the primes of the base as often as they go; true when 1 remains. */
static bool falls_apart(const struct search *s, unsigned char *power)
{
	struct big *rest = big_ref(s->q);
	for (unsigned i = 1; i < s->primes && !big_is_one(rest); i++) {
		while (big_mod_small(rest, s->prime[i]) == 0) {
			_drop_big_ struct big *prime = big_from(s->prime[i]);
			big_set(&rest, big_div(rest, prime));
			power[i]++;
		}
	}
	bool done = big_is_one(rest);
	big_drop(rest);
	return done;
}

static void try_relation(struct search *s)
{
	unsigned char power[MOST_PRIMES] = {s->odd_step};
	if (!falls_apart(s, power))
		return;
	struct relation *r = must_alloc(sizeof(*r));
	r->a = big_ref(s->a);
	memcpy(r->power, power, sizeof(power));
	s->relation[s->relations++] = r;
}

static void collect(struct search *s)
{
	for (unsigned step = 0; step < MOST_STEPS && s->relations < s->wanted; step++) {
		if (big_is_one(s->q))
			return; /* the fraction repeats from here */
		try_relation(s);
		step_fraction(s);
	}
}

/* The product of the chosen numerators modulo n, by halves. */
static struct big *product_of(const struct search *s, const unsigned *chosen, unsigned count)
{
	if (count == 1)
		return big_ref(s->relation[chosen[0]]->a);
	_drop_big_ struct big *low = product_of(s, chosen, count / 2);
	_drop_big_ struct big *high = product_of(s, chosen + count / 2, count - count / 2);
	_drop_big_ struct big *product = big_mul(low, high);
	return big_mod(product, s->n);
}

/* The square root modulo n of the product of the chosen q. */
static struct big *root_of(const struct search *s, const unsigned *chosen, unsigned count)
{
	struct big *root = big_from(1);
	for (unsigned i = 1; i < s->primes; i++) {
		unsigned power = 0;
		for (unsigned j = 0; j < count; j++)
			power += s->relation[chosen[j]]->power[i];
		_drop_big_ struct big *prime = big_from(s->prime[i]), *e = big_from(power / 2);
		_drop_big_ struct big *factor = big_powmod(prime, e, s->n);
		_drop_big_ struct big *product = big_mul(root, factor);
		big_set(&root, big_mod(product, s->n));
	}
	return root;
}

static struct big *try_dependency(const struct search *s, const struct bits *members)
{
	unsigned chosen[MOST_RELATIONS], count = 0;
	for (unsigned i = 0; i < s->relations; i++)
		if (bit(members, i))
			chosen[count++] = i;
	_drop_big_ struct big *x = product_of(s, chosen, count);
	_drop_big_ struct big *y = root_of(s, chosen, count);
	_drop_big_ struct big *distance = big_sub(x, y);
	_drop_big_ struct big *divisor = big_gcd(s->n, distance);
	return big_is_one(divisor) || big_cmp(divisor, s->n) == 0 ? NULL : big_ref(divisor);
}

/* Gauss's elimination modulo 2; each row that becomes zero is a dependency. */
static struct big *eliminate(const struct search *s)
{
	struct bits row[MOST_RELATIONS] = {0}, members[MOST_RELATIONS] = {0};
	for (unsigned i = 0; i < s->relations; i++) {
		bit_flip(&members[i], i);
		for (unsigned j = 0; j < s->primes; j++)
			if (s->relation[i]->power[j] & 1)
				bit_flip(&row[i], j);
	}
	unsigned pivots = 0;
	for (unsigned column = 0; column < s->primes; column++) {
		unsigned pivot = pivots;
		while (pivot < s->relations && !bit(&row[pivot], column))
			pivot++;
		if (pivot == s->relations)
			continue;
		struct bits row_swap = row[pivot], members_swap = members[pivot];
		row[pivot] = row[pivots];
		members[pivot] = members[pivots];
		row[pivots] = row_swap;
		members[pivots] = members_swap;
		for (unsigned i = pivots + 1; i < s->relations; i++)
			if (bit(&row[i], column)) {
				bits_add(&row[i], &row_swap);
				bits_add(&members[i], &members_swap);
			}
		pivots++;
	}
	struct big *divisor = NULL;
	for (unsigned i = pivots; !divisor && i < s->relations; i++)
		divisor = try_dependency(s, &members[i]);
	return divisor;
}

struct big *cfrac_divisor(struct big *n, unsigned multiplier)
{
	struct search *s = search_open(n, multiplier);
	struct big *divisor = NULL;
	if (!big_is_zero(s->q)) {
		collect(s);
		divisor = eliminate(s);
	}
	search_close(s);
	return divisor;
}
