/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two tables hold blocks of one place, more of them than words are told apart one by one.
 *
 * Truth: 60,000 blocks are held by `first`, 20,000 by `other`, nothing is lost.
 */
#include <stdlib.h>

static void *first[60000], *other[20000];

int main(void)
{
	for (int i = 0; i < 80000; i++)
		*(i < 60000 ? &first[i] : &other[i - 60000]) = malloc(24);
	return 0;
}
