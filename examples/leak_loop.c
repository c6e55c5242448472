/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaks 4,096 blocks of 1 KiB, all from one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4096, SIZE = 1024 };

static unsigned use(int round)
{
	char *volatile page = malloc(SIZE); /* volatile: else clang sees through it */

	if (!page)
		abort();
	memset(page, round, SIZE);
	return (unsigned char)page[SIZE / 2]; /* and nobody frees it */
}

int main(void)
{
	unsigned sum = 0;

	for (int round = 0; round < ROUNDS; round++)
		sum += use(round);
	printf("%u\n", sum);
	return 0;
}
