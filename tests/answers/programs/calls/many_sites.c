/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * many_sites [COUNT]: so many allocation sites, each reached along a way of calls of its own: at
 * each level one of two functions goes on.
 *
 * Truth: a block each, of which every third is kept; printed.
 */
#include <stdio.h>
#include <stdlib.h>

static void left(unsigned way, unsigned levels);
static void right(unsigned way, unsigned levels);
static unsigned long kept_blocks, kept_bytes;

static void allocate(unsigned way)
{
	size_t size = 1 + way % 97;
	char *block = malloc(size);
	block[0] = 1;
	if (way % 3)
		free(block);
	else {
		kept_blocks++;
		kept_bytes += size;
	}
}

static void left(unsigned way, unsigned levels)
{
	if (!levels)
		allocate(way);
	else if (way >> (levels - 1) & 1)
		right(way, levels - 1);
	else
		left(way, levels - 1);
}

static void right(unsigned way, unsigned levels)
{
	if (!levels)
		allocate(way);
	else if (way >> (levels - 1) & 1)
		right(way, levels - 1);
	else
		left(way, levels - 1);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, levels = 1;
	while (count > 1u << levels)
		levels++;
	for (unsigned way = 0; way < count; way++)
		left(way, levels);
	printf("sites %u kept %lu %lu\n", count, kept_blocks, kept_bytes);
	return 0;
}
