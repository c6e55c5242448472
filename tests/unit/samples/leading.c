/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of which it is asked what leads to them: so many that what they look like says what they
 * are. Prints addresses, and whether it is sure without the types of all others what leads there;
 * then an empty line, and waits for its end.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES 30000u
#define ITEMS 5000u

struct tree {
	struct tree *left, *right;
	char *name;
	long key, value;
};

struct item {
	struct item *next;
	struct tree *of;
	double weights[4];
};

/* A pointer to the former may lead to one of the latter. */
struct step {
	struct step *next;
	long number;
};

struct leap {
	struct step step;
	long further;
};

struct table {
	struct item **items;
	struct tree roots[2];
	long count;
};

static struct tree *tree;
static struct item *items;
static struct table *table;
static struct step *steps;
static void *hidden; /* nothing is declared of what it leads to */
static struct tree *nodes[NODES];

static void *block(size_t bytes)
{
	void *made = calloc(1, bytes);
	if (!made)
		exit(2);
	return made;
}

static char *new_name(unsigned number)
{
	char *name = block(20 + number % 90);
	snprintf(name, 20, "name %u", number);
	return name;
}

/* A block that is asked for; `sure`: without the types of all others, too. */
static void tell(const void *address, bool sure)
{
	printf("%#lx %d\n", (unsigned long)address, sure);
}

/* A tree as in bench/workloads/heap.c, a list, arrays, and what nothing declares. */
static void make_blocks(void)
{
	for (unsigned i = 0; i < NODES; i++) {
		nodes[i] = block(sizeof(*tree));
		nodes[i]->name = new_name(i);
		nodes[i]->key = i;
		if (i)
			*(i % 2 ? &nodes[(i - 1) / 2]->left : &nodes[(i - 1) / 2]->right) =
				nodes[i];
	}
	tree = nodes[0];
	for (unsigned i = 0; i < ITEMS; i++) {
		struct item *item = block(sizeof(*item));
		item->next = items;
		item->of = i % 3 && i + 2000 > ITEMS ? nodes[i] : NULL;
		items = item;
	}
	table = block(sizeof(*table));
	table->items = block(64 * sizeof(struct item *));
	for (unsigned i = 0; i < 64; i++) {
		table->items[i] = block(sizeof(struct item));
		/* Bytes of a number that are none of its holders. */
		unsigned long odd = (unsigned long)tree + 17;
		memcpy(&table->items[i]->weights[1], &odd, sizeof(odd));
	}
	table->roots[0].name = new_name(7);
	for (unsigned i = 0; i < ITEMS; i++) {
		struct step *step = block(i % 2 ? sizeof(*step) : sizeof(struct leap));
		step->next = steps;
		step->number = i;
		steps = step;
	}
	tell(steps, false);
	tell(steps->next->next, false);
	void **chain = block(10 * sizeof(void *));
	chain[3] = block(136);
	hidden = chain;
	tell(chain[3], false);
	tell(chain, false);
	tell(block(24), false);
}

static void tell_all(void)
{
	const struct tree *node = tree;
	for (unsigned depth = 0; node; depth++, node = depth % 3 ? node->left : node->right) {
		tell(node, true);
		tell(node->name, true);
	}
	const struct item *item = items;
	for (unsigned i = 0; i < 40; i++)
		item = item->next;
	tell(item, true);
	tell(item->of ? item->of : item->next->of, true);
	tell(table->items[9], true);
	tell(table->roots[0].name, true);
	/* All lead to the last one. */
	while (item->next)
		item = item->next;
	tell(item, false);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	make_blocks();
	memset(nodes, 0, sizeof(nodes));
	tell_all();
	printf("\n");
	for (;;)
		pause();
}
