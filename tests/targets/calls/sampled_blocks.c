/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates, frees and moves blocks of many sizes, and then prints which they were, in their order:
 * "alloc ADDRESS SIZE", "free ADDRESS". Printing allocates nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 2000

static struct step {
	uintptr_t address;
	size_t size; /* SIZE_MAX: it is freed */
} steps[4 * BLOCKS];
static size_t count;
static void *blocks[BLOCKS];

static void note_step(uintptr_t address, size_t size)
{
	steps[count++] = (struct step){address, size};
}

static void note_move(int i, size_t size)
{
	uintptr_t before = (uintptr_t)blocks[i];
	blocks[i] = realloc(blocks[i], size);
	note_step(before, SIZE_MAX);
	note_step((uintptr_t)blocks[i], size);
}

int main(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		size_t size = (size_t)(i * 7919 % 3001) + (i % 100 ? 1 : 100003);
		blocks[i] = malloc(size);
		note_step((uintptr_t)blocks[i], size);
		if (i % 5 == 0)
			note_move(i, size * 2 + 1);
		if (i % 3)
			continue;
		note_step((uintptr_t)blocks[i / 2], SIZE_MAX);
		free(blocks[i / 2]);
		blocks[i / 2] = malloc(77);
		note_step((uintptr_t)blocks[i / 2], 77);
	}
	for (size_t i = 0; i < count; i++) {
		char line[64];
		int n = steps[i].size == SIZE_MAX
				? snprintf(line, sizeof(line), "free %#lx\n",
					  (unsigned long)steps[i].address)
				: snprintf(line, sizeof(line), "alloc %#lx %zu\n",
					  (unsigned long)steps[i].address, steps[i].size);
		if (write(1, line, (size_t)n) != n)
			return 1;
	}
	return 0;
}
