/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks as large as the buffer of stdout, before and after it, which a table of the program's
 * holds. Where an allocator has no headers the ends of the buffer, which libc keeps, are the start
 * of one of them. # expect: held_by_table=16
 */
#include <stdio.h>
#include <stdlib.h>

static void **table;

int main(void)
{
	table = malloc(16 * sizeof(*table));
	for (int i = 0; i < 8; i++)
		table[i] = malloc(4096);
	printf("# expect: held_by_table=16\n");
	for (int i = 8; i < 16; i++)
		table[i] = malloc(4096);
	return 0;
}
