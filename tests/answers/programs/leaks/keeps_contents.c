/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of all sizes, aligned ones too (not with an argument), grow and shrink and keep what was
 * written to them, and what lies behind them.
 *
 * Truth: 100 blocks are lost; status 1 if anything was damaged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 100 };

__attribute__((noinline)) static int is_kept(const char *block, int value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != value)
			return 0;
	return 1;
}

__attribute__((noinline)) static int try_size(int aligned, size_t size)
{
	char *first = malloc(size), *other = NULL, *last = malloc(size);
	if (aligned && posix_memalign((void **)&other, 64, size))
		return 0;
	memset(first, 1, size);
	memset(last, 2, size);
	if (other)
		memset(other, 3, size);
	first = realloc(first, 3 * size);
	last = realloc(last, size / 2 + 1);
	int fine = is_kept(first, 1, size) && is_kept(last, 2, size / 2 + 1) &&
		   (!other || is_kept(other, 3, size));
	free(first);
	free(other);
	free(last);
	*(volatile char *)malloc(8) = 0;
	return fine;
}

int main(int count, char **arguments)
{
	int fine = 1;
	for (size_t i = 1; i <= BLOCKS; i++)
		fine &= try_size(count == 1, i * i);
	puts(fine ? "fine" : "damaged");
	return !fine;
}
