/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the program's own whose pages begin as malloc's blocks with mappings of their own do:
 * amid a mapping, or, with an argument, as a mapping of its own. Of malloc's the sizes are printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (4u << 20)
#define LOOKS (192u << 10)

char *kept[5], *own;

static void look(size_t at)
{
	size_t head[2] = {0, LOOKS | 2};
	memcpy(own + at, head, sizeof(head));
}

int main(int argc, char **argv)
{
	(void)argv;
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
