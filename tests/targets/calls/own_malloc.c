/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with an allocator of its own, linked in (bump_library.c). Prints the sum of its blocks.
 */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	size_t sum = 0;
	for (size_t i = 1; i < 1000; i++) {
		unsigned char *volatile block = calloc(1, i);
		if (!block || block[i - 1])
			return 1;
		sum += i;
		free(block);
	}
	printf("%zu\n", sum);
	return 0;
}
