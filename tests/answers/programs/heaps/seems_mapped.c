/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the program's own whose pages begin as malloc's blocks with mappings of their own do:
 * amid a mapping; with the argument "apart" as a mapping of its own; with "many" sixteen times, and
 * blocks of malloc's lie amid mappings, too, so that there are very many ways to choose which are
 * none. Of malloc's the sizes are printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (4u << 20)
#define LOOKS (192u << 10)

#define FALSE_BLOCKS 16
#define TRUE_BLOCKS 12
#define PAGE 4096
#define APART ((size_t)256 << 10)

char *kept[5], *many[TRUE_BLOCKS], *own;

static void look(size_t at)
{
	size_t head[2] = {0, LOOKS | 2};
	memcpy(own + at, head, sizeof(head));
}

/* Memory in front of each block of malloc's, and behind the next one, is joined with both. */
static void look_often(void)
{
	own = mmap(NULL, FALSE_BLOCKS * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	memset(own, 0x55, FALSE_BLOCKS * APART);
	for (int i = 0; i < FALSE_BLOCKS; i++)
		look((size_t)i * APART + PAGE);
	for (int i = 0; i < TRUE_BLOCKS; i++) {
		many[i] = malloc(150000 + i * 9000);
		char *before = mmap(many[i] - 16 - 2 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (before != MAP_FAILED)
			memset(before, 0x55, 2 * PAGE);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "many")) {
		look_often();
		printf("%d\n", TRUE_BLOCKS);
		fflush(stdout);
		pause();
	}
	own = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t from = 64 << 10, bytes = argc > 1 ? LOOKS : BYTES - (128 << 10);
	mprotect(own + from, bytes, PROT_READ | PROT_WRITE);
	memset(own + from, 0x55, bytes);
	look(argc > 1 ? from : 256 << 10);
	if (argc == 1)
		look(2 << 20);
	for (int i = 0; i < 5; i++)
		kept[i] = malloc(200000 + i * 100000);
	free(kept[1]);
	kept[1] = NULL;
	kept[2] = realloc(kept[2], 900000);
	for (int i = 0; i < 5; i++)
		if (kept[i])
			printf("%zu ", ((size_t *)kept[i])[-1] - 2 - 16);
	printf("\n");
	fflush(stdout);
	pause();
}
