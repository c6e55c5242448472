/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loses a block of 2 GiB, untouched but for its first page: in it are addresses rounded to 1 GiB,
 * which jemalloc keeps in thread-local memory. */
#include <stdlib.h>

__attribute__((noinline)) static void lose(void)
{
	volatile char *block = malloc(2ul << 30);
	if (block)
		block[0] = 1;
	else
		exit(2);
}

__attribute__((noinline)) static void overwrite(void)
{
	volatile char words[4096];
	for (unsigned i = 0; i < sizeof(words); i++)
		words[i] = 0;
}

int main(void)
{
	lose();
	overwrite();
	return 0;
}
