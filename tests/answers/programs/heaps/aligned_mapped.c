/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks with mappings of their own that are aligned, and that were reallocated, or not. Where each
 * is and how large is printed. An argument: what malloc() fills memory with. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 7u

static const struct {
	size_t alignment, bytes, later;
} wanted[BLOCKS] = {{64, 300000, 290000}, {4096, 300000, 700000}, {65536, 1 << 20, 0},
	{65536, 1 << 20, 3 << 20}, {65536, 1 << 20, 500 << 10}, {2 << 20, 8 << 20, 10 << 20},
	{2 << 20, 8 << 20, 200 << 10}};

char *kept[BLOCKS];

int main(int argc, char **argv)
{
	if (argc > 1)
		mallopt(M_PERTURB, atoi(argv[1]));
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	for (size_t i = 0; i < BLOCKS; i++) {
		void *block;
		if (posix_memalign(&block, wanted[i].alignment, wanted[i].bytes))
			return 1;
		memset(block, (int)i, wanted[i].bytes);
		kept[i] = wanted[i].later ? realloc(block, wanted[i].later) : block;
		printf("%p:%zu ", (void *)kept[i], malloc_usable_size(kept[i]));
	}
	printf("\n");
	fflush(stdout);
	pause();
}
