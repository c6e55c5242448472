/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers, variables, sums, products and powers: built, simplified, derived, expanded, printed. */
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, VARIABLE, SUM, PRODUCT, POWER };

struct tree {
	uint32_t refs;
	enum kind kind;
	unsigned index;    /* VARIABLE: which; POWER: the exponent */
	struct big *value; /* NUMBER */
	unsigned count;    /* operands; POWER has one */
	struct tree *operand[];
};

unsigned dice_roll(struct dice *dice, unsigned sides)
{
	dice->state = dice->state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(dice->state >> 33) % sides;
}

static struct tree *tree_new(enum kind kind, unsigned count)
{
	struct tree *t = must_alloc(sizeof(*t) + count * sizeof(struct tree *));
	*t = (struct tree){.refs = 1, .kind = kind, .count = count};
	return t;
}

static struct tree *tree_ref(struct tree *t)
{
	t->refs++;
	return t;
}

void tree_drop(struct tree *t)
{
	if (!t || --t->refs)
		return;
	for (unsigned i = 0; i < t->count; i++)
		tree_drop(t->operand[i]);
	big_drop(t->value);
	free(t);
}

/* Takes the ownership of the value. */
static struct tree *number(struct big *value)
{
	struct tree *t = tree_new(NUMBER, 0);
	t->value = value;
	return t;
}

static struct tree *variable(unsigned index)
{
	struct tree *t = tree_new(VARIABLE, 0);
	t->index = index;
	return t;
}

/* Takes the ownership of the base. */
static struct tree *power(struct tree *base, unsigned exponent)
{
	struct tree *t = tree_new(POWER, 1);
	t->index = exponent;
	t->operand[0] = base;
	return t;
}

struct tree *tree_random(struct dice *dice, unsigned depth)
{
	if (depth == 0 || dice_roll(dice, 8) == 0) {
		if (dice_roll(dice, 3) == 0)
			return number(big_from((int64_t)dice_roll(dice, 99) - 49));
		return variable(dice_roll(dice, 3));
	}
	if (depth <= 2 && dice_roll(dice, 5) == 0) {
		unsigned exponent = 2 + dice_roll(dice, 2);
		return power(tree_random(dice, depth - 1), exponent);
	}
	/* Products widen more slowly than sums: they multiply the terms. */
	bool product = depth % 2;
	struct tree *t = tree_new(product ? PRODUCT : SUM, 2 + dice_roll(dice, product ? 1 : 3));
	for (unsigned i = 0; i < t->count; i++)
		t->operand[i] = tree_random(dice, depth - 1);
	return t;
}

/* Drops neutral operands and folds numbers: t is ours alone and changes. */
static struct tree *fold(struct tree *t)
{
	bool product = t->kind == PRODUCT;
	struct big *constant = big_from(product);
	unsigned kept = 0;
	for (unsigned i = 0; i < t->count; i++) {
		struct tree *part = t->operand[i];
		if (part->kind != NUMBER) {
			t->operand[kept++] = part;
			continue;
		}
		big_set(&constant,
			product ? big_mul(constant, part->value) : big_add(constant, part->value));
		tree_drop(part);
	}
	bool empty = kept == 0 || (product && big_is_zero(constant));
	bool neutral = product ? big_is_one(constant) : big_is_zero(constant);
	if (!empty && neutral) {
		big_drop(constant);
	} else if (!empty) {
		/* At least one number was there: its place is free. */
		t->operand[kept++] = number(constant);
	}
	t->count = kept;
	if (!empty && kept > 1)
		return t;
	struct tree *only = empty ? number(constant) : tree_ref(t->operand[0]);
	tree_drop(t);
	return only;
}

static struct tree *simplify_power(struct tree *t)
{
	_drop_tree_ struct tree *base = tree_simplify(t->operand[0]);
	if (base->kind == NUMBER)
		return number(big_pow(base->value, t->index));
	if (t->index == 1)
		return tree_ref(base);
	if (base->kind == POWER)
		return power(tree_ref(base->operand[0]), t->index * base->index);
	return power(tree_ref(base), t->index);
}

struct tree *tree_simplify(struct tree *t)
{
	if (t->kind == NUMBER || t->kind == VARIABLE)
		return tree_ref(t);
	if (t->kind == POWER)
		return simplify_power(t);
	struct tree *r = tree_new(t->kind, t->count);
	for (unsigned i = 0; i < t->count; i++)
		r->operand[i] = tree_simplify(t->operand[i]);
	return fold(r);
}

/* The product rule for one factor. */
static struct tree *derive_factor(struct tree *t, unsigned factor, unsigned by)
{
	struct tree *r = tree_new(PRODUCT, t->count);
	for (unsigned i = 0; i < t->count; i++)
		r->operand[i] =
			i == factor ? tree_derive(t->operand[i], by) : tree_ref(t->operand[i]);
	return r;
}

static struct tree *derive_power(struct tree *t, unsigned by)
{
	struct tree *r = tree_new(PRODUCT, 3);
	r->operand[0] = number(big_from(t->index));
	r->operand[1] = power(tree_ref(t->operand[0]), t->index - 1);
	r->operand[2] = tree_derive(t->operand[0], by);
	return r;
}

struct tree *tree_derive(struct tree *t, unsigned by)
{
	switch (t->kind) {
	case NUMBER:
		return number(big_from(0));
	case VARIABLE:
		return number(big_from(t->index == by));
	case POWER:
		return derive_power(t, by);
	case SUM:
	case PRODUCT:
		break;
	}
	struct tree *r = tree_new(SUM, t->count);
	for (unsigned i = 0; i < t->count; i++)
		r->operand[i] =
			t->kind == SUM ? tree_derive(t->operand[i], by) : derive_factor(t, i, by);
	return r;
}

struct term *tree_expand(const struct tree *t)
{
	if (t->kind == NUMBER)
		return poly_constant(t->value);
	if (t->kind == VARIABLE)
		return poly_variable(t->index);
	struct term *r = tree_expand(t->operand[0]);
	if (t->kind == POWER) {
		struct term *base = r;
		r = poly_pow(base, t->index);
		poly_drop(base);
	}
	for (unsigned i = 1; i < t->count; i++) {
		_drop_poly_ struct term *before = r;
		_drop_poly_ struct term *operand = tree_expand(t->operand[i]);
		r = t->kind == SUM ? poly_add(before, operand) : poly_mul(before, operand);
	}
	return r;
}

struct big *tree_eval(const struct tree *t, struct big *const values[POLY_VARIABLES])
{
	if (t->kind == NUMBER)
		return big_ref(t->value);
	if (t->kind == VARIABLE)
		return big_ref(values[t->index]);
	struct big *r = tree_eval(t->operand[0], values);
	if (t->kind == POWER)
		big_set(&r, big_pow(r, t->index));
	for (unsigned i = 1; i < t->count; i++) {
		_drop_big_ struct big *operand = tree_eval(t->operand[i], values);
		big_set(&r, t->kind == SUM ? big_add(r, operand) : big_mul(r, operand));
	}
	return r;
}

struct text {
	char *bytes;
	size_t length, room;
};

static void put(struct text *text, const char *bytes, size_t length)
{
	if (text->length + length + 1 > text->room) {
		text->room = (text->length + length + 1) * 2;
		text->bytes = realloc(text->bytes, text->room);
		if (!text->bytes)
			exit(1);
	}
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
}

static void put_tree(struct text *text, const struct tree *t)
{
	char small[16];
	if (t->kind == NUMBER) {
		char *digits = big_to_text(t->value);
		put(text, digits, strlen(digits));
		free(digits);
		return;
	}
	if (t->kind == VARIABLE) {
		put(text, small, (size_t)snprintf(small, sizeof(small), "x%u", t->index));
		return;
	}
	put(text, "(", 1);
	for (unsigned i = 0; i < t->count; i++) {
		if (i)
			put(text, t->kind == SUM ? "+" : "*", 1);
		put_tree(text, t->operand[i]);
	}
	put(text, ")", 1);
	if (t->kind == POWER)
		put(text, small, (size_t)snprintf(small, sizeof(small), "^%u", t->index));
}

char *tree_to_text(const struct tree *t)
{
	struct text text = {0};
	put_tree(&text, t);
	return text.bytes;
}

static struct tree *parse_sum(const char **at);

static struct tree *parse_atom(const char **at)
{
	if (**at == '(') {
		++*at;
		struct tree *t = parse_sum(at);
		if (t && **at == ')') {
			++*at;
			return t;
		}
		tree_drop(t);
		return NULL;
	}
	if (**at == 'x') {
		unsigned index = (unsigned)((*at)[1] - '0');
		*at += 2;
		return index < POLY_VARIABLES ? variable(index) : NULL;
	}
	bool negative = **at == '-';
	*at += negative;
	size_t length = strspn(*at, "0123456789");
	if (!length)
		return NULL;
	struct big *value = big_from_digits(*at, length);
	if (negative)
		big_set(&value, big_neg(value));
	*at += length;
	return number(value);
}

static struct tree *parse_power(const char **at)
{
	struct tree *base = parse_atom(at);
	if (!base || **at != '^')
		return base;
	++*at;
	char *end;
	unsigned exponent = (unsigned)strtoul(*at, &end, 10);
	*at = end;
	return power(base, exponent);
}

/* A run of operands between equal signs; one operand stands for itself. */
static struct tree *parse_run(
	const char **at, char sign, enum kind kind, struct tree *(*operand)(const char **))
{
	struct tree *first = operand(at);
	if (!first || **at != sign)
		return first;
	struct tree *parsed[8] = {first};
	unsigned count = 1;
	while (**at == sign && count < 8) {
		++*at;
		parsed[count] = operand(at);
		if (!parsed[count])
			break;
		count++;
	}
	struct tree *t = tree_new(kind, count);
	memcpy(t->operand, parsed, count * sizeof(parsed[0]));
	return t;
}

static struct tree *parse_product(const char **at)
{
	return parse_run(at, '*', PRODUCT, parse_power);
}

static struct tree *parse_sum(const char **at)
{
	return parse_run(at, '+', SUM, parse_product);
}

struct tree *tree_parse(const char *text)
{
	struct tree *t = parse_sum(&text);
	if (t && *text) {
		tree_drop(t);
		return NULL;
	}
	return t;
}
