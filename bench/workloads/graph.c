/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * graph BLOCKS: allocates BLOCKS blocks of 40 to 136 bytes that hold each other as a list and, by
 * chance, as a tree; every thousandth is lost. Says its process number, and ends when a line comes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
	struct node *next, *left, *right;
};

static struct node *list;
static uint64_t chance = 88172645463325252u;

/* Marsaglia's xorshift, 64 bits. */
static uint64_t draw(uint64_t below)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return chance % below;
}

int main(int count, char **arguments)
{
	uint64_t blocks = count == 2 ? strtoull(arguments[1], NULL, 10) : 0;
	struct node **all = malloc((blocks + 1) * sizeof(struct node *));
	if (!blocks || !all)
		return 2;
	for (uint64_t i = 0; i < blocks; i++) {
		struct node *node = malloc(40 + i % 7 * 16);
		if (!node)
			return 2;
		node->left = i ? all[draw(i)] : NULL;
		node->right = i > 1 ? all[draw(i)] : NULL;
		node->next = list;
		all[i] = i % 1000 ? node : list;
		list = all[i];
	}
	free(all);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return getchar() != '\n';
}
