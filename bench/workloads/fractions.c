/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fractions ROUNDS: expands square roots as continued fractions, with each number of the
 * calculation in a block of its own, as libraries for large numbers have it: hardly anything but
 * allocations and frees in turn, all of them through two functions that some twenty others call,
 * some nine frames deep, and few blocks live at any time. ROUNDS times 1.2 million pairs.
 *
 * With the convergents p/q, p^2 - n q^2 = (-1)^k d holds at each step (mod 2^256). Ends with 1
 * where it does not.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

#define LIMBS_MAX 4 /* of 64 bits: everything is modulo 2^256 */

struct number {
	uint32_t users, used;
	uint64_t limbs[]; /* the lowest first, `used` of them; others are 0 */
};

APART static struct number *number_new(uint32_t limbs)
{
	struct number *n = malloc(sizeof(*n) + limbs * sizeof(n->limbs[0]));
	if (!n)
		abort();
	*n = (struct number){1, limbs};
	return n;
}

APART static void number_drop(struct number *n)
{
	if (!--n->users)
		free(n);
}

static struct number *keep(struct number *n)
{
	n->users++;
	return n;
}

APART static struct number *number_of(const uint64_t limbs[LIMBS_MAX])
{
	uint32_t used = LIMBS_MAX;
	while (used > 1 && !limbs[used - 1])
		used--;
	struct number *n = number_new(used);
	for (uint32_t i = 0; i < used; i++)
		n->limbs[i] = limbs[i];
	return n;
}

static struct number *number_small(uint64_t value)
{
	return number_of((const uint64_t[LIMBS_MAX]){value});
}

static uint64_t limb(const struct number *n, uint32_t i)
{
	return i < n->used ? n->limbs[i] : 0;
}

/* What these are given they drop, as the functions of such libraries do with temporaries. */
static struct number *replaced(struct number *a, struct number *b, const uint64_t result[LIMBS_MAX])
{
	number_drop(a);
	number_drop(b);
	return number_of(result);
}

APART static struct number *add(struct number *a, struct number *b)
{
	uint64_t sum[LIMBS_MAX];
	unsigned __int128 carry = 0;
	for (uint32_t i = 0; i < LIMBS_MAX; i++) {
		carry += (unsigned __int128)limb(a, i) + limb(b, i);
		sum[i] = (uint64_t)carry;
		carry >>= 64;
	}
	return replaced(a, b, sum);
}

APART static struct number *subtract(struct number *a, struct number *b)
{
	uint64_t rest[LIMBS_MAX];
	unsigned __int128 carry = 1;
	for (uint32_t i = 0; i < LIMBS_MAX; i++) {
		carry += (unsigned __int128)limb(a, i) + ~limb(b, i);
		rest[i] = (uint64_t)carry;
		carry >>= 64;
	}
	return replaced(a, b, rest);
}

APART static struct number *multiply(struct number *a, struct number *b)
{
	uint64_t product[LIMBS_MAX] = {0};
	for (uint32_t i = 0; i < a->used; i++) {
		unsigned __int128 carry = 0;
		for (uint32_t k = 0; i + k < LIMBS_MAX; k++) {
			carry += (unsigned __int128)a->limbs[i] * limb(b, k) + product[i + k];
			product[i + k] = (uint64_t)carry;
			carry >>= 64;
		}
	}
	return replaced(a, b, product);
}

/* Of numbers of one limb. */
APART static struct number *divide(struct number *a, struct number *b)
{
	return replaced(a, b, (const uint64_t[LIMBS_MAX]){a->limbs[0] / b->limbs[0]});
}

/* sqrt(n) = a[0] + 1/(a[1] + 1/(a[2] + …)), by m, d and a (Lagrange); p and q of the last two
 * convergents. */
struct expansion {
	struct number *n, *root, *m, *d, *a;
	struct number *p, *p_before, *q, *q_before;
};

APART static void replace(struct number **at, struct number *by)
{
	number_drop(*at);
	*at = by;
}

APART static void next_m(struct expansion *e)
{
	replace(&e->m, subtract(multiply(keep(e->d), keep(e->a)), keep(e->m)));
}

APART static void next_d(struct expansion *e)
{
	struct number *rest = subtract(keep(e->n), multiply(keep(e->m), keep(e->m)));
	replace(&e->d, divide(rest, keep(e->d)));
}

APART static void next_a(struct expansion *e)
{
	replace(&e->a, divide(add(keep(e->root), keep(e->m)), keep(e->d)));
}

APART static void next_of(struct expansion *e, struct number **last, struct number **before)
{
	struct number *next = add(multiply(keep(e->a), keep(*last)), keep(*before));
	replace(before, keep(*last));
	replace(last, next);
}

APART static void next_convergent(struct expansion *e)
{
	next_of(e, &e->p, &e->p_before);
	next_of(e, &e->q, &e->q_before);
}

APART static int check(const struct expansion *e, unsigned step)
{
	struct number *left = multiply(keep(e->p_before), keep(e->p_before));
	struct number *right = multiply(keep(e->n), multiply(keep(e->q_before), keep(e->q_before)));
	struct number *rest = subtract(step % 2 ? right : left, step % 2 ? left : right);
	int good = rest->used == 1 && rest->limbs[0] == e->d->limbs[0];
	number_drop(rest);
	return good;
}

APART static void begin(struct expansion *e, uint64_t n)
{
	*e = (struct expansion){
		.n = number_small(n), .root = number_small((uint64_t)sqrt((double)n))};
	e->m = number_small(0);
	e->d = number_small(1);
	e->a = keep(e->root);
	e->p_before = number_small(1);
	e->p = keep(e->root);
	e->q_before = number_small(0);
	e->q = number_small(1);
}

APART static void end(struct expansion *e)
{
	struct number *all[] = {
		e->n, e->root, e->m, e->d, e->a, e->p, e->p_before, e->q, e->q_before};
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		number_drop(all[i]);
}

APART static int expand(uint64_t n, unsigned steps, uint64_t *sum)
{
	struct expansion e;
	int good = 1;
	begin(&e, n);
	for (unsigned k = 1; good && k <= steps; k++) {
		next_m(&e);
		next_d(&e);
		next_a(&e);
		next_convergent(&e);
		if (k % 4 == 0)
			good = check(&e, k);
	}
	*sum += e.p->limbs[0] ^ e.q->limbs[0];
	end(&e);
	return good;
}

APART static int expand_range(uint64_t from, unsigned count, uint64_t *sum)
{
	int good = 1;
	for (unsigned i = 0; good && i < count; i++)
		good = expand(from + i, 100, sum);
	return good;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	uint64_t sum = 0;
	int good = 1;
	for (unsigned round = 0; good && round < rounds; round++) {
		/* No square is among them: (10^6 + round)^2 + 1 and what follows. */
		uint64_t root = 1000000 + round;
		good = expand_range(root * root + 1, 1000, &sum);
	}
	printf("%llx\n", (unsigned long long)sum);
	return !good;
}
