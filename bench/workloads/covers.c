/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * covers ROUNDS: complements logic functions as a minimiser does, by Shannon expansion: a recursion
 * that calls itself from several places and allocates lists of cubes in each, through one function.
 * So the stacks are as many as there are ways down (some 200,000 after 40 rounds), and most are
 * seldom the same as the last ones.
 *
 * A function and its complement have no point in common, and cover everything together. Ends with 1
 * where they do not.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

enum { VARIABLES = 15, CUBES = 26, LITERALS_MIN = 3, LITERALS_MORE = 3 };

/* A product of literals: variables that have to be 1, and that have to be 0. */
struct cube {
	struct cube *next;
	uint32_t ones, zeros;
};

/* A sum of cubes. */
struct cover {
	struct cube *first;
};

static uint64_t seed = 1;

static uint32_t random_below(uint32_t limit)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % limit;
}

APART static void *allocate(size_t bytes)
{
	void *block = malloc(bytes);
	if (!block)
		abort();
	return block;
}

APART static void put_cube(struct cover *f, uint32_t ones, uint32_t zeros)
{
	struct cube *c = allocate(sizeof(*c));
	*c = (struct cube){f->first, ones, zeros};
	f->first = c;
}

APART static struct cover *cover_new(void)
{
	struct cover *f = allocate(sizeof(*f));
	f->first = NULL;
	return f;
}

APART static void cover_free(struct cover *f)
{
	for (struct cube *c = f->first, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(f);
}

/* What is left of f where a variable has a value. */
APART static struct cover *cofactor(const struct cover *f, uint32_t variable, bool value)
{
	struct cover *part = cover_new();
	for (const struct cube *c = f->first; c; c = c->next) {
		if (!((value ? c->zeros : c->ones) & variable))
			put_cube(part, c->ones & ~variable, c->zeros & ~variable);
	}
	return part;
}

/* The variable that most cubes depend on; 0: f is constant. */
static uint32_t choose(const struct cover *f, bool *ret_one)
{
	uint32_t counts[VARIABLES] = {0}, best = 0, most = 0;
	*ret_one = false;
	for (const struct cube *c = f->first; c; c = c->next) {
		uint32_t used = c->ones | c->zeros;
		if (!used) {
			*ret_one = true;
			return 0;
		}
		for (uint32_t i = 0; i < VARIABLES; i++)
			counts[i] += used >> i & 1;
	}
	for (uint32_t i = 0; i < VARIABLES; i++) {
		if (counts[i] > most) {
			most = counts[i];
			best = 1u << i;
		}
	}
	return best;
}

static bool has_cube(const struct cover *f, uint32_t ones, uint32_t zeros)
{
	for (const struct cube *c = f->first; c; c = c->next) {
		if (c->ones == ones && c->zeros == zeros)
			return true;
	}
	return false;
}

/* x' low + x high; cubes of both do without x. */
APART static struct cover *join(
	const struct cover *low, const struct cover *high, uint32_t variable)
{
	struct cover *sum = cover_new();
	for (const struct cube *c = low->first; c; c = c->next) {
		bool both = has_cube(high, c->ones, c->zeros);
		put_cube(sum, c->ones, both ? c->zeros : c->zeros | variable);
	}
	for (const struct cube *c = high->first; c; c = c->next) {
		if (!has_cube(low, c->ones, c->zeros))
			put_cube(sum, c->ones | variable, c->zeros);
	}
	return sum;
}

APART static struct cover *complement(const struct cover *f)
{
	bool one;
	uint32_t variable = choose(f, &one);
	if (!variable) {
		struct cover *constant = cover_new();
		if (!one)
			put_cube(constant, 0, 0);
		return constant;
	}
	struct cover *part = cofactor(f, variable, false), *low = complement(part);
	cover_free(part);
	part = cofactor(f, variable, true);
	struct cover *high = complement(part), *sum = join(low, high, variable);
	cover_free(part);
	cover_free(low);
	cover_free(high);
	return sum;
}

APART static bool is_everything(const struct cover *f)
{
	bool one;
	uint32_t variable = choose(f, &one);
	if (!variable)
		return one;
	struct cover *part = cofactor(f, variable, false);
	bool all = is_everything(part);
	cover_free(part);
	if (!all)
		return false;
	part = cofactor(f, variable, true);
	all = is_everything(part);
	cover_free(part);
	return all;
}

static struct cover *random_cover(void)
{
	struct cover *f = cover_new();
	for (int i = 0; i < CUBES; i++) {
		uint32_t ones = 0, zeros = 0;
		for (uint32_t left = LITERALS_MIN + random_below(LITERALS_MORE); left; left--) {
			uint32_t variable = 1u << random_below(VARIABLES);
			if (random_below(2))
				ones |= variable & ~zeros;
			else
				zeros |= variable & ~ones;
		}
		put_cube(f, ones, zeros);
	}
	return f;
}

static bool is_right(const struct cover *f, const struct cover *g)
{
	struct cover *sum = cover_new();
	for (const struct cube *c = f->first; c; c = c->next) {
		for (const struct cube *d = g->first; d; d = d->next) {
			if (!(c->ones & d->zeros) && !(c->zeros & d->ones))
				return false;
		}
		put_cube(sum, c->ones, c->zeros);
	}
	for (const struct cube *d = g->first; d; d = d->next)
		put_cube(sum, d->ones, d->zeros);
	bool all = is_everything(sum);
	cover_free(sum);
	return all;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	if (!rounds)
		return 2;
	uint64_t cubes = 0;
	for (unsigned long i = 0; i < rounds; i++) {
		struct cover *f = random_cover(), *g = complement(f);
		if (!is_right(f, g)) {
			fprintf(stderr, "covers: wrong in round %lu\n", i);
			return 1;
		}
		for (const struct cube *c = g->first; c; c = c->next)
			cubes++;
		cover_free(f);
		cover_free(g);
	}
	printf("%lu functions, %llu cubes of their complements\n", rounds,
		(unsigned long long)cubes);
	return 0;
}
