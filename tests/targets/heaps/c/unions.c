/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structures with pointers in a union alone, and others with pointers at the same places, both
 * declared; and blocks of the former that void * alone leads to.
 */
#include "account.h"

ACCOUNT_DEFINE;

#define MANY 50u

struct variant {
	long kind;
	union {
		char *text;
		double number;
	} content;
	long uses;
};

struct route {
	long cost;
	struct route *next;
	long hops;
};

static struct variant *variants[MANY];
static struct route *routes;
static void *hidden[MANY];
static volatile unsigned used;

static void *block(size_t size, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, 'r', type);
	return memory;
}

static struct variant *new_variant(const char *type)
{
	struct variant *variant = block(sizeof(*variant), type);
	variant->kind = 2;
	variant->content.text = block(40, "text");
	strcpy(variant->content.text, "some text");
	return variant;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < MANY; i++) {
		variants[i] = new_variant("variant");
		struct route *route = block(sizeof(*route), "route");
		route->next = routes;
		route->cost = 7;
		routes = route;
	}
	for (unsigned i = 0; i < MANY; i++)
		hidden[i] = new_variant("hidden");
	account_end();
	return !variants[used] || !routes || !hidden[used];
}
