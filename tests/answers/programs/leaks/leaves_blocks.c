// SPDX-License-Identifier: GPL-2.0-or-later
/* What is asked of `heapwise run` and of cores where any recording does: 3 blocks of 1000 B stay, 2
 * of 10 B are freed. "lose": the 3 are lost. */
#include <stdlib.h>
#include <string.h>

static void *kept[3];

__attribute__((noinline)) static void *make_kept(void)
{
	return malloc(1000);
}

__attribute__((noinline)) static void make_freed(void)
{
	void *volatile block = malloc(10);
	free(block);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		kept[i] = make_kept();
	make_freed();
	make_freed();
	if (argc > 1 && !strcmp(argv[1], "lose"))
		memset(kept, 0, sizeof(kept));
	return 0;
}
