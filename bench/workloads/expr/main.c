/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr ROUNDS: random expressions are printed, parsed back, derived, simplified and expanded to
 * polynomials; the two derivatives (of the tree, of the polynomial) must have the same value, and
 * that value, brought to 76 to 100 bits, is factored. Deterministic: prints a checksum; ends with 1
 * when a check fails.
 *
 * What an allocation-bound C program looks like: every number, term and node is a small block of
 * its own that lives briefly, so that there is one call of malloc or free every 18 ns; they come
 * through layers of helpers, some of them recursive, from some thousands of different stacks.
 */
#include "factor.h"
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>

struct totals {
	uint32_t checksum;
	unsigned terms, primes;
};

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "expr: wrong: %s\n", what);
	exit(1);
}

/* Through text and back. */
static struct tree *reread(const struct tree *t)
{
	char *text = tree_to_text(t);
	struct tree *again = tree_parse(text);
	check(again, "an expression does not parse");
	char *text_again = tree_to_text(again);
	struct tree *once_more = tree_parse(text_again);
	tree_drop(again);
	free(text_again);
	free(text);
	return once_more;
}

/* The value of the derivative, found in two ways. */
static struct big *derivative_value(
	struct tree *t, struct big *const values[POLY_VARIABLES], struct totals *totals)
{
	_drop_tree_ struct tree *derived = tree_derive(t, 0);
	_drop_tree_ struct tree *simple = tree_simplify(derived);
	_drop_poly_ struct term *expanded = tree_expand(t);
	_drop_poly_ struct term *slope = poly_derive(expanded, 0);
	_drop_big_ struct big *by_tree = tree_eval(simple, values);
	_drop_big_ struct big *by_poly = poly_eval(slope, values);
	check(big_cmp(by_tree, by_poly) == 0, "the derivatives differ");
	_drop_big_ struct big *content = poly_content(expanded);
	totals->checksum ^= big_hash(content);
	for (const struct term *term = expanded; term; term = term->next)
		totals->terms++;
	return big_ref(by_tree);
}

/* A number of 76 to 100 bits made from the value. */
static struct big *candidate(struct big *value, struct dice *dice)
{
	_drop_big_ struct big *two = big_from(2);
	_drop_big_ struct big *modulus = big_pow(two, 76 + dice_roll(dice, 25));
	_drop_big_ struct big *positive = big_abs(value);
	_drop_big_ struct big *rest = big_mod(positive, modulus);
	_drop_big_ struct big *noise = big_from((int64_t)dice_roll(dice, 1u << 30) + 2);
	return big_add(rest, noise);
}

static void factor_value(struct big *value, struct dice *dice, struct totals *totals)
{
	_drop_big_ struct big *n = candidate(value, dice);
	const struct factors *factors = factor(n);
	_drop_big_ struct big *product = factors_product(factors);
	check(big_cmp(product, n) == 0, "the factors do not multiply to the number");
	totals->primes += factors_count(factors);
	totals->checksum = totals->checksum * 31 +
			   big_hash(factors->right ? factors->right->number : factors->number);
}

static void work_round(struct dice *dice, struct totals *totals)
{
	_drop_tree_ struct tree *drawn = tree_random(dice, 5);
	_drop_tree_ struct tree *read = reread(drawn);
	struct big *values[POLY_VARIABLES];
	for (unsigned v = 0; v < POLY_VARIABLES; v++)
		values[v] = big_from((int64_t)dice_roll(dice, 2001) - 1000);
	_drop_big_ struct big *value = derivative_value(read, values, totals);
	factor_value(value, dice, totals);
	for (unsigned v = 0; v < POLY_VARIABLES; v++)
		big_drop(values[v]);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	if (!rounds) {
		fputs("usage: expr ROUNDS\n", stderr);
		return 2;
	}
	struct dice dice = {.state = 20240229};
	struct totals totals = {0};
	for (unsigned long i = 0; i < rounds; i++)
		work_round(&dice, &totals);
	printf("%lu rounds, %u terms, %u prime factors, checksum %08x\n", rounds, totals.terms,
		totals.primes, totals.checksum);
	return 0;
}
