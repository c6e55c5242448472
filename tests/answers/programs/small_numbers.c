/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap's first block has 32 MiB of numbers that look like sizes of chunks; then come others,
 * whose addresses are printed. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES (32ul << 20)
#define BLOCKS 1000

static uint64_t *numbers;
static void *blocks[BLOCKS];

int main(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	numbers = malloc(BYTES);
	uint32_t state = 4711;
	for (size_t i = 0; i < BYTES / 8; i++) {
		state = state * 1664525u + 1013904223u;
		numbers[i] = (state >> 8) % 1000000;
	}
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(24 + i * 37 % 5000);
	printf("%p", (void *)numbers);
	for (size_t i = 0; i < BLOCKS; i++)
		printf(" %p", blocks[i]);
	puts("");
	fflush(stdout);
	pause();
	return 0;
}
