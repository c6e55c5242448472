/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that shrink and grow again, in place or not, and large, aligned and counted ones: what
 * they gain holds nothing, though pointers to lost blocks stood there.
 *
 * Truth: of 48 bytes each, all 240 blocks of lost() are lost but one, which stands in what the
 * smallest block keeps when it shrinks; 60 blocks are kept. memcheck says so too.
 */
#include <stdlib.h>
#include <string.h>

enum { WAYS = 6, EACH = 10, WORDS = 4 };
static void *kept[WAYS][EACH];

__attribute__((noinline)) static void *lost(void)
{
	char *block = malloc(48);
	memset(block, 1, 48);
	return block;
}

/* Lets the last words of so many bytes hold blocks that nothing else does. */
__attribute__((noinline)) static void fill(void **words, size_t bytes)
{
	for (size_t i = 0; i < WORDS; i++)
		words[bytes / sizeof(void *) - 1 - i] = lost();
}

__attribute__((noinline)) static void *again(int way, size_t bytes)
{
	void **block = malloc(bytes), *aligned = NULL;
	fill(block, bytes);
	switch (way) {
	case 0: /* shrinks and grows */
		block = realloc(block, bytes / 2 + 8);
		return realloc(block, bytes);
	case 1: /* is given out again, smaller, and grows */
		free(block);
		block = malloc(bytes - 40);
		return realloc(block, bytes);
	case 2:
		free(block);
		return aligned_alloc(64, bytes);
	case 3:
		free(block);
		return posix_memalign(&aligned, 16, bytes) ? NULL : aligned;
	case 4:
		free(block);
		return reallocarray(NULL, bytes / 8, 8);
	default:
		free(block);
		return malloc(bytes);
	}
}

__attribute__((noinline)) static void scrub(void)
{
	volatile char stack[65536];
	memset((void *)stack, 0, sizeof(stack));
}

int main(void)
{
	static const size_t sizes[] = {
		64, 200, 512, 1024, 1280, 4096, 20000, 60000, 100000, 300000};
	for (int way = 0; way < WAYS; way++)
		for (int i = 0; i < EACH; i++)
			kept[way][i] = again(way, sizes[i]);
	scrub();
	return 0;
}
