/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * More blocks of which only the beginning is known than are read at once; and pointers that are no
 * multiples of 8, so that each has to be.
 */
#include <stdlib.h>

#define MANY 70000u

struct leaf {
	long values[6];
};

struct base {
	struct leaf *leaf;
	char *text;
};

struct whole {
	struct base base;
	long number;
};

static struct base **volatile all;
static struct whole *volatile whole;

int main(void)
{
	all = malloc(MANY * sizeof(struct base *));
	for (unsigned i = 0; i < MANY; i++) {
		whole = malloc(sizeof(*whole));
		whole->base.leaf = calloc(1, sizeof(struct leaf));
		whole->base.leaf->values[1] = 7;
		whole->base.text = (char *)(i ? all[i - 1] : &whole->base) + 9;
		whole->number = 3;
		all[i] = &whole->base;
	}
	whole = NULL;
	abort();
}
