/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap NODES: a tree of NODES nodes of 40 bytes, each with pointers to two others and to a string
 * of its own of 64 to 224 bytes, and a global to the first; 1 in 1000 strings is lost. Says its
 * process number, and ends when a line comes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
	struct node *left, *right;
	char *name;
	uint64_t key, value;
};

struct node *tree;

static char *name_of(uint64_t number)
{
	size_t bytes = 64 + number * 7 % 161;
	char *name = malloc(bytes);
	if (!name)
		exit(2);
	memset(name, 'a' + (int)(number % 26), bytes);
	name[bytes - 1] = 0;
	return name;
}

int main(int count, char **arguments)
{
	uint64_t nodes = count == 2 ? strtoull(arguments[1], NULL, 10) : 0;
	struct node **all = malloc((nodes + 1) * sizeof(struct node *));
	if (!nodes || !all)
		return 2;
	for (uint64_t i = 0; i < nodes; i++) {
		struct node *node = calloc(1, sizeof(*node));
		if (!node)
			return 2;
		all[i] = node;
		node->key = i;
		node->name = name_of(i);
		if (i % 1000 == 999)
			node->name = name_of(i);
		/* As in a heap: its place says whose child it is. */
		if (i)
			*(i % 2 ? &all[(i - 1) / 2]->left : &all[(i - 1) / 2]->right) = node;
	}
	tree = all[0];
	memset(all, 0, (nodes + 1) * sizeof(struct node *));
	free(all);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return getchar() != '\n';
}
