/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves the program break itself, before malloc asks for any memory and later, puts mappings in
 * malloc's way and takes them away again: chunks of the main arena then begin amid a page and go on
 * in mappings, among the program's own. What it does follows a seed, its argument. What it keeps is
 * printed, an address and a size each. With a second argument the head of the first block is
 * overwritten.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCKS 8000u
#define STEPS 40u
#define PAGE_BYTES 4096ul

struct kept {
	void *address;
	unsigned size;
} kept[BLOCKS];
static unsigned count;
static void *wall;
static int is_apart; /* malloc goes on elsewhere: it wants whole pages of the break from now on */
static uint32_t state;

static uint32_t next(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

/* Memory of the program's own: before malloc has any, numbers that might be sizes. */
static void take_break(unsigned bytes)
{
	unsigned *words = sbrk(bytes);
	if (words == (void *)-1)
		return;
	for (unsigned i = 0; i < bytes / sizeof(*words) && !count; i++)
		words[i] = i % 7 ? 16 * next(40) + 1 : 0;
}

static void align_break(void)
{
	sbrk((intptr_t)(-(uintptr_t)sbrk(0) % PAGE_BYTES));
}

/* Or takes it away. */
static void put_wall(void)
{
	if (wall) {
		munmap(wall, PAGE_BYTES);
		align_break();
		wall = NULL;
		return;
	}
	uintptr_t page = ((uintptr_t)sbrk(0) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	wall = mmap((void *)page, PAGE_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (wall == MAP_FAILED)
		wall = NULL;
	is_apart |= wall != NULL;
}

static void allocate(unsigned blocks)
{
	static const unsigned sizes[] = {24, 200, 1000, 4080, 30000};
	unsigned size = sizes[next(5)];
	for (unsigned i = 0; i < blocks && i * size < 1500000 && count < BLOCKS; i++) {
		unsigned bytes = size + 16 * next(3);
		kept[count++] = (struct kept){malloc(bytes), bytes};
	}
}

static void release(void)
{
	unsigned from = count - next(count + 1) / 2;
	for (unsigned i = from; i < count; i += 2) {
		free(kept[i].address);
		kept[i--] = kept[--count];
		i += 1 + next(4);
	}
}

static void map_own(void)
{
	void *page = mmap(NULL, PAGE_BYTES * (1 + next(3)), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED)
		memset(page, 0x21, PAGE_BYTES);
}

int main(int argc, char **argv)
{
	static char line[BUFSIZ];
	setvbuf(stdout, line, _IOFBF, sizeof(line));
	state = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
	take_break(8 * next(600));
	for (unsigned step = 0; step < STEPS; step++) {
		switch (next(8)) {
		case 0:
			put_wall();
			break;
		case 1:
			take_break(is_apart ? PAGE_BYTES * (1 + next(2)) : 8 * (1 + next(1000)));
			break;
		case 2:
			release();
			break;
		case 3:
			map_own();
			break;
		case 4:
			if (count < BLOCKS)
				kept[count++] = (struct kept){malloc(200000), 200000};
			break;
		default:
			allocate(1 + next(400));
		}
	}
	if (argc > 2)
		((uint64_t *)kept[0].address)[-1] = UINT64_MAX;
	for (unsigned i = 0; i < count; i++)
		printf("%p:%u ", kept[i].address, kept[i].size);
	puts("");
	fflush(stdout);
	pause();
}
