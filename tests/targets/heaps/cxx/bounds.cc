/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes past bounds of the inspector (docs/limits.md): a chunk that is an array of its records
 * by more than 256 pointers, and has something else behind them; a pool whose records may be parts
 * of larger structures in more than 16,384 ways; a type with more than 65,536 members.
 */
#include "account.h"

ACCOUNT_DEFINE;

/* They lie one behind the other, and the last one alone says what is behind it. */
#define RECS 300u
#define LEAVES 300u
struct leaf {
	struct leaf *left, *right;
	double value;
	long flags[2];
};
struct more {
	struct leaf *leaves[LEAVES];
};
struct rec {
	struct rec *next;
	struct more *more;
	long number;
};

/* The same with arrays: one that is no other thing. */
struct entry {
	struct entry *next;
	long number, numbers[2];
};

#define ITEMS 700u
struct item {
	struct item *next;
	long number;
};
/* clang-format off */
#define WHOLE(n) struct whole_##n { char *name; struct item item; char *end; }; struct whole_##n *whole_##n
#define WHOLES(n) WHOLE(n##0); WHOLE(n##1); WHOLE(n##2); WHOLE(n##3); WHOLE(n##4); WHOLE(n##5); WHOLE(n##6); WHOLE(n##7)
WHOLES(0); WHOLES(1); WHOLES(2); WHOLES(3);
/* clang-format on */

/* Each has twice as many bases in all as the one before. */
template <int n> struct one;
template <int n> struct other : one<n - 1>, other<n - 1> {
};
template <int n> struct one : one<n - 1>, other<n - 1> {
};
template <> struct one<0> {
	int number;
};
template <> struct other<0> {
	int another;
};

static struct rec *recs;
static struct entry *entries;
static struct item *items;
static one<16> *wide;

static void *block(size_t size, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, 'r', type);
	return memory;
}

static void add_recs()
{
	char *memory = (char *)block(24ul * 800, "recs and leaves");
	struct rec *all = (struct rec *)memory;
	struct leaf *leaves = (struct leaf *)(memory + RECS * sizeof(struct rec));
	struct more *more = (struct more *)block(sizeof(*more), "more");
	for (unsigned i = 0; i < RECS; i++)
		all[i] = (struct rec){i + 1 < RECS ? &all[i + 1] : NULL, NULL, i + 1};
	for (unsigned i = 0; i < LEAVES; i++) {
		leaves[i] = (struct leaf){leaves, leaves, 1.5, {7, 9}};
		more->leaves[i] = &leaves[i];
	}
	all[RECS - 1].more = more;
	recs = all;
}

static void add_entries()
{
	entries = (struct entry *)block(1000 * sizeof(struct entry), "entry[]");
	for (unsigned i = 0; i < 1000; i++)
		entries[i] = (struct entry){i < 999 ? &entries[i + 1] : NULL, i, {7, 9}};
}

/* What stands before each is no pointer: it is none of the larger ones. */
static void add_items()
{
	char *memory = (char *)block(104 + 24ul * ITEMS, "items");
	for (unsigned i = 0; i < ITEMS; i++) {
		struct item *item = (struct item *)(memory + 104 + 24ul * i);
		*item = (struct item){items, i};
		((long *)item)[-1] = 7;
		items = item;
	}
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	bool has_pool = getenv("BOUNDS_POOL") != NULL;
	if (has_pool)
		add_items();
	else
		add_recs();
	add_entries();
	wide = new one<16>();
	account(wide, sizeof(*wide), 'r', "one<16>");
	account_end();
	return !recs || !entries || !items || !wide;
}
