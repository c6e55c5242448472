/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grows as it is told: each line of stdin is a number of nodes for `cache` and one of entries that
 * go into `table`; "ready" says that it is done. An entry that takes the place of another is lost.
 */
#include <stdio.h>
#include <stdlib.h>

#define TABLE 64u
#define ENTRY_BYTES 200u

struct node {
	struct node *next;
	char room[32];
};

struct node *cache;
char **table;

static void add_node(void)
{
	struct node *node = malloc(sizeof(*node));
	if (!node)
		abort();
	node->next = cache;
	cache = node;
}

static void add_entry(unsigned number)
{
	table[number % TABLE] = malloc(ENTRY_BYTES);
}

int main(void)
{
	unsigned nodes, entries, next = 0;
	static char in[512], out[512]; /* no blocks of libc's */
	setvbuf(stdin, in, _IOFBF, sizeof(in));
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	table = calloc(TABLE, sizeof(*table));
	if (!table)
		return 1;
	for (;;) {
		puts("ready");
		fflush(stdout);
		if (scanf("%u %u", &nodes, &entries) != 2)
			return 0;
		while (nodes--)
			add_node();
		while (entries--)
			add_entry(next++);
	}
}
