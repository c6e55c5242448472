/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap's first block has 32 MiB of numbers that look like sizes of chunks; then come others,
 * whose addresses are printed. With an argument the first one is the last one, too. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES (32ul << 20)
#define BLOCKS 1000

static uint64_t *numbers;
static void *blocks[BLOCKS];

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? 0 : BLOCKS;
	(void)argv;
	setvbuf(stdout, NULL, _IONBF, 0); /* it has no buffer there */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	numbers = malloc(BYTES);
	for (size_t i = 0; i < BYTES / 8; i++)
		numbers[i] = (uint64_t)(rand() % 1000000);
	for (size_t i = 0; i < count; i++)
		blocks[i] = malloc(24 + i * 37 % 5000);
	printf("%p", (void *)numbers);
	for (size_t i = 0; i < count; i++)
		printf(" %p", blocks[i]);
	puts("");
	pause();
	return 0;
}
