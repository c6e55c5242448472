/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps blocks that it has not written to, where earlier blocks had pointers to lost ones.
 *
 * Truth: of 64 bytes each, 50 blocks are kept and 50 are lost. With an argument the memory was used
 * before.
 */
#include <stdlib.h>
#include <string.h>

static void *kept[50];

__attribute__((noinline)) static void keep_one(int i)
{
	kept[i] = malloc(64); /* not written to yet, as what reserve() gives */
}

__attribute__((noinline)) static void lose_one(void)
{
	char *volatile block = malloc(64);
	memset(block, 1, 64);
	block = NULL;
}

__attribute__((noinline)) static void use_memory(void)
{
	void *blocks[200];
	for (int i = 0; i < 200; i++)
		blocks[i] = malloc(64);
	for (int i = 0; i < 200; i++)
		free(blocks[i]);
	memset(blocks, 0, sizeof(blocks));
}

__attribute__((noinline)) static void scrub(void)
{
	volatile char stack[65536];
	memset((void *)stack, 0, sizeof(stack));
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		use_memory();
	for (int i = 0; i < 50; i++) {
		keep_one(i);
		lose_one();
	}
	scrub();
	return 0;
}
