/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What glibc writes to link one free block to the next, the address of the next mixed with its own,
 * is here by chance the address of another block, with which a list of the program's begins. Not
 * position-independent: only where the heap is at small addresses do they mix to one in the heap.
 * Prints how many blocks are in the list, and how many of them are free.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 40000u
#define BYTES 24u
#define STEP 32u /* from one block to the next */

struct link {
	struct link *next;
	uint64_t rest[2];
};

static struct link *blocks[BLOCKS];
struct link *first;

static struct link *block_at(uint64_t address)
{
	uint64_t i = (address - (uint64_t)blocks[0]) / STEP;
	return i < BLOCKS && address == (uint64_t)blocks[i] ? blocks[i] : NULL;
}

int main(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = calloc(1, BYTES);
	for (unsigned i = 0; i < BLOCKS; i++)
		if ((uint64_t)blocks[i] != (uint64_t)blocks[0] + (uint64_t)i * STEP)
			return fprintf(stderr, "the blocks do not follow one another\n"), 1;
	struct link *next = NULL, *other = NULL, *freed = NULL;
	for (unsigned i = 1; !other && i < BLOCKS * 8; i++) {
		freed = blocks[i % BLOCKS];
		next = blocks[(i * 7919ull) % BLOCKS];
		other = block_at((uint64_t)next ^ (uint64_t)freed >> 12);
		if (next == freed || other == next || other == freed)
			other = NULL;
	}
	if (!other)
		return fprintf(stderr, "no addresses mix to a third\n"), 1;
	first = other;
	struct link *last = first;
	unsigned count = 1;
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (blocks[i] == next || blocks[i] == freed || blocks[i] == first)
			continue;
		last = last->next = blocks[i];
		count++;
	}
	free(next);
	free(freed);
	printf("%u 2\n", count);
	fflush(stdout);
	pause();
	return 0;
}
