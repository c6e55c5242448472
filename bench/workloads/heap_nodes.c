/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_nodes NODES: a list of NODES blocks of 24 bytes, each with a pointer to another one beside
 * it. Says its process number, and ends when a line comes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SHARED 1000u

struct node {
	struct node *next;
	uint64_t number;
	struct node *shared;
};

struct node *first, *shared;

int main(int count, char **arguments)
{
	uint64_t nodes = count == 2 ? strtoull(arguments[1], NULL, 10) : 0;
	for (uint64_t i = 0; i < nodes; i++) {
		struct node *node = malloc(sizeof(*node));
		if (!node)
			return 2;
		*node = (struct node){first, i, shared};
		first = node;
		if (i % SHARED == 0)
			shared = node;
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return getchar() != '\n';
}
