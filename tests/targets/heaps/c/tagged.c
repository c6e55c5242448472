/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointers with marks in their last bits, and ones that lead into the middle of what they hold. */
#include "account.h"

ACCOUNT_DEFINE;

struct node {
	char *next; /* marked */
	long number;
};

static char *first;
static char *middle;

static void *block(size_t size, char leak, const char *type)
{
	void *memory = calloc(1, size);
	account(memory, size, leak, type);
	return memory;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 100; i++) {
		struct node *node = block(sizeof(*node), 'r', "marked");
		node->next = first;
		first = (char *)node + (i % 3 + 1);
	}
	for (int i = 0; i < 50; i++) {
		char **held = block(256, 'p', "by its middle");
		*held = middle;
		middle = (char *)held + 64;
	}
	account_end();
	return !first || !middle;
}
